//! `nvidia-bug-report.log`: outputs of many tools one after the other, with marks between them.
//!
//! What stands between the marks is read by the formats of those tools.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};

use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// The first words of the report.
const BEGIN: &str = "Start of NVIDIA bug report log file";
const END: &str = "End of NVIDIA bug report log file";

/// The report's head has so many lines at most.
const HEAD_LINES: usize = 20;
/// So many blank lines stand below a mark.
const BLANK_MAX: usize = 3;
/// A line that parts outputs has at least so many strokes.
const STROKES_MIN: usize = 20;
/// No line of encoded data is shorter, but the last one.
const ENCODED_MIN: usize = 60;

/// Tools whose command line stands above their output.
const TOOLS: &[&str] =
    &["nvidia-smi", "nvidia-debugdump", "lspci", "lsusb", "dmidecode", "modinfo", "ldd", "journalctl"];

/// What stands between two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark<'text> {
    /// How many lines it takes.
    pub(super) lines: usize,
    /// The command or file whose output follows, where it is named.
    pub(super) command: Option<&'text str>,
}

/// Reads the head of a report.
pub(super) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?;
    if first.text.trim_start().starts_with(END) {
        return Some(Block { lines: 1, scene: empty(), remarks: Vec::new() });
    }
    if !first.text.trim_start().starts_with(BEGIN) {
        return None;
    }
    let mut scene = empty();
    let mut taken = 1;
    for (line, place) in lines.iter().zip(1..).take(HEAD_LINES) {
        let text = line.text.trim();
        if is_stroke(text) {
            break;
        }
        if let Some(system) = text.strip_prefix("uname:") {
            // `Linux node 5.15.0-86-generic #96-Ubuntu …`
            let mut words = system.split_whitespace().skip(1);
            scene.machine.hostname = words.next().map(str::to_owned).into();
            scene.machine.kernel = words.next().map(str::to_owned).into();
        }
        if !text.is_empty() {
            taken = place;
        }
        if text.starts_with("command line flags:") {
            break;
        }
    }
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

fn empty() -> Scene {
    let inputs = vec![Format::NvidiaBugReport.to_string()];
    let mut scene = Scene { provenance: Provenance { source: SourceKind::Text, inputs }, ..Scene::default() };
    scene.machine.driver.library = Reading::default();
    scene
}

