//! Cards of any maker, look by look, as a scene.

use std::collections::BTreeSet;

use gpuwhy_model::command_line::{CommandLine, masked_text};
use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardMemory, CardSample, NvmlSample, ReadTime, Sample, Section, Vendor};
use gpuwhy_model::scene::{Process, Scene};
use gpuwhy_model::units::Bytes;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::nvidia_scene::scene_of;
use crate::Format;
use crate::proc::role;

/// How these tools write their time, without a zone.
const TIME_FORMAT: &str = "%a %b %e %H:%M:%S %Y";

/// A machine has no more cards.
const CARDS_MAX: usize = NvmlSample::CARDS_MAX as usize;

/// What a tool said at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// Calendar time, where it is said; its zone is not.
    pub(super) at: Option<Timestamp>,
    /// Seconds since the first look, where only those are said.
    pub(super) since_s: f64,
    pub(super) driver_version: Reading<String>,
    pub(super) cuda_version: Reading<String>,
    pub(super) cards: Vec<CardSample>,
}

/// Makes a scene of looks, oldest first.
pub(super) fn scene(mut looks: Vec<Look>, format: Format) -> Scene {
    let first = looks.first().and_then(|look| look.at);
    let mut others: BTreeSet<u32> = BTreeSet::new();
    let samples: Vec<Sample> = looks
        .iter_mut()
        .map(|look| {
            let since = match (look.at, first) {
                (Some(at), Some(first)) => at.duration_since(first),
                _ => SignedDuration::try_from_secs_f64(look.since_s).unwrap_or_default(),
            };
            let wall = look.at.or_else(|| Timestamp::UNIX_EPOCH.checked_add(since).ok()).unwrap_or_default();
            let taken = ReadTime { boot_ns: u64::try_from(since.as_nanos()).unwrap_or_default(), wall };
            look.cards.truncate(CARDS_MAX);
            let (own, other): (Vec<_>, Vec<_>) =
                std::mem::take(&mut look.cards).into_iter().partition(|card| card.vendor == Vendor::Nvidia);
            others.extend(other.iter().map(|card| card.index));
            let mut sample = Sample::empty(taken);
            if !own.is_empty() {
                let value = Reading::Known(NvmlSample {
                    driver_version: look.driver_version.clone(),
                    cuda_version: look.cuda_version.clone(),
                    cards: own,
                    ..NvmlSample::default()
                });
                sample.nvml = Section { read: taken, value };
            }
            if !other.is_empty() {
                sample.other_cards = Section { read: taken, value: Reading::Known(other) };
            }
            sample
        })
        .collect();
    let mut scene = scene_of(&samples, format, looks.last().is_some_and(|look| look.at.is_some()));
    // The window numbers cards of other makers behind NVIDIA's; here the tool itself numbers them.
    let cards = scene.cards.iter_mut().filter(|card| card.vendor != Vendor::Nvidia);
    for (card, index) in cards.zip(others) {
        card.index = index;
    }
    scene.cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent, card.index));
    scene
}

/// Reads the time that a line ends or begins with.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let local = DateTime::strptime(TIME_FORMAT, text.trim()).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

/// Puts an amount of memory together; what is free is what is not used.
pub(super) fn memory(used: &Reading<Bytes>, total: &Reading<Bytes>) -> Reading<CardMemory> {
    total.as_ref().copied().and_then(|total| {
        used.as_ref().copied().and_then(|used| {
            let free = total.0.checked_sub(used.0).map(Bytes);
            free.map(|free| CardMemory { total, reserved: Reading::default(), used, free }).into()
        })
    })
}

