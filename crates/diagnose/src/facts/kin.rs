//! Who descends from whom among the processes of a scene.

use std::collections::BTreeSet;

use gpuwhy_model::process::Pid;
use gpuwhy_model::scene::{Process, Scene};

/// The children of every process, found without going through all of them again for each question.
pub(crate) struct Kin<'scene> {
    pub(crate) scene: &'scene Scene,
    /// Parents, each with the place of one child among the processes; sorted.
    children: Vec<(Pid, usize)>,
}

impl<'scene> Kin<'scene> {
    /// Orders the processes of a scene by their parents.
    pub(crate) fn of(scene: &'scene Scene) -> Self {
        let processes = scene.processes.iter().enumerate();
        let mut children: Vec<(Pid, usize)> =
            processes.map(|(place, process)| (process.parent, place)).collect();
        children.sort_unstable();
        Self { scene, children }
    }

    /// Returns a process and all its descendants, each once; a loop in a torn table ends.
    pub(crate) fn tree(&self, top: &'scene Process) -> Vec<&'scene Process> {
        let mut members = vec![top];
        let mut seen = BTreeSet::from([top.key.pid]);
        let mut next = 0;
        while let Some(parent) = members.get(next).map(|process| process.key.pid) {
            next += 1;
            members.extend(self.children_of(parent).filter(|child| seen.insert(child.key.pid)));
        }
        members
    }

    fn children_of(&self, parent: Pid) -> impl Iterator<Item = &'scene Process> {
        let scene = self.scene;
        let first = self.children.partition_point(|(of, _)| *of < parent);
        let children = self.children[first..].iter().take_while(move |(of, _)| *of == parent);
        children.map(|(_, place)| &scene.processes[*place])
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::process::{Pid, ProcessKey};
    use gpuwhy_model::scene::{Process, Scene};

    use super::Kin;

    fn scene(parents: &[(u32, u32)]) -> Scene {
        let process = |(pid, parent): &(u32, u32)| Process {
            key: ProcessKey { pid: Pid(*pid), ..ProcessKey::default() },
            parent: Pid(*parent),
            ..Process::default()
        };
        Scene { processes: parents.iter().map(process).collect(), ..Scene::default() }
    }

    fn tree(scene: &Scene, top: usize) -> Vec<u32> {
        Kin::of(scene).tree(&scene.processes[top]).iter().map(|process| process.key.pid.0).collect()
    }

    #[test]
    fn all_descendants_are_found_by_generation() {
        let scene = scene(&[(1, 0), (10, 1), (11, 10), (12, 1), (13, 11), (14, 10)]);
        assert_eq!(tree(&scene, 1), [10, 11, 14, 13]);
        assert_eq!(tree(&scene, 3), [12]);
    }

    #[test]
    fn a_loop_in_a_torn_table_ends() {
        assert_eq!(tree(&scene(&[(10, 11), (11, 10), (12, 12)]), 0), [10, 11]);
        assert_eq!(tree(&scene(&[(12, 12)]), 0), [12]);
    }
}
