//! `lab up`

use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use gpuwhy_lab::board::BoardFile;
use gpuwhy_lab::place::BoxDirectory;
use gpuwhy_lab::place::plan::{Plan, Visitor};
use gpuwhy_lab::place::running::{self, Lifetime};
use gpuwhy_lab::scenario::{self, Template};

/// Arguments of `lab up`.
#[derive(Args)]
pub(super) struct Up {
    /// A board file, a scenario file, or the name of a scenario.
    what: String,
    /// Where the box shall lie.
    #[arg(long)]
    dir: PathBuf,
    /// Seed of what a scenario draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leaves NVIDIA's library out, as on a machine where it is not installed.
    #[arg(long)]
    without_library: bool,
    /// Stays in the foreground; the box goes down with this command.
    #[arg(long)]
    foreground: bool,
}

impl Up {
    /// Brings the box up and prints what came of it as JSON.
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut plan = self.plan()?;
        plan.library_installed &= !self.without_library;
        std::fs::create_dir_all(&self.dir)
            .with_context(|| format!("cannot create `{}`", self.dir.display()))?;
        let directory = BoxDirectory::new(self.dir.canonicalize()?);
        let lifetime = if self.foreground { Lifetime::WithStarter } else { Lifetime::UntilStopped };
        let program = std::env::current_exe()?;
        let mut kept =
            running::start(&program, &directory, &plan, lifetime).context("cannot bring the box up")?;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string_pretty(&kept.status)?)?;
        if self.foreground {
            std::io::stdin().read_to_end(&mut Vec::new())?;
            running::stop(&directory)?;
            kept.keeper.wait()?;
        }
        Ok(())
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        if let Some(template) = scenario::named(&self.what)? {
            return Ok(template.draw(self.seed)?.plan);
        }
        let path = PathBuf::from(&self.what);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", self.what))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let content: toml::Table =
            toml::from_str(&text).with_context(|| format!("`{}` is no TOML", self.what))?;
        if content.contains_key("box") {
            return Ok(Template::parse(&name, &text)?.draw(self.seed)?.plan);
        }
        let board: BoardFile =
            toml::from_str(&text).with_context(|| format!("`{}` is no board", self.what))?;
        Ok(Plan {
            name,
            board,
            library_installed: true,
            members: Vec::new(),
            stores: Vec::new(),
            servers: Vec::new(),
            shared_memory_bytes: None,
            shortage: None,
            visitor: Visitor::default(),
            data_set: None,
            kernel_log: Vec::new(),
            seed: self.seed,
        })
    }
}
