//! Helpers of a rank that come and go: threads, and processes that need much memory of the host.

use std::fs;
use std::process::Stdio;

use crate::workloads::WorkError;
use crate::workloads::actor::{Actor, Role, call_main_thread, die_with_parent};

/// Starts `count` threads that end at once, and returns how many the kernel refused.
pub(super) fn start_and_end_threads(count: u32) -> u64 {
    let mut started = Vec::new();
    let mut refused = 0;
    for _ in 0..count {
        match std::thread::Builder::new()
            .name("pt_data_pin".to_owned())
            .stack_size(16 * 1024)
            .spawn(wait_a_moment)
        {
            Ok(thread) => started.push(thread),
            Err(_) => refused += 1,
        }
    }
    for thread in started {
        // It does nothing that could fail.
        let _ = thread.join();
    }
    refused
}

/// Threads that are there together need room together.
fn wait_a_moment() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

/// Runs a helper process and returns whether the kernel ended it.
pub(super) fn run_process(actor: &Actor) -> Result<bool, WorkError> {
    let mut helper = actor.another(Role::Helper, &Actor::own_command())?;
    let status = helper.stdin(Stdio::null()).status().map_err(WorkError::Start)?;
    Ok(!status.success())
}

/// Works as a helper process: fills memory and ends.
///
/// It asks the kernel to be the first to go, so that nobody else does when memory runs out.
pub(in crate::workloads) fn fill_memory(bytes: u64) -> Result<(), WorkError> {
    die_with_parent()?;
    call_main_thread(c"pt_data_worker");
    fs::write("/proc/self/oom_score_adj", "1000").map_err(WorkError::Start)?;
    std::hint::black_box(vec![1_u8; usize::try_from(bytes).unwrap_or(0)]);
    Ok(())
}
