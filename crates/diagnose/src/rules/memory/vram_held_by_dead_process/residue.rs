//! Memory that a run left behind and that no process at all holds any more.

use gpuwhy_model::action::{Action, Target};
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::KernelFact;
use gpuwhy_model::scene::{Card, Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};
use gpuwhy_model::verdict::Impact;

use super::{RULE, text};
use crate::draft::{Draft, card_subject};
use crate::evidence::{flag, once};
use crate::facts::cards::{Activity, activity, seconds_lost, slot, whole_cards};
use crate::facts::kernel_log;
use crate::facts::unexplained::{is_much, strangers, unexplained};
use crate::findings::Findings;

/// Looks for cards whose memory is in use while nobody on the whole machine has them open.
pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let viewer = &scene.machine.viewer;
    let sees_everybody = viewer.uid == Reading::Known(0)
        && viewer.initial_pid_namespace == Reading::Known(true)
        && scene.device_holders.is_known()
        && scene.provenance.source != SourceKind::Text;
    if !sees_everybody {
        return;
    }
    for card in whole_cards(scene) {
        let Some(bytes) = unexplained(scene, card).filter(|bytes| is_much(*bytes, card, limits)) else {
            continue;
        };
        let nobody_has_it_open = card.minor.is_known() && strangers(scene, card).next().is_none();
        if nobody_has_it_open && activity(card, limits) != Activity::Works {
            findings.report(judge(scene, card, bytes, limits));
        }
    }
}

fn judge(scene: &Scene, card: &Card, bytes: Bytes, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, card, text::summary_residue(bytes));
    draft.finding.detail.insert("kind".to_owned(), "residue".to_owned());
    let words = text::without_owner(bytes);
    draft.agree(2.0, once(Signal::VramUnexplained, bytes.0, Unit::Bytes, Reader::Nvml, words));
    draft.agree(2.0, flag(Signal::DeviceHolders, Reader::ProcPid, text::nobody_has_it_open()));
    // Virtual machines and what shares cards below the system cannot be seen from here.
    draft.silent(1.0);
    match fresh_error(scene, card, limits) {
        Some(line) => {
            let words = text::error_in_log(line);
            draft.agree(1.5, once(Signal::KernelLog, line, Unit::Text, Reader::KernelLog, words));
        }
        None => draft.silent(1.0),
    }
    let lost_s = seconds_lost(scene, &[card.index], limits);
    draft.finding.impact = Impact { gpu_seconds: lost_s, bytes_held: bytes.0, blocked: 0 };
    let subject = card_subject(card);
    let target = Target { kind: subject.kind, id: subject.id };
    draft.advise(Action::LookAgain, Vec::new(), text::fix_look_for_owner(card.shown()));
    draft.advise(Action::ResetCard, vec![target], text::fix_reset(card.shown()));
    draft
}

/// Returns the newest fresh error of the driver on a card.
fn fresh_error<'scene>(scene: &'scene Scene, card: &Card, limits: &Limits) -> Option<&'scene str> {
    let own = card.pci_address.known().map(|address| slot(address))?;
    let is_of_card = |fact: &Option<KernelFact>| match fact {
        Some(KernelFact::Xid { pci_address, .. }) => slot(pci_address) == own,
        _ => false,
    };
    kernel_log::lines(scene)
        .iter()
        .rev()
        .find(|line| is_of_card(&line.fact) && kernel_log::is_fresh(scene, line, limits))
        .map(|line| line.text.as_str())
}
