//! Cards moved on by hand, without waiting.

use super::*;
use crate::board::{BoxDirectory, CardSetting};
use crate::state::Occupancy;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// One card whose time the test makes.
struct Bench {
    state: State,
    card: Card,
    directory: BoxDirectory,
    _temporary: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = BoxDirectory::new(temporary.path());
        let state = State::create(&directory).unwrap();
        let setting = CardSetting { profile: "a100-sxm4-80gb".into(), ..CardSetting::default() };
        let card = Card::resolve(0, &setting).unwrap();
        Self { state, card, directory, _temporary: temporary }
    }

    fn client(&self, index: usize) -> &ClientSlot {
        let slot = &self.state.layout().slots[index];
        slot.occupancy.store(Occupancy::Live as u32, Relaxed);
        slot.sm_share.set(1.0);
        self.state.note_slot(index);
        slot
    }

    fn record(&self) -> &CardRecord {
        &self.state.layout().cards[0]
    }

    /// Moves the card on to `nanoseconds` after the box came up.
    fn go_to(&self, nanoseconds: u64) {
        let around = Surroundings { card: &self.card, has_nvlink: false };
        advance(&self.state, around, self.state.clock().started + nanoseconds);
    }

    fn busy_percent(&self) -> Vec<u32> {
        self.record().engine.newest_first().map(|sample| sample.busy_ppm.load(Relaxed) / 10_000).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        State::remove(&self.directory).unwrap();
    }
}

fn start(slot: &ClientSlot, communication: f64, milliseconds: u64) {
    slot.communication.set(communication);
    slot.compute.set(1.0 - communication);
    slot.remaining_ns.set((milliseconds * MILLISECOND) as f64);
    slot.running.store(1, Relaxed);
}

#[test]
fn a_long_kernel_looks_busy_before_it_ends() {
    let bench = Bench::new();
    let slot = bench.client(0);
    bench.go_to(SECOND);
    start(slot, 1.0, 30_000);
    bench.go_to(3 * SECOND);
    assert_eq!(bench.busy_percent()[..8], [100; 8]);
    assert_eq!(slot.running.load(Relaxed), 1);
    assert!((slot.remaining_ns.get() - 28.0e9).abs() < 1e6);
    bench.go_to(40 * SECOND);
    assert_eq!(slot.running.load(Relaxed), 0);
    assert_eq!(slot.finished_at.load(Relaxed), bench.state.clock().started + 31 * SECOND);
    assert_eq!(bench.busy_percent()[0], 0);
}

#[test]
fn two_kernels_take_twice_as_long_and_the_card_is_busy_once() {
    let bench = Bench::new();
    let (one, two) = (bench.client(0), bench.client(1));
    bench.go_to(SECOND);
    start(one, 1.0, 500);
    start(two, 1.0, 1000);
    bench.go_to(SECOND + 900 * MILLISECOND);
    assert_eq!((one.running.load(Relaxed), two.running.load(Relaxed)), (1, 1));
    bench.go_to(4 * SECOND);
    let started = bench.state.clock().started;
    assert_eq!(one.finished_at.load(Relaxed), started + 2 * SECOND);
    assert_eq!(two.finished_at.load(Relaxed), started + SECOND + 1500 * MILLISECOND);
    assert!((one.busy_ns.get() - 0.5e9).abs() < 1e4 && (two.busy_ns.get() - 1.0e9).abs() < 1e4);
}

#[test]
fn a_half_busy_card_reads_half_busy() {
    let bench = Bench::new();
    let slot = bench.client(0);
    for step in 0..100 {
        start(slot, 1.0, 50);
        bench.go_to((step + 1) * 100 * MILLISECOND);
    }
    let percent = bench.busy_percent();
    let mean = percent.iter().sum::<u32>() / u32::try_from(percent.len()).unwrap();
    assert!((45..=55).contains(&mean), "{percent:?}");
    let sum = bench.state.layout().buckets[0]
        .sum(bench.state.clock().started, bench.state.clock().started + 10 * SECOND)
        .unwrap();
    assert!((4_800_000_000..=5_000_000_000).contains(&sum.busy_ns), "{sum:?}");
}

#[test]
fn looking_often_changes_nothing() {
    let (watched, unwatched) = (Bench::new(), Bench::new());
    for bench in [&watched, &unwatched] {
        start(bench.client(0), 0.0, 60_000);
    }
    for step in 1..=3000 {
        watched.go_to(step * 10 * MILLISECOND);
    }
    unwatched.go_to(30 * SECOND);
    let (one, other) = (watched.record(), unwatched.record());
    assert!((one.energy_j.get() / other.energy_j.get() - 1.0).abs() < 0.01);
    assert!((one.temperature_c.get() - other.temperature_c.get()).abs() < 0.5);
    assert!((one.clock_ratio.get() - other.clock_ratio.get()).abs() < 0.01);
    let left = |bench: &Bench| bench.state.layout().slots[0].remaining_ns.get();
    assert!((left(&watched) / left(&unwatched) - 1.0).abs() < 0.01);
}

