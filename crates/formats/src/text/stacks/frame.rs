//! One call of a stack, as several tools write it.

use gpuwhy_model::scene::Frame;

/// No name is kept that is longer, in characters.
const NAME_MAX: usize = 200;

/// Reads a call; none when the line is none.
pub(super) fn frame(text: &str) -> Option<Frame> {
    let trimmed = text.trim();
    if let Some(rest) = trimmed.strip_prefix("File \"") {
        return of_python(rest);
    }
    if trimmed.starts_with('#') {
        return of_debugger(trimmed);
    }
    let is_indented = text.starts_with([' ', '\t']);
    of_sampler(trimmed).filter(|_| is_indented)
}

fn made(function: &str, file: &str, line: Option<u32>) -> Frame {
    let short = |text: &str| text.chars().take(NAME_MAX).collect::<String>();
    Frame { function: short(function.trim()), file: short(file.trim()), line }
}

/// `wait (threading.py:306)`, `__libc_read (libc.so.6)`, `c10d::f(int) (libtorch.so)`.
fn of_sampler(text: &str) -> Option<Frame> {
    let inside = text.strip_suffix(')')?;
    let (function, file) = inside.rsplit_once(" (")?;
    let is_name = !function.is_empty() && !function.contains("  ") && !function.contains('%');
    if !is_name || file.is_empty() || file.contains([')', '"']) {
        return None;
    }
    match file.rsplit_once(':') {
        Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) && !line.is_empty() => {
            Some(made(function, file, line.parse().ok()))
        }
        _ => Some(made(function, file, None)),
    }
}

/// `/x/queue.py", line 171 in get`.
fn of_python(rest: &str) -> Option<Frame> {
    let (file, rest) = rest.split_once("\", line ")?;
    let (line, function) = rest.split_once(" in ").or_else(|| rest.split_once(", in "))?;
    Some(made(function, file, line.trim().parse().ok()))
}

/// `#3  0x00007f11 in poll () from /lib/libc.so.6`, `#0  main (argc=1) at a.c:7`.
fn of_debugger(text: &str) -> Option<Frame> {
    let rest = text.strip_prefix('#')?.trim_start_matches(|part: char| part.is_ascii_digit());
    if rest.len() + 1 == text.len() {
        return None;
    }
    let rest = rest.trim_start();
    let rest = match rest.split_once(" in ") {
        Some((address, rest)) if address.starts_with("0x") => rest,
        _ => rest,
    };
    let (function, rest) = rest.split_once(" (")?;
    let file = rest.rsplit_once(" from ").or_else(|| rest.rsplit_once(" at ")).map_or("", |(_, file)| file);
    match file.rsplit_once(':') {
        Some((file, line)) => Some(made(function, file, line.parse().ok())),
        None => Some(made(function, file, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn calls_of_all_tools_are_read() {
        for (text, function, file, line) in [
            ("    wait (threading.py:306)", "wait", "threading.py", Some(306)),
            ("    <module> (<string>:1)", "<module>", "<string>", Some(1)),
            ("    __libc_read (libc.so.6)", "__libc_read", "libc.so.6", None),
            ("    c10d::f(int, bool) (libtorch_cuda.so)", "c10d::f(int, bool)", "libtorch_cuda.so", None),
            ("  File \"/x/queue.py\", line 171 in get", "get", "/x/queue.py", Some(171)),
            ("#0  0x00007f11 in poll () from /lib/libc.so.6", "poll", "/lib/libc.so.6", None),
            ("#12 main (argc=1, argv=0x7f) at train.c:7", "main", "train.c", Some(7)),
        ] {
            let read = frame(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (read.function.as_str(), read.file.as_str(), read.line),
                (function, file, line),
                "{text}"
            );
        }
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "wait (threading.py:306)",
            "    self: <Trainer>",
            "    Locals:",
            "## 4 processes",
            "    (a)",
            "    f ()",
        ] {
            assert_eq!(frame(text), None, "{text}");
        }
    }
}