/// Returns a process as far as a tool names it.
pub(super) fn process(pid: Pid, user: Option<&str>, arguments: &[&str], name: Option<&str>) -> Process {
    let command: Reading<CommandLine> = if arguments.is_empty() {
        Reading::default()
    } else {
        Reading::Known(CommandLine::masked(arguments.iter().copied()))
    };
    let program = name.or(arguments.first().copied()).unwrap_or_default();
    let name = masked_text(program.rsplit('/').next().unwrap_or(program));
    Process {
        key: ProcessKey { pid, ..ProcessKey::default() },
        role: role(&name, &command),
        user: user.map(str::to_owned).into(),
        name,
        command,
        ..Process::default()
    }
}

/// Returns who made a card, by its name.
pub(super) fn vendor_of(name: &str) -> Vendor {
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["nvidia", "geforce", "quadro", "tesla", "titan", "rtx", "gtx"]) {
        Vendor::Nvidia
    } else if has(&["amd", "radeon", "instinct", "ati ", "navi", "vega", "gfx"]) {
        Vendor::Amd
    } else if has(&["intel", "arc ", "iris", "uhd graphics", "data center gpu"]) {
        Vendor::Intel
    } else {
        Vendor::Other
    }
}

/// Adds processes that were not named yet.
pub(super) fn add_processes(scene: &mut Scene, processes: impl IntoIterator<Item = Process>) {
    for process in processes {
        if !scene.processes.iter().any(|known| known.key.pid == process.key.pid) {
            scene.processes.push(process);
        }
    }
    scene.processes.sort_by_key(|process| process.key.pid);
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardSample, Vendor};
    use gpuwhy_model::units::Bytes;

    use super::{Look, memory, process, scene, time, vendor_of};
    use crate::Format;

    fn card(index: u32, vendor: Vendor) -> CardSample {
        CardSample { index, vendor, handle: Reading::Known(()), ..CardSample::default() }
    }

    #[test]
    fn cards_keep_the_numbers_of_their_tool() {
        let look = Look { cards: vec![card(5, Vendor::Amd), card(7, Vendor::Amd)], ..Look::default() };
        let scene = self::scene(vec![look], Format::RocmSmi);
        let cards: Vec<_> = scene.cards.iter().map(|card| (card.index, card.vendor)).collect();
        assert_eq!(cards, [(5, Vendor::Amd), (7, Vendor::Amd)]);
        assert!(scene.machine.driver.library.is_not_in_source(), "the library of another maker");
        let mixed = Look { cards: vec![card(0, Vendor::Amd), card(1, Vendor::Nvidia)], ..Look::default() };
        let scene = self::scene(vec![mixed], Format::Nvtop);
        let cards: Vec<_> = scene.cards.iter().map(|card| (card.index, card.vendor)).collect();
        assert_eq!(cards, [(0, Vendor::Amd), (1, Vendor::Nvidia)]);
    }

    #[test]
    fn names_tell_who_made_a_card() {
        for (name, vendor) in [
            ("NVIDIA H100 PCIe", Vendor::Nvidia),
            ("GeForce GTX 1080", Vendor::Nvidia),
            ("AMD Radeon RX 9070 XT", Vendor::Amd),
            ("Intel(R) Arc A770", Vendor::Intel),
            ("Ascend910", Vendor::Other),
        ] {
            assert_eq!(vendor_of(name), vendor, "{name}");
        }
    }

    #[test]
    fn parts_are_put_together() {
        let known = |bytes| Reading::Known(Bytes(bytes));
        assert_eq!(memory(&known(3), &known(10)).known().unwrap().free, Bytes(7));
        assert!(memory(&known(30), &known(10)).is_not_in_source());
        assert_eq!(memory(&Reading::Unsupported, &known(10)), Reading::Unsupported);
        assert_eq!(time("Thu Nov  5 10:11:12 2020").unwrap().to_string(), "2020-11-05T10:11:12Z");
        let process = process(Pid(7), Some("alice"), &["/usr/bin/python3", "train.py", "--token=abc"], None);
        assert_eq!((process.name.as_str(), process.user.known().unwrap().as_str()), ("python3", "alice"));
        assert_eq!(process.command.known().unwrap().line(), "/usr/bin/python3 train.py --token=***");
    }
}
