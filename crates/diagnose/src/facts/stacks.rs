//! Where the threads of a job stand, as dumps of their stacks show it.

use std::collections::BTreeSet;

use gpuwhy_knowledge::{FrameKind, frame_kind};
use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{Frame, Profile, ProfileKind, Scene, Stack};

/// Files of which a loader process has one on its stack.
const LOADER_FILES: &[&str] = &["torch/utils/data/_utils/worker.py", "data/_utils/worker.py"];
/// Files of which a launcher has one on its stack.
const LAUNCHER_FILES: &[&str] = &[
    "torch/distributed/elastic/",
    "torch/distributed/run.py",
    "torch/distributed/launch",
    "accelerate/commands/",
];

/// Where a thread stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'scene> {
    /// What it does there, where its calls tell.
    pub(crate) kind: Option<FrameKind>,
    /// The call that tells, or the innermost one.
    pub(crate) frame: &'scene Frame,
}

/// A member of a job with the place at which its first thread stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'scene> {
    pub(crate) stack: &'scene Stack,
    pub(crate) place: Place<'scene>,
}

impl Member<'_> {
    /// Returns whether it is in an exchange with the others.
    pub(crate) fn exchanges(&self) -> bool {
        self.place.kind == Some(FrameKind::Exchange)
    }

    /// Returns how many members stand there.
    pub(crate) fn number(&self) -> usize {
        self.stack.stands_for.max(1) as usize
    }

    /// Returns what a person calls it: its member's number, or its process.
    pub(crate) fn name(&self) -> String {
        match (self.stack.rank, self.stack.pid) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, Some(Pid(pid))) => format!("pid {pid}"),
            (None, None) => self.stack.thread.clone(),
        }
    }
}

/// Returns where a thread stands; none where its stack is empty. A lock tells only where nothing further out does.
pub(crate) fn place(stack: &Stack) -> Option<Place<'_>> {
    let innermost = stack.frames.first()?;
    let kinds = || stack.frames.iter().map(|frame| (frame_kind(&frame.function, &frame.file), frame));
    let tells = kinds().find(|(kind, _)| kind.is_some_and(|kind| kind != FrameKind::Lock));
    let (kind, frame) =
        tells.or_else(|| kinds().find(|(kind, _)| kind.is_some())).unwrap_or((None, innermost));
    Some(Place { kind, frame })
}

/// Returns the members of the job that the dumps are of, each once; loaders and launchers are none.
pub(crate) fn members(scene: &Scene) -> Vec<Member<'_>> {
    let mut seen = BTreeSet::new();
    let mut members = Vec::new();
    for stack in scene.stacks.iter().filter(|stack| stack.is_main()) {
        let has = |files: &[&str]| {
            stack.frames.iter().any(|frame| files.iter().any(|file| frame.file.contains(file)))
        };
        if has(LOADER_FILES) || has(LAUNCHER_FILES) {
            continue;
        }
        let Some(place) = place(stack) else { continue };
        // Of several dumps of one process the newest stands last.
        let key = (stack.node.as_deref(), stack.rank, stack.pid);
        if seen.insert(key) {
            members.push(Member { stack, place });
        } else if let Some(known) = members.iter_mut().find(|known: &&mut Member<'_>| {
            (known.stack.node.as_deref(), known.stack.rank, known.stack.pid) == key
        }) {
            *known = Member { stack, place };
        }
    }
    members
}

/// Returns how many members these are.
pub(crate) fn number(members: &[Member<'_>]) -> usize {
    members.iter().map(Member::number).sum()
}

/// Returns the stacks of loader processes.
pub(crate) fn loaders(scene: &Scene) -> Vec<Member<'_>> {
    let of_loader = |stack: &&Stack| {
        stack.is_main()
            && stack.frames.iter().any(|frame| LOADER_FILES.iter().any(|file| frame.file.contains(file)))
    };
    scene
        .stacks
        .iter()
        .filter(of_loader)
        .filter_map(|stack| Some(Member { stack, place: place(stack)? }))
        .collect()
}

/// Returns which share of a program's own time goes to each kind of work; what tells nothing is left out.
pub(crate) fn shares(profile: &Profile) -> Vec<(FrameKind, f64)> {
    let mut shares: Vec<(FrameKind, f64)> = Vec::new();
    if profile.kind != ProfileKind::Functions {
        return shares;
    }
    let all: f64 = profile.calls.iter().map(|call| call.own.0).sum();
    for call in &profile.calls {
        let Some(kind) = frame_kind(&call.function, &call.file).filter(|_| all > 0.0) else { continue };
        match shares.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, share)) => *share += call.own.0 / all,
            None => shares.push((kind, call.own.0 / all)),
        }
    }
    shares.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    shares
}

/// Returns the function of one kind that most of a program's time passes through, with its share of all time.
pub(crate) fn through(profile: &Profile, kind: FrameKind) -> Option<(&str, f64)> {
    let of_kind = profile.calls.iter().filter(|call| frame_kind(&call.function, &call.file) == Some(kind));
    of_kind
        .filter_map(|call| Some((call.function.as_str(), call.total?.0)))
        .max_by(|one, other| one.1.total_cmp(&other.1))
}

#[cfg(test)]
mod tests {
    use gpuwhy_knowledge::FrameKind;
    use gpuwhy_model::scene::{Frame, Stack};

    use super::place;

    #[test]
    fn a_lock_tells_only_where_nothing_else_does() {
        let frame = |function: &str, file: &str| Frame {
            function: function.to_owned(),
            file: file.to_owned(),
            line: None,
        };
        let wait = frame("wait", "threading.py");
        let data = frame("_try_get_data", "torch/utils/data/dataloader.py");
        let train = frame("train", "train.py");
        let kind = |frames: &[&Frame]| {
            let stack =
                Stack { frames: frames.iter().map(|frame| (*frame).clone()).collect(), ..Stack::default() };
            place(&stack).and_then(|place| place.kind)
        };
        assert_eq!(kind(&[&wait, &data, &train]), Some(FrameKind::Data));
        assert_eq!(kind(&[&wait, &train]), Some(FrameKind::Lock));
        assert_eq!(kind(&[&train]), None);
    }
}
