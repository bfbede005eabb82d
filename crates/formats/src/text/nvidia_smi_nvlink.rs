//! Output of `nvidia-smi nvlink` about the links of cards: states (`-s`), errors (`-e`, `-ec`), what they can (`-c`),
//! where they lead (`-R`, `-p`) and what went over them (`-gt`).

use std::collections::BTreeMap;

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvLink, NvmlSample, ReadTime, Sample, Section};

use super::nvidia_scene::{container_of, scene_of};
use super::{Block, Context, Remark};
use crate::Format;
use crate::paste::Line;

/// No card has more links.
const LINKS_MAX: u32 = 64;
/// The highest number that a card can have.
const INDEX_MAX: u32 = 4096;

/// What one line says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry<'line> {
    /// `GPU 0: name (UUID: GPU-…)`
    Card { index: u32, name: &'line str, uuid: Option<&'line str> },
    /// `Link 3: …`
    Link { number: u32, says: &'line str },
    /// No link of the card is up.
    AllInactive,
    /// The card has none, or does not say.
    Unsupported,
}

/// The links of one card.
#[derive(Debug, Default)]
struct Links {
    card: CardSample,
    by_number: BTreeMap<u32, NvLink>,
    are_unsupported: bool,
    received: Option<u64>,
    sent: Option<u64>,
}

/// Reads the output that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let begin = entry(&lines.first()?.text)?;
    let is_begin = match begin {
        Entry::Card { .. } => is_of_links(lines.get(1)?),
        Entry::Link { says, .. } => is_telling(says),
        Entry::AllInactive => true,
        Entry::Unsupported => false,
    };
    if !is_begin {
        return None;
    }
    let mut cards: Vec<Links> = Vec::new();
    // Links whose card is cut off.
    let mut lost = Links::default();
    let mut remarks = Vec::new();
    let mut taken = 0;
    for (line, place) in lines.iter().zip(1..) {
        let Some(entry) = entry(&line.text) else {
            let goes_on = lines.get(place).is_some_and(is_of_links);
            if line.text.trim().is_empty() || !goes_on {
                break;
            }
            remarks.push(Remark::NotUnderstood { line: line.number });
            continue;
        };
        if let Entry::Card { index, name, uuid } = entry {
            // A smaller number begins another output; the last card of a text may have lost its links.
            let is_other = cards.last().is_some_and(|last| index <= last.card.index);
            if is_other || !lines.get(place).is_some_and(is_of_links) && !cards.is_empty() {
                break;
            }
            cards.push(Links { card: card(index, name, uuid), ..Links::default() });
        } else {
            cards.last_mut().unwrap_or(&mut lost).take(entry);
        }
        taken = place;
    }
    if !matches!(begin, Entry::Card { .. }) {
        remarks.insert(0, Remark::HasNoBegin { line: lines[0].number });
        // They belong to the card before the first one that is there.
        if let Some(index) = cards.first().and_then(|first| first.card.index.checked_sub(1)) {
            lost.card = CardSample { index, handle: Reading::Known(()), ..CardSample::default() };
            cards.insert(0, lost);
        }
    }
    cards.truncate(NvmlSample::CARDS_MAX as usize);
    let mut sample = Sample::empty(ReadTime::default());
    let cards = cards.into_iter().map(Links::finish).collect();
    let value = Reading::Known(NvmlSample { cards, ..NvmlSample::default() });
    sample.nvml = Section { read: ReadTime::default(), value };
    let mut scene = scene_of(&[sample], Format::NvidiaSmiNvlink, false);
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    Some(Block { lines: taken, scene, remarks })
}

fn card(index: u32, name: &str, uuid: Option<&str>) -> CardSample {
    CardSample {
        index,
        handle: Reading::Known(()),
        name: if name.is_empty() { Reading::default() } else { Reading::Known(masked_text(name)) },
        uuid: uuid.map(str::to_owned).into(),
        ..CardSample::default()
    }
}

