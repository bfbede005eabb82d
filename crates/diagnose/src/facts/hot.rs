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
}

impl OwnThreads {
    /// Returns whether exactly one of them runs nearly all the time.
    pub(crate) fn is_one_hot(&self) -> bool {
        self.hot == 1
    }
}

/// Returns what the own threads of a process did; none when that could not be seen.
pub(crate) fn own_threads(process: &Process, limits: &Limits) -> Option<OwnThreads> {
    let main = main_thread_ran(process).map(|ran| (process.name.clone(), ran));
    let others = process.threads.known().into_iter().flatten().filter(|thread| {
        let is_main = thread.tid == process.key.pid;
        let is_own = !names::is_loading_thread(&thread.name)
            && (names::is_thread_that_gives_work(&thread.name) || !names::is_driving_thread(&thread.name));
        is_own && !is_main
    });
    let others = others.filter_map(|thread| Some((thread.name.clone(), thread.cores.known()?.0)));
    let all: Vec<(String, f64)> = main.into_iter().chain(others).collect();
    let hot = all.iter().filter(|(_, ran)| *ran >= limits.hot_thread_cores_min).count();
    let (name, hottest) = all.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(OwnThreads { hottest, name, hot })
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
    }

    #[test]
    fn two_hot_threads_are_not_one() {
        let threads = vec![thread(7, "python3", 0.97), thread(8, "pt_autograd_0", 0.95)];
        assert!(!own_threads(&process(threads), &Limits::default()).unwrap().is_one_hot());
        assert_eq!(own_threads(&Process { thread_count: 4, ..Process::default() }, &Limits::default()), None);
    }
}
