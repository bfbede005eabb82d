//! Threads of a program that never rest: they launch work, or they wait in a loop.

use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::Process;

use super::names;
use super::team::main_thread_ran;

/// The threads of one process that did its own work: neither loaders nor the exchange between cards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnThreads {
    /// Share of time in which the busiest of them ran.
    pub(crate) hottest: f64,
    /// Its name.
    pub(crate) name: String,
    /// How many ran nearly all the time.
    pub(crate) hot: usize,
    /// Whether the busiest is the main thread.
    pub(crate) is_main: bool,
    /// Share of time in which the busiest but one ran; none where only the main thread could be seen.
    pub(crate) next: Option<f64>,
}

impl OwnThreads {
    /// Returns whether exactly one of them runs nearly all the time.
    pub(crate) fn is_one_hot(&self) -> bool {
        self.hot == 1
    }
}

/// Returns what the own threads of a process did; none when that could not be seen.
pub(crate) fn own_threads(process: &Process, limits: &Limits) -> Option<OwnThreads> {
    let main = main_thread_ran(process).map(|ran| (process.name.clone(), ran, true));
    let others = process.threads.known().into_iter().flatten().filter(|thread| {
        let is_main = thread.tid == process.key.pid;
        let is_own = !names::is_loading_thread(&thread.name)
            && (names::is_thread_that_gives_work(&thread.name) || !names::is_driving_thread(&thread.name));
        is_own && !is_main
    });
    let others = others.filter_map(|thread| Some((thread.name.clone(), thread.cores.known()?.0, false)));
    let mut all: Vec<(String, f64, bool)> = main.into_iter().chain(others).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    let hot = all.iter().filter(|(_, ran, _)| *ran >= limits.hot_thread_cores_min).count();
    let next = process.threads.is_known().then(|| all.get(1).map_or(0.0, |(_, ran, _)| *ran));
    let (name, hottest, is_main) = all.into_iter().next()?;
    Some(OwnThreads { hottest, name, hot, is_main, next })
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Thread;
    use gpuwhy_model::units::Cores;

    use super::*;

    fn thread(tid: u32, name: &str, cores: f64) -> Thread {
        Thread {
            tid: Pid(tid),
            name: name.to_owned(),
            cores: Reading::Known(Cores(cores)),
            ..Thread::default()
        }
    }

    fn process(threads: Vec<Thread>) -> Process {
        let mut process = Process {
            name: "python3".to_owned(),
            thread_count: threads.len() as u64,
            threads: Reading::Known(threads),
            ..Process::default()
        };
        process.key.pid = Pid(7);
        process
    }

    #[test]
    fn loaders_and_exchange_do_not_count() {
        let threads = vec![
            thread(7, "python3", 0.97),
            thread(8, "pt_data_pin", 1.0),
            thread(9, "pt_nccl_watchdg", 1.0),
            thread(10, "worker", 0.1),
        ];
        let own = own_threads(&process(threads), &Limits::default()).unwrap();
        assert!(own.is_one_hot() && own.name == "python3" && (own.hottest - 0.97).abs() < 1e-9);
        assert!(own.is_main && (own.next.unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn two_hot_threads_are_not_one() {
        let threads = vec![thread(7, "python3", 0.97), thread(8, "pt_autograd_0", 0.95)];
        assert!(!own_threads(&process(threads), &Limits::default()).unwrap().is_one_hot());
        assert_eq!(own_threads(&Process { thread_count: 4, ..Process::default() }, &Limits::default()), None);
    }
}
