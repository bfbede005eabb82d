//! Output of `nvidia-smi mig -lci`, `-lgi` and `-lgip`: compute instances, GPU instances, and what could be made.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardSample, NvmlSample, ReadTime, Sample, Section};

use super::nvidia_scene::{container_of, scene_of};
use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// The highest number that a card can have.
const INDEX_MAX: u32 = 4096;

/// Which table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ComputeInstances,
    GpuInstances,
    Profiles,
}

/// Reads the table that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    if first.starts_with("No ") && is_message(first) {
        return Some(Block { lines: 1, scene: scene(Vec::new(), context), remarks: Vec::new() });
    }
    let above = usize::from(is_drawn(first));
    let kind = kind(&lines.get(above)?.text)?;
    let mut taken = above + 1;
    let mut rows: Vec<(u32, String)> = Vec::new();
    for (line, place) in lines.iter().zip(1..).skip(taken) {
        let text = line.text.trim();
        let goes_on = text.starts_with(['|', '+']);
        if !goes_on
            || self::kind(text).is_some()
            || is_drawn(text) && lines.get(place).is_some_and(|next| self::kind(&next.text).is_some())
        {
            break;
        }
        rows.extend(row(text));
        taken = place;
    }
    // Only a compute instance can be worked on; the others are no parts of a card yet.
    let cards = if kind == Kind::ComputeInstances { instances(&rows) } else { Vec::new() };
    Some(Block { lines: taken, scene: scene(cards, context), remarks: Vec::new() })
}

fn kind(text: &str) -> Option<Kind> {
    let inside = text.trim().trim_matches('|').trim();
    match inside {
        "Compute instances:" => Some(Kind::ComputeInstances),
        "GPU instances:" => Some(Kind::GpuInstances),
        "GPU instance profiles:" | "Compute instance profiles:" => Some(Kind::Profiles),
        _ => None,
    }
}

fn is_message(text: &str) -> bool {
    [
        "No GPU instances found",
        "No compute instances found",
        "No MIG-enabled devices found",
        "No MIG-supported devices",
    ]
    .iter()
    .any(|message| text.starts_with(message))
}

fn is_drawn(text: &str) -> bool {
    text.len() >= 3 && text.starts_with('+') && text.bytes().all(|byte| b"+-=".contains(&byte))
}

/// Returns the number of the card and the name of the instance.
fn row(text: &str) -> Option<(u32, String)> {
    let inside = text.strip_prefix('|')?.trim_end_matches('|').trim();
    let (index, rest) = inside.split_once(char::is_whitespace)?;
    let index = index.parse().ok().filter(|index| *index < INDEX_MAX)?;
    let place = rest.find("MIG ")?;
    let mut words = rest[place..].split_whitespace();
    let (word, profile) = (words.next()?, words.next()?);
    Some((index, format!("{word} {profile}")))
}

/// Returns the cards in multi-instance mode with their parts, which bear no number here but that of their order.
fn instances(rows: &[(u32, String)]) -> Vec<CardSample> {
    let mut by_card: BTreeMap<u32, Vec<&String>> = BTreeMap::new();
    for (card, name) in rows {
        by_card.entry(*card).or_default().push(name);
    }
    let mut cards = Vec::new();
    for (index, names) in by_card {
        cards.push(CardSample {
            index,
            handle: Reading::Known(()),
            mig_enabled: Reading::Known(true),
            ..CardSample::default()
        });
        cards.extend(names.into_iter().zip(0..).map(|(name, place)| CardSample {
            index: place,
            kind: CardKind::MigInstance,
            parent: Some(index),
            handle: Reading::Known(()),
            name: Reading::Known(name.clone()),
            ..CardSample::default()
        }));
    }
    cards.truncate(NvmlSample::PARTS_MAX as usize);
    cards
}

fn scene(cards: Vec<CardSample>, context: &Context<'_>) -> gpuwhy_model::scene::Scene {
    let mut sample = Sample::empty(ReadTime::default());
    let value = Reading::Known(NvmlSample { cards, ..NvmlSample::default() });
    sample.nvml = Section { read: ReadTime::default(), value };
    let mut scene = scene_of(&[sample], Format::NvidiaSmiMig, false);
    scene.machine.container = context.command.and_then(container_of).map(str::to_owned).into();
    scene
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::super::{Block, Context};
    use super::read;
    use crate::paste::Paste;

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    const COMPUTE: &str = "\
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      1       MIG 3g.40gb          2         0          0:3     |
+--------------------------------------------------------------------+
|   0      5       MIG 4g.40gb          3         0          0:4     |
+--------------------------------------------------------------------+
|   2      7       MIG 1g.10gb          0         0          0:1     |
+--------------------------------------------------------------------+
";

    #[test]
    fn compute_instances_are_parts_of_their_card() {
        let block = block(&format!("{COMPUTE}$ free\n")).unwrap();
        assert_eq!(block.lines, 12);
        let cards: Vec<_> =
            block.scene.cards.iter().map(|card| (card.parent, card.index, card.name.known())).collect();
        assert_eq!(cards.len(), 5);
        assert_eq!(cards[1], (Some(0), 0, Some(&"MIG 3g.40gb".to_owned())));
        assert_eq!(cards[4], (Some(2), 0, Some(&"MIG 1g.10gb".to_owned())));
        assert_eq!(block.scene.cards[0].mig_enabled, Reading::Known(true));
    }

    #[test]
    fn gpu_instances_alone_are_no_parts() {
        let text = COMPUTE.replace("Compute instances:", "GPU instances:    ");
        let block = block(&text).unwrap();
        assert_eq!((block.lines, block.scene.cards.len()), (12, 0));
        assert_eq!(self::block("No GPU instances found: Not Found\n").unwrap().lines, 1);
    }

    #[test]
    fn tables_in_a_row_are_two() {
        let two = format!("{}{COMPUTE}", COMPUTE.replace("Compute instances:", "GPU instances:    "));
        assert_eq!(block(&two).unwrap().lines, 12);
    }

    #[test]
    fn other_texts_are_none_of_these() {
        for text in ["+-----+\n| a |\n", "| Processes: |\n", "No way\n"] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
