//! A list of file systems in a text says that shared memory is full; nothing is known of who uses it.

use gpuwhy_model::action::Action;
use gpuwhy_model::evidence::Comparison;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::units::{Bytes, Unit};

use super::{RULE, least_room, text};
use crate::draft::Draft;
use crate::evidence::{normal, once, with_normal};
use crate::findings::Findings;

pub(super) fn check(scene: &Scene, limits: &Limits, findings: &mut Findings) {
    let is_bare = scene.provenance.source == SourceKind::Text && scene.workloads.is_empty();
    let Some(space) = least_room(scene).filter(|space| is_bare && space.total > 0) else {
        return;
    };
    let share = space.available as f64 / space.total as f64;
    if share > limits.shared_memory_free_share_max || space.available > limits.shared_memory_free_bytes_max {
        return;
    }
    let mut draft = Draft::about_machine(&RULE, scene, text::summary_listed());
    let words = text::room(Bytes(space.available), Bytes(space.total));
    let evidence = once(Signal::SharedMemory, space.available, Unit::Bytes, Reader::FileSystem, words);
    let usual = normal(Comparison::Greater, space.total as f64 * limits.shared_memory_free_share_max);
    // Below what a disk is called full, the next batch does not fit all the same.
    draft.agree_by(3.0, 0.6, with_normal(evidence, usual));
    draft.balance.past_decides = true;
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_container());
    draft.advise(Action::RaiseLimit, Vec::new(), text::fix_machine());
    draft.advise(Action::FreeHostMemory, Vec::new(), text::fix_remains());
    findings.report(draft);
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::cause::Cause;
    use gpuwhy_model::limits::Limits;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::Space;
    use gpuwhy_model::scene::{Provenance, Scene, SourceKind};

    use crate::diagnose;

    fn first(total: u64, available: u64) -> Cause {
        let mut scene = Scene {
            provenance: Provenance { source: SourceKind::Text, inputs: Vec::new() },
            ..Scene::default()
        };
        scene.host.shared_memory = Reading::Known(Space { total, available });
        diagnose(&scene, &Limits::default()).findings[0].cause
    }

    #[test]
    fn a_gibibyte_of_which_little_is_left_is_too_small() {
        assert_eq!(first(1 << 30, 142 << 20), Cause::ShmTooSmall);
        assert_eq!(first(94 << 30, 93 << 30), Cause::Undetermined);
        assert_eq!(first(64 << 20, 64 << 20), Cause::Undetermined);
    }
}
