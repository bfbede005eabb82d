//! Tables of processes: which column stands where, and the fields of a row.
//!
//! `ps`, `top`, `htop` and their small brothers all write a head with one word for each column, and rows in which only
//! the command may hold blanks.

/// What a column of a table of processes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    User,
    Pid,
    Parent,
    Group,
    Session,
    Thread,
    ThreadCount,
    /// Processor time per wall time, in hundredths.
    CpuShare,
    Resident,
    Shared,
    Terminal,
    State,
    /// When it was started: one word, two or five.
    Started,
    CpuTime,
    Age,
    /// The same in seconds.
    AgeSeconds,
    WaitChannel,
    Cgroup,
    /// Name or arguments: may hold blanks.
    Command,
    Other,
}

/// Names of columns, in capital letters and without what marks the one that is sorted by.
const NAMES: &[(Column, &[&str])] = &[
    (Column::User, &["USER", "UID", "RUSER", "EUSER", "UNAME", "EUID", "RUID"]),
    (Column::Pid, &["PID", "TGID"]),
    (Column::Parent, &["PPID"]),
    (Column::Group, &["PGID", "PGRP"]),
    (Column::Session, &["SID", "SESS", "SESSION"]),
    (Column::Thread, &["LWP", "SPID", "TID"]),
    (Column::ThreadCount, &["NLWP", "THCNT", "NTH"]),
    (Column::CpuShare, &["%CPU", "CPU%", "PCPU"]),
    (Column::Resident, &["RSS", "RSSIZE", "RSZ", "RES"]),
    (Column::Shared, &["SHR"]),
    (Column::Terminal, &["TTY", "TT", "TTNAME"]),
    (Column::State, &["STAT", "S", "STATE"]),
    (Column::Started, &["START", "STIME", "STARTED", "START_TIME"]),
    (Column::CpuTime, &["TIME", "TIME+", "CPUTIME"]),
    (Column::Age, &["ELAPSED", "ETIME"]),
    (Column::AgeSeconds, &["ETIMES"]),
    (Column::WaitChannel, &["WCHAN"]),
    (Column::Cgroup, &["CGROUP"]),
    (Column::Command, &["COMMAND", "CMD", "ARGS", "COMM"]),
    (
        Column::Other,
        &[
            "%MEM", "MEM%", "PMEM", "C", "VSZ", "VSIZE", "%VSZ", "SZ", "VIRT", "PR", "PRI", "NI", "PSR", "P",
            "CPU", "F", "ADDR", "CLS", "RTPRIO", "POL", "TPGID", "LABEL", "UNIT", "SLICE", "MAJFL", "MINFL",
            "SWAP", "NSPID", "PIDNS", "CODE", "DATA", "CPU%-", "IO", "DISK", "R/W", "GID", "GROUP", "NUMA",
            "CP", "STACKP", "PENDING", "BLOCKED", "IGNORED", "CAUGHT", "USED", "LXC", "MACHINE", "OWNER",
            "SEAT", "DRS", "TRS",
        ],
    ),
];

/// The head of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The columns, each with the byte at which its name stands.
    pub(super) columns: Vec<(Column, usize)>,
    /// Whether shares of processor time are those of the time since the last look, as `top` and `htop` give them.
    pub(super) has_live_shares: bool,
}

impl Head {
    /// Returns the head of a table with these columns, by the names that `ps -o` takes; none without the number and the
    /// command of the process.
    pub(super) fn of_names(names: &[&str]) -> Option<Self> {
        let columns: Vec<(Column, usize)> =
            names.iter().zip(0..).map(|(name, at)| (named(name), at)).collect();
        let head = Self { columns, has_live_shares: false };
        (head.has(Column::Pid) && head.has(Column::Command)).then_some(head)
    }

    /// Returns whether there is such a column.
    pub(super) fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|(known, _)| *known == column)
    }
}

/// Reads the head of a table of processes; none when the line is none.
pub(super) fn head(line: &str) -> Option<Head> {
    if !line.contains("PID") || line.contains('|') || line.len() > 600 {
        return None;
    }
    let mut columns = Vec::new();
    let (mut unknown, mut at) = (0, 0);
    for word in line.split_ascii_whitespace() {
        let place = line[at..].find(word).map_or(at, |offset| at + offset);
        at = place + word.len();
        for part in word.split(['△', '▽', '▲', '▼']).filter(|part| !part.is_empty()) {
            let column = column(part);
            unknown += usize::from(column.is_none());
            columns.push((column.unwrap_or(Column::Other), place));
        }
    }
    let is_head = |wanted: Column| columns.iter().any(|(column, _)| *column == wanted);
    // Programs write of processes in columns of their own; most names must be known.
    let is_table = is_head(Column::Pid)
        && is_head(Column::Command)
        && columns.len() >= 3
        && unknown * 4 <= columns.len();
    let upper = line.to_ascii_uppercase();
    let is_of_files = upper.contains(" FD ") && upper.contains(" TYPE ") || upper.contains(" ACCESS ");
    let has_live_shares = upper.contains("VIRT");
    (is_table && !is_of_files).then_some(Head { columns, has_live_shares })
}

fn column(word: &str) -> Option<Column> {
    let upper = word.to_ascii_uppercase();
    let name = upper.trim_matches(['*', '>', '<']);
    // Lower-case words are those of a sentence, but `htop` writes its last column so.
    if word != upper && !matches!(word, "Command" | "Command*") {
        return None;
    }
    NAMES.iter().find(|(_, names)| names.contains(&name)).map(|(column, _)| *column)
}

