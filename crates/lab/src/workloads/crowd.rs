//! A crowd: very many nearly idle processes, to measure what it costs to look at a full machine.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::WorkError;
use super::actor::{
    Actor, Extra, Role, call_main_thread, die_with_parent, end_with_keeper, start_idle_threads, wait_for_ever,
};
use super::specification::Crowd;
use super::truth::{Part, Span};
use crate::client::{Client, Kernel};

/// A card user of the crowd works so rarely.
const WORK_EVERY: Duration = Duration::from_secs(2);

/// Works as the process that the keeper started: starts everybody and waits until all are in place.
pub(super) fn start(actor: &Actor, crowd: &Crowd) -> Result<(), WorkError> {
    end_with_keeper()?;
    let account = actor.account(0)?;
    let (mut in_place, mark) = io::pipe().map_err(WorkError::Pipe)?;
    let start = |extra: Extra, command: &[String]| -> Result<(), WorkError> {
        let mark = mark.try_clone().map_err(WorkError::Pipe)?;
        start_extra(actor.another(Role::Extra(extra), command)?, Stdio::from(mark))
    };
    for card in &actor.specification.cards {
        for number in 0..crowd.per_card {
            let command = ["python3", "train.py", "--card", &card.to_string(), "--run", &number.to_string()];
            start(Extra::CardUser(*card), &command.map(str::to_owned))?;
        }
    }
    for number in 0..crowd.others {
        start(Extra::Other, &["worker".to_owned(), format!("--number={number}")])?;
    }
    drop(mark);
    // Everybody holds a copy of the mark until it is in place.
    in_place.read_to_end(&mut Vec::new()).map_err(WorkError::Pipe)?;
    account.add_process(std::process::id(), Part::Starter, None);
    account.ready();
    account.during(Span::Idle, wait_for_ever)
}

/// Works as one of the crowd.
pub(super) fn extra(actor: &Actor, crowd: &Crowd, extra: Extra) -> Result<(), WorkError> {
    die_with_parent()?;
    match extra {
        Extra::CardUser(card) => {
            call_main_thread(c"pt_main_thread");
            for _ in 0..crowd.loaders {
                start_extra(
                    actor.another(Role::Extra(Extra::Loader), &Actor::own_command())?,
                    Stdio::inherit(),
                )?;
            }
            let client = Client::attach(&actor.directory, card)?;
            client.allocate(actor.bytes(card, 0.5 / f64::from(crowd.per_card.max(1)))?)?;
            start_idle_threads(crowd.threads.saturating_sub(1))?;
            in_place()?;
            loop {
                std::thread::sleep(WORK_EVERY);
                client.run_kernel(&Kernel::of_arithmetic(Duration::from_millis(5)));
            }
        }
        Extra::Loader => {
            call_main_thread(c"pt_data_worker");
            start_idle_threads(crowd.loader_threads.saturating_sub(1))?;
        }
        Extra::Other => {}
    }
    in_place()?;
    wait_for_ever()
}

/// Starts one of the crowd; nobody waits for it, as it lives as long as its starter.
fn start_extra(mut process: Command, mark: Stdio) -> Result<(), WorkError> {
    process.stdin(Stdio::null()).stdout(mark).spawn().map(|_| ()).map_err(WorkError::Start)
}

/// Gives our copy of the mark back: standard output becomes standard error.
fn in_place() -> Result<(), WorkError> {
    rustix::stdio::dup2_stdout(io::stderr()).map_err(io::Error::from).map_err(WorkError::Pipe)
}
