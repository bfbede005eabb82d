//! In which call the child sits, and since when, told without waiting for anybody.
//!
//! Before each call the child writes a record into a file in memory that its parent can read, and puts the call into
//! its own process name, where a later run can read it when the parent is gone.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{pread, pwrite};

use super::call::Call;
use super::protocol::Effort;
use crate::clock;

/// Six words: count, call and card, moment; of the slowest call so far call and card, and its time; count again.
const RECORD_LENGTH: usize = 48;

/// The card in a record of a call that is about no card.
const NO_CARD: u32 = u32::MAX;

/// The kernel keeps this many bytes of a name, its end mark included.
const NAME_LENGTH: usize = 16;

/// A call that the child makes, or one that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beat {
    /// Which record this is.
    pub(super) count: u64,
    /// The call; none while the child waits for a request.
    pub(super) call: Option<Call>,
    /// The card that the call is about.
    pub(super) card: Option<u32>,
    /// When it began, on the clock of [`clock::awake`].
    pub(super) since: Duration,
    /// Of the calls that have returned the one that took longest.
    pub(super) slowest: Option<Slow>,
}

/// A call that has returned, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slow {
    pub(super) call: Call,
    pub(super) card: Option<u32>,
    pub(super) took: Duration,
}

/// The child's side.
pub(super) struct Heart {
    file: OwnedFd,
    count: u64,
    /// The call that is being made.
    now: Option<(Call, Option<u32>, Duration)>,
    slowest: Option<Slow>,
    /// How many calls were made.
    calls: u64,
    /// Processor time that they took.
    spent: Duration,
}

impl Heart {
    pub(super) fn new(file: OwnedFd) -> Self {
        Self { file, count: 0, now: None, slowest: None, calls: 0, spent: Duration::ZERO }
    }

    /// Makes a call, and says so before.
    pub(super) fn during<T>(&mut self, call: Call, card: Option<u32>, make: impl FnOnce() -> T) -> T {
        let since = clock::awake();
        self.now = Some((call, card, since));
        self.write(call.number(), card, since);
        set_name(&Name { call, card, since_s: since.as_secs() });
        let before = clock::thread_time();
        let answer = make();
        self.spent += clock::thread_time().saturating_sub(before);
        self.calls += 1;
        self.returned(clock::awake());
        answer
    }

    /// Says that no call is being made.
    pub(super) fn rests(&mut self) {
        self.write(0, None, clock::awake());
    }

    /// Returns what all calls so far took.
    pub(super) fn effort(&self) -> Effort {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Effort {
            calls: self.calls,
            library_ns: nanoseconds(self.spent),
            child_ns: nanoseconds(clock::process_time()),
        }
    }

    /// Takes note of how long the call took that was being made.
    fn returned(&mut self, at: Duration) {
        let Some((call, card, since)) = self.now.take() else {
            return;
        };
        let took = at.saturating_sub(since);
        if !call.is_start() && !call.wakes_a_card() && self.slowest.is_none_or(|slowest| took > slowest.took)
        {
            self.slowest = Some(Slow { call, card, took });
        }
    }

    fn write(&mut self, call: u32, card: Option<u32>, since: Duration) {
        self.count += 1;
        let mut record = [0_u8; RECORD_LENGTH];
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let slowest_call = self.slowest.map_or(0, |slowest| slowest.call.number());
        let slowest_card = self.slowest.and_then(|slowest| slowest.card).unwrap_or(NO_CARD);
        let slowest_took = self.slowest.map_or(Duration::ZERO, |slowest| slowest.took);
        record[0..8].copy_from_slice(&self.count.to_ne_bytes());
        record[8..12].copy_from_slice(&call.to_ne_bytes());
        record[12..16].copy_from_slice(&card.unwrap_or(NO_CARD).to_ne_bytes());
        record[16..24].copy_from_slice(&nanoseconds(since).to_ne_bytes());
        record[24..28].copy_from_slice(&slowest_call.to_ne_bytes());
        record[28..32].copy_from_slice(&slowest_card.to_ne_bytes());
        record[32..40].copy_from_slice(&nanoseconds(slowest_took).to_ne_bytes());
        record[40..48].copy_from_slice(&self.count.to_ne_bytes());
        // A file in memory that cannot be written tells nothing, and the parent then goes by its own clock.
        let _ = pwrite(&self.file, &record, 0);
    }
}

/// Returns the newest record; none before the first, or while one is being written.
pub(super) fn newest_beat(file: &OwnedFd) -> Option<Beat> {
    let mut record = [0_u8; RECORD_LENGTH];
    let length = pread(file, &mut record, 0).ok()?;
    if length < RECORD_LENGTH || record[0..8] != record[40..48] {
        return None;
    }
    let word = |place: usize| u32::from_ne_bytes(record[place..place + 4].try_into().unwrap_or_default());
    let long = |place: usize| u64::from_ne_bytes(record[place..place + 8].try_into().unwrap_or_default());
    let card = |place: usize| (word(place) != NO_CARD).then(|| word(place));
    Some(Beat {
        count: long(0),
        call: Call::from_number(word(8)),
        card: card(12),
        since: Duration::from_nanos(long(16)),
        slowest: Call::from_number(word(24)).map(|call| Slow {
            call,
            card: card(28),
            took: Duration::from_nanos(long(32)),
        }),
    })
}

