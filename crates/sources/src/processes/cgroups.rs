//! Control groups of the looked-at processes and of the groups above them: limits, throttling, pressure.
//!
//! Each group is a sample of its own: what binds a process is the tightest of its own group and those above.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use gpuwhy_formats::Malformed;
use gpuwhy_formats::proc::{self, LimitEvents, Mount, Throttling};
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CgroupSample, ProcessSample};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::limits::CGROUPS_PER_LOOK;
use crate::file::{ReadError, read_at};
use crate::host::Mounts;

/// The version 1 hierarchies that are read, by the name of their controller. Version 2 has none.
const CONTROLLERS: &[&str] = &["cpu", "memory", "pids"];

/// The hierarchy of version 2.
const UNIFIED: &str = "";

/// A group that uses less of its memory than this part of its limit is not asked how much of that are idle copies of
/// files: the answer costs the kernel time.
const NEAR_LIMIT_PART: u64 = 2;

/// Where one hierarchy of control groups is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// The directory, below the given root of sysfs.
    directory: PathBuf,
    /// What of the hierarchy is seen there; `/` outside of containers.
    root: String,
}

impl Hierarchy {
    fn of(mount: &Mount, sys: &Path) -> Self {
        let directory = mount
            .point
            .target
            .strip_prefix("/sys/")
            .map_or_else(|| PathBuf::from(&mount.point.target), |rest| sys.join(rest));
        Self { directory, root: mount.root.clone() }
    }

    /// Returns the directory of a group.
    fn directory_of(&self, path: &str) -> PathBuf {
        let below = if self.root == "/" { path } else { path.strip_prefix(&self.root).unwrap_or(path) };
        self.directory.join(below.trim_start_matches('/'))
    }
}

/// The hierarchies that are mounted, by controller; version 2 without one.
#[derive(Debug, Default)]
pub(super) struct Hierarchies(BTreeMap<&'static str, Hierarchy>);

impl Hierarchies {
    pub(super) fn of(mounts: &Mounts, sys: &Path) -> Self {
        let mut hierarchies = BTreeMap::new();
        for mount in mounts.known() {
            match mount.point.file_system.as_str() {
                "cgroup2" => {
                    hierarchies.insert(UNIFIED, Hierarchy::of(mount, sys));
                }
                "cgroup" => {
                    for controller in CONTROLLERS {
                        if mount.options.iter().any(|option| option == controller) {
                            hierarchies.insert(*controller, Hierarchy::of(mount, sys));
                        }
                    }
                }
                _ => {}
            }
        }
        Self(hierarchies)
    }

    /// Reads the control groups of processes.
    pub(super) fn read(&self, processes: &[ProcessSample], buffer: &mut Vec<u8>) -> Vec<CgroupSample> {
        let mut wanted: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
        for process in processes {
            for (controllers, path) in process.cgroups.known().into_iter().flatten() {
                for name in self.0.keys() {
                    if controllers.split(',').any(|controller| controller == *name) {
                        add_with_parents(path, name, &mut wanted);
                    }
                }
            }
        }
        let samples = wanted.into_iter().take(CGROUPS_PER_LOOK).map(|(path, controllers)| {
            let mut sample = CgroupSample { path: path.clone(), ..unsupported() };
            for controller in controllers {
                let Some(hierarchy) = self.0.get(controller) else {
                    continue;
                };
                let mut group = Group::open(&hierarchy.directory_of(&path), buffer);
                match controller {
                    "cpu" => group.write_first_cpu(&mut sample),
                    "memory" => group.write_first_memory(&mut sample),
                    "pids" => group.write_tasks(&mut sample),
                    _ => group.write_unified(&mut sample),
                }
            }
            sample
        });
        samples.filter(says_something).collect()
    }
}

/// Adds a group and all groups above it, whose limits bind it too. The root of all has none, but what a container sees as
/// root is a group like others, and its processes stand in it.
fn add_with_parents(
    path: &str,
    controller: &'static str,
    wanted: &mut BTreeMap<String, BTreeSet<&'static str>>,
) {
    if path == "/" {
        wanted.entry(path.to_owned()).or_default().insert(controller);
    }
    let mut path = path.trim_end_matches('/');
    while !path.is_empty() && wanted.entry(path.to_owned()).or_default().insert(controller) {
        path = path.rfind('/').map_or("", |end| &path[..end]);
    }
}

fn unsupported() -> CgroupSample {
    CgroupSample {
        path: String::new(),
        cpu_quota_cores: Reading::Unsupported,
        cpu_periods: Reading::Unsupported,
        cpu_throttled_periods: Reading::Unsupported,
        cpu_throttled_ns: Reading::Unsupported,
        io_some_us: Reading::Unsupported,
        cpu_some_us: Reading::Unsupported,
        memory_some_us: Reading::Unsupported,
        memory_limit: Reading::Unsupported,
        memory_used: Reading::Unsupported,
        memory_limit_hits: Reading::Unsupported,
        oom_kills: Reading::Unsupported,
        tasks_limit: Reading::Unsupported,
        tasks: Reading::Unsupported,
        tasks_refused: Reading::Unsupported,
    }
}

/// Returns whether anything at all is known of a group, or should be.
fn says_something(sample: &CgroupSample) -> bool {
    *sample != CgroupSample { path: sample.path.clone(), ..unsupported() }
}

/// The directory of one group.
struct Group<'buffer> {
    path: PathBuf,
    directory: Result<OwnedFd, Errno>,
    buffer: &'buffer mut Vec<u8>,
}

