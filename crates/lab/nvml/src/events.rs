//! Event sets: a program waits for what happens to cards.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gpuwhy_lab::board::Board;
use gpuwhy_lab::state::Clock;

use crate::Code;
use crate::abi::{EventData, EventDataV1, NO_INSTANCE};
use crate::device::Device;
use crate::pointer::Out;
use crate::registry::Registry;
use crate::session::{Session, call, card_call};

/// `nvmlEventSet_t`: a number that only the library understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct EventSet(usize);

/// `nvmlEventType…` bits.
mod kind {
    use std::ffi::c_ulonglong;

    pub(super) const CORRECTED: c_ulonglong = 0x1;
    pub(super) const UNCORRECTED: c_ulonglong = 0x2;
    pub(super) const PERFORMANCE_STATE: c_ulonglong = 0x4;
    pub(super) const XID: c_ulonglong = 0x8;
    pub(super) const CLOCK: c_ulonglong = 0x10;
}

/// A waiting program looks at least so often whether something happened.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What one set is registered for, and what it was told already.
#[derive(Default)]
struct Registered {
    /// Card, kinds of events, and since when in seconds after the box came up.
    cards: Vec<(usize, c_ulonglong, f64)>,
    told: BTreeSet<Happening>,
}

/// One event of the board as one card has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Happening {
    /// Place among the board's events.
    event: usize,
    card: usize,
    kind: c_ulonglong,
    data: c_ulonglong,
}

static SETS: Registry<Mutex<Registered>> = Registry::new();

/// Makes a set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetCreate(set: Out<EventSet>) -> Code {
    call("nvmlEventSetCreate", |_| {
        if set.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        set.put(EventSet(SETS.keep(Mutex::new(Registered::default()))))
    })
}

/// Gives a set back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetFree(set: EventSet) -> Code {
    call("nvmlEventSetFree", |_| if SETS.forget(set.0) { Ok(()) } else { Err(Code::INVALID_ARGUMENT) })
}

/// Kinds of events that a card reports.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSupportedEventTypes(device: Device, kinds: Out<c_ulonglong>) -> Code {
    card_call("nvmlDeviceGetSupportedEventTypes", device, |asked| kinds.put(supported(asked.card.has_ecc())))
}

fn supported(has_ecc: bool) -> c_ulonglong {
    let always = kind::PERFORMANCE_STATE | kind::XID | kind::CLOCK;
    if has_ecc { always | kind::CORRECTED | kind::UNCORRECTED } else { always }
}

/// Adds a card's events to a set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceRegisterEvents(device: Device, kinds: c_ulonglong, set: EventSet) -> Code {
    card_call("nvmlDeviceRegisterEvents", device, |asked| {
        let registered = SETS.get(set.0).ok_or(Code::INVALID_ARGUMENT)?;
        if kinds & !supported(asked.card.has_ecc()) != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let since = asked.machine.since_start(Clock::now());
        let mut registered = registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.cards.push((asked.card.index, kinds, since));
        Ok(())
    })
}

/// Waits for the next event of a set; the newer call, which knows instances.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetWait_v2(
    set: EventSet,
    data: Out<EventData>,
    timeout_ms: c_uint,
) -> Code {
    wait("nvmlEventSetWait_v2", set, timeout_ms, |event| data.put(event))
}

/// Waits for the next event of a set; the older call, whose structure ends before the instances.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlEventSetWait(
    set: EventSet,
    place: Out<EventDataV1>,
    timeout_ms: c_uint,
) -> Code {
    wait("nvmlEventSetWait", set, timeout_ms, |event| {
        let EventData { device, kind, data, .. } = event;
        place.put(EventDataV1 { device, kind, data })
    })
}

fn wait(
    function: &'static str,
    set: EventSet,
    timeout_ms: c_uint,
    deliver: impl FnOnce(EventData) -> Result<(), Code>,
) -> Code {
    call(function, |session| {
        let registered = SETS.get(set.0).ok_or(Code::INVALID_ARGUMENT)?;
        let deadline = Instant::now() + Duration::from_millis(u64::from(timeout_ms));
        loop {
            if let Some(happening) =
                next(session, &mut registered.lock().unwrap_or_else(PoisonError::into_inner))
            {
                return deliver(EventData {
                    device: Device::of(happening.card).ok_or(Code::UNKNOWN)?,
                    kind: happening.kind,
                    data: happening.data,
                    gpu_instance_id: NO_INSTANCE,
                    compute_instance_id: NO_INSTANCE,
                });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Code::TIMEOUT);
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    })
}

/// The first event that the set was not told yet.
fn next(session: &Session, registered: &mut Registered) -> Option<Happening> {
    let now = session.machine().since_start(Clock::now());
    let all = happenings(session.board(), now);
    let is_wanted = |at_s: f64, happening: &Happening| {
        registered.cards.iter().any(|(card, kinds, since)| {
            *card == happening.card && kinds & happening.kind != 0 && at_s >= *since
        })
    };
    let (_, happening) = all
        .into_iter()
        .find(|(at_s, happening)| is_wanted(*at_s, happening) && !registered.told.contains(happening))?;
    registered.told.insert(happening);
    Some(happening)
}

/// Everything that has happened to the cards until now, with its time.
fn happenings(board: &Board, now_s: f64) -> Vec<(f64, Happening)> {
    let mut all = Vec::new();
    for (position, event) in board.events.iter().enumerate().take_while(|(_, event)| event.at_s <= now_s) {
        for card in (0..board.cards.len()).filter(|card| event.concerns(*card)) {
            let mut add =
                |kind, data| all.push((event.at_s, Happening { event: position, card, kind, data }));
            if let Some(xid) = event.xid {
                add(kind::XID, c_ulonglong::from(xid));
            }
            if event.sets("ecc", "corrected") {
                add(kind::CORRECTED, 0);
            }
            if event.sets("ecc", "uncorrected") {
                add(kind::UNCORRECTED, 0);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_a_card_is_its_own() {
        let file = gpuwhy_lab::board::BoardFile {
            cards: vec![gpuwhy_lab::board::CardSetting {
                profile: "t4".to_owned(),
                count: Some(2),
                ..Default::default()
            }],
            events: vec![
                gpuwhy_lab::board::BoardEvent {
                    at_s: 2.0,
                    card: Some(1),
                    xid: Some(48),
                    ..Default::default()
                },
                gpuwhy_lab::board::BoardEvent { at_s: 1.0, xid: Some(31), ..Default::default() },
            ],
            ..Default::default()
        };
        let board = file.resolve().unwrap();
        let seen = |now| {
            let all = happenings(&board, now);
            all.iter().map(|(_, happening)| (happening.card, happening.data)).collect::<Vec<_>>()
        };
        assert_eq!(seen(0.5), []);
        assert_eq!(seen(1.5), [(0, 31), (1, 31)]);
        assert_eq!(seen(2.5), [(0, 31), (1, 31), (1, 48)]);
    }
}