fn entry(text: &str) -> Option<Entry<'_>> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("GPU ") {
        let (index, rest) = rest.split_once(':')?;
        let index = index.trim().parse().ok().filter(|index: &u32| *index < INDEX_MAX)?;
        let (name, uuid) = match rest.trim().strip_suffix(')').and_then(|rest| rest.rsplit_once("(UUID:")) {
            Some((name, uuid)) => (name, Some(uuid.trim()).filter(|uuid| uuid.starts_with("GPU-"))),
            None => (rest, None),
        };
        return Some(Entry::Card { index, name: name.trim(), uuid });
    }
    if let Some(rest) = text.strip_prefix("Link ") {
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let number = rest[..end].parse().ok().filter(|number| *number < LINKS_MAX)?;
        let says = rest[end..].strip_prefix([':', ','])?;
        return Some(Entry::Link { number, says: says.trim() });
    }
    let lower = text.to_ascii_lowercase();
    if !lower.contains("nvlink") || text.len() > 200 {
        return None;
    }
    if lower.contains("all links are inactive") {
        return Some(Entry::AllInactive);
    }
    let is_unsupported = lower.contains("not supported") || lower.contains("unable to retrieve");
    is_unsupported.then_some(Entry::Unsupported)
}

/// Returns whether a line says something of links.
fn is_of_links(line: &Line<'_>) -> bool {
    matches!(entry(&line.text), Some(Entry::Link { .. } | Entry::AllInactive | Entry::Unsupported))
}

/// Returns whether what is said of a link shows that it is one of this tool.
fn is_telling(says: &str) -> bool {
    says.ends_with("GB/s")
        || says.contains("inactive")
        || says.contains("Errors:")
        || says.contains("is supported:")
        || says.contains("Remote Device")
}

impl Links {
    fn take(&mut self, entry: Entry<'_>) {
        match entry {
            Entry::Link { number, says } => self.take_link(number, says),
            // How many there are is not said: the first one is one of them.
            Entry::AllInactive => {
                self.by_number.insert(0, NvLink { active: Reading::Known(false), ..NvLink::default() });
            }
            Entry::Unsupported => self.are_unsupported = true,
            Entry::Card { .. } => {}
        }
    }

    fn take_link(&mut self, number: u32, says: &str) {
        let link =
            self.by_number.entry(number).or_insert_with(|| NvLink { link: number, ..NvLink::default() });
        if says.contains("inactive") || says.eq_ignore_ascii_case("<disabled>") {
            link.active = Reading::Known(false);
            return;
        }
        if says.ends_with("GB/s") {
            link.active = Reading::Known(true);
            return;
        }
        let Some((what, value)) = says.rsplit_once(':') else {
            return;
        };
        let what = what.trim();
        // A number, or one with its unit behind it.
        let number: Option<u64> = value.split_whitespace().next().and_then(|word| word.parse().ok());
        let Some(number) = number else {
            return;
        };
        match what {
            "Replay Errors" => link.replays = Reading::Known(number),
            "Recovery Errors" | "Total link recovery events" => link.recoveries = Reading::Known(number),
            "CRC Errors" | "CRC FLIT Errors" => link.crc_errors = Reading::Known(number),
            // Since Blackwell; what arrives damaged after correction.
            "Effective Errors" | "Rx Errors" => {
                let known = link.crc_errors.known().copied().unwrap_or(0);
                link.crc_errors = Reading::Known(known.max(number));
            }
            "Data Rx" => self.received = Some(self.received.unwrap_or(0).saturating_add(number << 10)),
            "Data Tx" => self.sent = Some(self.sent.unwrap_or(0).saturating_add(number << 10)),
            _ if what.starts_with("Lane") && what.ends_with("CRC Errors") => {
                let known = link.crc_errors.known().copied().unwrap_or(0);
                link.crc_errors = Reading::Known(known.saturating_add(number));
            }
            _ => {}
        }
    }

