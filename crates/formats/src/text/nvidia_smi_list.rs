//! Output of `nvidia-smi -L`: the cards and their instances, by name and UUID.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, CardSample, NvmlSample, ReadTime, Sample, Section};

use super::nvidia_scene::{container_of, names_cards, scene_of};
use super::nvidia_smi::{Message, message};
use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// Stands for the number of a card whose line is cut off: it is the one before the first that is there.
const CUT_OFF: u32 = u32::MAX;

/// What one line says.
enum Entry<'line> {
    Card { index: u32, name: &'line str, uuid: Option<&'line str> },
    Instance { index: u32, profile: &'line str, uuid: Option<&'line str> },
}

/// Reads the list that begins with the first of these lines.
pub(super) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let mut cards: Vec<CardSample> = Vec::new();
    let mut silent: Vec<CardSample> = Vec::new();
    let mut parent = None;
    let mut taken = 0;
    for (line, place) in lines.iter().zip(0..) {
        if let Some(card) = silent_card(&line.text).filter(|_| silent.len() < NvmlSample::CARDS_MAX as usize)
        {
            silent.push(card);
            continue;
        }
        let entry = entry(&line.text).filter(|_| !is_of_links(lines.get(place + 1)));
        match entry {
            Some(Entry::Card { index, name, uuid }) => {
                // A smaller number begins another list.
                if parent.is_some_and(|last| index <= last) {
                    break;
                }
                parent = Some(index);
                cards.push(CardSample { index, name: name_of(name), uuid: uuid_of(uuid), ..answering() });
            }
            Some(Entry::Instance { index, profile, uuid }) => cards.push(CardSample {
                index,
                kind: CardKind::MigInstance,
                parent: Some(parent.unwrap_or(CUT_OFF)),
                name: name_of(profile),
                uuid: uuid_of(uuid),
                ..answering()
            }),
            None => break,
        }
        taken = place + 1;
    }
    // Behind the last of them stands what another output says.
    let told = lines[..taken].iter().filter(|line| silent_card(&line.text).is_some()).count();
    silent.truncate(told);
    let begins_at_first = cards.first().is_some_and(|card| card.index == 0 && card.parent.is_none());
    let is_list = taken > silent.len();
    let before_first =
        cards.iter().find(|card| card.parent.is_none()).map_or(Some(0), |card| card.index.checked_sub(1));
    for instance in cards.iter_mut().filter(|card| card.parent == Some(CUT_OFF)) {
        instance.parent = Some(before_first?);
    }
    let unnumbered = if is_list { add_silent(&mut cards, silent) } else { Vec::new() };
    if !is_list || cards.len() > NvmlSample::PARTS_MAX as usize {
        return None;
    }
    // Where something follows, no card is cut off.
    let is_all = begins_at_first && lines.len() > taken && !context.command.is_some_and(names_cards);
    let whole = cards.iter().filter(|card| card.parent.is_none()).count();
    let mut sample = Sample::empty(ReadTime::default());
    sample.nvml = Section {
        read: ReadTime::default(),
        value: Reading::Known(NvmlSample {
            card_count: u32::try_from(whole).ok().filter(|_| is_all).into(),
            cards,
            ..NvmlSample::default()
        }),
    };
    let mut scene = scene_of(&[sample], Format::NvidiaSmiList, false);
    for card in &mut scene.cards {
        // The message says its address alone.
        card.is_unnumbered = card.parent.is_none() && unnumbered.contains(&card.index);
    }
    if let Some(container) = context.command.and_then(container_of) {
        scene.machine.container = Reading::Known(container.to_owned());
    }
    Some(Block { lines: taken, scene, remarks: Vec::new() })
}

/// Returns a card that a message between the entries says not to answer; its number may not be said.
fn silent_card(text: &str) -> Option<CardSample> {
    let Message::Handle { index, address, failure } = message(text)? else {
        return None;
    };
    let index = index.unwrap_or(u32::MAX);
    Some(CardSample {
        index,
        handle: Reading::Failed(failure),
        pci_address: address.into(),
        ..CardSample::default()
    })
}