impl<'buffer> Group<'buffer> {
    fn open(path: &Path, buffer: &'buffer mut Vec<u8>) -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self { path: path.to_owned(), directory: open(path, flags, Mode::empty()), buffer }
    }

    /// Reads a file that a group has only when the controller is on. A group that is not there at all is another matter.
    fn read<T>(&mut self, file: &str, parse: impl FnOnce(&[u8]) -> Result<T, Malformed>) -> Reading<T> {
        let error = |path: &Path, errno| ReadError::Io { path: path.display().to_string(), errno };
        let directory = match &self.directory {
            Ok(directory) => directory,
            Err(errno) => return error(&self.path, *errno).reading_with(Access::Root),
        };
        match read_at(directory, file, self.buffer) {
            Ok(bytes) => match parse(bytes) {
                Ok(value) => Reading::Known(value),
                Err(malformed) => {
                    Reading::Failed(malformed.in_file(self.path.join(file).display().to_string()))
                }
            },
            Err(errno @ (Errno::ACCESS | Errno::PERM)) => {
                error(&self.path.join(file), errno).reading_with(Access::Root)
            }
            // The group has ended meanwhile.
            Err(Errno::NODEV) => Reading::Failed(Failure::Vanished),
            // Not there, or pressure that was turned off at boot.
            Err(_) => Reading::Unsupported,
        }
    }

    fn limit(&mut self, file: &str) -> Reading<u64> {
        self.read(file, proc::limit).and_then(|limit| limit.map_or(Reading::Unsupported, Reading::Known))
    }

    fn number(&mut self, file: &str) -> Reading<u64> {
        self.read(file, proc::whole_number)
    }

    fn write_unified(&mut self, sample: &mut CgroupSample) {
        // What only the root of the whole machine has is told elsewhere.
        let is_machine_root = sample.path == "/" && !self.has("cgroup.type");
        if is_machine_root {
            return;
        }
        sample.cpu_quota_cores = self
            .read("cpu.max", proc::cpu_max)
            .and_then(|quota| quota.map_or(Reading::Unsupported, Reading::Known));
        self.write_throttling(sample);
        let mut waited = |file: &str| self.read(file, proc::pressure).map(|pressure| pressure.some.total_us);
        sample.io_some_us = waited("io.pressure");
        sample.cpu_some_us = waited("cpu.pressure");
        sample.memory_some_us = waited("memory.pressure");
        // Above the lower one processes are slowed down until they fit again.
        let (most, slowed) = (self.limit("memory.max"), self.limit("memory.high"));
        sample.memory_limit = match (&most, &slowed) {
            (Reading::Known(most), Reading::Known(slowed)) => Reading::Known(*most.min(slowed)),
            _ => most.or(slowed),
        };
        self.write_memory_used(sample, "memory.current");
        let events = self.read("memory.events", |bytes| Ok(proc::limit_events(bytes)));
        sample.memory_limit_hits = picked(&events, |events| events.limit_hits);
        sample.oom_kills = picked(&events, |events| events.oom_kills);
        self.write_tasks(sample);
    }

