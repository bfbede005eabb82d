//! The machine that stands before the words of a log line.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the machine that a line names as the log of a system does (`Nov 30 10:00:00 n1 kernel: …`,
/// `2026-11-30T10:00:00+01:00 n1 kernel: …`) or as NCCL does (`n1:4242:4250 [0] NCCL INFO …`).
pub(super) fn host(text: &str) -> Option<&str> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    if MONTHS.contains(&first) {
        let day = words.next()?;
        let is_day = day.len() <= 2 && day.bytes().all(|byte| byte.is_ascii_digit());
        let is_time = words.next().is_some_and(|time| time.matches(':').count() == 2);
        return words.next().filter(|_| is_day && is_time);
    }
    let is_date = first.len() >= 19 && first.as_bytes()[4] == b'-' && first.as_bytes()[10] == b'T';
    if is_date {
        let host = words.next()?;
        return words.next().filter(|process| process.ends_with(':')).map(|_| host);
    }
    let (host, numbers) = first.split_once(':')?;
    let are_numbers = numbers
        .split(':')
        .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let is_rank = words.next().is_some_and(|rank| rank.starts_with('['));
    let starts_as_name = host.starts_with(|first: char| first.is_ascii_alphabetic());
    (are_numbers && numbers.contains(':') && is_rank && starts_as_name).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn logs_name_their_machine() {
        assert_eq!(host("Nov 30 10:00:00 n1 kernel: NVRM: Xid"), Some("n1"));
        assert_eq!(host("2026-11-30T10:00:00.123+01:00 n1 kernel: NVRM"), Some("n1"));
        assert_eq!(host("gpu-7:4242:4250 [0] NCCL INFO Bootstrap"), Some("gpu-7"));
        for text in ["", "[ 12.3] NVRM: Xid", "May be full", "2026-11-30T10:00:00 step 3", "10:00:00 [0] x"] {
            assert_eq!(host(text), None, "{text}");
        }
    }
}