/// Adds cards that do not answer: those without a number are told apart by the lowest that the list leaves out. Returns
/// those.
fn add_silent(cards: &mut Vec<CardSample>, silent: Vec<CardSample>) -> Vec<u32> {
    let mut unnumbered = Vec::new();
    for mut card in silent {
        let is_taken =
            |number: u32| cards.iter().any(|other| other.parent.is_none() && other.index == number);
        if card.index == u32::MAX {
            card.index = (0..NvmlSample::PARTS_MAX).find(|number| !is_taken(*number)).unwrap_or_default();
            unnumbered.push(card.index);
        }
        if !is_taken(card.index) {
            cards.push(card);
        }
    }
    unnumbered
}

/// A card that is listed answers.
fn answering() -> CardSample {
    CardSample { handle: Reading::Known(()), ..CardSample::default() }
}

fn name_of(text: &str) -> Reading<String> {
    if text.is_empty() { Reading::default() } else { Reading::Known(masked_text(text)) }
}

fn uuid_of(text: Option<&str>) -> Reading<String> {
    text.map(str::to_owned).into()
}

/// Returns whether the line below a card's belongs to a list of links, which names its cards alike.
fn is_of_links(next: Option<&Line<'_>>) -> bool {
    next.is_some_and(|line| {
        let text = line.text.trim_start().to_ascii_lowercase();
        text.starts_with("link ")
            || text.starts_with("nvlink ")
            || text.contains("nvlink") && text.contains("unable")
    })
}

/// Reads `GPU 0: name (UUID: GPU-…)` and `MIG profile  Device  0: (UUID: MIG-…)`.
fn entry(text: &str) -> Option<Entry<'_>> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("GPU ") {
        let (index, rest) = rest.split_once(':')?;
        let index = index.trim().parse().ok().filter(|index: &u32| *index < 4096)?;
        let (name, uuid) = named(rest)?;
        return Some(Entry::Card { index, name, uuid });
    }
    let rest = text.strip_prefix("MIG ")?;
    let (profile, rest) = rest.split_once("Device")?;
    let (index, rest) = rest.split_once(':')?;
    let (_, uuid) = named(rest)?;
    let profile = text.get(..text.len() - rest.len())?.split("Device").next().unwrap_or(profile);
    Some(Entry::Instance { index: index.trim().parse().ok()?, profile: profile.trim(), uuid })
}

