//! The twenty traps of labelled incidents, each with texts of our own: what a hasty reader would say is not said.
//!
//! The texts lie in `texts/`, by the number of their trap. The traps, and where else they are tried:
//!
//! | | trap | tests here | also in |
//! |---|---|---|---|
//! | 1 | an empty panel is not "no processes" | `an_empty_panel_is_not_an_idle_card` | `formats`: `text/nvidia_smi/tests.rs` |
//! | 2 | pids 0 and 4294967295 are another layout | `pids_that_cannot_be_are_another_layout` | cases of `nvml-abi-mismatch` |
//! | 3 | busy, and nothing on it | `a_card_that_is_busy_with_nothing_is_free` | cases of `nothing-wrong` |
//! | 4 | the pid of an Xid is often a victim | `the_pid_of_an_xid_may_be_a_victim` | cases of `xid-hw-fault` |
//! | 5 | lost without an Xid | `a_card_is_lost_without_an_xid` | `formats`: `kernel_log/stream.rs` |
//! | 6 | one lost card blocks what is new | `what_runs_beside_a_lost_card_is_left_alone` | cases of `gpu-lost` |
//! | 7 | counters are 0 and a repair waits | `counters_of_zero_do_not_make_a_card_whole` | cases of `row-remap-pending` |
//! | 8 | one ERR! is no 0, 588 W is no figure | `what_could_not_be_read_is_no_number` | `formats`: `nvidia_cell.rs` |
//! | 9 | the hint about pieces is always printed | `a_hint_that_is_always_printed_says_nothing` | `program_texts.txt` |
//! | 10 | what cannot be ended, and what is missed | `what_cannot_be_ended_is_not_ended` | cases of `driver-hung` |
//! | 11 | "570.124" is not "570.124" | `versions_that_look_alike_may_differ` | cases of `driver-library-mismatch` |
//! | 12 | a fabric manager without switches | `a_fabric_manager_matters_only_where_there_are_switches` | cases of `fabric-manager-down` |
//! | 13 | 100 % is not full | `a_busy_card_may_do_little_or_wait` | cases of `collective-hang` |
//! | 14 | a resting link is slow | `a_link_is_judged_under_load` | cases of `pcie-degraded` |
//! | 15 | a slowdown is not always heat | `not_every_slowdown_is_the_heat_of_the_core` | cases of `hw-slowdown`, `thermal-throttle` |
//! | 16 | allocatable is not free | `what_a_cluster_offers_is_not_what_is_free` | cases of `gpu-not-advertised` |
//! | 17 | idle and drained is not idle | `closed_nodes_are_not_idle_and_held_jobs_no_demand` | `formats`: `tests/slurm` |
//! | 18 | what figures of a whole machine hide | `figures_of_a_whole_hide_its_parts` | cases of `idle-reserved` |
//! | 19 | 100 % of a core may be polling | `a_server_that_polls_is_not_slow_and_one_that_waits_is_not_full` | cases of `inference-overload` |
//! | 20 | silence of `dmesg` is no answer | `a_log_that_may_not_be_read_is_not_a_clean_one` | `formats`: `text/kernel_log/tests.rs` |

use std::path::Path;

use gpuwhy_diagnose::diagnose;
use gpuwhy_formats::text::understand;
use gpuwhy_model::action::{Action, FixClass};
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::Absence;
use gpuwhy_model::scene::SourceKind;
use gpuwhy_model::signal::Signal;
use gpuwhy_model::verdict::{CardState, Finding, Severity, Verdict};
use gpuwhy_model::window::merge;

/// What is said of a text.
struct Answer {
    name: &'static str,
    verdict: Verdict,
}

