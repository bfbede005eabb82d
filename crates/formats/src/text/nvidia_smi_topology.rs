//! Output of `nvidia-smi topo -m` and `topo -p2p`: the ways between cards.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardPair, CardPath};
use gpuwhy_model::scene::{JoinedPair, Provenance, Scene, SourceKind};

use super::nvidia_scene::container_of;
use super::{Block, Context};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// No machine has more cards, and no table more devices.
const DEVICES_MAX: usize = 512;
/// A heading or a row that was wrapped takes so many lines at most.
const WRAPPED_MAX: usize = 24;
/// So many blank lines stand between the table and its legend.
const BLANK_MAX: usize = 3;

/// What the table says of two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The device itself.
    Own,
    /// Over PCIe.
    Path(CardPath),
    /// By so many links of the cards.
    Links(u32),
    /// Whether they reach each other's memory directly.
    Peers(bool),
    /// Not told.
    Unknown,
}

/// Reads the table that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let (names, mut taken) = heading(lines)?;
    let mut ways: BTreeMap<(u32, u32), Way> = BTreeMap::new();
    let mut rows = 0;
    while let Some((name, row, length)) = self::row(&lines[taken..], names.len()) {
        for (column, way) in names.iter().zip(row) {
            if let (Some(one), Some(other)) = (card(name), card(column))
                && one != other
            {
                ways.insert((one.min(other), one.max(other)), way);
            }
        }
        rows += 1;
        taken += length;
    }
    if rows == 0 {
        return None;
    }
    taken += legend(&lines[taken..]);
    let mut scene = scene(&ways);
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

/// Returns the names of the columns, and how many lines they take.
fn heading<'lines>(lines: &'lines [Line<'_>]) -> Option<(Vec<&'lines str>, usize)> {
    let first = lines.first()?;
    if !first.text.trim_start().starts_with("GPU0") && !first.text.trim_start().starts_with("NIC0") {
        return None;
    }
    let mut names = Vec::new();
    let mut is_done = false;
    for (line, place) in lines.iter().take(WRAPPED_MAX).zip(0..) {
        if place > 0 && begins_row(&line.text) {
            let are_cards = names.first().copied().and_then(card).is_some();
            return (are_cards && names.len() <= DEVICES_MAX).then_some((names, place));
        }
        for word in line.text.split_whitespace() {
            // Behind the devices stands where each of them belongs.
            is_done |= ["CPU", "NUMA", "GPU", "Affinity"].contains(&word);
            if !is_done && is_device(word) {
                names.push(word);
            }
        }
    }
    None
}

/// Returns whether a line begins with a device and a way.
fn begins_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_device) && words.next().and_then(way).is_some()
}

/// Returns the name of a row, its ways, and how many lines it takes.
fn row<'lines>(lines: &'lines [Line<'_>], columns: usize) -> Option<(&'lines str, Vec<Way>, usize)> {
    let first = lines.first().filter(|line| begins_row(&line.text))?;
    let mut words = first.text.split_whitespace();
    let name = words.next()?;
    let mut ways: Vec<Way> = words.map_while(way).take(columns).collect();
    let mut length = 1;
    // The rest of a wrapped row begins with a way.
    while ways.len() < columns
        && length < WRAPPED_MAX
        && let Some(line) = lines.get(length)
        && line.text.split_whitespace().next().and_then(way).is_some()
    {
        let missing = columns - ways.len();
        ways.extend(line.text.split_whitespace().map_while(way).take(missing));
        length += 1;
    }
    // What stands behind the ways may be wrapped too.
    while let Some(line) = lines.get(length).filter(|line| is_affinity(&line.text))
        && length < WRAPPED_MAX
    {
        let _ = line;
        length += 1;
    }
    Some((name, ways, length))
}

/// Returns whether a line holds only numbers of processors and of memory nodes.
fn is_affinity(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b",- \tN/A".contains(&byte))
}

fn is_device(word: &str) -> bool {
    card(word).is_some()
        || ["NIC", "mlx", "DLA", "NPU", "bnxt", "irdma", "roce", "ib", "eth", "hfi", "efa"]
            .iter()
            .any(|begin| word.starts_with(begin) && word.ends_with(|last: char| last.is_ascii_digit()))
}

fn card(name: &str) -> Option<u32> {
    name.strip_prefix("GPU")?.parse().ok().filter(|index| *index < 4096)
}

fn way(word: &str) -> Option<Way> {
    Some(match word {
        "X" => Way::Own,
        "PSB" => Way::Path(CardPath::Board),
        "PIX" => Way::Path(CardPath::Switch),
        "PXB" => Way::Path(CardPath::Switches),
        "PHB" => Way::Path(CardPath::HostBridge),
        "NODE" => Way::Path(CardPath::Node),
        "SYS" | "SOC" => Way::Path(CardPath::System),
        "OK" => Way::Peers(true),
        "NS" | "CNS" | "GNS" | "TNS" | "DR" => Way::Peers(false),
        "U" | "N/A" => Way::Unknown,
        _ => Way::Links(word.strip_prefix("NV")?.parse().ok()?),
    })
}

