//! The panel of processes below the table, in all its forms.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::{Access, Reading};
use gpuwhy_model::sample::{CardClient, ClientKind};
use gpuwhy_model::units::Bytes;

use crate::nvidia_cell::{memory, said};

/// One process of the panel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    /// The card's number.
    pub(super) card: u32,
    /// Numbers of GPU instance and compute instance, on cards that have them.
    pub(super) instance: Option<(u32, u32)>,
    pub(super) client: CardClient,
}

/// What the panel says.
#[derive(Debug, Clone, Default)]
pub(super) struct Panel {
    /// Its heading was seen.
    pub(super) is_there: bool,
    /// It says that there is no process.
    pub(super) says_none: bool,
    /// The line below it was seen: nothing is missing.
    pub(super) is_whole: bool,
    /// Its processes, in its order.
    pub(super) processes: Vec<Listed>,
    /// Cards of which the driver lists none on principle.
    pub(super) unsupported: Vec<u32>,
}

impl Panel {
    /// Returns the processes of a card.
    ///
    /// An empty panel is not one that says "none": there are processes, and this view cannot name them.
    pub(super) fn clients(&self, card: u32) -> Reading<Vec<CardClient>> {
        let own = || self.processes.iter().filter(move |listed| listed.card == card);
        if self.unsupported.contains(&card) {
            return Reading::Unsupported;
        }
        if own().next().is_some() {
            return Reading::Known(own().map(|listed| listed.client.clone()).collect());
        }
        if self.says_none {
            return Reading::Known(Vec::new());
        }
        match self.processes.last() {
            // Cards are listed in their order: what is cut off belongs to later ones.
            Some(last) if self.is_whole || card < last.card => Reading::Known(Vec::new()),
            None if self.is_there && self.is_whole => Reading::Denied(Access::VisibleProcesses),
            _ => Reading::default(),
        }
    }

    /// Returns the processes of one instance of a card.
    pub(super) fn clients_of_instance(&self, card: u32, ids: (u32, u32)) -> Reading<Vec<CardClient>> {
        self.clients(card).map(|_| {
            let own =
                self.processes.iter().filter(|listed| listed.card == card && listed.instance == Some(ids));
            own.map(|listed| listed.client.clone()).collect()
        })
    }

    /// Returns the card whose list may go on behind the cut.
    pub(super) fn open_list(&self) -> Option<u32> {
        self.processes.last().filter(|_| !self.is_whole).map(|listed| listed.card)
    }
}

/// What one row of the panel says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PanelRow {
    Process(Listed),
    /// No process runs.
    None,
    /// The driver lists no processes of this card.
    Unsupported(u32),
}

/// Reads the inside of one row, between its bars; `is_whole`: the second bar is there.
pub(super) fn row(inside: &str, is_whole: bool) -> Option<PanelRow> {
    let text = inside.trim();
    if text.starts_with("No running") && text.contains("process") {
        return Some(PanelRow::None);
    }
    let words = words(inside);
    let card: u32 = words.first()?.text.parse().ok()?;
    let rest = &words[1..];
    let behind_card = inside.get(words[0].end..)?.trim();
    if said(behind_card).known().is_none() && !behind_card.is_empty() {
        return Some(PanelRow::Unsupported(card));
    }
    // Two numbers and a third: those of the instances come first.
    let has_instances = rest.len() > 3
        && rest[..2].iter().all(|word| word.text == "N/A" || word.text.parse::<u32>().is_ok())
        && rest[2].text.parse::<u32>().is_ok()
        && kind(rest[3].text).is_some();
    let (instance, rest) = if has_instances {
        (rest[0].text.parse().ok().zip(rest[1].text.parse().ok()), &rest[2..])
    } else {
        (None, rest)
    };
    let (pid, rest) = rest.split_first()?;
    let pid: u32 = pid.text.parse().ok()?;
    // Drivers before 340 list compute processes only, and say no kind. Of a row that is cut, only the kind tells which
    // of its numbers is which.
    let kind_word = rest.first().and_then(|word| kind(word.text));
    if kind_word.is_none() && !is_whole {
        return None;
    }
    let rest = if kind_word.is_some() { &rest[1..] } else { rest };
    let (memory, rest) = amount(rest, is_whole);
    let name = match (rest.first(), rest.last()) {
        (Some(first), Some(last)) => name(inside.get(first.start..last.end)?),
        _ => Reading::default(),
    };
    let client = CardClient { pid: Pid(pid), kind: kind_word.unwrap_or(ClientKind::Compute), memory, name };
    Some(PanelRow::Process(Listed { card, instance, client }))
}