/// Reads a text of `texts/`. Every line of it is understood, and nothing that is offered is done by itself.
fn answer(name: &'static str) -> Answer {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traps/texts").join(name).with_extension("txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let understood = understand(&text);
    assert_eq!(understood.unknown_lines, [0_u64; 0], "{name}");
    let mut scene = merge(understood.pieces.into_iter().map(|piece| piece.scene)).scene;
    scene.provenance.source = SourceKind::Text;
    let answer = Answer { name, verdict: diagnose(&scene, &Limits::default()) };
    let mut fixes = answer.verdict.findings.iter().flat_map(|finding| &finding.fixes);
    assert!(fixes.all(|fix| fix.class == FixClass::Shown), "{name}: a text lets nobody act");
    answer
}

impl Answer {
    /// Returns what stands first; that must be this cause.
    fn first(&self, cause: Cause) -> &Finding {
        let first = self.verdict.findings.first().expect("there always is an answer");
        assert_eq!(first.cause, cause, "{}: {:?}", self.name, self.causes());
        first
    }

    fn causes(&self) -> Vec<Cause> {
        self.verdict.findings.iter().map(|finding| finding.cause).collect()
    }

    /// Checks that none of these causes is named, wherever.
    fn never(&self, causes: &[Cause]) -> &Self {
        for cause in causes {
            assert!(!self.causes().contains(cause), "{}: {cause} in {:?}", self.name, self.causes());
        }
        self
    }

    /// Checks that none of these things is offered, by whatever finding.
    fn never_offers(&self, actions: &[Action]) -> &Self {
        for fix in self.verdict.findings.iter().flat_map(|finding| &finding.fixes) {
            assert!(!actions.contains(&fix.action), "{}: {} by {}", self.name, fix.action, fix.summary.id);
        }
        self
    }

    /// Returns the pids of everybody who is named as a culprit.
    fn culprits(&self) -> Vec<u32> {
        let culprits = self.verdict.findings.iter().flat_map(|finding| &finding.culprits);
        culprits.filter_map(|culprit| culprit.pid.map(|pid| pid.0)).collect()
    }
}

#[test]
fn an_empty_panel_is_not_an_idle_card() {
    let answer_of_container = answer("01-empty-panel");
    answer_of_container.first(Cause::VramHeldByHiddenProcess);
    answer_of_container.never(&[Cause::VramHeldByDeadProcess, Cause::NothingWrong, Cause::IdleReserved]);
    let idle = answer("01-no-processes");
    idle.first(Cause::NothingWrong);
    assert_eq!(idle.verdict.cards[0].state, CardState::Free);
}

#[test]
fn pids_that_cannot_be_are_another_layout() {
    let answer = answer("02-two-layouts");
    answer.first(Cause::NvmlAbiMismatch);
    answer.never(&[Cause::VramHeldByDeadProcess, Cause::VramHeldByHiddenProcess]);
    assert!(answer.culprits().iter().all(|pid| *pid != 0 && *pid != u32::MAX), "{:?}", answer.culprits());
}

#[test]
fn a_card_that_is_busy_with_nothing_is_free() {
    let answer = answer("03-busy-with-nothing");
    answer.first(Cause::NothingWrong);
    answer.never(&[Cause::ComputeSaturated, Cause::LowSmOccupancy, Cause::GpuContention]);
}

#[test]
fn the_pid_of_an_xid_may_be_a_victim() {
    // A contained memory error comes first; what was cleaned up after it belongs to others too.
    let victim = answer("04-victim");
    victim.first(Cause::EccUncorrectable);
    victim.never(&[Cause::XidAppFault]).never_offers(&[Action::Reboot]);
    assert!(!victim.culprits().contains(&1933), "the exporter is only a victim");
    // Whoever asked when the firmware did not answer is not to blame for that.
    let monitor = answer("04-monitor");
    monitor.first(Cause::XidHwFault);
    assert_eq!(monitor.culprits(), [0_u32; 0]);
}

#[test]
fn a_card_is_lost_without_an_xid() {
    for name in ["05-off-the-bus", "05-rev-ff"] {
        let answer = answer(name);
        assert_eq!(answer.first(Cause::GpuLost).subject.name, "0000:b3:00.0", "{name}");
    }
}

