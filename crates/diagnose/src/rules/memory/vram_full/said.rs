//! A program says that memory did not suffice, and the figures tell that it is really used.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::{Comparison, Evidence};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{
    Card, LogLine, MemoryOfProcess, OutOfCardMemory, ProgramFact, Scene, ServerMemory, Wanted,
};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Severity;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::facts::card_memory::{Shortage, others, shortage};
use crate::facts::program::{about_program, agree, decisive, facts};
use crate::findings::Findings;

/// A neighbour that holds this share of the card may hold it for nothing: the text does not tell.
const NEIGHBOUR_SHARE: f64 = 0.25;
/// A process with less than this share of a card, on a card that is full, is not what fills it.
const OWN_SHARE_MIN: f64 = 0.1;
/// A process that holds this share of what a server found taken explains it.
const HOLDER_SHARE: f64 = 0.7;

pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let of_memory = |fact| match_memory(fact);
    let messages = decisive(facts(scene, of_memory));
    // The message with the most figures tells the most.
    let telling = messages.iter().max_by_key(|(_, memory)| figures(memory));
    if let Some((_, memory)) = telling {
        match shortage(memory) {
            // That is another cause.
            Shortage::Fragmented { .. } => {}
            shortage => findings.report(judge(&messages, memory, &shortage)),
        }
        return;
    }
    let of_server = |fact| match_server(fact);
    let servers = decisive(facts(scene, of_server));
    if let Some((_, server)) = servers.first() {
        findings.report(judge_server(scene, &servers, server));
    }
}

fn match_memory(fact: &ProgramFact) -> Option<&OutOfCardMemory> {
    match fact {
        ProgramFact::OutOfCardMemory(memory) => Some(memory),
        _ => None,
    }
}

fn match_server(fact: &ProgramFact) -> Option<&ServerMemory> {
    match fact {
        ProgramFact::ServerMemory(server) => Some(server),
        _ => None,
    }
}

fn figures(memory: &OutOfCardMemory) -> usize {
    let figures = [memory.requested, memory.total, memory.free, memory.allocated, memory.reserved];
    figures.iter().flatten().count()
}

fn judge(messages: &[(&LogLine, &OutOfCardMemory)], memory: &OutOfCardMemory, shortage: &Shortage) -> Draft {
    let mut draft = about_program(&RULE, summary(memory, shortage)).severity(Severity::Warn);
    agree(&mut draft, 3.0, sureness(memory, shortage), messages);
    if let Some(used) = used(memory) {
        draft.mention(used);
    }
    for other in others(memory) {
        draft.mention(held_by(&other));
    }
    if let Shortage::Somebody { bytes } = shortage {
        draft.mention(once(Signal::VramByProcess, bytes.0, Unit::Bytes, Reader::ProgramLog, text::outside()));
    }
    match shortage {
        Shortage::Refused => draft.only_possible(),
        Shortage::Somebody { .. } if is_nearly_all(memory) => draft.only_possible(),
        _ => {}
    }
    draft.finding.detail.insert("kind".to_owned(), kind(shortage).to_owned());
    draft.finding.detail.extend(memory.card.map(|card| ("card".to_owned(), card.to_string())));
    advise(shortage, &mut draft);
    draft
}

/// Returns how sure it is that live work needs what there is.
fn sureness(memory: &OutOfCardMemory, shortage: &Shortage) -> f64 {
    match shortage {
        Shortage::LargerThanCard | Shortage::Full => 0.95,
        Shortage::OwnLimit => 0.7,
        Shortage::Others(others) => {
            let of_others: u64 = others.iter().map(|other| other.bytes.0).sum();
            let share = memory.total.map_or(1.0, |total| of_others as f64 / total.0 as f64);
            if share <= NEIGHBOUR_SHARE { 0.85 } else { 0.5 }
        }
        Shortage::Somebody { .. } => 0.42,
        Shortage::NotSaid => 0.5,
        Shortage::Refused | Shortage::Fragmented { .. } => 0.3,
    }
}

/// Returns whether this process has next to nothing of a card that somebody else fills.
fn is_nearly_all(memory: &OutOfCardMemory) -> bool {
    let own = memory.reserved.or(memory.allocated);
    memory.total.zip(own).is_some_and(|(total, own)| (own.0 as f64) < total.0 as f64 * OWN_SHARE_MIN)
}

fn kind(shortage: &Shortage) -> &'static str {
    match shortage {
        Shortage::LargerThanCard => "larger-than-card",
        Shortage::OwnLimit => "own-limit",
        Shortage::Refused => "refused",
        Shortage::Fragmented { .. } => "fragmented",
        Shortage::Others(_) => "others",
        Shortage::Somebody { .. } => "somebody",
        Shortage::Full => "full",
        Shortage::NotSaid => "not-said",
    }
}

fn summary(memory: &OutOfCardMemory, shortage: &Shortage) -> Text {
    let requested = memory.requested.unwrap_or_default();
    let total = memory.total.unwrap_or_default();
    match shortage {
        Shortage::LargerThanCard => text::summary_larger(requested, total),
        Shortage::OwnLimit => text::summary_own_limit(memory.allowed.unwrap_or_default()),
        Shortage::Others(others) => {
            let bytes = Bytes(others.iter().map(|other| other.bytes.0).sum());
            text::summary_others(bytes, requested)
        }
        Shortage::Somebody { bytes } => {
            let own = memory.reserved.or(memory.allocated).unwrap_or_default();
            text::summary_somebody(*bytes, memory.free.unwrap_or_default(), own, total)
        }
        Shortage::Full if memory.total.is_some() && memory.requested.is_some() => {
            text::summary_needs(requested, total)
        }
        Shortage::Refused => text::summary_refused(memory.free.unwrap_or_default(), requested),
        Shortage::Full | Shortage::NotSaid | Shortage::Fragmented { .. } => text::summary_not_enough(),
    }
}

