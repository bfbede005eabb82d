//! Stacks, profiles, sums of calls and traces: who loads data stands where files are read.

use gpuwhy_knowledge::FrameKind;
use gpuwhy_model::action::Action;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{CallShare, ProfileKind, Scene};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Percent, Seconds, Unit};

use super::{RULE, text};
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::program::about_program;
use crate::facts::stacks::{loaders, members, shares};
use crate::facts::traces::{rests, share, traces};
use crate::findings::Findings;

/// A program that spends this share of its time in reads waits for them.
const READS_SHARE_MIN: f64 = 0.4;
/// A read that takes longer did not come from memory, in seconds.
const SLOW_READ_S: f64 = 0.001;
/// Calls into the kernel that read files or look for them.
const READS: &[&str] = &[
    "read",
    "pread64",
    "preadv",
    "preadv2",
    "readv",
    "openat",
    "open",
    "stat",
    "newfstatat",
    "statx",
    "getdents64",
    "io_getevents",
    "io_uring_enter",
    "lseek",
];

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let mut draft = about_program(&RULE, text::summary_stood());
    weigh_loaders(scene, &mut draft);
    weigh_profiles(scene, &mut draft);
    weigh_calls(scene, &mut draft);
    let reads = draft.balance.agreeing > 0.0;
    let waits = weigh_traces(scene, limits, &mut draft);
    if !reads && !waits {
        return;
    }
    if !reads {
        // Data are waited for; whether it is storage or the processor that is slow is open.
        draft.silent(3.0);
        draft.only_possible();
    }
    weigh_main(scene, &mut draft);
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_nearer());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_larger_files());
    draft.advise(Action::ImproveStorage, Vec::new(), text::fix_prefetch());
    findings.report(draft);
}

/// Weighs where loader processes stand: each is one look.
fn weigh_loaders(scene: &Scene, draft: &mut Draft) {
    let loaders = loaders(scene);
    let reading = loaders.iter().filter(|loader| loader.place.kind == Some(FrameKind::Storage)).count();
    if reading == 0 || reading * 2 < loaders.len() {
        return;
    }
    let words = text::loaders_read(loaders.len(), reading);
    draft.agree_by(
        3.0,
        reading as f64 / loaders.len() as f64,
        once(Signal::Stacks, reading, Unit::Count, Reader::Sampler, words),
    );
    draft.balance.rest_on(loaders.len(), 0.0);
}

/// Weighs where the time of the program goes.
fn weigh_profiles(scene: &Scene, draft: &mut Draft) {
    for profile in &scene.profiles {
        let reads = shares(profile)
            .iter()
            .find(|(kind, _)| *kind == FrameKind::Storage)
            .map_or(0.0, |(_, share)| *share);
        if reads < READS_SHARE_MIN {
            continue;
        }
        let percent = Percent(reads * 100.0);
        draft.agree(
            2.5,
            once(Signal::Profile, percent.0, Unit::Percent, Reader::Sampler, text::time_in_reads(percent)),
        );
        draft.silent(2.0);
    }
}

/// Weighs calls into the kernel: many short reads come from memory, slow ones from storage.
fn weigh_calls(scene: &Scene, draft: &mut Draft) {
    for profile in scene.profiles.iter().filter(|profile| profile.kind == ProfileKind::SystemCalls) {
        let reads: Vec<&CallShare> =
            profile.calls.iter().filter(|call| READS.contains(&call.function.as_str())).collect();
        let part: f64 = reads.iter().map(|call| call.own.0).sum();
        let time: f64 = reads.iter().filter_map(|call| call.own_time).map(|time| time.0).sum();
        let number: u64 = reads.iter().filter_map(|call| call.calls).sum();
        let each = time / number.max(1) as f64;
        if part < READS_SHARE_MIN || each < SLOW_READ_S {
            continue;
        }
        let percent = Percent(part * 100.0);
        let words = text::slow_reads(Seconds(each), percent);
        draft.agree(2.5, once(Signal::Profile, percent.0, Unit::Percent, Reader::Strace, words));
        draft.silent(2.0);
    }
}

/// Weighs traces in which the card rests while data are waited for.
fn weigh_traces(scene: &Scene, limits: &Limits, draft: &mut Draft) -> bool {
    let mut waits = false;
    for trace in traces(scene).filter(|trace| rests(trace, limits) && trace.has_data_marks) {
        if trace.idle_by.data.0 * 2.0 < trace.idle.0 {
            continue;
        }
        draft.agree(2.0, share(trace, trace.idle_by.data, text::card_waits_for_data));
        waits = true;
    }
    waits
}

/// Weighs that the program itself waits for its next data.
fn weigh_main(scene: &Scene, draft: &mut Draft) {
    let members = members(scene);
    let waiting = members.iter().filter(|member| member.place.kind == Some(FrameKind::Data)).count();
    if waiting > 0 {
        let words = text::program_waits_for_data(waiting);
        draft.agree(1.0, once(Signal::Stacks, waiting, Unit::Count, Reader::Sampler, words));
    } else if !members.is_empty() {
        draft.silent(1.0);
    }
}