#[test]
fn what_runs_beside_a_lost_card_is_left_alone() {
    let answer = answer("06-one-lost-blocks-new");
    let lost = answer.first(Cause::GpuLost);
    assert_eq!(lost.cards, [2]);
    let targets: Vec<&str> =
        lost.fixes.iter().flat_map(|fix| &fix.targets).map(|target| target.id.as_str()).collect();
    assert!(!targets.is_empty() && targets.iter().all(|target| *target == "0000:8a:00.0"), "{targets:?}");
    answer.never_offers(&[Action::Terminate, Action::RestartContainer, Action::ResetCard, Action::MoveWork]);
    answer.never(&[Cause::AppError, Cause::DriverNotLoaded]);
}

#[test]
fn counters_of_zero_do_not_make_a_card_whole() {
    let pending = answer("07-remap-pending");
    pending.first(Cause::RowRemapPending);
    pending.never(&[Cause::NothingWrong, Cause::EccUncorrectable]);
    // The warning stands below the table.
    answer("07-below-the-table").first(Cause::InforomCorrupt);
}

#[test]
fn what_could_not_be_read_is_no_number() {
    let one_error = answer("08-one-err");
    one_error.never(&[Cause::IdleReserved, Cause::NothingWrong, Cause::GpuLost, Cause::ComputeSaturated]);
    let is_unseen = |signal: Signal| one_error.verdict.blind_spots.iter().any(|spot| spot.signal == signal);
    assert!(is_unseen(Signal::GpuBusy));
    answer("08-memory-temperature-0").never(&[Cause::ThermalThrottle, Cause::FanFailed]);
    let broken_sensor = answer("08-588-watts");
    let finding = broken_sensor.first(Cause::PowerThrottle);
    assert!(finding.fixes.iter().any(|fix| fix.action == Action::ServiceHardware));
    broken_sensor.never_offers(&[Action::SetPowerLimit]).never(&[Cause::ThermalThrottle, Cause::LowClocks]);
}

#[test]
fn a_hint_that_is_always_printed_says_nothing() {
    let full = answer("09-hint-always-there");
    full.first(Cause::VramFull);
    full.never(&[Cause::VramFragmented]);
    answer("09-really-fragmented").first(Cause::VramFragmented);
    answer("09-bar1-full").first(Cause::Bar1Exhausted);
}

#[test]
fn what_cannot_be_ended_is_not_ended() {
    let stuck = answer("10-cannot-be-killed");
    stuck.first(Cause::DriverHung);
    stuck.never_offers(&[Action::Terminate, Action::ResetCard]);
    // The server's own process is gone; the one that holds the memory has another name.
    let core = answer("10-engine-core");
    assert_eq!(core.culprits().first(), Some(&90_233), "{:?}", core.causes());
}

#[test]
fn versions_that_look_alike_may_differ() {
    let answer = answer("11-same-by-its-begin");
    let finding = answer.first(Cause::DriverLibraryMismatch);
    answer.never(&[Cause::NothingWrong, Cause::DriverNotLoaded]);
    // What still runs would be lost by it.
    let first_step = finding.fixes.first().expect("there is something to do");
    assert!(!matches!(first_step.action, Action::UpdateDriver | Action::Reboot), "{}", first_step.summary.id);
}

#[test]
fn a_fabric_manager_matters_only_where_there_are_switches() {
    let without = answer("12-no-switch");
    without.first(Cause::NothingWrong);
    without.never(&[Cause::FabricManagerDown]);
    answer("12-error-802").first(Cause::FabricManagerDown);
}

#[test]
fn a_busy_card_may_do_little_or_wait() {
    answer("13-one-small-kernel").never(&[Cause::ComputeSaturated, Cause::MemoryBandwidthSaturated]);
    let hang = answer("13-idle-rank");
    let finding = hang.first(Cause::CollectiveHang);
    assert_eq!(finding.culprits.first().and_then(|culprit| culprit.pid).map(|pid| pid.0), Some(7102));
}