/// Returns whether a row, without its heading, can be nothing but one of this panel.
pub(super) fn is_unmistakable(inside: &str, is_whole: bool) -> bool {
    let Some(PanelRow::Process(listed)) = row(inside, is_whole).filter(|_| is_whole) else {
        return false;
    };
    let has_kind = inside.split_whitespace().skip(2).take(3).any(|word| kind(word).is_some());
    has_kind && !listed.client.memory.is_not_in_source() && !listed.client.name.is_not_in_source()
}

/// Returns the amount behind a process's name, and what stands before it.
fn amount<'words, 'row>(
    words: &'words [Word<'row>],
    is_whole: bool,
) -> (Reading<Bytes>, &'words [Word<'row>]) {
    let Some((last, rest)) = words.split_last() else {
        return (Reading::default(), words);
    };
    if let Some(bytes) = memory(last.text) {
        return (Reading::Known(bytes), rest);
    }
    if let [before @ .., number, unit] = words
        && let Some(bytes) = memory(&format!("{}{}", number.text, unit.text))
    {
        return (Reading::Known(bytes), before);
    }
    match said(last.text) {
        Reading::Known(_) => (Reading::default(), words),
        // A name in brackets is no amount: before it would stand another.
        _ if rest.is_empty() || !is_whole || last.text.ends_with(']') => (Reading::default(), words),
        absent => (absent.and_then(|_| Reading::default()), rest),
    }
}

/// Returns a process's name; words in brackets say why there is none.
fn name(text: &str) -> Reading<String> {
    let is_said = text.starts_with('[') || text.starts_with("Insufficient Perm") || text == "N/A";
    if is_said && said(text).known().is_none() {
        return said(text).map(str::to_owned);
    }
    Reading::Known(masked_text(text))
}

/// Returns the kind of a process that may have several contexts: a screen's is the one that must not be touched.
fn kind(letters: &str) -> Option<ClientKind> {
    let is_kind = letters.split('+').all(|letter| ["C", "G", "M"].contains(&letter));
    is_kind.then(|| {
        if letters.contains('G') {
            ClientKind::Graphics
        } else if letters.contains('M') {
            ClientKind::Mps
        } else {
            ClientKind::Compute
        }
    })
}

