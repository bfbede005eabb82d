//! The child: a process that exists to be stuck inside the driver in our place.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use gpuwhy_model::reading::{Absence, Failure, Reading};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};

use super::call::Call;
use super::descriptors;
use super::heartbeat::Heart;
use super::protocol::{Answer, Request};
use super::raw::{Library, Refusal};
use super::sweep::Sweeper;
use crate::clock;

/// The library sizes tables by the number of descriptors it may open; 16 cards need far fewer.
const DESCRIPTORS_MAX: u64 = 256;

/// Why the child ended before its parent let it go.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error("only gpuwhy itself starts this command")]
    NotOurs,
    #[error("cannot prepare the process that asks the driver")]
    Prepare(#[source] io::Error),
    #[error("cannot talk to the process that asked")]
    Talk(#[source] io::Error),
}

/// Runs the child: the whole of the hidden subcommand [`super::CHILD_COMMAND`], with its arguments.
///
/// It ends when its parent does, or closes the connection.
pub fn child_main(arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error is nobody's when the parent started us, and a person's when a person did.
            let _ = writeln!(io::stderr(), "gpuwhy: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<(), ChildError> {
    let parent =
        arguments.next().and_then(|pid| pid.to_str()?.parse::<i32>().ok()).ok_or(ChildError::NotOurs)?;
    let library = arguments.next().map(PathBuf::from);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| ChildError::Prepare(error.into()))?;
    if getppid().map(Pid::as_raw_nonzero).map(i32::from) != Some(parent) {
        // It died before the signal was asked for.
        return Ok(());
    }
    let inherited = descriptors::take().map_err(ChildError::Prepare)?;
    lower_descriptor_limit();
    let mut heart = Heart::new(inherited.heartbeat);
    let connection = std::os::unix::net::UnixStream::from(inherited.connection);
    let mut requests = BufReader::new(connection.try_clone().map_err(ChildError::Talk)?);
    let mut answers = connection;

    let begun = clock::awake();
    let library = match heart.during(Call::LoadLibrary, None, || Library::load(library.as_deref())) {
        Ok(library) => library,
        Err(error) => return say(&mut answers, &Answer::NotStarted(not_loaded(error))),
    };
    if let Err(refusal) = heart.during(Call::Init, None, || library.init()) {
        return say(&mut answers, &Answer::NotStarted(not_ready(refusal)));
    }
    let mut sweeper = Sweeper::new(library, heart);
    sweeper.wake();
    let init_ms = u64::try_from(clock::since(begun).as_millis()).unwrap_or(u64::MAX);
    sweeper.rest();
    say(&mut answers, &Answer::Started(init_ms))?;

    let mut line = Vec::new();
    loop {
        sweeper.rest();
        line.clear();
        let length = requests.read_until(b'\n', &mut line).map_err(ChildError::Talk)?;
        if length == 0 {
            sweeper.end();
            return Ok(());
        }
        let request: Request =
            serde_json::from_slice(&line).map_err(|error| ChildError::Talk(error.into()))?;
        let tail = sweeper.sweep(&request, &mut |answer| say(&mut answers, answer))?;
        say(&mut answers, &Answer::Done(Box::new(tail)))?;
    }
}

/// Sends one answer.
fn say(answers: &mut impl Write, answer: &Answer) -> Result<(), ChildError> {
    let mut line = serde_json::to_vec(answer).map_err(|error| ChildError::Talk(error.into()))?;
    line.push(b'\n');
    answers.write_all(&line).map_err(ChildError::Talk)
}

fn lower_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let lower = limit.current.map_or(DESCRIPTORS_MAX, |current| current.min(DESCRIPTORS_MAX));
    // A limit that cannot be lowered costs memory and nothing else.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(lower), maximum: limit.maximum });
}

fn not_loaded(error: String) -> Absence {
    Absence::Failed(Failure::LibraryNotLoaded { error })
}

/// Returns why the library cannot be used after its initialisation was refused.
fn not_ready(refusal: Refusal) -> Absence {
    let reading: Reading<()> = super::answers::reading_of(Call::Init, Err(refusal));
    match reading.absence() {
        Some(Absence::Failed(failure)) => Absence::Failed(failure),
        // Whatever it is for a value, a library that does not start has failed.
        _ => Absence::Failed(Failure::Nvml { call: Call::Init.symbol().to_owned(), code: refusal.code() }),
    }
}
