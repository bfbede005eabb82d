//! `/proc/vmstat`.

use gpuwhy_model::sample::Paging;

use super::bytes::{number, numbered_lines, value_of};
use crate::Malformed;

/// Reads faults and paging of the machine.
///
/// # Errors
/// Fails when one of the four counters is missing (kernels before 4.13 do not count processes that were ended).
pub fn paging(file: &[u8]) -> Result<Paging, Malformed> {
    let counter = |key: &[u8], expected| {
        numbered_lines(file)
            .find_map(|(_, line)| value_of(line, key))
            .and_then(number)
            .ok_or(Malformed::first_line(expected))
    };
    Ok(Paging {
        major_faults: counter(b"pgmajfault", "`pgmajfault <number>`")?,
        swapped_in: counter(b"pswpin", "`pswpin <number>`")?,
        swapped_out: counter(b"pswpout", "`pswpout <number>`")?,
        oom_kills: counter(b"oom_kill", "`oom_kill <number>`")?,
    })
}

#[cfg(test)]
mod tests {
    use super::paging;

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let file = b"pgmajfault_x 1\npswpin 2\npswpout 3\npgfault 4\npgmajfault 5\noom_kill 6\n";
        let paging = paging(file).unwrap();
        assert_eq!((paging.major_faults, paging.swapped_in), (5, 2));
        assert_eq!((paging.swapped_out, paging.oom_kills), (3, 6));
    }

    #[test]
    fn a_missing_counter_is_an_error_and_not_zero() {
        let file = b"pswpin 2\npswpout 3\npgmajfault 5\n";
        assert_eq!(paging(file).unwrap_err().expected, "`oom_kill <number>`");
    }
}
