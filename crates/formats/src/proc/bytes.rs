//! Lines, words and numbers of files that need not be UTF-8.

/// Returns the lines with their numbers, from 1, without line ends.
pub(super) fn numbered_lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    // Hundreds of these files are read at each look: the ends of lines are searched many bytes at a time.
    let mut rest = Some(bytes);
    let lines = std::iter::from_fn(move || {
        let all = rest?;
        let (line, after) = match memchr::memchr(b'\n', all) {
            Some(end) => (&all[..end], Some(&all[end + 1..])),
            None => (all, None),
        };
        rest = after;
        Some(line)
    });
    (1..).zip(lines)
}

/// Returns the words between spaces, tabs and line ends.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns a whole number; none when anything but digits stands there or it does not fit.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(number)
}

/// Returns a whole number that may have a sign.
pub(super) fn signed_number(digits: &[u8]) -> Option<i64> {
    match digits.strip_prefix(b"-") {
        Some(rest) => number(rest).and_then(|number| 0_i64.checked_sub_unsigned(number)),
        None => number(digits).and_then(|number| i64::try_from(number).ok()),
    }
}

/// Returns a whole number that fits 32 bits.
pub(super) fn small_number(digits: &[u8]) -> Option<u32> {
    number(digits).and_then(|number| u32::try_from(number).ok())
}

/// Returns the text with control characters escaped and bytes that are no UTF-8 replaced.
pub(super) fn printable(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let text = String::from_utf8_lossy(bytes);
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// Returns the value of a `key` followed by blanks, if the line is about that key.
pub(super) fn value_of<'line>(line: &'line [u8], key: &[u8]) -> Option<&'line [u8]> {
    let rest = line.strip_prefix(key)?;
    rest.first().is_some_and(u8::is_ascii_whitespace).then(|| rest.trim_ascii())
}
