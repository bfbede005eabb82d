//! The command line: commands and their options.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::similar::similar;

/// Nobody looks longer than a month in one go.
const DURATION_MAX: Duration = Duration::from_hours(720);

/// Everything that can stand on the command line.
#[derive(Debug, Parser)]
#[command(
    name = "gpuwhy",
    version,
    about = "Says why this GPU server is busy, who makes it so, and what to do about it.",
    after_help = "Exit codes: 0 nothing is wrong, 1 something was found or could not be decided, 2 could not look.",
    disable_help_subcommand = true,
    subcommand_help_heading = "Commands"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) why: WhyOptions,
    #[command(flatten)]
    pub(crate) everywhere: EverywhereOptions,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look and answer (what gpuwhy does without a command)
    Why(WhyOptions),
    /// Write down what can be seen, to be looked at later or elsewhere
    Record(RecordOptions),
    /// Answer from pasted output, logs and bundles of another machine
    Read(ReadOptions),
    /// Explain a cause; without CAUSE, list all that can be found
    Rule {
        /// Id of the cause, as it stands in brackets in the answer
        cause: Option<String>,
    },
    /// Print what looking costs on this machine, by source
    #[command(name = "self")]
    OwnCost(SelfOptions),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// Returns the command's name.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Why(_) => "why",
            Self::Record(_) => "record",
            Self::Read(_) => "read",
            Self::Rule { .. } => "rule",
            Self::OwnCost(_) => "self",
            Self::Completions { .. } => "completions",
        }
    }
}

/// Options of the answer.
#[derive(Debug, Args, Default, PartialEq)]
pub(crate) struct WhyOptions {
    #[command(flatten)]
    pub(crate) subject: SubjectOptions,
    /// Look once, without waiting; what needs time to be seen stays open
    #[arg(long, conflicts_with_all = ["duration", "replay"])]
    pub(crate) once: bool,
    /// How long to look [default: 5s]
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// Keep what was seen in FILE; an earlier file of the same name is replaced if it is yours
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a recording instead of this machine; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Where in the recording to begin, counted from its start
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "replay",
        conflicts_with_all = ["once", "record"])]
    pub(crate) from: Option<Duration>,
}

/// How the answer is written.
#[derive(Debug, Args, Default, PartialEq)]
pub(crate) struct OutputOptions {
    /// Print the answer as JSON (schema gpuwhy.report/1)
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How to print the answer [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<OutputFormat>,
    /// Replace the names of users, machines, jobs and files, addresses and unique ids
    #[arg(long)]
    pub(crate) redact: bool,
}

/// In what the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For a person at a terminal
    Text,
    /// For programs (schema gpuwhy.report/1)
    Json,
    /// For a ticket or a chat
    Markdown,
    /// For a ticket or a browser: a document that needs nothing else
    Html,
}

impl OutputOptions {
    /// Returns the format that was asked for.
    pub(crate) fn format(&self) -> OutputFormat {
        let default = if self.json { OutputFormat::Json } else { OutputFormat::Text };
        self.format.unwrap_or(default)
    }
}

/// Which card, process or user the answer is about.
#[derive(Debug, Args, Default, PartialEq)]
#[group(multiple = false)]
pub(crate) struct SubjectOptions {
    /// Answer for this card only
    #[arg(value_name = "CARD", value_parser = card_number)]
    pub(crate) card: Option<u32>,
    /// Answer for this card only
    #[arg(long, value_name = "N")]
    pub(crate) gpu: Option<u32>,
    /// Answer for the cards of this process
    #[arg(long, value_name = "P")]
    pub(crate) pid: Option<u32>,
    /// Answer for the cards of this user
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,
}

/// Options of `record`.
#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// The file to write, `-` for standard output
    ///
    /// A file is written beside it and takes its name at the end. An earlier file of the same name is replaced if it
    /// is yours; links and devices are refused.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How long to record; 0 records until interrupted
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "5s")]
    pub(crate) duration: Duration,
}

