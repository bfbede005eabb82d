//! A dead run: the launcher and the rank are killed, a child of the rank lives on and keeps its memory.

use std::io::{self, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{
    Actor, Role, be_killed, call_main_thread, end_with_keeper, start_idle_threads, wait_for_ever,
};
use super::specification::Orphan;
use super::train::describe_rank;
use super::truth::{Part, Span};
use crate::client::Kernel;

const KERNEL: Duration = Duration::from_millis(40);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Works as the launcher, and is killed once the rank is.
pub(super) fn start(actor: &Actor, orphan: &Orphan) -> Result<(), WorkError> {
    call_main_thread(c"torchrun");
    let mut rank = actor.another(Role::Rank(0), &orphan.rank_command)?;
    describe_rank(&mut rank, 0, 1);
    rank.spawn().and_then(|mut rank| rank.wait()).map_err(WorkError::Start)?;
    be_killed()
}

/// Works as the rank, and is killed once the child holds its memory.
pub(super) fn rank(actor: &Actor, orphan: &Orphan) -> Result<(), WorkError> {
    call_main_thread(c"pt_main_thread");
    let mut child = actor
        .another(Role::Survivor, &orphan.child_command)?
        .stdout(Stdio::piped())
        .spawn()
        .map_err(WorkError::Start)?;
    let mut byte = [0];
    if let Some(output) = &mut child.stdout {
        output.read_exact(&mut byte).map_err(WorkError::Pipe)?;
    }
    be_killed()
}

/// Works as the child: takes memory, works a little, and then waits for a parent that never speaks again.
pub(super) fn survivor(actor: &Actor, orphan: &Orphan) -> Result<(), WorkError> {
    end_with_keeper()?;
    let account = actor.account(0)?;
    let (card, client) = actor.client(0)?;
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    client.allocate(actor.bytes(card, orphan.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    start_idle_threads(orphan.threads)?;
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < orphan.worked_s {
        account.during(Span::OnTheCard, || client.run_kernel(&Kernel::of_arithmetic(KERNEL)));
    }
    let parent = rustix::process::getppid();
    let mut output = io::stdout().lock();
    output.write_all(&[1]).and_then(|()| output.flush()).map_err(WorkError::Pipe)?;
    while rustix::process::getppid() == parent {
        std::thread::sleep(LOOK_EVERY);
    }
    account.ready();
    account.during(Span::Idle, wait_for_ever)
}