/// Splits `name (UUID: GPU-…)`; older drivers may give a serial number instead.
fn named(text: &str) -> Option<(&str, Option<&str>)> {
    let text = text.trim();
    let inside = text.strip_suffix(')')?;
    if let Some((name, uuid)) = inside.rsplit_once("(UUID:") {
        let uuid = uuid.trim();
        let is_uuid = uuid.starts_with("GPU-") || uuid.starts_with("MIG-");
        return Some((name.trim(), is_uuid.then_some(uuid)));
    }
    let (name, _) = inside.rsplit_once("(S/N:")?;
    Some((name.trim(), None))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Scene;

    use super::super::Context;
    use super::read;
    use crate::paste::Paste;

    fn scene(text: &str, command: Option<&str>) -> Option<(usize, Scene)> {
        let paste = Paste::of(text);
        read(&paste.lines, &Context { command }).map(|block| (block.lines, block.scene))
    }

    const LIST: &str = "GPU 0: Some Card 80GB (UUID: GPU-00000000-1111-2222-3333-444444444444)\n\
        \x20 MIG 3g.40gb     Device  0: (UUID: MIG-aaaaaaaa-1111-2222-3333-444444444444)\n\
        \x20 MIG 1g.10gb     Device  1: (UUID: MIG-GPU-00000000/9/0)\n\
        GPU 1: Other Card (64 GB) (UUID: GPU-55555555-1111-2222-3333-444444444444)\n";

    #[test]
    fn cards_and_instances_are_named() {
        let (lines, scene) = scene(LIST, None).unwrap();
        assert_eq!(lines, 4);
        let named: Vec<_> = scene
            .cards
            .iter()
            .map(|card| (card.parent, card.index, card.name.known().unwrap().as_str()))
            .collect();
        assert_eq!(
            named,
            [
                (None, 0, "Some Card 80GB"),
                (Some(0), 0, "MIG 3g.40gb"),
                (Some(0), 1, "MIG 1g.10gb"),
                (None, 1, "Other Card (64 GB)")
            ]
        );
        assert_eq!(scene.cards[2].uuid, Reading::Known("MIG-GPU-00000000/9/0".into()));
        assert_eq!(scene.cards[3].handle, Reading::Known(()));
        assert_eq!(scene.machine.driver.card_count, Reading::Known(2));
        assert_eq!(scene.machine.driver.library, Reading::Known(()));
    }

    #[test]
    fn a_list_that_may_be_cut_counts_nothing() {
        let count = |text: &str, command| scene(text, command).unwrap().1.machine.driver.card_count;
        assert!(count(LIST.trim_end(), None).is_not_in_source());
        assert!(count(LIST, Some("nvidia-smi -L -i 0")).is_not_in_source());
        assert!(count(LIST.split_once('\n').unwrap().1, None).is_not_in_source());
        assert!(scene("GPU 0: Some Card (UUID: GPU-0000", None).is_none());
    }

    #[test]
    fn a_card_that_does_not_answer_is_no_other_one() {
        let of = "Unable to determine the device handle for";
        let text = format!(
            "{of} gpu 0000:34:00.0: Unknown Error\nGPU 0: A (UUID: GPU-0)\nGPU 2: A (UUID: GPU-2)\n\
             {of} GPU5: 0000:35:00.0: GPU is lost\nGPU 6: A (UUID: GPU-6)\n{of} GPU7: Unknown Error\n"
        );
        let (lines, scene) = scene(&text, None).unwrap();
        assert_eq!(lines, 5, "what stands behind the list is told by another output");
        let cards: Vec<_> = scene.cards.iter().map(|card| (card.index, card.handle.is_known())).collect();
        assert_eq!(cards, [(0, true), (1, false), (2, true), (5, false), (6, true)]);
        assert_eq!(scene.cards[1].pci_address, Reading::Known("0000:34:00.0".into()));
        assert!(self::scene(&format!("{of} GPU7: Unknown Error\n\nGPU 0: A (UUID: GPU-0)"), None).is_none());
    }

    #[test]
    fn instances_of_a_card_that_is_cut_off_are_of_the_one_before() {
        let parents = |text: &str| -> Vec<Option<u32>> {
            scene(text, None).unwrap().1.cards.iter().map(|card| card.parent).collect()
        };
        let cut = LIST.split_once('\n').unwrap().1;
        assert_eq!(parents(cut), [Some(0), Some(0), None]);
        assert_eq!(parents(&cut.replace("GPU 1:", "GPU 3:")), [Some(2), Some(2), None]);
        assert!(scene(&cut.replace("GPU 1:", "GPU 0:"), None).is_none());
    }

    #[test]
    fn a_list_of_links_is_another_format() {
        let links = "GPU 0: Some Card (UUID: GPU-0)\n\t Link 0: 25.781 GB/s\n";
        assert!(scene(links, None).is_none());
        let after = format!("GPU 0: Some Card (UUID: GPU-0)\n{}", links.replace("GPU 0", "GPU 1"));
        assert_eq!(scene(&after, None).unwrap().0, 1);
        assert!(scene("GPU 0: Some Card", None).is_none());
    }

    #[test]
    fn a_second_list_is_another_one() {
        let twice = format!("{LIST}{LIST}");
        assert_eq!(scene(&twice, None).unwrap().0, 4);
    }
}