/// Options of `read`.
#[derive(Debug, Args)]
pub(crate) struct ReadOptions {
    /// Texts, logs, archives (.gz, .zst, .tar, .zip), folders; `-` or nothing reads standard input
    ///
    /// What they are is found by their content. All of them together are about one machine or cluster.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// Answer for this card only
    #[arg(long, value_name = "N", conflicts_with = "pid")]
    pub(crate) gpu: Option<u32>,
    /// Answer for the cards of this process
    #[arg(long, value_name = "P")]
    pub(crate) pid: Option<u32>,
    /// Read at most so much text, unpacked [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_bytes: Option<u64>,
    /// Read at most so many files and members of archives [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<u64>,
    /// Open archives in archives at most so deep [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<u32>,
}

/// Options of `self`.
#[derive(Debug, Args)]
pub(crate) struct SelfOptions {
    /// Print the figures as JSON (schema gpuwhy.self/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options that stand behind every command.
#[derive(Debug, Args, Default)]
pub(crate) struct EverywhereOptions {
    /// Language of the answer: en or zh-CN [default: from the locale]
    #[arg(long, value_name = "TAG", global = true)]
    pub(crate) lang: Option<String>,
    /// Settings to use instead of /etc/gpuwhy/gpuwhy.toml and the user's own
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// Other places to look at than this machine's own, for tests.
#[derive(Debug, Args, Default)]
pub(crate) struct PlaceOptions {
    /// NVIDIA's library
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) nvml_lib: Option<PathBuf>,
    /// Instead of /proc
    #[arg(long, value_name = "DIR", global = true, hide = true)]
    pub(crate) proc: Option<PathBuf>,
    /// Instead of /sys
    #[arg(long, value_name = "DIR", global = true, hide = true)]
    pub(crate) sys: Option<PathBuf>,
    /// Instead of /dev
    #[arg(long, value_name = "DIR", global = true, hide = true)]
    pub(crate) dev: Option<PathBuf>,
    /// Instead of /dev/kmsg
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) journal: Option<PathBuf>,
}

/// Understands a length of time: `60s`, `5m`, `1h`, `500ms`; a number alone counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is no length of time; write 60s, 5m or 1h");
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let seconds_each = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let duration = Duration::try_from_secs_f64(number * seconds_each).map_err(|_| expected())?;
    if duration > DURATION_MAX {
        return Err(format!("`{text}` is too long; at most 720h"));
    }
    Ok(duration)
}

/// Understands a size: `500MB`, `8GiB`, `2g`; a number alone counts bytes.
fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}` is no size; write 500MB or 8GiB");
    let digits = text.find(|character: char| !character.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let bytes_each: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(bytes_each).ok_or_else(expected)
}

/// Understands the number of a card that stands alone.
fn card_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        let commands = Arguments::command();
        let names = similar(text, commands.get_subcommands().map(clap::Command::get_name));
        let meant = names.first().map(|name| format!("; did you mean `gpuwhy {name}`?")).unwrap_or_default();
        format!("neither a command nor the number of a card{meant}")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory as _;

    use super::{Arguments, card_number, duration, size};

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_mistyped_command_is_recognised() {
        assert_eq!(card_number("7"), Ok(7));
        assert!(card_number("recrod").unwrap_err().ends_with("did you mean `gpuwhy record`?"));
        assert!(card_number("xyzzy").unwrap_err().ends_with("the number of a card"));
    }

    #[test]
    fn sizes_are_understood() {
        for (text, bytes) in [("500MB", 500_000_000), ("8GiB", 8 << 30), ("2g", 2 << 30), ("7", 7)] {
            assert_eq!(size(text), Ok(bytes));
        }
        for text in ["", "GiB", "-1", "1.5G", "9999999999TiB", "5 MB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_understood() {
        for (text, milliseconds) in
            [("60s", 60_000), ("5", 5000), ("0", 0), ("1.5m", 90_000), ("500ms", 500), ("2h", 7_200_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        for text in ["", "s", "-5s", "5 s", "1d", "five", "1e400", "721h", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
