//! What a test moved between cards: matrices of `p2pBandwidthLatencyTest`, and tables of pairs that somebody made.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardPair, CardPath};
use gpuwhy_model::scene::{JoinedPair, Provenance, Scene, SourceKind};

use super::block::{Block, Context};
use crate::Format;
use crate::paste::{Line, command_after_prompt};

/// No machine has a card of a higher number.
const INDEX_MAX: u32 = 256;
/// So many lines that say nothing of this may stand inside.
const BETWEEN_MAX: usize = 6;
/// No link moves more, in bytes a second.
const RATE_MAX: f64 = 1e13;

/// What is known of two cards.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    path: Option<CardPath>,
    /// Bytes a second over PCIe.
    rate: Option<f64>,
    peer_to_peer: Option<bool>,
    nvlinks: Option<u32>,
}

type Pairs = BTreeMap<(u32, u32), Pair>;

/// Reads the output that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let mut pairs = Pairs::new();
    let taken = match test(lines, &mut pairs) {
        0 => table(lines, &mut pairs)?,
        taken => taken,
    };
    (!pairs.is_empty()).then(|| Block { lines: taken, scene: scene(&pairs), remarks: Vec::new() })
}

/// Reads the output of the test; returns how many lines it takes, 0 for other lines.
fn test(lines: &[Line<'_>], pairs: &mut Pairs) -> usize {
    let Some(first) = lines.first().map(|line| line.text.trim()) else {
        return 0;
    };
    if !(first.contains("Bandwidth Latency Test]") || is_title(first) || access(first).is_some()) {
        return 0;
    }
    let mut taken = 0;
    let mut place = 0;
    let mut counts = false;
    while let Some(line) = lines.get(place).filter(|_| place <= taken + BETWEEN_MAX) {
        let text = line.text.trim();
        if command_after_prompt(&line.text).is_some() {
            break;
        }
        let mut length = 1;
        if is_title(text) {
            // Without direct access everything goes over PCIe; with it, nobody says over what.
            counts =
                text.starts_with("Unidirectional") && text.contains("P2P=Disabled") && text.contains("GB/s");
            taken = place + 1;
        } else if let Some((one, other, reach)) = access(text) {
            pair(pairs, one, other).peer_to_peer = Some(reach);
            taken = place + 1;
        } else if let Some(columns) = columns(text) {
            length = 1 + matrix(&lines[place + 1..], &columns, counts.then_some(&mut *pairs));
            counts = false;
            taken = place + length;
        } else if text.starts_with("Device: ") || text.starts_with("***NOTE") || text.starts_with("NOTE:") {
            taken = place + 1;
        }
        place += length;
    }
    taken
}

/// Returns whether a line is the title of a matrix.
fn is_title(text: &str) -> bool {
    text.ends_with("Connectivity Matrix")
        || text.contains("Matrix (")
            && (text.contains("P2P=")
                || text.starts_with("Unidirectional")
                || text.starts_with("Bidirectional"))
}

/// Reads `Device=0 CAN Access Peer Device=1`.
fn access(text: &str) -> Option<(u32, u32, bool)> {
    let rest = text.strip_prefix("Device=")?;
    let (one, rest) = rest.split_once(' ')?;
    let (word, other) = rest.trim().split_once(" Access Peer Device=")?;
    let reach = match word {
        "CAN" => true,
        "CANNOT" => false,
        _ => return None,
    };
    Some((index(one)?, index(other.trim())?, reach))
}

fn index(text: &str) -> Option<u32> {
    text.parse().ok().filter(|index| *index < INDEX_MAX)
}

/// Returns the cards of a matrix's columns: `D\D     0      1`.
fn columns(text: &str) -> Option<Vec<u32>> {
    let mut words = text.split_ascii_whitespace();
    if !matches!(words.next()?, "D\\D" | "GPU" | "CPU") {
        return None;
    }
    let cards: Option<Vec<u32>> = words.map(index).collect();
    cards.filter(|cards| !cards.is_empty())
}

/// Reads the rows of a matrix; returns how many there are.
fn matrix(lines: &[Line<'_>], columns: &[u32], mut pairs: Option<&mut Pairs>) -> usize {
    let mut rows = 0;
    for line in lines.iter().take(columns.len()) {
        let mut words = line.text.split_ascii_whitespace();
        let Some(row) = words.next().and_then(index) else {
            break;
        };
        let cells: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        let Some(cells) = cells.filter(|cells| !cells.is_empty() && cells.len() <= columns.len()) else {
            break;
        };
        rows += 1;
        // A row that was cut may end inside a number.
        if let Some(pairs) = pairs.as_deref_mut().filter(|_| cells.len() == columns.len()) {
            for (column, cell) in columns.iter().zip(cells) {
                add_rate(pairs, row, *column, cell * 1e9);
            }
        }
    }
    rows
}

fn pair(pairs: &mut Pairs, one: u32, other: u32) -> &mut Pair {
    pairs.entry((one.min(other), one.max(other))).or_default()
}

fn add_rate(pairs: &mut Pairs, one: u32, other: u32, rate: f64) {
    if one == other || !(rate > 0.0 && rate < RATE_MAX) {
        return;
    }
    let pair = pair(pairs, one, other);
    pair.rate = Some(pair.rate.map_or(rate, |known| known.min(rate)));
}

/// Reads a table of pairs, with their way and what was moved; returns how many lines it takes.
fn table(lines: &[Line<'_>], pairs: &mut Pairs) -> Option<usize> {
    let first = lines.first()?.text.to_ascii_lowercase();
    if !first.contains("pair") || first.len() > 200 {
        return None;
    }
    let heading = cells(&first);
    let place = |is_named: fn(&str) -> bool| heading.iter().position(|name| is_named(name));
    let of_pair = place(|name| ["pair", "pairs", "gpu pair", "gpu_pair", "gpus"].contains(&name))?;
    let of_path = place(|name| name.contains("topo") || name == "path" || name == "link")?;
    // Only gigabytes a second, one way: nothing else can be told apart from it.
    let of_rate = place(|name| {
        let is_rate = ["gbps", "gb/s", "gb_s", "gbs"].iter().any(|unit| name.contains(unit));
        is_rate && !name.contains("bidir")
    })?;
    let mut taken = 1;
    for line in &lines[1..] {
        let text = line.text.trim();
        let is_rule = !text.is_empty() && text.bytes().all(|byte| b"-|:+ ".contains(&byte));
        let cells = cells(text);
        let row = || {
            let (one, other) = cards(cells.get(of_pair)?)?;
            let rate: f64 = cells.get(of_rate)?.split_ascii_whitespace().next()?.parse().ok()?;
            Some((one, other, *cells.get(of_path)?, rate))
        };
        match row() {
            Some((one, other, way, rate)) => {
                let over = pair(pairs, one, other);
                over.path = path(way);
                over.nvlinks = way.strip_prefix("NV").and_then(|links| links.parse().ok());
                if over.path.is_some() {
                    add_rate(pairs, one, other, rate * 1e9);
                }
            }
            None if is_rule => {}
            None => break,
        }
        taken += 1;
    }
    Some(taken)
}

fn cells(text: &str) -> Vec<&str> {
    let text = text.trim().trim_matches('|');
    let separator = ['|', '\t', ',', ';'].into_iter().find(|separator| text.contains(*separator));
    match separator {
        Some(separator) => text.split(separator).map(str::trim).collect(),
        None => text.split_ascii_whitespace().collect(),
    }
}

/// Reads `GPU0-GPU1`, `0-1`, `GPU 0 <-> GPU 1`, `0,1` in a cell of its own.
fn cards(text: &str) -> Option<(u32, u32)> {
    let plain = text.to_ascii_uppercase().replace("GPU", " ").replace("<->", "-").replace('↔', "-");
    let mut numbers = plain.split(['-', '/', ',', '>']).map(str::trim).filter(|part| !part.is_empty());
    let (one, other) = (index(numbers.next()?)?, index(numbers.next()?)?);
    (numbers.next().is_none() && one != other).then_some((one, other))
}

fn path(word: &str) -> Option<CardPath> {
    Some(match word {
        "PSB" => CardPath::Board,
        "PIX" => CardPath::Switch,
        "PXB" => CardPath::Switches,
        "PHB" => CardPath::HostBridge,
        "NODE" => CardPath::Node,
        "SYS" | "SOC" => CardPath::System,
        _ => return None,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above 0 and below the most a link moves"
)]
fn scene(pairs: &Pairs) -> Scene {
    let mut paths = Vec::new();
    let mut joined = Vec::new();
    for ((one, other), pair) in pairs {
        let (one, other) = (*one, *other);
        paths.extend(pair.path.map(|path| CardPair { one, other, path, peer_to_peer: None }));
        joined.push(JoinedPair {
            one,
            other,
            nvlinks: pair.nvlinks,
            peer_to_peer: pair.peer_to_peer,
            bytes_per_s: pair.rate.map(|rate| rate as u64),
        });
    }
    let mut scene = Scene::default();
    if !paths.is_empty() {
        scene.machine.card_pairs = Reading::Known(paths);
    }
    scene.machine.joined_pairs = Reading::Known(joined);
    scene.provenance =
        Provenance { source: SourceKind::Text, inputs: vec![Format::BandwidthTest.to_string()] };
    scene
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn rates(text: &str) -> Vec<(u32, u32, Option<u64>)> {
        let block = block(text).unwrap();
        let pairs = block.scene.machine.joined_pairs.known().unwrap();
        pairs.iter().map(|pair| (pair.one, pair.other, pair.bytes_per_s)).collect()
    }

    const TEST: &str = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA RTX A4000, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA RTX A4000, pciBusID: 21, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.

P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1 
     0 400.10  11.25 
     1  11.50 400.20 
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1 
     0 400.10  52.00 
     1  52.00 400.20 
P2P=Disabled Latency Matrix (us)
   GPU     0      1 
     0   1.50  12.00 
     1  12.00   1.50 

   CPU     0      1 
     0   2.50   6.00 
     1   6.00   2.50 

hello
";

    #[test]
    fn matrices_are_read() {
        assert_eq!(rates(TEST), [(0, 1, Some(11_250_000_000))]);
        assert_eq!(block(TEST).unwrap().lines, 28);
        // The end alone: what no one can tell the way of is not taken.
        let end = &TEST[TEST.find("Unidirectional P2P=Enabled").unwrap()..];
        assert!(block(end).is_none());
    }

    #[test]
    fn tables_of_pairs_are_read() {
        let text = "| Pair | Topo | GB/s |\n|---|---|---|\n| GPU0 <-> GPU1 | PHB | 12.5 |\n| GPU0 <-> GPU2 | NV4 | 50 |\n";
        assert_eq!(rates(text), [(0, 1, Some(12_500_000_000)), (0, 2, None)]);
        assert_eq!(rates("pair,topo,p2p_gbps\n0-1,SYS,6\n"), [(0, 1, Some(6_000_000_000))]);
    }

    #[test]
    fn cut_anywhere_nothing_breaks() {
        for end in 0..TEST.len() {
            let _ = block(&TEST[..end]);
            let _ = block(&TEST[end..]);
        }
    }

    #[test]
    fn other_lines_are_left_alone() {
        for text in ["GPU 0 1\n0 1 2\n", "a pair of cards\n", "pair,way\n0-1,x\n", "Matrix (2)", ""] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
