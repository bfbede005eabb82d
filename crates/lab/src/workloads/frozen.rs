//! A killed process that cannot die: its launcher is gone, and it is blocked in the kernel with the card in its hands.

use std::io::{self, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::WorkError;
use super::actor::{Actor, Role, be_killed, call_main_thread, end_with_keeper, start_idle_threads};
use super::specification::Frozen;
use super::train::describe_rank;
use super::truth::{Part, Span};
use crate::board::BoxDirectory;
use crate::client::Kernel;
use crate::place::store::SILENT_FILE;

const KERNEL: Duration = Duration::from_millis(40);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Many sleeps of the kernel cannot be interrupted for a moment; only the one on the store lasts through so many looks.
const BLOCKED_LOOKS: u32 = 30;

/// Works as the launcher, and is killed once the rank holds the card.
pub(super) fn start(actor: &Actor, frozen: &Frozen) -> Result<(), WorkError> {
    call_main_thread(c"torchrun");
    let mut rank = actor.another(Role::Survivor, &frozen.rank_command)?;
    describe_rank(&mut rank, 0, 1);
    let mut rank = rank.stdout(Stdio::piped()).spawn().map_err(WorkError::Start)?;
    let mut byte = [0];
    if let Some(output) = &mut rank.stdout {
        output.read_exact(&mut byte).map_err(WorkError::Pipe)?;
    }
    be_killed()
}

/// Works as the rank: takes the card, works a little, blocks for ever, and is killed in vain.
pub(super) fn survivor(actor: &Actor, frozen: &Frozen) -> Result<(), WorkError> {
    call_main_thread(c"pt_main_thread");
    end_with_keeper()?;
    let account = actor.account(0)?;
    let (card, client) = actor.client(0)?;
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    client.allocate(actor.bytes(card, frozen.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    start_idle_threads(2)?;
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < frozen.worked_s {
        account.during(Span::OnTheCard, || client.run_kernel(&Kernel::of_arithmetic(KERNEL)));
    }
    let parent = rustix::process::getppid();
    let mut output = io::stdout().lock();
    output.write_all(&[1]).and_then(|()| output.flush()).map_err(WorkError::Pipe)?;
    while rustix::process::getppid() == parent {
        std::thread::sleep(LOOK_EVERY);
    }
    let last_words = std::sync::Arc::clone(&account);
    std::thread::Builder::new()
        .name("pt_tcpstore_uv".to_owned())
        .spawn(move || {
            let mut looks = 0;
            while looks < BLOCKED_LOOKS {
                std::thread::sleep(LOOK_EVERY);
                looks = if is_blocked() { looks + 1 } else { 0 };
            }
            last_words.ready();
            // Nobody can write the account after this thread; a full disk ends nothing here.
            let _ = last_words.write();
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
        })
        .map_err(WorkError::Start)?;
    let path = BoxDirectory::mount_point(&frozen.store).join(SILENT_FILE);
    account.during(Span::Idle, || std::fs::File::open(path)?.read_exact(&mut [0])).map_err(WorkError::Read)
}

/// Whether the first thread of this process is in uninterruptible sleep.
fn is_blocked() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('D'))
}
