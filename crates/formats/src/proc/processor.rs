//! Processors: `/proc/stat` and the list of those on line.

use gpuwhy_model::sample::CpuTimes;

use super::bytes::{number, numbered_lines, small_number, value_of, words};
use crate::Malformed;

/// What `/proc/stat` says of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    /// Time of all of them since boot, in clock ticks.
    pub times: CpuTimes,
    /// How many are listed, which are those on line.
    pub count: u64,
    /// When the machine was started, in seconds of calendar time; none where the file does not say.
    pub boot_time_s: Option<u64>,
    /// How many processes and threads were made since then; none where the file does not say.
    pub forks: Option<u64>,
}

/// Reads `/proc/stat`.
///
/// # Errors
/// Fails when there is no line of all processors with at least the times up to idle.
pub fn processors(file: &[u8]) -> Result<Processors, Malformed> {
    let mut times = None;
    let mut count = 0;
    let mut boot_time_s = None;
    let mut forks = None;
    for (line_number, line) in numbered_lines(file) {
        if let Some(values) = value_of(line, b"cpu") {
            let expected = "`cpu <user> <nice> <system> <idle> …`";
            times = Some(cpu_times(values).ok_or(Malformed { line: line_number, expected })?);
        } else if line.strip_prefix(b"cpu").and_then(|rest| rest.first()).is_some_and(u8::is_ascii_digit) {
            count += 1;
        } else if let Some(value) = value_of(line, b"btime") {
            boot_time_s = number(value);
        } else if let Some(value) = value_of(line, b"processes") {
            forks = number(value);
        }
    }
    let times = times.ok_or(Malformed::first_line("`cpu <user> …`"))?;
    Ok(Processors { times, count, boot_time_s, forks })
}

fn cpu_times(values: &[u8]) -> Option<CpuTimes> {
    let values: Option<Vec<u64>> = words(values).map(number).collect();
    let values = values?;
    let [user, nice, system, idle, newer @ ..] = values.as_slice() else {
        return None;
    };
    // Kernels of this century write at least seven; a container's view may leave some out.
    let newer = |place: usize| newer.get(place).copied().unwrap_or(0);
    Some(CpuTimes {
        user: user.saturating_add(*nice),
        system: system.saturating_add(newer(1)).saturating_add(newer(2)),
        idle: *idle,
        io_wait: newer(0),
        steal: newer(3),
    })
}

/// Counts the processors of a list such as `0-3,8` (`/sys/devices/system/cpu/online`, `cpuset.cpus.effective`).
///
/// # Errors
/// Fails when a part is neither a number nor a range.
pub fn processor_count(file: &[u8]) -> Result<u64, Malformed> {
    let malformed = Malformed::first_line("a list such as `0-3,8`");
    let mut count = 0_u64;
    for part in file.trim_ascii().split(|byte| *byte == b',').filter(|part| !part.is_empty()) {
        let mut ends = part.splitn(2, |byte| *byte == b'-').map(small_number);
        let first = ends.next().flatten().ok_or(malformed)?;
        let last = match ends.next() {
            Some(last) => last.filter(|last| *last >= first).ok_or(malformed)?,
            None => first,
        };
        count = count.saturating_add(u64::from(last - first) + 1);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::{processor_count, processors};

    #[test]
    fn times_are_summed_as_the_report_needs_them() {
        let file = b"cpu  100 10 50 1000 7 3 2 5 0 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5\nbtime 1764500000\nprocesses 77\n";
        let processors = processors(file).unwrap();
        assert_eq!((processors.times.user, processors.times.system), (110, 55));
        assert_eq!((processors.times.idle, processors.times.io_wait, processors.times.steal), (1000, 7, 5));
        assert_eq!(processors.count, 2);
        assert_eq!(processors.boot_time_s, Some(1_764_500_000));
        assert_eq!(processors.forks, Some(77));
    }

    #[test]
    fn a_file_without_times_is_an_error() {
        assert!(processors(b"").is_err());
        assert_eq!(processors(b"intr 1\ncpu  1 2 3\n").unwrap_err().line, 2);
        assert!(processors(b"cpu  1 2 x 4\n").is_err());
    }

    #[test]
    fn lists_are_counted() {
        assert_eq!(processor_count(b"0-3,8\n"), Ok(5));
        assert_eq!(processor_count(b"0\n"), Ok(1));
        assert_eq!(processor_count(b"\n"), Ok(0));
        assert!(processor_count(b"3-0\n").is_err());
        assert!(processor_count(b"0-\n").is_err());
    }
}
