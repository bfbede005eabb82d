//! What an error is to the run that printed it: what ended it, or what only follows.

use gpuwhy_knowledge::ErrorRole;
use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::scene::{LogLine, ProgramFact, Standing};
use jiff::Timestamp;

use super::message::Said;
use super::writer::Entry;

/// Something that one writer said, in the order of the text.
#[derive(Debug, Clone)]
pub(super) struct Error {
    /// Its place among the lines of the block.
    pub(super) place: usize,
    /// The code of the driver's library that it gives.
    pub(super) library_code: Option<u32>,
    /// Whether it is an exception, which may be part of a chain.
    pub(super) is_exception: bool,
    /// Whether it came of the exception before it.
    pub(super) is_linked: bool,
    /// Whether it was thrown while something was taken down.
    pub(super) is_taking_down: bool,
    at: Option<Timestamp>,
    rank: Option<u32>,
    text: String,
    said: Option<Said>,
    standing: Option<Standing>,
}

/// So many calm lines behind an error are no taking down.
const CALM_MIN: usize = 3;

/// No text is kept that is longer, in characters.
const TEXT_MAX: usize = 600;

impl Error {
    pub(super) fn new(entry: &Entry<'_>, said: Said, text: &str) -> Self {
        Self { said: Some(said), ..Self::plain(entry, text) }
    }

    /// Makes one of a line that gives a code of the driver's library.
    pub(super) fn of_library(entry: &Entry<'_>, code: u32) -> Self {
        Self { library_code: Some(code), ..Self::plain(entry, entry.text) }
    }

    fn plain(entry: &Entry<'_>, text: &str) -> Self {
        Self {
            place: entry.place,
            library_code: None,
            is_exception: false,
            is_linked: false,
            is_taking_down: false,
            at: entry.at,
            rank: entry.rank,
            text: text.chars().take(TEXT_MAX).collect(),
            said: None,
            standing: None,
        }
    }

    /// Returns the line of the scene that it becomes.
    pub(super) fn line(self) -> LogLine {
        LogLine {
            at: self.at,
            rank: self.rank,
            text: masked_text(self.text.trim()),
            fact: self.said.map(|said| said.fact),
            standing: self.standing,
        }
    }

    fn fact(&self) -> Option<&ProgramFact> {
        self.said.as_ref().map(|said| &said.fact)
    }

    /// Returns whether it speaks of an error at all.
    fn is_error(&self) -> bool {
        self.fact().is_some_and(|fact| !is_talk(fact))
    }

    /// Returns whether the machine, the build or another part made it so, and not the program's own code.
    fn is_of_machine(&self) -> bool {
        self.fact().is_some_and(|fact| {
            !is_talk(fact) && !matches!(fact, ProgramFact::Exception(_) | ProgramFact::LossNotANumber)
        })
    }

    fn role(&self) -> Option<Standing> {
        if self.is_taking_down {
            return Some(Standing::CleanUp);
        }
        self.said.as_ref()?.role.map(|role| match role {
            ErrorRole::Relay | ErrorRole::Echo => Standing::Echo,
            ErrorRole::CleanUp => Standing::CleanUp,
        })
    }
}

/// Returns whether a fact is no error: progress, load, what was taken by design.
fn is_talk(fact: &ProgramFact) -> bool {
    matches!(
        fact,
        ProgramFact::Step(_)
            | ProgramFact::ServerState(_)
            | ProgramFact::Preallocation(_)
            | ProgramFact::AllocatorState(_)
            | ProgramFact::NcclWay(_)
            | ProgramFact::TooManyWorkers(_)
            | ProgramFact::InputBrokeOff
    )
}

/// Decides what each error of one writer is to its run.
///
/// `calm` are the places of lines that show a program going on: some of them behind an error say that it was handled.
pub(super) fn decide(errors: &mut [Error], calm: &[usize]) {
    let mut start = 0;
    while start < errors.len() {
        let more =
            errors[start + 1..].iter().take_while(|error| error.is_exception && error.is_linked).count();
        let end = start + 1 + more;
        decide_chain(&mut errors[start..end]);
        start = end;
    }
    let last_sign_of_life = errors.iter().rposition(|error| error.fact().is_some_and(is_sign_of_life));
    for (number, error) in errors.iter_mut().enumerate() {
        let lives = last_sign_of_life.is_some_and(|last| number < last)
            || calm.iter().filter(|place| **place > error.place).count() >= CALM_MIN;
        if lives && error.standing == Some(Standing::Final) {
            error.standing = Some(Standing::Handled);
        }
    }
}

/// Returns whether a program that says so goes on.
fn is_sign_of_life(fact: &ProgramFact) -> bool {
    matches!(fact, ProgramFact::Step(_) | ProgramFact::ServerState(_))
}

/// Decides what each exception of one chain is: the last of its own ends the program; where the machine made one of them
/// fail, that one does.
fn decide_chain(chain: &mut [Error]) {
    let stands = |error: &Error| error.is_error() && error.role().is_none();
    let decisive = chain
        .iter()
        .rposition(|error| stands(error) && error.is_of_machine())
        .or_else(|| chain.iter().rposition(stands));
    for (place, error) in chain.iter_mut().enumerate() {
        if !error.is_error() {
            continue;
        }
        error.standing = Some(match error.role() {
            Some(role) => role,
            None if decisive == Some(place) => Standing::Final,
            None => Standing::Earlier,
        });
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::Standing;

    use super::super::message;
    use super::super::writer::Entry;
    use super::{Error, decide};

    fn error(name: &str, message: &str, is_linked: bool) -> Error {
        let entry = Entry { place: 0, at: None, rank: None, begins: true, goes_on: false, text: "" };
        let mut error = Error::new(&entry, message::of_exception(name, message), message);
        (error.is_exception, error.is_linked) = (true, is_linked);
        error
    }

    fn standings(mut errors: Vec<Error>) -> Vec<Option<Standing>> {
        decide(&mut errors, &[]);
        errors.into_iter().map(|error| error.line().standing).collect()
    }

    #[test]
    fn the_last_of_its_own_decides() {
        let missing = error("FileNotFoundError", "[Errno 2] No such file or directory: 'a'", false);
        let cannot = error("RuntimeError", "cannot start without weights", true);
        let relay = error("subprocess.CalledProcessError", "Command died", true);
        assert_eq!(
            standings(vec![missing, cannot, relay]),
            [Some(Standing::Earlier), Some(Standing::Final), Some(Standing::Echo)]
        );
    }

    #[test]
    fn what_the_machine_made_fail_decides() {
        let memory = error("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", false);
        let failed = error("RuntimeError", "training failed", true);
        assert_eq!(standings(vec![memory, failed]), [Some(Standing::Final), Some(Standing::Earlier)]);
    }
}
