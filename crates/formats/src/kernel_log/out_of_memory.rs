//! Lines that say that a process was ended for want of memory.

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::KernelFact;

/// Reads `Out of memory: Killed process 42 (name) total-vm:…`, the same of a control group, and the line
/// `oom-kill:constraint=…,oom_memcg=/group,…,task=name,pid=42,…` before it, which alone names the group.
///
/// Kernels before 4.20 say `Kill process 42 (name) score 7 or sacrifice child` first, and then
/// `Killed process 42 (name) total-vm:…` without saying what was short; those before 3.0 write `42, UID 500, (name)`.
pub(super) fn out_of_memory(text: &str) -> Option<KernelFact> {
    if let Some((_, rest)) = text.split_once("oom-kill:constraint=") {
        return summary(rest);
    }
    let (before, rest) =
        ["Killed process ", "Kill process "].iter().find_map(|mark| text.split_once(mark))?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let pid = Pid(rest[..digits].parse().ok()?);
    let (between, rest) = rest[digits..].split_once('(')?;
    if !between.trim_matches([' ', ',']).is_empty() && !between.starts_with(", UID ") {
        return None;
    }
    // A name may hold brackets itself: what follows it is known.
    let after = [") total-vm:", ") score ", "), UID ", ") "];
    let end =
        after.iter().find_map(|after| rest.rfind(after)).or_else(|| rest.strip_suffix(')').map(str::len))?;
    let name = rest[..end].to_owned();
    if !before.contains("ut of memory") {
        return Some(KernelFact::KilledForMemory { name, pid });
    }
    let of_group = before.contains("Memory cgroup o");
    Some(KernelFact::OutOfMemory { name, pid, of_group, group: None })
}

/// Returns the control group that the next line about its memory means: kernels before 4.20 name it in
/// `Task in /group/part killed as a result of limit of /group`.
pub(super) fn group_at_its_limit(text: &str) -> Option<&str> {
    let (_, group) = text.split_once(" killed as a result of limit of ")?;
    Some(group.trim()).filter(|group| group.starts_with('/'))
}

/// Reads what follows `oom-kill:constraint=`.
fn summary(rest: &str) -> Option<KernelFact> {
    let (_, task) = rest.rsplit_once(",task=")?;
    let (name, numbers) = task.rsplit_once(",pid=")?;
    let digits: String = numbers.chars().take_while(char::is_ascii_digit).collect();
    let group = rest
        .split_once("oom_memcg=")
        .and_then(|(_, group)| group.split_once(",task_memcg="))
        .map(|(group, _)| group.to_owned());
    Some(KernelFact::OutOfMemory {
        name: name.to_owned(),
        pid: Pid(digits.parse().ok()?),
        of_group: rest.starts_with("CONSTRAINT_MEMCG"),
        group,
    })
}

#[cfg(test)]
mod tests {
    use super::{group_at_its_limit, out_of_memory};
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::sample::KernelFact;

    fn killed(name: &str, pid: u32, of_group: bool, group: Option<&str>) -> KernelFact {
        let (name, group) = (name.to_owned(), group.map(str::to_owned));
        KernelFact::OutOfMemory { name, pid: Pid(pid), of_group, group }
    }

    #[test]
    fn the_machine_is_told_from_a_group() {
        for (text, expected) in [
            (
                "Out of memory: Killed process 4242 (python3) total-vm:98304kB, anon-rss:65536kB, UID:1000",
                Some(killed("python3", 4242, false, None)),
            ),
            (
                "Memory cgroup out of memory: Killed process 7 (my (odd) name) total-vm:9kB, anon-rss:6kB",
                Some(killed("my (odd) name", 7, true, None)),
            ),
            (
                "Memory cgroup out of memory: Kill process 7 (python) score 974 or sacrifice child",
                Some(killed("python", 7, true, None)),
            ),
            (
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/jobs/42,\
                 task_memcg=/jobs/42/step,task=pt_data_worker,pid=901,uid=1000",
                Some(killed("pt_data_worker", 901, true, Some("/jobs/42"))),
            ),
            (
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,\
                 task_memcg=/user.slice,task=python3,pid=4242,uid=1000",
                Some(killed("python3", 4242, false, None)),
            ),
            (
                "Killed process 4242 (python3), UID 1000, total-vm:98304kB, anon-rss:65536kB",
                Some(KernelFact::KilledForMemory { name: "python3".to_owned(), pid: Pid(4242) }),
            ),
            (
                "Killed process 4242, UID 500, (python) total-vm:98304kB, anon-rss:65536kB",
                Some(KernelFact::KilledForMemory { name: "python".to_owned(), pid: Pid(4242) }),
            ),
            (
                "Out of memory (oom_kill_allocating_task): Kill process 9 (a) score 0 or sacrifice child",
                Some(killed("a", 9, false, None)),
            ),
            ("Out of memory: Killed process 42 (pyth", None),
            ("oom_reaper: reaped process 4242 (python3), now anon-rss:0kB", None),
            ("python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0", None),
            ("Out of memory: Killed process x (y) total-vm:1kB", None),
        ] {
            assert_eq!(out_of_memory(text), expected, "{text}");
        }
    }

    #[test]
    fn old_kernels_name_the_group_in_a_line_of_its_own() {
        let text = "Task in /docker/5f2c killed as a result of limit of /docker/5f2c";
        assert_eq!(group_at_its_limit(text), Some("/docker/5f2c"));
        assert_eq!(group_at_its_limit("Task in / killed as a result of limit of"), None);
    }
}