    fn has(&mut self, file: &str) -> bool {
        self.read(file, |_| Ok(())).is_known()
    }

    fn write_first_cpu(&mut self, sample: &mut CgroupSample) {
        let period = self.read("cpu.cfs_period_us", |bytes| Ok(bytes.to_vec()));
        if sample.path == "/" && period == Reading::Unsupported {
            // The root of the whole machine.
            return;
        }
        sample.cpu_quota_cores = period.and_then(|period| {
            self.read("cpu.cfs_quota_us", |quota| proc::cpu_quota(quota, &period))
                .and_then(|quota| quota.map_or(Reading::Unsupported, Reading::Known))
        });
        self.write_throttling(sample);
    }

    fn write_first_memory(&mut self, sample: &mut CgroupSample) {
        sample.memory_limit = self.limit("memory.limit_in_bytes");
        if !sample.memory_limit.is_known() {
            // Nobody counts how often a limit is met that is not there.
            return;
        }
        self.write_memory_used(sample, "memory.usage_in_bytes");
        sample.memory_limit_hits = self.number("memory.failcnt");
        let events = self.read("memory.oom_control", |bytes| Ok(proc::limit_events(bytes)));
        sample.oom_kills = picked(&events, |events: &LimitEvents| events.oom_kills);
    }

    /// Writes the memory in use, without idle copies of files: those are given back before anybody comes to harm.
    fn write_memory_used(&mut self, sample: &mut CgroupSample, file: &str) {
        let used = self.number(file);
        let (Reading::Known(bytes), Some(limit)) = (&used, sample.memory_limit.known()) else {
            sample.memory_used = used;
            return;
        };
        let is_near = *bytes >= limit / NEAR_LIMIT_PART;
        let idle = if is_near {
            self.read("memory.stat", |bytes| Ok(proc::idle_file_pages(bytes)))
        } else {
            Reading::Known(None)
        };
        let idle = idle.into_known().flatten().unwrap_or(0);
        sample.memory_used = Reading::Known(bytes.saturating_sub(idle));
    }

    fn write_tasks(&mut self, sample: &mut CgroupSample) {
        sample.tasks_limit = self.limit("pids.max");
        if sample.tasks_limit.is_known() {
            sample.tasks = self.number("pids.current");
            let events = self.read("pids.events", |bytes| Ok(proc::limit_events(bytes)));
            sample.tasks_refused = picked(&events, |events| events.limit_hits);
        }
    }

    fn write_throttling(&mut self, sample: &mut CgroupSample) {
        let throttling = self.read("cpu.stat", |bytes| Ok(proc::throttling(bytes)));
        sample.cpu_periods = picked(&throttling, |throttling: &Throttling| throttling.periods);
        sample.cpu_throttled_periods = picked(&throttling, |throttling| throttling.throttled_periods);
        sample.cpu_throttled_ns = picked(&throttling, |throttling| throttling.throttled_ns);
    }
}

fn picked<T>(reading: &Reading<T>, pick: fn(&T) -> Option<u64>) -> Reading<u64> {
    reading.as_ref().and_then(|value| pick(value).map_or(Reading::Unsupported, Reading::Known))
}

