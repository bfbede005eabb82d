//! The commands, one file each.

mod answer;
mod completions;
mod own_cost;
mod read;
mod record;
mod rule;
mod why;

use crate::arguments::{Arguments, Command, WhyOptions};
use crate::failure::Failure;
use crate::speech::Speech;

/// Runs the command and returns the exit code.
///
/// # Errors
/// Fails when there is nothing to answer from.
pub(crate) fn run(arguments: Arguments, speech: &Speech) -> Result<u8, Failure> {
    let Arguments { command, why, everywhere } = arguments;
    let Some(command) = command else {
        return why::run(&why, &everywhere, speech);
    };
    if why != WhyOptions::default() {
        return Err(Failure::new(gpuwhy_render::message::options_first(command.name())));
    }
    match command {
        Command::Why(options) => why::run(&options, &everywhere, speech),
        Command::Record(options) => record::run(&options, &everywhere, speech),
        Command::Read(options) => read::run(&options, &everywhere, speech),
        Command::Rule { cause } => rule::run(cause.as_deref(), speech),
        Command::OwnCost(options) => own_cost::run(&options, &everywhere, speech),
        Command::Completions { shell } => completions::run(shell),
    }
}
