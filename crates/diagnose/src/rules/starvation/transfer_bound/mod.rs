//! `transfer-bound`: work waits for copies between the host and the card.

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Unit};

use super::partly_busy::{PartlyBusyCard, partly_busy_cards};
use crate::draft::Draft;
use crate::evidence::{normal, once, over, with_normal};
use crate::facts::traffic::{Copies, copies};
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/transfer_bound.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::TransferBound,
    needs: Needs {
        span: Span::seconds(4.0),
        samples: 2,
        signals: &[
            Signal::GpuBusy,
            Signal::GpuBusyShape,
            Signal::PowerRatio,
            Signal::ProcessList,
            Signal::PcieTraffic,
            Signal::PcieLink,
        ],
    },
    check,
};

/// What else may take the time between kernels, and was found: then copies go on beside it.
const SAID_BEFORE: &[Cause] =
    &[Cause::StarvedByStorage, Cause::StarvedByCpu, Cause::StarvedByHostCode, Cause::StarvedByNetworkInput];
/// How much copies that fill the card's rest tell, beside copies that fill the link all the time.
const IN_REST_STRENGTH: f64 = 0.8;
/// A link on which copies take this share of the time proves it fully.
const FULL_PROOF: f64 = 0.75;

fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    for work in partly_busy_cards(scene, limits, findings) {
        let is_said = findings.answer_about(SAID_BEFORE, work.card.index).is_some();
        match copies(work.card) {
            Ok(copies) if copies.share >= limits.transfer_link_share_min => {
                findings.report(judge(scene, &work, copies, limits));
            }
            Ok(copies)
                if work.copies_in_rest(&copies, limits) >= limits.transfer_link_share_min && !is_said =>
            {
                findings.report(judge(scene, &work, copies, limits));
            }
            Ok(_) => findings.rule_out(Signal::PcieTraffic, Some(work.card.index)),
            // Products without the counter are many, and a text has none.
            Err(absence @ Absence::Denied(_)) => findings.blind(Signal::PcieTraffic, absence),
            Err(_) => {}
        }
    }
}

fn judge(scene: &Scene, work: &PartlyBusyCard<'_>, copies: Copies, limits: &Limits) -> Draft {
    let mut draft = Draft::about_card(&RULE, work.card, text::summary());
    work.weigh_shape(scene, limits, &mut draft);
    let percent = Percent((copies.share * 100.0).min(100.0));
    let link = format!("gen {} x{}", copies.generation, copies.width);
    let words = if copies.is_to_card {
        text::to_card(link, percent, copies.rate)
    } else {
        text::to_host(link, percent, copies.rate)
    };
    let reader = if copies.is_by_counters { Reader::NvmlCounters } else { Reader::Nvml };
    let evidence = once(Signal::PcieTraffic, copies.rate.0, Unit::BytesPerSecond, reader, words);
    let evidence = if copies.is_by_counters {
        over(evidence, scene.window.samples, scene.window.span_s)
    } else {
        evidence
    };
    let usual =
        normal(Comparison::Less, copies.rate.0 / copies.share.max(0.01) * limits.transfer_link_share_min);
    let is_full_always = copies.share >= limits.transfer_link_share_min;
    let strength = if is_full_always {
        copies.share / FULL_PROOF
    } else {
        // They may also go on while kernels run.
        draft.silent(1.0);
        work.copies_in_rest(&copies, limits) * IN_REST_STRENGTH
    };
    draft.agree_by(4.0, strength, with_normal(evidence, usual));
    if !copies.is_by_counters {
        // Moments of 20 ms may show the peaks only.
        draft.silent(3.0);
    }
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_pinned());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_less());
    draft.advise(Action::ImproveProgram, Vec::new(), text::fix_link(work.card.shown()));
    work.finish(scene, draft)
}
