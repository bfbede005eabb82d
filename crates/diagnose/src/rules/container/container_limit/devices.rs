//! Cards that were promised to this container and are not there.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::Unit;

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::whole_cards;
use crate::findings::Findings;
use crate::rules::container::nvml_lost_in_container::shown_kind;

/// Reports that fewer cards can be seen in this container than were named for it.
pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let (Some(kind), Some(promise)) = (scene.machine.container.known(), scene.machine.promised_cards.known())
    else {
        return;
    };
    let Some(promised) = number_of(promise) else {
        return;
    };
    let given = whole_cards(scene).count();
    let one_is_lost = whole_cards(scene).any(|card| !card.handle.is_known())
        || findings.answers().any(|draft| draft.cause() == Cause::GpuLost);
    // Without any card at all, the driver or the access to it is the trouble.
    if given == 0 || given >= promised || one_is_lost {
        return;
    }
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_devices());
    let words = text::promised(given, promised);
    draft.agree(3.0, once(Signal::CardCount, given, Unit::Count, Reader::Nvml, words));
    let words = if scene.provenance.source == SourceKind::Text {
        text::in_some_container(shown_kind(kind))
    } else {
        text::in_container(kind.as_str())
    };
    draft.agree(0.5, flag(Signal::Container, Reader::ProcPid, words));
    // The variable may have been set by hand.
    draft.silent(1.5);
    draft.balance.past_decides = true;
    draft.finding.detail.insert("limit".to_owned(), "devices".to_owned());
    draft.advise(Action::GrantDevice, Vec::new(), text::fix_devices());
    findings.report(draft);
}

/// Returns how many whole cards a promise names; none where it names no number of them (`all`, `void`, instances).
fn number_of(promise: &str) -> Option<usize> {
    let mut names: Vec<&str> = promise.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let is_whole_card = |name: &&str| {
        name.starts_with("GPU-") || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
    };
    names.sort_unstable();
    names.dedup();
    (!names.is_empty() && names.iter().all(is_whole_card)).then_some(names.len())
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn only_named_cards_are_counted() {
        assert_eq!(number_of("0,1,3"), Some(3));
        assert_eq!(number_of("GPU-a, GPU-b,GPU-a"), Some(2));
        for promise in ["all", "void", "none", "", "MIG-1,MIG-2", "0:1,0:2"] {
            assert_eq!(number_of(promise), None, "{promise}");
        }
    }
}
