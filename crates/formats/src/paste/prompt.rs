//! Prompts of shells: what a person typed before an output.

/// Returns the command that stands behind a shell's prompt; none when the line is no prompt.
///
/// Known are `$ cmd`, `# cmd`, `user@host:~/x$ cmd`, `[user@host x]# cmd`, `(env) user@host:~$ cmd`, `root@abc:/# cmd`,
/// `PS C:\x> cmd`, `C:\x> cmd`, `>>> cmd`, and `IPython`'s `In [3]: cmd` and `!cmd`.
pub fn command_after_prompt(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let command =
        plain(text).or_else(|| of_user(text)).or_else(|| of_windows(text)).or_else(|| of_python(text))?;
    let command = command.trim();
    let command = command.strip_prefix("sudo ").map_or(command, str::trim_start);
    (!command.is_empty()).then_some(command)
}

/// Returns whether a line is a prompt behind which nothing was typed, as it stands below the last output.
pub fn is_idle_prompt(text: &str) -> bool {
    let text = text.trim();
    let is_sign = ["$", "#", "%", "❯", "➜", ">>>"].contains(&text);
    is_sign || of_user(text).or_else(|| of_windows(text)).is_some_and(|command| command.trim().is_empty())
}

/// `$ cmd`, `# cmd`, `% cmd`. `# ` also begins comments: then other signs follow, or columns.
fn plain(text: &str) -> Option<&str> {
    let rest = ["$ ", "# ", "% ", "❯ ", "➜ "].iter().find_map(|sign| text.strip_prefix(sign))?.trim_start();
    let first = rest.chars().next()?;
    let is_command = first.is_ascii_lowercase() || "./!".contains(first);
    (is_command && !rest.contains("  ")).then_some(rest)
}

/// `user@host:path$ cmd`, in brackets or behind the name of an environment.
fn of_user(text: &str) -> Option<&str> {
    let text = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim_start(),
        None => text,
    };
    let text = text.strip_prefix('[').unwrap_or(text);
    let (user, rest) = text.split_once('@')?;
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    if !is_word(user) {
        return None;
    }
    let end = rest.find(['$', '#', '%', '>'])?;
    let (place, rest) = rest.split_at(end);
    let host = place.split([':', ' ', ']']).next().unwrap_or_default();
    // Behind the host stands a path at most.
    let is_short = place.len() <= 120 && !place.contains("  ");
    let command = rest.get(1..)?;
    (is_word(host) && is_short && (command.is_empty() || command.starts_with(' '))).then_some(command)
}

/// `PS C:\Users\x> cmd`, `C:\Users\x>cmd`.
fn of_windows(text: &str) -> Option<&str> {
    let text = text.strip_prefix("PS ").unwrap_or(text);
    let drive = text.get(..3)?.as_bytes();
    let is_drive = drive[0].is_ascii_alphabetic() && &drive[1..] == b":\\";
    let (_path, command) = text.split_once('>').filter(|_| is_drive)?;
    Some(command)
}

/// `>>> cmd`, `In [3]: cmd`, `!cmd`.
fn of_python(text: &str) -> Option<&str> {
    if let Some(command) = text.strip_prefix(">>> ") {
        return Some(command);
    }
    if let Some(rest) = text.strip_prefix("In [") {
        let (number, command) = rest.split_once("]:")?;
        return number.bytes().all(|byte| byte.is_ascii_digit()).then_some(command);
    }
    text.strip_prefix('!').filter(|command| command.starts_with(|first: char| first.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::{command_after_prompt, is_idle_prompt};

    #[test]
    fn prompts_are_known() {
        for (line, command) in [
            ("$ nvidia-smi", "nvidia-smi"),
            ("# dmesg | tail", "dmesg | tail"),
            ("alice@lab3:~/work$ sudo nvidia-smi -q", "nvidia-smi -q"),
            ("root@5f2c:/app# nvidia-smi", "nvidia-smi"),
            ("[bob@node1 ~]$ squeue", "squeue"),
            ("(base) bob@n-1:/data$ free -g", "free -g"),
            ("PS C:\\Users\\x> nvidia-smi.exe", "nvidia-smi.exe"),
            ("C:\\>nvidia-smi", "nvidia-smi"),
            (">>> torch.cuda.is_available()", "torch.cuda.is_available()"),
            ("In [12]: !nvidia-smi", "!nvidia-smi"),
            ("!nvidia-smi", "nvidia-smi"),
        ] {
            assert_eq!(command_after_prompt(line), Some(command), "{line}");
        }
    }

    #[test]
    fn prompts_that_wait_are_known() {
        for line in
            ["$ ", "#", "root@5f2c:/app# ", "[bob@node1 ~]$", "(base) bob@n-1:/data$", "PS C:\\Users\\x> "]
        {
            assert!(is_idle_prompt(line), "{line}");
        }
        for line in ["", "$ nvidia-smi", "mail a@b.c: costs 5$", "5 $", "[1]", "| 0 |"] {
            assert!(!is_idle_prompt(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_prompts() {
        for line in [
            "",
            "# gpu   pid  type",
            "# HELP vllm:num_requests_running Number",
            "$",
            "alice@lab3 is here",
            "[1] 5 done",
            "mail a@b.c: costs 5$ each",
            "In [x]: y",
            "! important",
        ] {
            assert_eq!(command_after_prompt(line), None, "{line}");
        }
    }
}
