//! Lines that say that a process was ended for want of memory.

use gpuwhy_model::process::Pid;
use gpuwhy_model::sample::KernelFact;

/// Reads `Out of memory: Killed process 42 (name) total-vm:…`, the same of a control group, and the line
/// `oom-kill:constraint=…,oom_memcg=/group,…,task=name,pid=42,…` before it, which alone names the group.
///
/// Kernels before 4.20 say `Kill process 42 (name) score 7 or sacrifice child` instead.
pub(super) fn out_of_memory(text: &str) -> Option<KernelFact> {
    if let Some((_, rest)) = text.split_once("oom-kill:constraint=") {
        return summary(rest);
    }
    let (before, rest) = text
        .split_once("ut of memory: Killed process ")
        .or_else(|| text.split_once("ut of memory: Kill process "))?;
    let (pid, rest) = rest.split_once(" (")?;
    // A name may hold brackets itself: what follows it is known.
    let end = [") total-vm:", ") score "].iter().find_map(|after| rest.rfind(after))?;
    Some(KernelFact::OutOfMemory {
        name: rest[..end].to_owned(),
        pid: Pid(pid.parse().ok()?),
        of_group: before.ends_with("Memory cgroup o"),
        group: None,
    })
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
    use super::out_of_memory;
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
            ("oom_reaper: reaped process 4242 (python3), now anon-rss:0kB", None),
            ("python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0", None),
            ("Out of memory: Killed process x (y) total-vm:1kB", None),
        ] {
            assert_eq!(out_of_memory(text), expected, "{text}");
        }
    }
}