    fn finish(self) -> CardSample {
        let mut card = self.card;
        card.nvlinks = if self.are_unsupported && self.by_number.is_empty() {
            Reading::Unsupported
        } else {
            Reading::Known(self.by_number.into_values().collect())
        };
        card.nvlink_traffic.received_bytes = self.received.into();
        card.nvlink_traffic.sent_bytes = self.sent.into();
        card
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Card;

    use super::super::{Block, Context, Remark};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn states(card: &Card) -> Vec<Option<bool>> {
        let links = card.nvlinks.known().into_iter().flatten();
        links.map(|link| link.active.known().copied()).collect()
    }

    #[test]
    fn states_of_links_are_read() {
        let text = "GPU 0: Some Card (UUID: GPU-a)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\
                    GPU 1: Some Card (UUID: GPU-b)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\
                    GPU 2: Other Card (UUID: GPU-c)\nNVML: Unable to retrieve NVLink information as all links are inActive\n\
                    GPU 3: Other Card (UUID: GPU-d)\nNvlink queries are not supported for Devices in MIG mode\n\nx\n";
        let block = block(text).unwrap();
        let cards = &block.scene.cards;
        assert_eq!((block.lines, cards.len(), block.remarks.len()), (10, 4, 0));
        assert_eq!((cards[0].index, &cards[0].uuid), (0, &Reading::Known("GPU-a".into())));
        assert_eq!(states(&cards[0]), [Some(true), Some(false)]);
        assert_eq!(states(&cards[1]), [Some(true), Some(true)]);
        assert_eq!(states(&cards[2]), [Some(false)]);
        assert_eq!(cards[3].nvlinks, Reading::Unsupported);
    }

    #[test]
    fn errors_of_links_are_read() {
        let text = "GPU 0: Some Card (UUID: GPU-a)\n\t Link 0: Replay Errors: 3\n\t Link 0: Recovery Errors: 1\n\
                    \t Link 0: CRC Errors: 40\n\t Link 1: Malformed packet Errors: 0\n\t Link 1: Effective Errors: 7\n\
                    \t Link 1: Effective BER: 15e-255\n\t Link 1: Total link recovery events: 2\n";
        let links = block(text).unwrap().scene.cards[0].nvlinks.known().unwrap().clone();
        assert_eq!((&links[0].crc_errors, &links[1].crc_errors), (&Reading::Known(40), &Reading::Known(7)));
        assert!(links[0].active.is_not_in_source() && links[0].crc_growth.known().is_none());
        let lanes = "GPU 0: Some Card (UUID: GPU-a)\n Link 0: Lane 0: CRC Errors: 2\n Link 0: Lane 1: CRC Errors: 3\n";
        let links = block(lanes).unwrap().scene.cards[0].nvlinks.known().unwrap().clone();
        assert_eq!(links[0].crc_errors, Reading::Known(5));
    }

    #[test]
    fn what_links_can_and_where_they_lead_is_known_by_sight() {
        for says in [
            "Link 0, P2P is supported: true",
            "Link 0: Remote Device 00000000:C4:00.0: Link 3",
            "Link 0: 00000000:06:00.0",
        ] {
            let text = format!("GPU 0: Some Card (UUID: GPU-a)\n\t {says}\n");
            let block = block(&text).unwrap();
            assert_eq!((block.lines, states(&block.scene.cards[0])), (2, vec![None]), "{says}");
        }
    }

    #[test]
    fn links_without_their_card_belong_to_the_one_before() {
        let text =
            " Link 4: 25 GB/s\n Link 5: <inactive>\nGPU 7: Some Card (UUID: GPU-h)\n Link 0: 25 GB/s\n";
        let block = block(text).unwrap();
        let indices: Vec<u32> = block.scene.cards.iter().map(|card| card.index).collect();
        assert_eq!((indices, block.remarks), (vec![6, 7], vec![Remark::HasNoBegin { line: 1 }]));
        let alone =
            self::block("NVML:Unable to retrieve Nvlink information as all links are inActive\n").unwrap();
        assert_eq!((alone.lines, alone.scene.cards.len()), (1, 0), "which card is not said");
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in [
            "GPU 0: Some Card (UUID: GPU-a)\nGPU 1: Some Card (UUID: GPU-b)\n",
            "Link 5: see below\n",
            "The nvlink is fast\n",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