/// Says how much of the card is in use by the message.
fn used(memory: &OutOfCardMemory) -> Option<Evidence> {
    let (total, free) = (memory.total?, memory.free?);
    let words = text::left(free, total);
    let evidence = once(Signal::VramUsed, free.0, Unit::Bytes, Reader::ProgramLog, words);
    Some(with_normal(
        evidence,
        memory.requested.map(|requested| normal(Comparison::AtLeast, requested.0 as f64)),
    ))
}

fn held_by(other: &MemoryOfProcess) -> Evidence {
    let words = text::other_holds(other.bytes, u64::from(other.pid.0));
    once(Signal::VramByProcess, other.bytes.0, Unit::Bytes, Reader::ProgramLog, words)
}

fn advise(shortage: &Shortage, draft: &mut Draft) {
    match shortage {
        Shortage::Others(others) => {
            let largest = others.iter().max_by_key(|other| other.bytes);
            let step = largest.map_or_else(text::fix_who, |other| text::fix_whose(u64::from(other.pid.0)));
            draft.advise(Action::LookAgain, Vec::new(), step);
            draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
        }
        Shortage::Somebody { .. } => {
            draft.advise(Action::LookAgain, Vec::new(), text::fix_who());
            draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
        }
        Shortage::Refused | Shortage::NotSaid => {
            draft.advise(Action::LookAgain, Vec::new(), text::fix_who());
            draft.advise(Action::ReduceMemory, Vec::new(), text::fix_need_less());
        }
        _ => draft.advise(Action::ReduceMemory, Vec::new(), text::fix_need_less()),
    }
}

fn judge_server(scene: &Scene, servers: &[(&LogLine, &ServerMemory)], server: &ServerMemory) -> Draft {
    let is_cache = server.wanted_for == Wanted::Cache;
    let holder = listed_holder(scene, server).filter(|_| !is_cache);
    if let Some(holder) = &holder {
        return judge_held(servers, server, holder);
    }
    let summary = match (is_cache, server.free, server.wanted) {
        (false, Some(free), Some(wanted)) => text::summary_share(free, wanted),
        (false, ..) => text::summary_not_enough(),
        (true, ..) => text::summary_cache(),
    };
    let mut draft = about_program(&RULE, summary).severity(Severity::Warn);
    agree(&mut draft, 3.0, if is_cache { 0.9 } else { 0.45 }, servers);
    draft.finding.detail.insert("kind".to_owned(), server.wanted_for.id().to_owned());
    if is_cache {
        draft.advise(Action::ReduceMemory, Vec::new(), text::fix_cache());
        return draft;
    }
    // Who holds most of a card at a server's start may be its own earlier run: the text does not tell.
    let mostly_held = server.free.zip(server.total).is_some_and(|(free, total)| free.0 < total.0 / 2);
    if mostly_held {
        draft.only_possible();
    }
    draft.advise(Action::LookAgain, Vec::new(), text::fix_who());
    draft.advise(Action::ReduceMemory, Vec::new(), text::fix_share());
    draft
}

/// A process that a list beside the program's message names.
struct Listed<'scene> {
    pid: Pid,
    name: &'scene str,
    bytes: Bytes,
}

/// Returns the process of a list that holds most of what a server found taken at its start.
fn listed_holder<'scene>(scene: &'scene Scene, server: &ServerMemory) -> Option<Listed<'scene>> {
    let taken = server.total?.0.saturating_sub(server.free?.0);
    let on_cards = scene.cards.iter().flat_map(Card::known_clients);
    let unplaced = scene.unplaced_clients.iter().map(|unplaced| &unplaced.client);
    let listed = on_cards.chain(unplaced).filter_map(|client| {
        let name = client.name.known().map_or("?", String::as_str);
        Some(Listed { pid: client.pid, name, bytes: *client.memory.known()? })
    });
    let largest = listed.max_by_key(|listed| listed.bytes)?;
    let explains =
        largest.bytes.0 as f64 >= taken as f64 * HOLDER_SHARE && largest.bytes.0 <= server.total?.0;
    (taken > 0 && explains).then_some(largest)
}

/// Judges a server that found a card taken, of which a list says by whom.
fn judge_held(servers: &[(&LogLine, &ServerMemory)], server: &ServerMemory, holder: &Listed<'_>) -> Draft {
    let pid = u64::from(holder.pid.0);
    let summary = text::summary_held(holder.bytes, holder.name, pid);
    let mut draft = about_program(&RULE, summary).severity(Severity::Warn);
    agree(&mut draft, 2.0, 0.7, servers);
    let words = text::list_holds(holder.bytes, holder.name, pid);
    draft.agree(2.0, once(Signal::VramByProcess, holder.bytes.0, Unit::Bytes, Reader::NvidiaSmi, words));
    // Whether it works or is left over is not said.
    draft.silent(2.5);
    draft.finding.detail.insert("kind".to_owned(), server.wanted_for.id().to_owned());
    draft.advise(Action::LookAgain, Vec::new(), text::fix_whose(pid));
    draft.advise(Action::MoveWork, Vec::new(), text::fix_move());
    draft
}