#[test]
fn a_link_is_judged_under_load() {
    let resting = answer("14-idle-link");
    resting.first(Cause::NothingWrong);
    resting.never(&[Cause::PcieDegraded, Cause::LowClocks]);
    assert_eq!(answer("14-gen-2-at-work").first(Cause::PcieDegraded).cards, [1]);
}

#[test]
fn not_every_slowdown_is_the_heat_of_the_core() {
    let brake = answer("15-power-brake");
    brake.first(Cause::HwSlowdown);
    brake.never(&[Cause::ThermalThrottle]).never_offers(&[Action::FixCooling]);
    let memory = answer("15-memory-heat");
    assert_eq!(memory.first(Cause::ThermalThrottle).summary.id, "thermal-throttle.summary_memory");
}

#[test]
fn what_a_cluster_offers_is_not_what_is_free() {
    let in_use = answer("16-allocatable-is-not-free");
    in_use.first(Cause::QueueCongested);
    in_use.never(&[Cause::GpuNotAdvertised, Cause::NothingWrong]);
    // The card works: what the plugin believes of it is stale.
    let unhealthy = answer("16-zero-after-an-xid");
    unhealthy.never_offers(&[Action::ResetCard, Action::ServiceHardware, Action::Reboot]);
    assert!(unhealthy.causes().contains(&Cause::GpuNotAdvertised), "{:?}", unhealthy.causes());
    unhealthy.never(&[Cause::XidHwFault, Cause::QueueCongested]);
    answer("16-solved-by-later-events").never(&[
        Cause::SchedulerPending,
        Cause::QueueCongested,
        Cause::NodeUnavailable,
    ]);
}

#[test]
fn closed_nodes_are_not_idle_and_held_jobs_no_demand() {
    let drained = answer("17-idle-and-drained");
    drained.first(Cause::NodeUnavailable);
    drained.never(&[Cause::QueueCongested, Cause::SchedulerPending]);
    let held = answer("17-held");
    held.first(Cause::SchedulerPending);
    held.never(&[Cause::QueueCongested]);
    let exclusive = answer("17-exclusive");
    exclusive.first(Cause::SchedulerPending);
    exclusive.never(&[Cause::QueueCongested]);
}

#[test]
fn figures_of_a_whole_hide_its_parts() {
    answer("18-idle-reservation").first(Cause::IdleReserved);
    // 12 % of 64 cores is a whole core for each of 8 ranks.
    let ranks = answer("18-one-core-a-rank");
    let named = ranks.causes();
    assert!(matches!(named.first(), Some(Cause::StarvedByCpu | Cause::StarvedByHostCode)), "{named:?}");
    ranks.never(&[Cause::IdleReserved, Cause::NothingWrong]);
    answer("18-page-cache").first(Cause::StarvedByStorage);
}

#[test]
fn a_server_that_polls_is_not_slow_and_one_that_waits_is_not_full() {
    let polling = answer("19-polling-workers");
    polling.never(&[Cause::StarvedByHostCode, Cause::StarvedByCpu, Cause::CollectiveHang]);
    let is_well = polling.verdict.findings.iter().all(|finding| finding.severity == Severity::Ok);
    assert!(is_well, "{:?}", polling.causes());
    let prefill = answer("19-prefill");
    assert_eq!(prefill.first(Cause::InferenceOverload).summary.id, "inference-overload.summary_prefill");
}

#[test]
fn a_log_that_may_not_be_read_is_not_a_clean_one() {
    let answer = answer("20-dmesg-denied");
    let spot = answer.verdict.blind_spots.iter().find(|spot| spot.signal == Signal::KernelLog);
    assert!(
        spot.is_some_and(|spot| matches!(spot.why, Absence::Denied(_))),
        "{:?}",
        answer.verdict.blind_spots
    );
    assert!(answer.verdict.ruled_out.iter().all(|out| out.signal != Signal::KernelLog));
}
