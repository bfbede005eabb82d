//! Errors of cards of which only the device plugin of a cluster tells: by a unique name, without number or address.

use gpuwhy_model::action::SubjectKind;
use gpuwhy_model::scene::{Card, LogLine, PluginEvent, Scene};
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::{Severity, Subject};

use crate::draft::Draft;
use crate::facts::offers::reports;
use crate::facts::program::says;
use crate::facts::xids::{self, Kind};
use crate::rule::Rule;

/// So much of a unique name is shown.
const NAME_MAX: usize = 12;

/// An error that a plugin reported of a card that is not listed otherwise.
struct Reported<'scene> {
    device: &'scene str,
    number: u32,
    line: &'scene LogLine,
}

fn reported(scene: &Scene, kind: Kind) -> Vec<Reported<'_>> {
    // Its generation is not known: today's meaning of a number counts.
    let unknown = Card::default();
    let is_listed = |device: &str| {
        scene
            .cards
            .iter()
            .chain(&scene.unlisted_cards)
            .any(|card| card.uuid.known().is_some_and(|uuid| uuid == device))
    };
    let mut all: Vec<Reported<'_>> = Vec::new();
    for (line, report) in reports(scene) {
        let is_error = matches!(report.event, PluginEvent::Error | PluginEvent::ErrorIgnored);
        let (Some(number), true) = (report.xid, is_error) else {
            continue;
        };
        let device = report.device.as_deref().unwrap_or_default();
        let is_known = all.iter().any(|known| known.device == device && known.number == number);
        if xids::kind(number, &unknown) == kind && !is_listed(device) && !is_known {
            all.push(Reported { device, number, line });
        }
    }
    all
}

/// Begins a finding about each card of which a plugin reported an error of some kind.
pub(super) fn drafts(
    rule: &'static Rule,
    scene: &Scene,
    kind: Kind,
    severity: Severity,
    summary: impl Fn(u32) -> Text,
) -> Vec<(u32, Draft)> {
    let draft = |reported: Reported<'_>| {
        let name: String = reported.device.chars().take(NAME_MAX).collect();
        let subject = Subject { kind: SubjectKind::Card, id: reported.device.to_owned(), name };
        let group = format!("card {} {}", reported.device, reported.number);
        let mut draft =
            Draft::new(rule, subject, group, Vec::new(), summary(reported.number)).severity(severity);
        draft.balance.past_decides = true;
        draft.agree_by(4.0, 0.95, says(reported.line));
        // The plugin gives neither time nor process.
        draft.silent(0.5);
        draft.finding.detail.insert("xid".to_owned(), reported.number.to_string());
        draft.finding.impact.blocked = 1;
        (reported.number, draft)
    };
    reported(scene, kind).into_iter().map(draft).collect()
}
