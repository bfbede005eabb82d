//! Where threads wait, and whether that is storage, the driver or nothing in particular.

use std::cell::RefCell;
use std::collections::BTreeMap;

use gpuwhy_knowledge::Wait;
use gpuwhy_model::scene::{Process, StateShares, Thread, WaitChannel};

/// What kernel functions wait for, each looked up once: many threads wait in few places.
#[derive(Default)]
pub(crate) struct Places<'scene> {
    known: RefCell<BTreeMap<&'scene str, Option<Wait>>>,
}

impl<'scene> Places<'scene> {
    fn wait(&self, channel: &'scene str) -> Option<Wait> {
        *self.known.borrow_mut().entry(channel).or_insert_with(|| gpuwhy_knowledge::wait(channel))
    }
}

/// Returns whether a kernel function belongs to the NVIDIA driver.
pub(crate) fn is_driver(channel: &str) -> bool {
    gpuwhy_knowledge::wait(channel) == Some(Wait::Driver)
}

/// What one thread, or the main thread of a process, did in the window, as shares of time from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Waiting<'scene> {
    pub(crate) looks: usize,
    /// Waited for storage, or blocked in a place that is not known and not the driver.
    pub(crate) storage: f64,
    /// Waited inside the NVIDIA driver.
    pub(crate) driver: f64,
    /// Waited for data of a network connection.
    pub(crate) network: f64,
    /// Waited for memory: the kernel made room first.
    pub(crate) memory: f64,
    /// Ran or wanted to run.
    pub(crate) processor: f64,
    /// The storage function in which it waited most often.
    pub(crate) channel: Option<&'scene str>,
}

impl<'scene> Waiting<'scene> {
    /// Returns what a thread did.
    pub(crate) fn of_thread(thread: &'scene Thread, places: &Places<'scene>) -> Self {
        let cores = thread.cores.known().map(|cores| cores.0);
        let delay = thread.run_delay.known().map(|delay| delay.0);
        Self::of(&thread.states, &thread.wait_channels, cores, delay, places)
    }

    /// Returns what the main thread of a process did.
    pub(crate) fn of_main_thread(process: &'scene Process, places: &Places<'scene>) -> Self {
        // Processor time of a process is that of all its threads: it tells of the main one only when there is no other.
        let is_alone = process.thread_count <= 1;
        let cores = process.cores.known().filter(|_| is_alone).map(|cores| cores.0);
        let delay = process.run_delay.known().map(|delay| delay.0);
        Self::of(&process.states, &process.wait_channels, cores, delay, places)
    }

    fn of(
        states: &StateShares,
        channels: &'scene [WaitChannel],
        cores: Option<f64>,
        run_delay: Option<f64>,
        places: &Places<'scene>,
    ) -> Self {
        let (mut seen_in_storage, mut seen_in_driver, mut channel) = (0, 0, None);
        let (mut seen_in_network, mut seen_in_memory) = (0, 0);
        for place in channels {
            match places.wait(&place.name) {
                Some(Wait::Storage(_)) => {
                    seen_in_storage += place.seen;
                    channel = channel.or(Some(place.name.as_str()));
                }
                Some(Wait::Driver) => seen_in_driver += place.seen,
                Some(Wait::Network) => seen_in_network += place.seen,
                Some(Wait::Memory) => seen_in_memory += place.seen,
                Some(Wait::Queue) | None => {}
            }
        }
        let share = |seen: usize| if states.n == 0 { 0.0 } else { (seen as f64 / states.n as f64).min(1.0) };
        let in_storage = share(seen_in_storage);
        let (driver, memory) = (share(seen_in_driver), share(seen_in_memory));
        // Blocked without a readable place: not the driver, so it is taken for storage.
        let blocked_elsewhere = (states.blocked - in_storage - driver - memory).max(0.0);
        let storage = (in_storage + blocked_elsewhere).min(1.0);
        let used = cores.unwrap_or(0.0) + run_delay.unwrap_or(0.0);
        let processor = states.running.max(used).min((1.0 - storage).max(0.0));
        let network = share(seen_in_network).min((1.0 - storage - processor).max(0.0));
        Self { looks: states.n, storage, driver, network, memory, processor, channel }
    }

    /// Returns the share of time in which it did something or waited for storage.
    pub(crate) fn occupied(&self) -> f64 {
        (self.storage + self.processor).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{StateShares, Thread, WaitChannel};

    use super::{Places, Waiting, is_driver};

    fn thread(states: StateShares, channel: &str, seen: usize) -> Thread {
        Thread {
            states,
            wait_channels: vec![WaitChannel { name: channel.to_owned(), seen }],
            ..Thread::default()
        }
    }

    #[test]
    fn the_driver_is_told_from_its_namesakes() {
        assert!(is_driver("nvidia_ioctl") && is_driver("os_acquire_rwlock_write") && is_driver("uvm_spin"));
        assert!(!is_driver("nvme_submit_sync") && !is_driver("nfs_read"));
    }

    #[test]
    fn sleeping_in_a_direct_fuse_read_is_waiting_for_storage() {
        let states = StateShares { n: 10, sleeping: 1.0, ..StateShares::default() };
        let thread = thread(states, "request_wait_answer", 8);
        let waiting = Waiting::of_thread(&thread, &Places::default());
        assert!((waiting.storage - 0.8).abs() < 1e-9);
    }

    #[test]
    fn sleeping_in_a_connection_is_waiting_for_the_network() {
        let states = StateShares { n: 10, sleeping: 0.9, running: 0.1, ..StateShares::default() };
        let thread = thread(states, "wait_woken", 9);
        let waiting = Waiting::of_thread(&thread, &Places::default());
        assert!((waiting.network - 0.9).abs() < 1e-9 && waiting.storage.abs() < 1e-9);
        assert!((waiting.occupied() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn blocked_until_the_kernel_made_room_is_not_waiting_for_storage() {
        let states = StateShares { n: 10, blocked: 0.7, sleeping: 0.3, ..StateShares::default() };
        let thread = thread(states, "reclaim_throttle", 7);
        let waiting = Waiting::of_thread(&thread, &Places::default());
        assert!((waiting.memory - 0.7).abs() < 1e-9 && waiting.storage.abs() < 1e-9);
    }

    #[test]
    fn blocked_in_the_driver_is_not_waiting_for_storage() {
        let states = StateShares { n: 10, blocked: 1.0, ..StateShares::default() };
        let thread = thread(states, "uvm_va_space_down", 10);
        let waiting = Waiting::of_thread(&thread, &Places::default());
        assert!(waiting.storage.abs() < 1e-9 && (waiting.driver - 1.0).abs() < 1e-9);
    }

    #[test]
    fn blocked_in_a_hidden_place_is_taken_for_storage() {
        let states = StateShares { n: 10, blocked: 0.6, sleeping: 0.4, ..StateShares::default() };
        let thread = Thread { states, ..Thread::default() };
        assert!((Waiting::of_thread(&thread, &Places::default()).storage - 0.6).abs() < 1e-9);
    }
}
