//! The `NVLinks` of a card.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, NvLink};

use super::measure::value;
use crate::nvml::answers::reading_of;
use crate::nvml::call::Call;
use crate::nvml::caller::{Caller, Subject};
use crate::nvml::plausible;
use crate::nvml::raw::{Field, FieldNumber, Refusal};
use crate::nvml::remembered::{Once, RefusedFields};

/// No card has more.
const LINKS_MAX: u32 = 36;

/// Errors of one link: of packets sent again, of training anew, of damaged data.
const REPLAY_FIELD: u32 = 161;
const RECOVERY_FIELD: u32 = 162;
const CRC_FIELD: u32 = 163;
/// The fifth generation corrects errors on the way, and counts what stayed wrong, and training anew, elsewhere.
const EFFECTIVE_ERRORS_FIELD: u32 = 219;
const RECOVERY_EVENTS_FIELD: u32 = 215;
/// Bytes over one link, which the fifth generation counts where the sum over all is not told.
const LINK_SENT_FIELD: u32 = 202;
const LINK_RECEIVED_FIELD: u32 = 204;

/// The same errors as `nvmlNvLinkErrorCounter_t`, for older drivers: damaged data are counted in two places.
const REPLAY_COUNTER: u32 = 0;
const RECOVERY_COUNTER: u32 = 1;
const CRC_COUNTERS: [u32; 2] = [2, 3];

/// What is remembered of the links of a card.
#[derive(Default)]
pub(in crate::nvml) struct Links {
    /// Generation, which all links of a card have in common.
    version: Once<u32>,
    /// What each link leads to.
    remotes: Vec<Once<String>>,
    /// The links that were up at the newest full sweep.
    active: Vec<u32>,
}

/// Counters of errors of one link.
struct Errors {
    crc: Reading<u64>,
    replays: Reading<u64>,
    recoveries: Reading<u64>,
}

impl Links {
    /// Reads all links of a card with this compute capability (its major number).
    pub(super) fn read(
        &mut self,
        caller: &mut Caller,
        subject: &mut Subject,
        refused: &mut RefusedFields,
        capability: Option<u32>,
    ) -> Reading<Vec<NvLink>> {
        let mut links = Vec::new();
        self.active.clear();
        for link in 0..LINKS_MAX {
            let state = caller
                .try_card(subject, Call::NvLinkState, |library, device| library.nvlink_state(device, link));
            if let Err(refusal) = state
                && (refusal.is_lasting() || refusal.code() == Refusal::INVALID_ARGUMENT)
            {
                // There is no such link.
                break;
            }
            let active = plausible::switch(reading_of(Call::NvLinkState, state));
            if active == Reading::Known(true) {
                self.active.push(link);
            }
            if subject.lost.is_some() || (link == 0 && !active.is_known()) {
                return active.map(|_| Vec::new());
            }
            links.push(NvLink { link, active, ..NvLink::default() });
        }
        if links.is_empty() {
            return Reading::Unsupported;
        }
        self.remotes.resize_with(links.len(), Once::default);
        let mut counted = errors(caller, subject, refused, &self.active).into_iter();
        for link in links.iter_mut().filter(|link| link.active == Reading::Known(true)) {
            self.describe(caller, subject, link, capability);
            if let Some(errors) = counted.next() {
                link.crc_errors = errors.crc;
                link.replays = errors.replays;
                link.recoveries = errors.recoveries;
            }
        }
        Reading::Known(links)
    }

    fn describe(
        &mut self,
        caller: &mut Caller,
        subject: &mut Subject,
        link: &mut NvLink,
        capability: Option<u32>,
    ) {
        let number = link.link;
        link.version = self.version.get(|| {
            let version = caller
                .card(subject, Call::NvLinkVersion, |library, device| library.nvlink_version(device, number));
            plausible::nvlink_version(version, capability)
        });
        link.remote =
            self.remotes[number as usize].get(|| {
                plausible::remote(caller.card(subject, Call::NvLinkRemote, |library, device| {
                    library.nvlink_remote(device, number)
                }))
            });
    }

    /// Adds up what went over each link, where the card does not tell the sum.
    pub(super) fn count_bytes(
        &self,
        caller: &mut Caller,
        subject: &mut Subject,
        refused: &mut RefusedFields,
        card: &mut CardSample,
    ) {
        let is_told = card.nvlink_traffic.sent_bytes != Reading::Unsupported;
        if is_told || self.active.is_empty() {
            return;
        }
        let of_each = |id| self.active.iter().map(move |link| Field { id, scope: *link });
        let wanted: Vec<Field> = of_each(LINK_SENT_FIELD).chain(of_each(LINK_RECEIVED_FIELD)).collect();
        let readings = caller.fields(subject, refused, &wanted);
        let (sent, received) = readings.split_at(self.active.len());
        let sum = |parts: &[Reading<FieldNumber>]| {
            parts.iter().fold(Reading::Known(0_u64), |sum, part| {
                sum.and_then(|sum| plausible::counter(value(part)).map(|part| sum.saturating_add(part)))
            })
        };
        card.nvlink_traffic.sent_bytes = sum(sent);
        card.nvlink_traffic.received_bytes = sum(received);
    }
}

/// Reads the errors of links, as the card's generation and the driver's age have them.
fn errors(
    caller: &mut Caller,
    subject: &mut Subject,
    refused: &mut RefusedFields,
    links: &[u32],
) -> Vec<Errors> {
    let mut read = |ids: &[u32]| -> Vec<Reading<u64>> {
        let of_link = |link: &u32| ids.iter().map(|id| Field { id: *id, scope: *link }).collect::<Vec<_>>();
        let wanted: Vec<Field> = links.iter().flat_map(of_link).collect();
        let readings = caller.fields(subject, refused, &wanted);
        readings.iter().map(|reading| plausible::counter(value(reading))).collect()
    };
    let told = read(&[CRC_FIELD, REPLAY_FIELD, RECOVERY_FIELD]);
    if has_any(&told) {
        let of_link = |told: &[Reading<u64>]| Errors {
            crc: told[0].clone(),
            replays: told[1].clone(),
            recoveries: told[2].clone(),
        };
        return told.chunks_exact(3).map(of_link).collect();
    }
    let told = read(&[EFFECTIVE_ERRORS_FIELD, RECOVERY_EVENTS_FIELD]);
    if has_any(&told) {
        let of_link = |told: &[Reading<u64>]| Errors {
            crc: told[0].clone(),
            replays: Reading::Unsupported,
            recoveries: told[1].clone(),
        };
        return told.chunks_exact(2).map(of_link).collect();
    }
    links.iter().map(|link| counted_by_calls(caller, subject, *link)).collect()
}

/// Returns whether the card knows any of these fields.
fn has_any(told: &[Reading<u64>]) -> bool {
    told.iter().any(|count| *count != Reading::Unsupported)
}

/// Reads the errors of one link by the calls that older drivers have.
fn counted_by_calls(caller: &mut Caller, subject: &mut Subject, link: u32) -> Errors {
    let mut counted = |counter: u32| {
        let count = caller.card(subject, Call::NvLinkErrors, |library, device| {
            library.nvlink_errors(device, link, counter)
        });
        plausible::events(count)
    };
    let [flits, data] = CRC_COUNTERS.map(&mut counted);
    Errors {
        crc: flits.and_then(|flits| data.map(|data| flits.saturating_add(data))),
        replays: counted(REPLAY_COUNTER),
        recoveries: counted(RECOVERY_COUNTER),
    }
}
