//! `gpuwhy`: why this GPU server is busy, who makes it so, and what to do about it.

mod arguments;
mod commands;
mod configuration;
mod failure;
mod input;
mod interruption;
mod new_file;
mod output;
mod progress;
mod recording;
mod similar;
mod speech;
mod subject;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use gpuwhy_sources::nvml;

use arguments::Arguments;
use failure::COULD_NOT_LOOK;
use speech::Speech;

fn main() -> ExitCode {
    // Before anything else: the child that asks the driver is no command for people.
    let mut raw_arguments = std::env::args_os().skip(1);
    if raw_arguments.next().is_some_and(|first| first == nvml::CHILD_COMMAND) {
        return nvml::child_main(raw_arguments);
    }
    let of_locale = Speech::of_locale();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(not_parsed(&without_hidden(error), &of_locale)),
    };
    let (speech, outcome) = match arguments.everywhere.lang.as_deref().map(Speech::asked_for).transpose() {
        Ok(asked_for) => {
            let speech = asked_for.unwrap_or(of_locale);
            let outcome = commands::run(arguments, &speech);
            (speech, outcome)
        }
        Err(failure) => (of_locale, Err(failure)),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::talk(&failure.worded(&speech.words(), output::talk_width()));
            ExitCode::from(COULD_NOT_LOOK)
        }
    }
}

/// Prints help, version, or what is wrong with the command line; returns the exit code.
fn not_parsed(error: &clap::Error, speech: &Speech) -> u8 {
    match error.print() {
        // Help and version are data.
        Err(unwritten) if !error.use_stderr() && unwritten.kind() != ErrorKind::BrokenPipe => {
            output::talk(&output::cannot_write(&unwritten).worded(&speech.words(), output::talk_width()));
            COULD_NOT_LOOK
        }
        // There is nobody to tell if the error itself cannot be written.
        _ => u8::try_from(error.exit_code()).unwrap_or(COULD_NOT_LOOK),
    }
}

/// Takes back a suggestion of an option that is hidden from people.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg) else {
        return error;
    };
    let arguments = Arguments::command();
    let is_hidden = arguments
        .get_arguments()
        .any(|argument| argument.is_hide_set() && argument.get_long() == suggested.strip_prefix("--"));
    if is_hidden {
        error.remove(ContextKind::SuggestedArg);
    }
    error
}
