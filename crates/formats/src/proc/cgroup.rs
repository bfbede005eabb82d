//! Control groups: which ones a process is in, and what they allow (versions 1 and 2).

use std::collections::BTreeMap;

use super::bytes::{number, numbered_lines, printable, signed_number, value_of, words};
use crate::Malformed;

/// How often and how long a control group was stopped at its processor quota; what the file lacks is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttling {
    /// Scheduling periods so far.
    pub periods: Option<u64>,
    /// Periods in which it was stopped.
    pub throttled_periods: Option<u64>,
    /// Time it was stopped, in nanoseconds.
    pub throttled_ns: Option<u64>,
}

/// Reads `/proc/PID/cgroup`: path by controller list (`""` is version 2).
///
/// # Errors
/// Fails when a line has not the form `N:controllers:/path`.
pub fn cgroup_paths(file: &[u8]) -> Result<BTreeMap<String, String>, Malformed> {
    let mut paths = BTreeMap::new();
    for (number, line) in numbered_lines(file) {
        if line.is_empty() {
            continue;
        }
        let mut parts = line.splitn(3, |byte| *byte == b':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            return Err(Malformed { line: number, expected: "`N:controllers:/path`" });
        };
        paths.insert(printable(controllers), printable(path));
    }
    Ok(paths)
}

/// Reads the quota of `cpu.max` in cores; none when there is no quota.
///
/// # Errors
/// Fails when the file does not hold a quota and a period.
pub fn cpu_max(file: &[u8]) -> Result<Option<f64>, Malformed> {
    let malformed = Malformed::first_line("`max|<quota> <period>`");
    let mut parts = words(file);
    let quota = parts.next().ok_or(malformed)?;
    let period = parts.next().and_then(number).filter(|period| *period > 0).ok_or(malformed)?;
    if quota == b"max" {
        return Ok(None);
    }
    let quota = number(quota).ok_or(malformed)?;
    Ok(Some(quota as f64 / period as f64))
}

/// Reads the quota of `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1) in cores; none when there is no quota.
///
/// # Errors
/// Fails when one of the files holds no number.
pub fn cpu_quota(quota_file: &[u8], period_file: &[u8]) -> Result<Option<f64>, Malformed> {
    let quota = signed_number(quota_file.trim_ascii()).ok_or(Malformed::first_line("a quota or -1"))?;
    let period = number(period_file.trim_ascii())
        .filter(|period| *period > 0)
        .ok_or(Malformed::first_line("a period in microseconds"))?;
    if quota < 0 {
        return Ok(None);
    }
    Ok(Some(quota as f64 / period as f64))
}

/// Reads `cpu.stat` of either version.
pub fn throttling(file: &[u8]) -> Throttling {
    let counter =
        |key: &[u8]| numbered_lines(file).find_map(|(_, line)| value_of(line, key)).and_then(number);
    let microseconds = counter(b"throttled_usec").map(|time| time.saturating_mul(1000));
    Throttling {
        periods: counter(b"nr_periods"),
        throttled_periods: counter(b"nr_throttled"),
        throttled_ns: microseconds.or_else(|| counter(b"throttled_time")),
    }
}

/// How often a control group came up against a limit; what the file lacks is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitEvents {
    /// How often, ever.
    pub limit_hits: Option<u64>,
    /// How many of its processes were ended, ever.
    pub oom_kills: Option<u64>,
}

/// Reads `memory.events` or `pids.events`, or the ends of processes from `memory.oom_control` (version 1).
pub fn limit_events(file: &[u8]) -> LimitEvents {
    let counter =
        |key: &[u8]| numbered_lines(file).find_map(|(_, line)| value_of(line, key)).and_then(number);
    LimitEvents { limit_hits: counter(b"max"), oom_kills: counter(b"oom_kill") }
}

/// Version 1 writes the largest number of pages where there is no limit; no machine has that much.
const NO_LIMIT: u64 = 1 << 60;

