//! Which files one full look reads, by strace: the list that a bare loop then reads too.

use std::collections::BTreeMap;

/// Calls that read something, and the sleep before a full look.
pub(super) const CALLS: &str =
    "openat,readlink,readlinkat,stat,newfstatat,statx,statfs,getdents64,clock_nanosleep";

/// Returns the lines of a list for `bare_reads`: what was read after the last sleep of a trace (`strace -y`).
pub(super) fn last_look(trace: &str) -> Vec<String> {
    let lines: Vec<&str> = trace.lines().collect();
    let begin =
        lines.iter().rposition(|line| line.starts_with("clock_nanosleep(")).map_or(0, |place| place + 1);
    let mut read: Vec<(&'static str, String)> = Vec::new();
    // A directory is opened like a file, and listed in one call or several.
    let mut opened: BTreeMap<String, usize> = BTreeMap::new();
    for line in &lines[begin..] {
        let Some((name, rest)) = line.split_once('(') else {
            continue;
        };
        match name {
            "openat" => {
                if let Some(path) = path_at(rest) {
                    opened.insert(path.clone(), read.len());
                    read.push(("read", path));
                }
            }
            "getdents64" => {
                let place = descriptor_path(rest).and_then(|path| opened.get(path));
                if let Some(entry) = place.and_then(|place| read.get_mut(*place)) {
                    entry.0 = "list";
                }
            }
            "readlinkat" => read.extend(path_at(rest).map(|path| ("link", path))),
            "readlink" => read.extend(quoted(rest).map(|path| ("link", path.to_owned()))),
            "newfstatat" | "statx" => {
                read.extend(path_at(rest).filter(|path| !path.ends_with('/')).map(|path| ("stat", path)));
            }
            "stat" => read.extend(quoted(rest).map(|path| ("stat", path.to_owned()))),
            "statfs" => read.extend(quoted(rest).map(|path| ("room", path.to_owned()))),
            _ => {}
        }
    }
    read.into_iter().map(|(how, path)| format!("{how} {path}")).collect()
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
    fn only_the_last_look_counts() {
        let trace = "openat(AT_FDCWD</root>, \"/proc/stat\", O_RDONLY) = 3</proc/stat>\n\
                     clock_nanosleep(CLOCK_MONOTONIC, 0, {tv_sec=0}, NULL) = 0\n\
                     openat(4</proc>, \"7/stat\", O_RDONLY|O_CLOEXEC) = 5</proc/7/stat>\n\
                     openat(4</proc>, \"7/io\", O_RDONLY|O_CLOEXEC) = -1 EACCES (Permission denied)\n\
                     openat(4</proc>, \"7/task\", O_RDONLY|O_DIRECTORY) = 5</proc/7/task>\n\
                     getdents64(5</proc/7/task>, 0x7f /* 5 entries */, 32768) = 120\n\
                     getdents64(5</proc/7/task>, 0x7f /* 0 entries */, 32768) = 0\n\
                     readlinkat(6</proc/7/fd>, \"3\", \"/dev/nvidia0\", 256) = 12\n\
                     newfstatat(4</proc>, \"7/exe\", {st_mode=S_IFREG}, 0) = 0\n\
                     newfstatat(5</proc/7/task>, \"\", {st_mode=S_IFDIR}, AT_EMPTY_PATH) = 0\n\
                     statfs(\"/dev/shm\", {f_type=TMPFS_MAGIC}) = 0\n";
        let read = last_look(trace);
        assert_eq!(
            read,
            [
                "read /proc/7/stat",
                "read /proc/7/io",
                "list /proc/7/task",
                "link /proc/7/fd/3",
                "stat /proc/7/exe",
                "stat /proc/7/task",
                "room /dev/shm"
            ]
        );
    }
}