/// What the name of a child says: `nv22.3@a1b2`, the call's number, the card, and when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) call: Call,
    pub(super) card: Option<u32>,
    /// Seconds on the clock of [`clock::awake`].
    pub(super) since_s: u64,
}

/// Returns whether a process name is one that a child of ours gives itself.
pub(crate) fn is_name_of_a_child(name: &[u8]) -> bool {
    Name::read(name).is_some()
}

/// Puts a name upon this process.
fn set_name(name: &Name) {
    let mut text = [0_u8; NAME_LENGTH];
    let length = name.write(&mut text);
    if let Ok(name) = CStr::from_bytes_with_nul(&text[..=length]) {
        let _ = rustix::thread::set_name(name);
    }
}

impl Name {
    /// Writes the name, cut where it is too long, and returns its length.
    fn write(&self, text: &mut [u8; NAME_LENGTH]) -> usize {
        use std::io::Write as _;
        let mut rest = &mut text[..NAME_LENGTH - 1];
        let room = rest.len();
        let card = self.card.map_or(-1, i64::from);
        let _ = write!(rest, "nv{}.{card}@", self.call.number());
        let mut digits = [0_u8; 13];
        let _ = rest.write(base_36(self.since_s, &mut digits));
        room - rest.len()
    }

    /// Reads a name; none if it is not one of ours.
    pub(super) fn read(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (call, rest) = name.strip_prefix("nv")?.split_once('.')?;
        let (card, since) = rest.split_once('@')?;
        let card: i64 = card.parse().ok()?;
        Some(Self {
            call: Call::from_number(call.parse().ok()?)?,
            card: u32::try_from(card).ok(),
            since_s: u64::from_str_radix(since, 36).ok()?,
        })
    }
}

/// Writes a number in digits and small letters.
fn base_36(mut number: u64, digits: &mut [u8; 13]) -> &[u8] {
    let mut first = digits.len();
    while first > 0 {
        first -= 1;
        digits[first] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize];
        number /= 36;
        if number == 0 {
            break;
        }
    }
    &digits[first..]
}

#[cfg(test)]
mod tests {
    use super::{Heart, NAME_LENGTH, Name, newest_beat};
    use crate::nvml::call::Call;
    use rustix::fs::{MemfdFlags, memfd_create};

    #[test]
    fn the_newest_record_is_read() {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(newest_beat(&file), None);
        let mut heart = Heart::new(file.try_clone().unwrap());
        heart.rests();
        assert_eq!(newest_beat(&file).unwrap().call, None);
        heart.write(Call::Power.number(), Some(3), std::time::Duration::from_secs(7));
        let beat = newest_beat(&file).unwrap();
        assert_eq!((beat.count, beat.call, beat.card), (2, Some(Call::Power), Some(3)));
        assert_eq!(beat.since.as_secs(), 7);
        assert_eq!(beat.slowest, None);
    }

    #[test]
    fn the_slowest_call_that_returned_is_remembered() {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        let mut heart = Heart::new(file.try_clone().unwrap());
        let second = std::time::Duration::from_secs(1);
        for (call, card, took) in [
            // The library may start cards here.
            (Call::Init, None, 30),
            (Call::Handle, Some(0), 20),
            (Call::Power, Some(1), 3),
            (Call::Temperature, Some(2), 2),
        ] {
            heart.now = Some((call, card, second));
            heart.returned(second * (1 + took));
        }
        heart.write(0, None, second);
        let slowest = newest_beat(&file).unwrap().slowest.unwrap();
        assert_eq!((slowest.call, slowest.card, slowest.took), (Call::Power, Some(1), second * 3));
    }

    #[test]
    fn calls_are_counted_with_the_time_that_they_took() {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        let mut heart = Heart::new(file.try_clone().unwrap());
        let during = heart.during(Call::Power, Some(1), || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            newest_beat(&file).unwrap()
        });
        assert_eq!((during.call, during.card), (Some(Call::Power), Some(1)));
        heart.during(Call::Power, Some(2), || ());
        heart.rests();
        assert_eq!(newest_beat(&file).unwrap().call, None);
        let effort = heart.effort();
        assert_eq!(effort.calls, 2);
        assert!(effort.library_ns > 0 && effort.library_ns <= effort.child_ns, "{effort:?}");
    }

    #[test]
    fn names_can_be_read_back() {
        // The largest that fits: two years awake, the highest call, the highest card.
        for (call, card, since_s) in
            [(Call::Init, None, 5), (Call::NextEvent, Some(15), 63_072_000), (Call::Temperature, Some(0), 0)]
        {
            let name = Name { call, card, since_s };
            let mut text = [0; NAME_LENGTH];
            let length = name.write(&mut text);
            assert!(length < NAME_LENGTH);
            assert_eq!(Name::read(&text[..length]), Some(name));
        }
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in ["nvidia-smi", "nv1.2", "nv.1@2", "nv999.1@2", "python", "", "nv2.x@1"] {
            assert_eq!(Name::read(name.as_bytes()), None, "{name}");
        }
    }
}