/// Reads `memory.max`, `memory.high`, `pids.max` or `memory.limit_in_bytes`; none when there is no limit.
///
/// # Errors
/// Fails when there is neither a number nor `max`.
pub fn limit(file: &[u8]) -> Result<Option<u64>, Malformed> {
    let text = file.trim_ascii();
    if text == b"max" {
        return Ok(None);
    }
    let limit = number(text).ok_or(Malformed::first_line("a limit or `max`"))?;
    Ok((limit < NO_LIMIT).then_some(limit))
}

/// Reads from `memory.stat` of either version how many bytes are copies of files that nobody uses now: the kernel takes
/// them back before anybody comes to harm.
pub fn idle_file_pages(file: &[u8]) -> Option<u64> {
    let value = |key: &[u8]| numbered_lines(file).find_map(|(_, line)| value_of(line, key)).and_then(number);
    value(b"total_inactive_file").or_else(|| value(b"inactive_file"))
}

#[cfg(test)]
mod tests {
    use super::{
        LimitEvents, Throttling, cgroup_paths, cpu_max, cpu_quota, idle_file_pages, limit, limit_events,
        throttling,
    };

    #[test]
    fn paths_may_hold_colons() {
        let paths = cgroup_paths(
            b"12:cpu,cpuacct:/kubepods\n1:name=systemd:/a\n0::/kubepods-burstable-podab.slice:cri-containerd:01\n",
        )
        .unwrap();
        assert_eq!(paths["cpu,cpuacct"], "/kubepods");
        assert_eq!(paths["name=systemd"], "/a");
        assert_eq!(paths[""], "/kubepods-burstable-podab.slice:cri-containerd:01");
        assert_eq!(cgroup_paths(b"0::/\nbroken\n").unwrap_err().line, 2);
        assert!(cgroup_paths(b"").unwrap().is_empty());
    }

    #[test]
    fn quotas_are_cores() {
        assert_eq!(cpu_max(b"max 100000\n"), Ok(None));
        assert_eq!(cpu_max(b"250000 100000\n"), Ok(Some(2.5)));
        assert!(cpu_max(b"250000").is_err());
        assert!(cpu_max(b"250000 0").is_err());
        assert_eq!(cpu_quota(b"-1\n", b"100000\n"), Ok(None));
        assert_eq!(cpu_quota(b"50000\n", b"100000\n"), Ok(Some(0.5)));
        assert!(cpu_quota(b"50000\n", b"0\n").is_err());
    }

    #[test]
    fn throttling_is_read_from_both_versions() {
        let expected = Throttling { periods: Some(9), throttled_periods: Some(4), throttled_ns: Some(5000) };
        assert_eq!(
            throttling(b"usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 5\nnr_bursts 0\n"),
            expected
        );
        assert_eq!(throttling(b"nr_periods 9\nnr_throttled 4\nthrottled_time 5000\n"), expected);
        assert_eq!(throttling(b"usage_usec 1\nuser_usec 1\n"), Throttling::default());
    }

    #[test]
    fn memory_has_a_limit_in_both_versions() {
        assert_eq!(limit(b"max\n"), Ok(None));
        assert_eq!(limit(b"1073741824\n"), Ok(Some(1 << 30)));
        assert_eq!(limit(b"9223372036854771712\n"), Ok(None));
        assert!(limit(b"").is_err());
        let events = limit_events(b"low 0\nhigh 2\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(events, LimitEvents { limit_hits: Some(7), oom_kills: Some(1) });
        let first = limit_events(b"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
        assert_eq!(first, LimitEvents { limit_hits: None, oom_kills: Some(3) });
        assert_eq!(idle_file_pages(b"inactive_file 5\nactive_file 6\n"), Some(5));
        assert_eq!(idle_file_pages(b"inactive_file 5\ntotal_inactive_file 9\n"), Some(9));
        assert_eq!(idle_file_pages(b"anon 5\n"), None);
    }
}