/// Returns the mark that begins with the first of these lines; none where none does.
pub(super) fn mark<'text>(lines: &'text [Line<'_>]) -> Option<Mark<'text>> {
    let first = lines.first()?.text.trim();
    if is_stroke(first) {
        let blank = lines[1..].iter().take(BLANK_MAX).take_while(|line| line.text.trim().is_empty()).count();
        let below = &lines[1 + blank..];
        let named = named(below);
        // A stroke that parts nothing known belongs to somebody else.
        let is_end = below.first().is_none_or(|line| {
            let text = line.text.trim_start();
            text.starts_with(END) || text.starts_with(BEGIN)
        });
        let Mark { lines, command } = named.or_else(|| is_end.then_some(Mark { lines: 0, command: None }))?;
        return Some(Mark { lines: 1 + blank + lines, command });
    }
    let is_named = first.starts_with("*** ") || first.starts_with('/');
    is_named.then(|| named(lines)).flatten()
}

fn is_stroke(text: &str) -> bool {
    text.len() >= STROKES_MIN && text.bytes().all(|byte| byte == b'_')
}

/// Reads the name of a file or command.
fn named<'text>(lines: &'text [Line<'_>]) -> Option<Mark<'text>> {
    let first = lines.first()?.text.trim();
    if let Some(path) = first.strip_prefix("*** ") {
        let is_list = path.starts_with("ls:");
        let path = path.split_whitespace().next().filter(|path| path.starts_with('/'));
        if path.is_none() && !is_list {
            return None;
        }
        let is_there = !first.ends_with("does not exist") && !first.ends_with("is not readable");
        let below =
            lines[1..].iter().take_while(|line| line.text.trim_start().starts_with("*** ls:")).count();
        return Some(Mark { lines: 1 + below, command: path.filter(|_| is_there) });
    }
    let tool = first.split_whitespace().next().map(|word| word.rsplit('/').next().unwrap_or(word))?;
    let is_tool = TOOLS.contains(&tool) && (first.starts_with('/') || tool == "journalctl");
    if is_tool {
        let encoded = if tool == "nvidia-debugdump" { encoded(&lines[1..]) } else { 0 };
        return Some(Mark { lines: 1 + encoded, command: Some(first) });
    }
    let is_title = matches!(first, "dmesg:" | "xset -q:" | "nvidia-settings -q all:" | "xrandr --verbose:")
        || first.starts_with("Skipping ") && first.contains(" output (")
        || first.starts_with("Scanning kernel log files")
        || first.starts_with("Triggering SysRq");
    is_title.then(|| Mark { lines: 1, command: Some(first.trim_end_matches(':')) })
}

/// Returns how many lines of encoded data follow: nobody needs to be asked about each.
fn encoded(lines: &[Line<'_>]) -> usize {
    let is_encoded =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    let mut taken = 0;
    for (line, place) in lines.iter().zip(1..) {
        let text = line.text.trim();
        if !is_encoded(text) {
            break;
        }
        let is_end = !text.is_empty() && text.len() < ENCODED_MIN;
        if taken == 0 && is_end {
            break;
        }
        taken = place;
        if is_end {
            break;
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::super::understand;
    use super::{Mark, mark};
    use crate::Format;
    use crate::paste::Paste;

    const STROKE: &str = "____________________________________________";

    fn marked(text: &str) -> Option<(usize, Option<String>)> {
        let paste = Paste::of(text);
        mark(&paste.lines).map(|Mark { lines, command }| (lines, command.map(str::to_owned)))
    }

    #[test]
    fn marks_name_what_follows() {
        let text = format!(
            "{STROKE}\n\n*** /proc/meminfo\n*** ls: -r--r--r-- 1 root root 0 /proc/meminfo\nMemTotal: 1 kB\n"
        );
        assert_eq!(marked(&text), Some((4, Some("/proc/meminfo".into()))));
        let text = format!("{STROKE}\n\n*** /proc/pci does not exist\n");
        assert_eq!(marked(&text), Some((3, None)));
        let text = format!("{STROKE}\n\n/usr/bin/nvidia-smi --query\n\n=====");
        assert_eq!(marked(&text), Some((3, Some("/usr/bin/nvidia-smi --query".into()))));
        assert_eq!(
            marked("/usr/bin/nvidia-smi --query --unit\n"),
            Some((1, Some("/usr/bin/nvidia-smi --query --unit".into())))
        );
        let text = format!("{STROKE}\n\ndmesg:\n\n[    0.0] x\n");
        assert_eq!(marked(&text), Some((3, Some("dmesg".into()))));
        let dump = format!(
            "{STROKE}\n\n/usr/bin/nvidia-debugdump -D\n\n{0}\n{0}\nQUJD\n\nmore\n",
            "QUJD".repeat(19)
        );
        assert_eq!(marked(&dump), Some((7, Some("/usr/bin/nvidia-debugdump -D".into()))));
        for text in [
            format!("{STROKE}\nhello\n"),
            "*** note\n".to_owned(),
            "/bin/true\n".to_owned(),
            "___\n".to_owned(),
        ] {
            assert_eq!(marked(&text), None, "{text}");
        }
    }

    #[test]
    fn parts_of_a_report_are_read_by_their_formats() {
        let text = format!(
            "{STROKE}\n\nStart of NVIDIA bug report log file.  Please include this file.\n\nnvidia-bug-report.sh Version: 1\n\n\
             Date: Fri Oct 20 11:11:11 CEST 2023\nuname: Linux node7 5.15.0-86-generic #96-Ubuntu SMP x86_64\n\
             command line flags: \n\n{STROKE}\n\n*** /etc/issue\n*** ls: -rw-r--r-- 1 root root 5 /etc/issue\n\
             {STROKE}\n\n/usr/bin/nvidia-smi --query\n\n\n==============NVSMI LOG==============\n\n\
             Timestamp          : Fri Oct 20 11:11:13 2023\nDriver Version     : 535.1\n\nAttached GPUs      : 1\n\
             GPU 00000000:3B:00.0\n    Product Name   : Some Card\n    Processes      : None\n\n\
             /usr/bin/nvidia-smi --query --unit\n\n==============NVSMI LOG==============\n\n\
             Timestamp          : Fri Oct 20 11:11:14 2023\nDriver Version     : 535.1\n\nAttached Units     : 0\n\n\
             {STROKE}\n\nEnd of NVIDIA bug report log file.\n"
        );
        let understood = understand(&text);
        let pieces: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
        assert_eq!(
            pieces,
            [
                Format::NvidiaBugReport,
                Format::NvidiaSmiQuery,
                Format::NvidiaSmiQuery,
                Format::NvidiaBugReport
            ]
        );
        assert!(understood.unknown_lines.is_empty(), "{:?}", understood.unknown_lines);
        let machine = &understood.pieces[0].scene.machine;
        assert_eq!(machine.hostname, Reading::Known("node7".into()));
        assert_eq!(machine.kernel, Reading::Known("5.15.0-86-generic".into()));
        assert_eq!(understood.pieces[1].scene.cards[0].name, Reading::Known("Some Card".into()));
    }
}