#[cfg(test)]
mod tests {
    use super::Hierarchies;
    use crate::host::Mounts;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CgroupSample, ProcessSample};
    use std::collections::BTreeMap;
    use std::path::Path;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(mounts: &str) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.write("proc/self/mountinfo", mounts);
            tree
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn read(&self, paths: &[(&str, &str)]) -> Vec<CgroupSample> {
            let mut mounts = Mounts::default();
            mounts.refresh(&self.0.path().join("proc"), &mut Vec::new());
            let sys = self.0.path().join("sys");
            let paths =
                paths.iter().map(|(controllers, path)| ((*controllers).to_owned(), (*path).to_owned()));
            let process = ProcessSample {
                cgroups: Reading::Known(paths.collect::<BTreeMap<_, _>>()),
                ..ProcessSample::default()
            };
            Hierarchies::of(&mounts, Path::new(&sys)).read(&[process], &mut Vec::new())
        }
    }

    const SECOND: &str = "3 1 0:60 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn limits_of_the_groups_above_are_read_too() {
        let tree = Tree::new(SECOND);
        let group = |path: &str, files: &[(&str, &str)]| {
            for (file, text) in files {
                tree.write(&format!("sys/fs/cgroup/{path}/{file}"), text);
            }
        };
        group(
            "pod/work",
            &[
                ("memory.max", "max\n"),
                ("memory.high", "1000\n"),
                ("memory.current", "900\n"),
                ("memory.stat", "anon 1\ninactive_file 100\n"),
                ("memory.events", "high 0\nmax 0\noom 0\noom_kill 2\n"),
                ("memory.pressure", "some avg10=0 total=5\n"),
                ("pids.max", "100\n"),
                ("pids.current", "7\n"),
                ("pids.events", "max 4\n"),
            ],
        );
        group(
            "pod",
            &[("memory.max", "500\n"), ("memory.current", "200\n"), ("memory.stat", "inactive_file 100\n")],
        );
        let samples = tree.read(&[("", "/pod/work")]);
        let paths: Vec<_> = samples.iter().map(|sample| sample.path.as_str()).collect();
        assert_eq!(paths, ["/pod", "/pod/work"]);
        assert_eq!(samples[0].memory_limit, Reading::Known(500));
        assert_eq!(samples[0].memory_used, Reading::Known(200), "far from its limit");
        let work = &samples[1];
        assert_eq!((&work.memory_limit, &work.memory_used), (&Reading::Known(1000), &Reading::Known(800)));
        assert_eq!((&work.oom_kills, &work.memory_some_us), (&Reading::Known(2), &Reading::Known(5)));
        assert_eq!((&work.tasks_limit, &work.tasks), (&Reading::Known(100), &Reading::Known(7)));
        assert_eq!(work.tasks_refused, Reading::Known(4));
        assert_eq!(work.cpu_quota_cores, Reading::Unsupported);
    }

    #[test]
    fn a_container_stands_in_its_own_root_and_the_machine_does_not() {
        let tree = Tree::new(SECOND);
        tree.write("sys/fs/cgroup/io.pressure", "some avg10=0 total=5\n");
        assert!(tree.read(&[("", "/")]).is_empty(), "that of the machine is told elsewhere");
        tree.write("sys/fs/cgroup/cgroup.type", "domain\n");
        tree.write("sys/fs/cgroup/memory.max", "500\n");
        let samples = tree.read(&[("", "/")]);
        assert_eq!((samples[0].path.as_str(), &samples[0].memory_limit), ("/", &Reading::Known(500)));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let tree = Tree::new(
            "3 1 0:60 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             4 1 0:61 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             5 1 0:62 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
        );
        for (file, text) in [
            ("cpu/job/cpu.cfs_quota_us", "150000\n"),
            ("cpu/job/cpu.cfs_period_us", "100000\n"),
            ("cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 5000\n"),
            ("memory/job/memory.limit_in_bytes", "1000\n"),
            ("memory/job/memory.usage_in_bytes", "950\n"),
            ("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"),
            ("memory/job/memory.failcnt", "3\n"),
            ("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            ("memory/free/memory.limit_in_bytes", "9223372036854771712\n"),
            ("pids/job/pids.max", "max\n"),
        ] {
            tree.write(&format!("sys/fs/cgroup/{file}"), text);
        }
        let samples = tree.read(&[("cpu,cpuacct", "/job"), ("memory", "/job"), ("pids", "/job")]);
        let job = &samples[0];
        assert_eq!(
            (&job.cpu_quota_cores, &job.cpu_throttled_ns),
            (&Reading::Known(1.5), &Reading::Known(5000))
        );
        assert_eq!((&job.memory_limit, &job.memory_used), (&Reading::Known(1000), &Reading::Known(900)));
        assert_eq!((&job.memory_limit_hits, &job.oom_kills), (&Reading::Known(3), &Reading::Known(1)));
        assert_eq!(job.tasks_limit, Reading::Unsupported);
        assert!(tree.read(&[("memory", "/free")]).is_empty(), "without a limit there is nothing to say");
        let gone = tree.read(&[("memory", "/gone")]);
        assert!(!gone[0].memory_limit.is_known() && gone[0].memory_limit != Reading::Unsupported);
    }
}