/// Returns how many lines the legend takes.
fn legend(lines: &[Line<'_>]) -> usize {
    let mut taken = 0;
    let mut blank = 0;
    for (line, place) in lines.iter().zip(1..) {
        let text = line.text.trim();
        if text.is_empty() {
            blank += 1;
            if blank > BLANK_MAX {
                break;
            }
            continue;
        }
        let is_name = text.strip_prefix("NIC").is_some_and(|rest| {
            rest.starts_with(|first: char| first.is_ascii_digit()) && rest.contains(": ")
        });
        let is_way = text.split_once('=').is_some_and(|(word, meaning)| {
            let word = word.trim();
            (way(word).is_some() || word == "NV#") && meaning.starts_with(' ')
        });
        if command_after_prompt(&line.text).is_some() || !(is_name || is_way || text.ends_with("Legend:")) {
            break;
        }
        blank = 0;
        taken = place;
    }
    taken
}

fn scene(ways: &BTreeMap<(u32, u32), Way>) -> Scene {
    let mut paths = Vec::new();
    let mut joined = Vec::new();
    for ((one, other), way) in ways {
        let pair = JoinedPair { one: *one, other: *other, ..JoinedPair::default() };
        match way {
            Way::Path(path) => {
                paths.push(CardPair { one: *one, other: *other, path: *path, peer_to_peer: None });
            }
            Way::Links(number) => joined.push(JoinedPair { nvlinks: Some(*number), ..pair }),
            Way::Peers(reach) => joined.push(JoinedPair { peer_to_peer: Some(*reach), ..pair }),
            Way::Own | Way::Unknown => {}
        }
    }
    let mut scene = Scene::default();
    if !paths.is_empty() {
        scene.machine.card_pairs = Reading::Known(paths);
    }
    if !joined.is_empty() {
        scene.machine.joined_pairs = Reading::Known(joined);
    }
    scene.provenance =
        Provenance { source: SourceKind::Text, inputs: vec![Format::NvidiaSmiTopology.to_string()] };
    scene
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::CardPath;
    use gpuwhy_model::scene::JoinedPair;

    use super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn paths(block: &Block) -> Vec<(u32, u32, CardPath)> {
        let pairs = block.scene.machine.card_pairs.known().into_iter().flatten();
        pairs.map(|pair| (pair.one, pair.other, pair.path)).collect()
    }

    const TABLE: &str = "\t\u{1b}[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-31,64-95\t0\t\tN/A
GPU1\tNV12\t X \tNODE\tSYS\t0-31,64-95\t0\t\tN/A
GPU2\tSYS\tNODE\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPXB\tSYS\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0

hello
";

    #[test]
    fn ways_between_cards_are_read() {
        let block = block(TABLE).unwrap();
        assert_eq!(block.lines, 15);
        assert_eq!(paths(&block), [(0, 2, CardPath::System), (1, 2, CardPath::Node)]);
        let joined = block.scene.machine.joined_pairs.known().unwrap();
        assert_eq!(joined[..], [JoinedPair { one: 0, other: 1, nvlinks: Some(12), ..JoinedPair::default() }]);
    }

    #[test]
    fn blanks_and_old_words_are_borne() {
        let text = "        GPU0  GPU1  GPU2\nGPU0     X    PIX   SOC     NUMA 0\nGPU1    PIX    X    PHB\nGPU2    SOC   PHB";
        let block = block(text).unwrap();
        assert_eq!(block.lines, 4);
        assert_eq!(
            paths(&block),
            [(0, 1, CardPath::Switch), (0, 2, CardPath::System), (1, 2, CardPath::HostBridge)]
        );
        let one = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-19\n";
        assert!(self::block(one).unwrap().scene.machine.card_pairs.is_not_in_source());
    }

    #[test]
    fn wrapped_rows_are_put_together() {
        let text = "\tGPU0\tGPU1\nGPU2\tCPU Affinity\nGPU0\t X \tPIX\nSYS\t0-3\nGPU1\tPIX\t X\nSYS\nGPU2\tSYS\tSYS\n X \t4-7\n";
        let block = block(text).unwrap();
        assert_eq!((block.lines, paths(&block).len()), (8, 3));
    }

    #[test]
    fn direct_access_is_read() {
        let text = " \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tNS\n GPU2\tCNS\tNS\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n";
        let block = block(text).unwrap();
        assert_eq!(block.lines, 10);
        let reach: Vec<_> =
            block.scene.machine.joined_pairs.known().unwrap().iter().map(|pair| pair.peer_to_peer).collect();
        assert_eq!(reach, [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in ["GPU0 is fine\n", "GPU0 GPU1\nhello\n", "GPU0: Some Card\n", "GPU0"] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
