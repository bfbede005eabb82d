//! Which cards the device plugins and kubelets of a cluster offer, by what they reported.

use gpuwhy_model::scene::{LogLine, PluginEvent, PluginReport, ProgramFact, Scene};

/// A card that was taken away and did not come back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OutCard<'scene> {
    /// Its unique name; none: the plugin does not say which.
    pub(crate) device: Option<&'scene str>,
    /// The number of the driver's error for which it was.
    pub(crate) xid: Option<u32>,
    /// The line that says so.
    pub(crate) line: &'scene LogLine,
}

/// What the reports leave.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Offers<'scene> {
    /// Cards that were taken away and did not come back.
    pub(crate) out: Vec<OutCard<'scene>>,
    /// Why no card is offered at all, and the line that says so.
    pub(crate) none: Option<(PluginEvent, &'scene LogLine)>,
    /// Pods came for more cards than were offered.
    pub(crate) too_few: Option<&'scene LogLine>,
}

/// Returns the reports of plugins and kubelets with their lines, in their order.
pub(crate) fn reports(scene: &Scene) -> impl Iterator<Item = (&LogLine, &PluginReport)> {
    scene.program.iter().filter_map(|line| match &line.fact {
        Some(ProgramFact::Plugin(report)) => Some((line, report)),
        _ => None,
    })
}

/// Returns what the reports leave. A plugin that registers starts anew with all cards that it finds.
pub(crate) fn offers(scene: &Scene) -> Offers<'_> {
    let mut offers = Offers::default();
    for (line, report) in reports(scene) {
        let device = report.device.as_deref();
        match report.event {
            PluginEvent::Error | PluginEvent::Unhealthy => offers.take_away(device, report.xid, line),
            PluginEvent::AllUnhealthy | PluginEvent::NoDevices | PluginEvent::Withdrawn => {
                offers.none = Some((report.event, line));
            }
            PluginEvent::Healthy => match device {
                Some(device) => offers.out.retain(|out| out.device != Some(device)),
                None => offers.out.clear(),
            },
            PluginEvent::Registered => offers = Offers { too_few: offers.too_few, ..Offers::default() },
            PluginEvent::TooFew => offers.too_few = Some(line),
            PluginEvent::ErrorIgnored => {}
        }
    }
    offers
}

impl<'scene> Offers<'scene> {
    fn take_away(&mut self, device: Option<&'scene str>, xid: Option<u32>, line: &'scene LogLine) {
        match self.out.iter_mut().find(|out| out.device == device) {
            Some(known) => {
                known.xid = known.xid.or(xid);
                known.line = line;
            }
            None => self.out.push(OutCard { device, xid, line }),
        }
    }

    /// Returns whether the reports show nothing amiss.
    pub(crate) fn are_whole(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{LogLine, PluginEvent, PluginReport, ProgramFact, Scene};

    use super::offers;

    fn scene(reports: &[(PluginEvent, Option<&str>, Option<u32>)]) -> Scene {
        let line = |(event, device, xid): &(PluginEvent, Option<&str>, Option<u32>)| LogLine {
            fact: Some(ProgramFact::Plugin(PluginReport {
                event: *event,
                resource: None,
                device: device.map(str::to_owned),
                xid: *xid,
            })),
            ..LogLine::default()
        };
        Scene { program: reports.iter().map(line).collect(), ..Scene::default() }
    }

    #[test]
    fn a_card_stays_away_until_it_is_said_to_be_back_or_the_plugin_starts_anew() {
        let error = (PluginEvent::Error, Some("GPU-1"), Some(69));
        let unhealthy = (PluginEvent::Unhealthy, Some("GPU-1"), None);
        let seen = scene(&[error, unhealthy]);
        let found = offers(&seen);
        assert_eq!((found.out.len(), found.out[0].xid), (1, Some(69)));
        for last in [
            (PluginEvent::Healthy, Some("GPU-1"), None),
            (PluginEvent::Healthy, None, None),
            (PluginEvent::Registered, None, None),
        ] {
            assert!(offers(&scene(&[error, unhealthy, last])).are_whole(), "{last:?}");
        }
        let seen = scene(&[error, (PluginEvent::Healthy, Some("GPU-2"), None)]);
        assert_eq!(offers(&seen).out.len(), 1);
        assert!(offers(&scene(&[(PluginEvent::ErrorIgnored, None, Some(13))])).are_whole());
    }
}
