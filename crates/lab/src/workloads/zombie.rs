//! A process whose first thread has ended: the kernel shows a zombie, and another thread still holds the card.
#![expect(unsafe_code, reason = "only the system call itself ends one thread and not the process")]

use std::time::{Duration, Instant};

use super::WorkError;
use super::actor::{Actor, call_main_thread, end_with_keeper, wait_for_ever};
use super::specification::Zombie;
use super::truth::{Part, Span};
use crate::client::Kernel;

const KERNEL: Duration = Duration::from_millis(40);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Works as the process: one thread takes the card and stays, the first one ends.
pub(super) fn start(actor: &Actor, zombie: &Zombie) -> Result<(), WorkError> {
    call_main_thread(c"pt_main_thread");
    end_with_keeper()?;
    let (actor, zombie) = (actor.clone(), zombie.clone());
    std::thread::Builder::new()
        .name("pt_autograd_0".to_owned())
        .spawn(move || {
            if hold(&actor, &zombie).is_err() {
                std::process::abort();
            }
        })
        .map_err(WorkError::Start)?;
    end_this_thread()
}

fn hold(actor: &Actor, zombie: &Zombie) -> Result<(), WorkError> {
    let account = actor.account(0)?;
    let (card, client) = actor.client(0)?;
    client.allocate(actor.bytes(card, zombie.memory_share)?)?;
    account.change(|figures| figures.bytes_held = client.held());
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < zombie.worked_s {
        account.during(Span::OnTheCard, || client.run_kernel(&Kernel::of_arithmetic(KERNEL)));
    }
    account.add_process(std::process::id(), Part::CardUser, Some(card));
    while !is_first_thread_gone() {
        std::thread::sleep(LOOK_EVERY);
    }
    account.ready();
    account.during(Span::Idle, wait_for_ever)
}

fn is_first_thread_gone() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// Ends the calling thread and nothing else.
fn end_this_thread() -> ! {
    // SAFETY: the call takes a number and never returns; nothing on this thread's stack is used by another thread.
    unsafe {
        libc::syscall(libc::SYS_exit, 0);
    }
    wait_for_ever()
}