#[test]
fn counters_only_grow() {
    let bench = Bench::new();
    let slot = bench.client(0);
    let mut before = (0.0, 0, 0, 0.0);
    for step in 0..200 {
        if step % 3 == 0 {
            start(slot, 0.0, 250);
            slot.receiving_bytes.set(1e9);
        }
        bench.go_to(step * 70 * MILLISECOND);
        let record = bench.record();
        let reasons: u64 = record.reason_ns.iter().map(|counter| counter.load(Relaxed)).sum();
        let written = record.power.newest_first().count();
        let now = (record.energy_j.get(), reasons, written, record.received_bytes.get());
        assert!(now.0 >= before.0 && now.1 >= before.1 && now.2 >= before.2 && now.3 >= before.3);
        before = now;
    }
    assert!(before.1 > 0 && before.3 > 1e9);
}

#[test]
fn a_copy_takes_the_time_that_the_link_needs() {
    let bench = Bench::new();
    let slot = bench.client(0);
    bench.go_to(SECOND);
    let bytes = bench.card.link_bytes_per_s();
    slot.sending_bytes.set(bytes);
    assert!((copy_left_ns(&bench.state, &bench.card, slot) - 1e9).abs() < 1.0);
    bench.go_to(SECOND + 400 * MILLISECOND);
    assert!((bench.record().sent_bytes.get() / bytes - 0.4).abs() < 1e-6);
    bench.go_to(3 * SECOND);
    assert!((bench.record().sent_bytes.get() / bytes - 1.0).abs() < 1e-6);
    assert!(slot.sending_bytes.get() <= 0.0);
}

#[test]
fn an_exchange_is_booked_as_the_kernel_gets_on() {
    let bench = Bench::new();
    let slot = bench.client(0);
    bench.go_to(SECOND);
    slot.exchange_bytes_per_ns.set(2.0);
    start(slot, 1.0, 1000);
    bench.go_to(SECOND + 500 * MILLISECOND);
    assert!((bench.record().sent_bytes.get() / 1e9 - 1.0).abs() < 0.01);
    let around = Surroundings { card: &bench.card, has_nvlink: true };
    advance(&bench.state, around, bench.state.clock().started + 3 * SECOND);
    assert!((bench.record().exchanged_bytes.get() / 1e9 - 1.0).abs() < 0.01);
    assert!((bench.record().received_bytes.get() / 1e9 - 1.0).abs() < 0.01);
}

#[test]
fn one_multiprocessor_makes_the_card_busy_and_does_little() {
    let bench = Bench::new();
    let slot = bench.client(0);
    start(slot, 0.0, 20_000);
    slot.sm_share.set(1.0 / 108.0);
    bench.go_to(10 * SECOND);
    assert_eq!(bench.busy_percent()[0], 100);
    let record = bench.record();
    assert!(record.power_w.get() < 70.0, "{}", record.power_w.get());
    let active = record.work[0].multiprocessors.get() / record.work[0].graphics.get();
    assert!((active - 1.0 / 108.0).abs() < 1e-6, "{active}");
}

#[test]
fn instances_do_not_share_their_time() {
    let mut bench = Bench::new();
    let mut setting = bench.card.setting.clone();
    setting.mig.enabled = true;
    setting.mig.instances = vec!["3g.40gb".to_owned(), "3g.40gb".to_owned()];
    bench.card = Card::resolve(0, &setting).unwrap();
    let (one, two) = (bench.client(0), bench.client(1));
    one.instance.store(1, Relaxed);
    two.instance.store(2, Relaxed);
    bench.go_to(SECOND);
    start(one, 1.0, 500);
    start(two, 1.0, 500);
    bench.go_to(4 * SECOND);
    let ended = bench.state.clock().started + 1500 * MILLISECOND;
    assert_eq!([one.finished_at.load(Relaxed), two.finished_at.load(Relaxed)], [ended, ended]);
}

#[test]
fn the_first_power_sample_is_a_whole_one() {
    let bench = Bench::new();
    bench.go_to(SECOND);
    let milliwatts: Vec<u32> =
        bench.record().power.newest_first().map(|sample| sample.milliwatts.load(Relaxed)).collect();
    assert!(milliwatts.iter().all(|milliwatts| milliwatts.abs_diff(50_000) < 100), "{milliwatts:?}");
}
