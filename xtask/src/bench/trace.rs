//! Which files one full look reads, by strace: the list that a bare loop then reads too.

use std::collections::{BTreeMap, BTreeSet};

/// Calls that read something, and what tells our child from ourselves.
pub(super) const CALLS: &str =
    "execve,openat,read,pread64,readlink,readlinkat,stat,newfstatat,statx,statfs,getdents64";

/// What a full look reads first, and other samples do not.
const FIRST_OF_A_LOOK: &str = "self/mountinfo\"";

/// What stands in the command line of the child that asks the driver: its reads are those of the driver's library.
const CHILD: &str = "__nvml";

/// Returns the lines of a list for `bare_reads`: what every thread of ours read in the last full look.
///
/// `traces` are the files of `strace -ff -y -ttt`, one a thread.
pub(super) fn last_look(traces: &[String]) -> Vec<String> {
    let own = traces.iter().filter(|trace| !trace.contains(CHILD));
    let mut calls: Vec<(f64, &str)> = own.flat_map(|trace| trace.lines().filter_map(timed)).collect();
    calls.sort_by(|one, other| one.0.total_cmp(&other.0));
    let first = calls.iter().rposition(|(_, call)| call.contains(FIRST_OF_A_LOOK));
    let mut reads = Reads::default();
    for (_, call) in &calls[first.unwrap_or(calls.len())..] {
        reads.take(call);
    }
    reads.list.into_iter().map(|(how, path)| format!("{how} {path}")).collect()
}

/// Splits a line into its time and its call.
fn timed(line: &str) -> Option<(f64, &str)> {
    let (time, call) = line.split_once(' ')?;
    Some((time.parse().ok()?, call))
}

/// What was read so far, in order.
#[derive(Default)]
struct Reads {
    list: Vec<(&'static str, String)>,
    /// Where in the list the newest opening of each path stands.
    opened: BTreeMap<String, usize>,
    /// Files that were open before, each once.
    kept_open: BTreeSet<String>,
}

impl Reads {
    fn take(&mut self, call: &str) {
        let Some((name, rest)) = call.split_once('(') else {
            return;
        };
        match name {
            "openat" => {
                if let Some(path) = path_at(rest) {
                    self.opened.insert(path.clone(), self.list.len());
                    self.list.push(("read", path));
                }
            }
            // A directory is opened like a file, and listed in one call or several.
            "getdents64" => {
                let place = descriptor_path(rest).and_then(|path| self.opened.get(path));
                if let Some(entry) = place.and_then(|place| self.list.get_mut(*place)) {
                    entry.0 = "list";
                }
            }
            "read" | "pread64" => {
                if let Some(path) = descriptor_path(rest)
                    && path.starts_with("/proc/")
                    && !self.opened.contains_key(path)
                    && self.kept_open.insert(path.to_owned())
                {
                    self.list.push(("again", path.to_owned()));
                }
            }
            "readlinkat" => self.list.extend(path_at(rest).map(|path| ("link", path))),
            "readlink" => self.list.extend(quoted(rest).map(|path| ("link", path.to_owned()))),
            // Without a name it asks for an open file.
            "newfstatat" | "statx" if quoted(rest).is_some_and(|name| !name.is_empty()) => {
                self.list.extend(path_at(rest).map(|path| ("stat", path)));
            }
            "stat" => self.list.extend(quoted(rest).map(|path| ("stat", path.to_owned()))),
            "statfs" => self.list.extend(quoted(rest).map(|path| ("room", path.to_owned()))),
            _ => {}
        }
    }
}

/// Returns the path of a call that names it below a descriptor: `3</proc>, "7/stat", …`.
fn path_at(arguments: &str) -> Option<String> {
    let name = quoted(arguments)?;
    if name.starts_with('/') {
        return Some(name.to_owned());
    }
    let below = descriptor_path(arguments)?;
    Some(if name.is_empty() || name == "." { below.to_owned() } else { format!("{below}/{name}") })
}

/// Returns what a descriptor leads to: `3</proc>`.
fn descriptor_path(arguments: &str) -> Option<&str> {
    let (_number, rest) = arguments.split_once('<')?;
    Some(rest.split_once('>')?.0)
}

/// Returns the first text in quotation marks.
fn quoted(arguments: &str) -> Option<&str> {
    let (_before, rest) = arguments.split_once('"')?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::last_look;

    #[test]
    fn only_the_last_look_counts_and_all_its_threads() {
        let first = "1.0 execve(\"/usr/bin/gpuwhy\", [\"gpuwhy\", \"self\"], 0x7f) = 0\n\
                     1.1 openat(AT_FDCWD</root>, \"/proc/stat\", O_RDONLY) = 3</proc/stat>\n\
                     1.2 openat(AT_FDCWD</root>, \"/proc/self/mountinfo\", O_RDONLY) = 3</proc/self/mountinfo>\n\
                     1.3 openat(4</proc>, \"8/stat\", O_RDONLY|O_CLOEXEC) = 9</proc/8/stat>\n\
                     1.9 openat(AT_FDCWD</root>, \"/proc/self/mountinfo\", O_RDONLY) = 3</proc/self/mountinfo>\n\
                     2.0 openat(4</proc>, \"7/stat\", O_RDONLY|O_CLOEXEC) = 5</proc/7/stat>\n\
                     2.1 read(5</proc/7/stat>, \"7 (x)\", 4096) = 5\n\
                     2.2 openat(4</proc>, \"7/io\", O_RDONLY|O_CLOEXEC) = -1 EACCES (Permission denied)\n\
                     2.3 openat(4</proc>, \"7/task\", O_RDONLY|O_DIRECTORY) = 5</proc/7/task>\n\
                     2.4 getdents64(5</proc/7/task>, 0x7f /* 5 entries */, 32768) = 120\n\
                     2.5 pread64(9</proc/8/stat>, \"8 (y)\", 4096, 0) = 5\n\
                     2.6 newfstatat(4</proc>, \"7/exe\", {st_mode=S_IFREG}, 0) = 0\n\
                     2.7 newfstatat(5</proc/7/task>, \"\", {st_mode=S_IFDIR}, AT_EMPTY_PATH) = 0\n\
                     2.8 statfs(\"/dev/shm\", {f_type=TMPFS_MAGIC}) = 0\n";
        let beside = "0.9 openat(4</proc>, \"1/stat\", O_RDONLY) = 5</proc/1/stat>\n\
                      2.25 readlinkat(6</proc/7/fd>, \"3\", \"/dev/nvidia0\", 256) = 12\n";
        let child = "1.1 execve(\"/proc/self/exe\", [\"gpuwhy\", \"__nvml\"], 0x7f) = 0\n\
                     2.1 openat(AT_FDCWD, \"/box/state\", O_RDONLY) = 3</box/state>\n";
        let read = last_look(&[first, beside, child].map(str::to_owned));
        assert_eq!(
            read,
            [
                "read /proc/self/mountinfo",
                "read /proc/7/stat",
                "read /proc/7/io",
                "link /proc/7/fd/3",
                "list /proc/7/task",
                "again /proc/8/stat",
                "stat /proc/7/exe",
                "room /dev/shm"
            ]
        );
        assert_eq!(
            last_look(&["1.0 openat(4</proc>, \"7/stat\", O_RDONLY) = 5</proc/7/stat>".to_owned()]),
            [""; 0]
        );
    }
}