/// Returns the column that `ps -o` calls so, where that is not its head in small letters.
fn named(name: &str) -> Column {
    match name {
        "command" | "ucmd" | "ucomm" => Column::Command,
        "lstart" | "start" | "bsdstart" => Column::Started,
        "bsdtime" | "cputime" => Column::CpuTime,
        "tname" => Column::Terminal,
        "thcount" => Column::ThreadCount,
        _ => column(&name.to_ascii_uppercase()).unwrap_or(Column::Other),
    }
}

/// The fields of a row, by column.
pub(super) type Fields<'row> = Vec<(Column, &'row str)>;

/// Returns the fields of a row; none when it has too few, or no number for the process.
pub(super) fn row<'row>(head: &Head, line: &'row str) -> Option<Fields<'row>> {
    let mut fields: Fields<'row> = Vec::with_capacity(head.columns.len());
    let mut rest = line;
    let last = head.columns.len() - 1;
    let mut place = 0;
    while place <= last {
        let (column, at) = head.columns[place];
        // Blanks before a command may draw a tree.
        rest = if column == Column::Command {
            rest.strip_prefix(' ').unwrap_or(rest)
        } else {
            rest.trim_start()
        };
        if column != Column::Command {
            let word = match column {
                Column::Started => started(rest),
                _ => rest.split(char::is_whitespace).next().unwrap_or_default(),
            };
            if word.is_empty() {
                return None;
            }
            fields.push((column, word));
            rest = &rest[word.len()..];
            place += 1;
            continue;
        }
        let next_command =
            head.columns[place + 1..].iter().position(|(column, _)| *column == Column::Command);
        if let Some(behind) = next_command {
            // Two columns that may hold blanks: the first is padded to its width.
            let width = head.columns[place + 1 + behind].1.saturating_sub(at);
            let end = rest.char_indices().nth(width).map_or(rest.len(), |(end, _)| end);
            let word = rest.len() - rest.trim_start().len()
                + rest.split_ascii_whitespace().next().unwrap_or("").len();
            let own = &rest[..if behind == 0 { end } else { word }];
            fields.push((column, own.trim()));
            rest = &rest[own.len()..];
            place += 1;
            continue;
        }
        // What follows the command is counted from the end of the line.
        let after = &head.columns[place + 1..];
        let mut behind: Vec<(Column, &str)> = Vec::with_capacity(after.len());
        let mut own = rest.trim_end();
        for (column, _) in after.iter().rev() {
            let word = own.rsplit(char::is_whitespace).next().unwrap_or_default();
            if word.is_empty() {
                return None;
            }
            behind.push((*column, word));
            own = own[..own.len() - word.len()].trim_end();
        }
        if own.is_empty() && !behind.is_empty() {
            return None;
        }
        fields.push((column, own));
        fields.extend(behind.into_iter().rev());
        break;
    }
    let has_pid = fields.iter().any(|(column, word)| {
        *column == Column::Pid && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
    });
    has_pid.then_some(fields)
}

/// Returns the words that say when a process was started: `18:35`, `Oct12`, `Oct 12`, `Sat Oct 12 18:35:32 2024`.
fn started(rest: &str) -> &str {
    let starts = |count: usize| -> &str {
        let mut end = 0;
        for _ in 0..count {
            let blank = rest[end..].len() - rest[end..].trim_start().len();
            let word = rest[end + blank..].split(char::is_whitespace).next().unwrap_or_default();
            end += blank + word.len();
        }
        &rest[..end]
    };
    let words: Vec<&str> = rest.split_ascii_whitespace().take(5).collect();
    let is_long = matches!(words[..], [_, _, _, clock, year]
        if clock.matches(':').count() == 2 && year.len() == 4 && year.parse::<u16>().is_ok());
    if is_long {
        return starts(5);
    }
    let is_month_and_day = matches!(words[..], [month, day, ..]
        if month.len() == 3 && month.bytes().all(|byte| byte.is_ascii_alphabetic())
            && day.len() <= 2 && day.parse::<u8>().is_ok());
    starts(if is_month_and_day { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::{Column, head, row};

    fn field(head_line: &str, line: &str, column: Column) -> Option<String> {
        let head = head(head_line).unwrap();
        let fields = row(&head, line)?;
        fields.iter().rev().find(|(known, _)| *known == column).map(|(_, word)| (*word).to_owned())
    }

    #[test]
    fn commands_may_stand_anywhere() {
        for (head, line, command) in [
            ("    PID TTY          TIME CMD", "   4242 pts/0    00:00:01 python train.py", "python train.py"),
            (
                "    PID CMD                         %CPU",
                "   4242 python train.py --x 5        99.0",
                "python train.py --x 5",
            ),
            ("    PID COMMAND         COMMAND", "   4242 tmux: server    tmux new -s a", "tmux new -s a"),
            ("    PID                  STARTED CMD", "   4242 Sat Oct 12 18:35:32 2024 python", "python"),
            ("    PID  STARTED CMD", "   4242   Oct 12 python", "python"),
        ] {
            assert_eq!(field(head, line, Column::Command).as_deref(), Some(command), "{line}");
        }
        let comm = head("    PID COMMAND         COMMAND").unwrap();
        assert_eq!(
            row(&comm, "   4242 tmux: server    tmux new").unwrap()[1],
            (Column::Command, "tmux: server")
        );
    }

    #[test]
    fn other_lines_are_no_head_and_no_row() {
        for line in [
            "",
            "COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME",
            "# gpu        pid  type    sm   mem   enc   dec   command",
            "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
            "the PID of the CMD is",
            "PID USER",
        ] {
            assert!(head(line).is_none(), "{line}");
        }
        let plain = head("    PID TTY          TIME CMD").unwrap();
        for line in ["", "x pts/0 00:00:01 python", "4242", "4242 pts/0"] {
            assert!(row(&plain, line).is_none(), "{line}");
        }
    }
}