/// A word with its place in the row.
#[derive(Debug, Clone, Copy)]
struct Word<'row> {
    text: &'row str,
    start: usize,
    end: usize,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = None;
    for (place, character) in text.char_indices().chain([(text.len(), ' ')]) {
        match (character.is_whitespace(), start) {
            (false, None) => start = Some(place),
            (true, Some(from)) => {
                words.push(Word { text: &text[from..place], start: from, end: place });
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::{Access, Reading};
    use gpuwhy_model::sample::{CardClient, ClientKind};
    use gpuwhy_model::units::Bytes;

    use super::{Listed, Panel, PanelRow, is_unmistakable, row};
    use crate::nvidia_cell::failure;

    fn listed(
        card: u32,
        instance: Option<(u32, u32)>,
        pid: u32,
        kind: ClientKind,
        mib: u64,
        name: &str,
    ) -> PanelRow {
        let memory = Reading::Known(Bytes(mib << 20));
        let name = Reading::Known(name.to_owned());
        PanelRow::Process(Listed { card, instance, client: CardClient { pid: Pid(pid), kind, memory, name } })
    }

    #[test]
    fn every_form_of_a_row_is_read() {
        for (inside, expected) in [
            (
                "    0   N/A  N/A            6194      C   VLLM::Worker_TP1              88438MiB ",
                listed(0, None, 6194, ClientKind::Compute, 88438, "VLLM::Worker_TP1"),
            ),
            (
                "    1    2    0           21180    C+G   ...IA App\\CEF\\An Overlay.exe     96MiB ",
                listed(1, Some((2, 0)), 21180, ClientKind::Graphics, 96, "...IA App\\CEF\\An Overlay.exe"),
            ),
            (
                "    3      5044    M+C   python3 train.py      8107MiB ",
                listed(3, None, 5044, ClientKind::Mps, 8107, "python3 train.py"),
            ),
            (
                "    0      5044  ./a.out                              11MB ",
                listed(0, None, 5044, ClientKind::Compute, 11, "./a.out"),
            ),
            (
                "    0   N/A  N/A      4294967295      C   [name]      7 MiB ",
                listed(0, None, u32::MAX, ClientKind::Compute, 7, "[name]"),
            ),
            ("  No running processes found      ", PanelRow::None),
            ("  No running compute processes found      ", PanelRow::None),
            ("    2            Not Supported                ", PanelRow::Unsupported(2)),
        ] {
            assert_eq!(row(inside, true), Some(expected), "{inside}");
        }
    }

    #[test]
    fn what_is_not_said_stays_unknown() {
        let of = |inside: &str, is_whole| match row(inside, is_whole) {
            Some(PanelRow::Process(listed)) => listed.client,
            other => panic!("{inside}: {other:?}"),
        };
        let windows = of("   0   N/A  N/A     2140    C+G   C:\\Windows\\dwm.exe     N/A      ", true);
        assert_eq!(windows.memory, Reading::Unsupported);
        assert_eq!(windows.name, Reading::Known("C:\\Windows\\dwm.exe".into()));
        let closed = of("   0   N/A  N/A     2140    C   [Insufficient Permissions]     N/A  ", true);
        assert_eq!((closed.memory, closed.name), (Reading::Unsupported, Reading::Denied(Access::Root)));
        let gone = of("   0   N/A  N/A     2140    C   [Not Found]     812MiB  ", true);
        assert_eq!(gone.name, Reading::Failed(failure(6)));
        let cut = of("    0   N/A  N/A      1822      G   /usr/lib/xorg/Xor", false);
        assert!(cut.memory.is_not_in_source());
        assert_eq!(row("    0   N/A  N/A      18", false), None);
        assert_eq!(row("    0      18", false), None);
        assert_eq!(row("  GPU   GI   CI   PID   Type", true), None);
        assert_eq!(row("", true), None);
    }

    #[test]
    fn an_empty_panel_is_not_one_without_processes() {
        let whole = Panel { is_there: true, is_whole: true, ..Panel::default() };
        assert_eq!(whole.clients(0), Reading::Denied(Access::VisibleProcesses));
        assert_eq!(Panel { says_none: true, ..whole.clone() }.clients(0), Reading::Known(Vec::new()));
        assert!(Panel { is_whole: false, ..whole }.clients(0).is_not_in_source());
        assert!(Panel::default().clients(0).is_not_in_source());
    }

    #[test]
    fn a_cut_panel_says_nothing_of_later_cards() {
        let Some(PanelRow::Process(process)) = row("  1      5044      C   python     8107MiB ", true) else {
            panic!("no process");
        };
        let panel = Panel { is_there: true, processes: vec![process], ..Panel::default() };
        assert_eq!(panel.clients(0), Reading::Known(Vec::new()));
        assert_eq!(panel.clients(1).map(|clients| clients.len()), Reading::Known(1));
        assert!(panel.clients(2).is_not_in_source());
        assert_eq!(panel.open_list(), Some(1));
        let whole = Panel { is_whole: true, ..panel };
        assert_eq!((whole.clients(2), whole.open_list()), (Reading::Known(Vec::new()), None));
    }

    #[test]
    fn only_sure_rows_stand_alone() {
        assert!(is_unmistakable("    0   N/A  N/A      1822      G   /usr/lib/xorg/Xorg      4MiB ", true));
        assert!(is_unmistakable("    0      1822      C   python      4MiB ", true));
        for inside in [
            "    0      1822    python      4MiB ",
            " 1 | 2 | 3 ",
            " 5 7 C ",
            "  No running processes found ",
        ] {
            assert!(!is_unmistakable(inside, true), "{inside}");
        }
    }
}
