//! `lab prove`

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use gpuwhy_lab::scenario::{self, RunError, Template};

/// Arguments of `lab prove`.
#[derive(Args)]
pub(super) struct Prove {
    /// Names of scenarios; all of them when absent.
    scenarios: Vec<String>,
    /// Where the boxes shall lie, one after the other.
    #[arg(long)]
    dir: PathBuf,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds of each scenario.
    #[arg(long, default_value_t = 1)]
    count: u64,
}

impl Prove {
    /// Runs scenarios without any monitor and prints whether their members prove the planted cause.
    pub(super) fn run(self) -> anyhow::Result<()> {
        let templates = self.templates()?;
        let mut void = 0;
        let mut output = std::io::stdout().lock();
        for seed in self.seed..self.seed + self.count {
            for template in &templates {
                let drawn = template.draw(seed)?;
                let running = match drawn.start(&self.dir) {
                    Ok(running) => running,
                    Err(RunError::CannotShow(inabilities)) => {
                        let why = inabilities.first().map(|inability| inability.why.as_str());
                        writeln!(output, "{}\t{seed}\tnot shown\t{}", drawn.name, why.unwrap_or_default())?;
                        continue;
                    }
                    Err(error) => return Err(error).with_context(|| format!("{} {seed}", drawn.name)),
                };
                std::thread::sleep(Duration::from_secs_f64(drawn.window_s));
                let truth = running.truth();
                running.stop()?;
                let verdict = truth.void.as_deref().unwrap_or("proven");
                let answers: Vec<String> = truth.answers.iter().map(describe).collect();
                writeln!(output, "{}\t{seed}\t{verdict}\t{}", drawn.name, answers.join(" or "))?;
                void += usize::from(truth.void.is_some());
            }
        }
        anyhow::ensure!(void == 0, "{void} runs prove nothing");
        Ok(())
    }

    fn templates(&self) -> anyhow::Result<Vec<Template>> {
        if self.scenarios.is_empty() {
            return Ok(scenario::catalogue()?);
        }
        self.scenarios
            .iter()
            .map(|name| scenario::named(name)?.with_context(|| format!("no scenario `{name}`")))
            .collect()
    }
}

fn describe(answer: &scenario::Answer) -> String {
    let culprit = answer.culprits.first().map(|process| format!(" by {}", process.user));
    format!("{}{} cards {:?}", answer.cause, culprit.unwrap_or_default(), answer.cards)
}
