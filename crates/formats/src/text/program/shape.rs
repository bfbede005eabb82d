//! The shape of a line: what it is to a traceback, whatever it says.

/// What a line is to a traceback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape<'line> {
    /// `Traceback (most recent call last):`
    Header,
    /// The line between two exceptions of a chain.
    Link,
    /// `File "…", line 3, in f`
    Frame,
    /// Something inside a traceback: source, marks under it, how often a frame repeats.
    Detail,
    /// The name of an exception and its message.
    Exception {
        /// Its name, perhaps dotted.
        name: &'line str,
        /// What it says.
        message: &'line str,
    },
    /// What follows is thrown while something is taken down.
    TakingDown,
    /// Nothing.
    Blank,
    /// Anything else.
    Other,
}

/// Endings of the names of exceptions: outside of a traceback, a name must have one.
const ENDINGS: &[&str] = &[
    "Error",
    "Exception",
    "Interrupt",
    "Exit",
    "Failure",
    "Timeout",
    "Exhausted",
    "Mismatch",
    "Died",
    "Failed",
    "OOM",
    "RemoteTraceback",
];

/// Reasons of a cluster that look like names of exceptions.
const NO_EXCEPTIONS: &[&str] = &[
    "CreateContainerError",
    "CreateContainerConfigError",
    "RunContainerError",
    "UnexpectedAdmissionError",
    "StartError",
    "ContainerStatusUnknownError",
];

/// Returns the shape of a line without its marks; inside a traceback more names are names of exceptions.
pub(super) fn shape(text: &str, is_in_traceback: bool) -> Shape<'_> {
    let text = without_group(text);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Shape::Blank;
    }
    // Notebooks write the name of the exception before it, and no colon behind it.
    if trimmed.trim_end_matches(':').ends_with("Traceback (most recent call last)") {
        return Shape::Header;
    }
    if trimmed.starts_with("The above exception was the direct cause of")
        || trimmed.starts_with("During handling of the above exception,")
    {
        return Shape::Link;
    }
    if trimmed.starts_with("Exception ignored in") || trimmed.starts_with("Error in atexit") {
        return Shape::TakingDown;
    }
    if is_frame(trimmed) {
        return Shape::Frame;
    }
    if is_in_traceback && is_detail(text) {
        return Shape::Detail;
    }
    match exception(text, is_in_traceback) {
        Some((name, message)) => Shape::Exception { name, message },
        None => Shape::Other,
    }
}

/// Takes off what Python draws before the lines of a group of exceptions.
pub(super) fn without_group(text: &str) -> &str {
    let rest = text.trim_start_matches(' ');
    let Some(rest) = rest.strip_prefix("| ").or_else(|| rest.strip_prefix("+ ")) else {
        let is_rule = rest.starts_with("+-") && rest.contains("----");
        return if is_rule && !rest.ends_with('+') { "" } else { text };
    };
    // A table has a bar at its end too.
    if rest.ends_with('|') { text } else { rest }
}

/// Returns whether a line names a place in a file or a cell, as tracebacks do.
fn is_frame(trimmed: &str) -> bool {
    let of_notebook = ["Cell In[", "Cell In [", "Input In [", "<ipython-input-"];
    if of_notebook.iter().any(|begin| trimmed.starts_with(begin)) {
        return true;
    }
    let is_of_file =
        trimmed.strip_prefix("File ").is_some_and(|rest| rest.contains(".py:") && rest.contains(", in "));
    if is_of_file {
        return true;
    }
    trimmed.starts_with("File \"") && (trimmed.contains(", line ") || trimmed.contains("\", line"))
}

/// Returns whether a line stands below a frame: it is indented, or a line about repeated frames.
fn is_detail(text: &str) -> bool {
    let indented = text.len() - text.trim_start_matches([' ', '\t']).len();
    // Notebooks number the source, with an arrow before the line that failed.
    let is_numbered = text.starts_with("--") && text.contains("> ");
    indented >= 2 || is_numbered
}

/// Splits a line into the name of an exception and its message, if it begins so.
fn exception(text: &str, is_in_traceback: bool) -> Option<(&str, &str)> {
    let length =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')).count();
    let (name, rest) = text.split_at(length);
    // Ray writes what it wraps in parentheses.
    let rest = match rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((inside, rest)) if inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') => {
            rest
        }
        _ => rest,
    };
    let message = match rest.strip_prefix(':') {
        Some(message) => message.trim_start(),
        None if rest.is_empty() => "",
        None => return None,
    };
    let short = name.rsplit('.').next().unwrap_or(name);
    let begins_well = short.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && !name.ends_with('.');
    let has_ending = ENDINGS.iter().any(|ending| short.ends_with(ending))
        && short != "Error"
        && !NO_EXCEPTIONS.contains(&short);
    let is_name = begins_well && (has_ending || is_in_traceback && short.len() > 2);
    is_name.then_some((name, message))
}

#[cfg(test)]
mod tests {
    use super::{Shape, shape};

    #[test]
    fn lines_have_shapes() {
        let named = |name, message| Shape::Exception { name, message };
        for (text, is_in_traceback, expected) in [
            ("Traceback (most recent call last):", false, Shape::Header),
            ("  + Exception Group Traceback (most recent call last):", false, Shape::Header),
            ("Original Traceback (most recent call last):", true, Shape::Header),
            ("During handling of the above exception, another exception occurred:", false, Shape::Link),
            ("  File \"a.py\", line 7, in <module>", false, Shape::Frame),
            ("  File \"a.py\", line 519 in string_at", false, Shape::Frame),
            ("    main()", true, Shape::Detail),
            ("    ~~~~^^", true, Shape::Detail),
            ("  [Previous line repeated 996 more times]", true, Shape::Detail),
            (
                "KeyError                                  Traceback (most recent call last)",
                false,
                Shape::Header,
            ),
            ("Cell In[1], line 2", false, Shape::Frame),
            ("File /home/ana/nb.py:2, in load(path)", false, Shape::Frame),
            ("----> 2     with open(path) as handle:", true, Shape::Detail),
            ("      3         return handle.read()", true, Shape::Detail),
            ("KeyError: 'rank'", false, named("KeyError", "'rank'")),
            ("AssertionError", false, named("AssertionError", "")),
            ("torch.OutOfMemoryError: CUDA out", false, named("torch.OutOfMemoryError", "CUDA out")),
            (
                "ray.exceptions.RayTaskError(ValueError): ray::f()",
                false,
                named("ray.exceptions.RayTaskError", "ray::f()"),
            ),
            ("StepFailed: step 17", true, named("StepFailed", "step 17")),
            ("Note: step 17", false, Shape::Other),
            ("  | ExceptionGroup: two", true, named("ExceptionGroup", "two")),
            ("    | FileNotFoundError: [Errno 2] x", true, named("FileNotFoundError", "[Errno 2] x")),
            ("Exception ignored in: <function A.__del__>", false, Shape::TakingDown),
            ("ERROR: it failed", false, Shape::Other),
            ("loss: 3", true, Shape::Other),
            ("", true, Shape::Blank),
        ] {
            assert_eq!(shape(text, is_in_traceback), expected, "{text}");
        }
    }
}
