//! Jobs that hold cards under a limit and seem to do nothing: a shell, a sleep.

use gpuwhy_knowledge::LimitedResource;
use gpuwhy_model::action::{Action, SubjectKind, Target};
use gpuwhy_model::scene::{Job, Scene};
use gpuwhy_model::signal::Signal;
use gpuwhy_model::units::Unit;

use super::text;
use crate::draft::Draft;
use crate::evidence::once;
use crate::facts::cluster::{Group, cards_of, has_place, reader_of};

/// Commands that keep a place and do no work themselves.
const KEEPERS: &[&str] =
    &["sleep", "bash", "sh", "zsh", "tcsh", "csh", "fish", "tail", "tmux", "screen", "cat", "read"];
/// Names of scripts that say what they are for.
const KEEPING: &[&str] = &["hold", "keepalive", "keep_alive", "placeholder", "occupy", "sleep"];
/// More jobs are not named.
const NAMED_MAX: usize = 5;

/// Names the jobs that hold cards with such a command, where a limit on cards is what others wait for.
pub(super) fn name(scene: &Scene, group: &Group<'_>, draft: &mut Draft) {
    if group.why.resource != Some(LimitedResource::Cards) {
        return;
    }
    let mut cards = 0_u64;
    let mut keepers: Vec<&Job> = Vec::new();
    for job in scene.jobs.iter().filter(|job| job.scheduler == group.scheduler) {
        // A table of running jobs need not say that they run.
        let runs = has_place(job) || !job.phase.is_known();
        let held = cards_of(job).unwrap_or(0);
        if runs && held > 0 && keeps_a_place(job) {
            cards = cards.saturating_add(held);
            keepers.push(job);
        }
    }
    if keepers.is_empty() {
        return;
    }
    let names: Vec<String> = keepers.iter().take(NAMED_MAX).map(|job| job.id.clone()).collect();
    let words = text::placeholders(cards, names);
    draft.mention(once(Signal::JobRequest, cards, Unit::Count, reader_of(group.scheduler), words));
    let targets =
        keepers.iter().take(NAMED_MAX).map(|job| Target { kind: SubjectKind::Job, id: job.id.clone() });
    draft.advise(Action::AskOwner, targets.collect(), text::fix_placeholders());
}

fn keeps_a_place(job: &Job) -> bool {
    let Some(command) = job.command.known() else {
        return false;
    };
    let program = command.arguments().first().map_or("", String::as_str);
    let name = program.rsplit('/').next().unwrap_or(program).trim_start_matches('-').to_ascii_lowercase();
    let is_script = name.contains('.') && KEEPING.iter().any(|word| name.contains(word));
    let is_named_so =
        KEEPING.iter().any(|word| name.contains(&format!("_{word}")) || name.contains(&format!("-{word}")));
    (KEEPERS.contains(&name.as_str()) && command.arguments().len() <= 2) || is_script || is_named_so
}
