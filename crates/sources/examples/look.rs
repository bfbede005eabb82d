//! Looks at this machine and prints its samples, one JSON object a line; tests also use it as the child that asks the
//! driver.
//!
//! `look [--once] [--window SECONDS] [--nvml-lib FILE] [--proc DIR] [--sys DIR] [--dev DIR] [--sweep]
//! [--open] [--quiet]`

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use gpuwhy_sources::{Look, Observer, Options, Progress, Roots, look, nvml};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == nvml::CHILD_COMMAND).is_some() {
        return nvml::child_main(arguments);
    }
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "look: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let mut roots = Roots::default();
    let mut wanted = Look::default();
    let mut is_quiet = false;
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| io::Error::other("a value is missing"));
        match argument.to_string_lossy().as_ref() {
            "--once" => wanted = Look::ONCE,
            "--window" => {
                let seconds = value()?.to_string_lossy().parse::<f64>().map_err(io::Error::other)?;
                wanted.window = Duration::from_secs_f64(seconds);
            }
            "--nvml-lib" => roots.nvml_library = Some(PathBuf::from(value()?)),
            "--proc" => roots.proc = PathBuf::from(value()?),
            "--sys" => roots.sys = PathBuf::from(value()?),
            "--dev" => roots.dev = PathBuf::from(value()?),
            "--sweep" => options.sweep_descriptors = true,
            "--open" => options.command_lines_are_open = true,
            "--quiet" => is_quiet = true,
            other => return Err(io::Error::other(format!("unknown option `{other}`"))),
        }
    }
    let mut observer = Observer::start(roots, options);
    let samples = look(&mut observer, &wanted, &mut |progress| {
        if let Progress::DriverStarts(since) = progress {
            let _ = writeln!(io::stderr(), "the driver has been starting for {:.1} s", since.as_secs_f64());
        }
        ControlFlow::Continue(())
    });
    let mut output = io::stdout().lock();
    for sample in samples.iter().filter(|_| !is_quiet) {
        writeln!(output, "{}", serde_json::to_string(sample).map_err(io::Error::other)?)?;
    }
    Ok(())
}
