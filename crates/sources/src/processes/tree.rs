//! Which processes belong to the GPU processes: parents up to the first, children down to the last.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::process::Pid;

use super::index::Index;

/// No tree is deeper; a list that was read while it changed may hold a circle.
const DEPTH_MAX: usize = 256;

/// What a process is to the GPU processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It has a context on a card.
    Client,
    /// It descends from this client.
    Descendant(Pid),
    /// A client descends from it.
    Ancestor,
}

impl Role {
    /// Returns the client whose tree the process belongs to.
    pub(super) fn client(self, own: Pid) -> Option<Pid> {
        match self {
            Self::Client => Some(own),
            Self::Descendant(client) => Some(client),
            Self::Ancestor => None,
        }
    }
}

/// Returns the clients that are there, with their trees. What gpuwhy starts or is started by is no work on a card: of
/// its processes only ancestors of a client stand in a tree.
pub(super) fn trees(index: &Index, clients: &BTreeSet<Pid>) -> BTreeMap<Pid, Role> {
    let mut roles = BTreeMap::new();
    let listed = clients.iter().copied().filter(|pid| index.row(*pid).is_some());
    let mut open: Vec<Pid> = listed.collect();
    for client in &open {
        roles.insert(*client, Role::Client);
    }
    add_descendants(index, &mut open, &mut roles);
    for client in clients {
        add_ancestors(index, *client, &mut roles);
    }
    roles
}

fn add_descendants(index: &Index, open: &mut Vec<Pid>, roles: &mut BTreeMap<Pid, Role>) {
    let mut by_parent: Vec<(Pid, Pid)> = index.rows().iter().map(|row| (row.parent, row.pid)).collect();
    by_parent.sort_unstable();
    while let Some(parent) = open.pop() {
        let Some(client) = roles.get(&parent).and_then(|role| role.client(parent)) else {
            continue;
        };
        let first = by_parent.partition_point(|(other, _)| *other < parent);
        for (_, child) in by_parent[first..].iter().take_while(|(other, _)| *other == parent) {
            let is_ours = index.row(*child).is_some_and(|row| row.is_ours);
            // A client among the children has a tree of its own.
            if !is_ours && !roles.contains_key(child) {
                roles.insert(*child, Role::Descendant(client));
                open.push(*child);
            }
        }
    }
}

fn add_ancestors(index: &Index, client: Pid, roles: &mut BTreeMap<Pid, Role>) {
    let mut place = index.row(client);
    for _ in 0..DEPTH_MAX {
        let Some(parent) = place.and_then(|row| index.row(row.parent)) else {
            return;
        };
        roles.entry(parent.pid).or_insert(Role::Ancestor);
        place = Some(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, trees};
    use crate::nvml::Survivors;
    use crate::proc::ProcRoot;
    use crate::processes::Ourselves;
    use crate::processes::index::Index;
    use gpuwhy_model::process::Pid;
    use std::collections::BTreeSet;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn gpuwhy_is_no_part_of_the_work_that_it_was_started_from() {
        let root = tempfile::tempdir().unwrap();
        let program = |name: &str| {
            let path = root.path().join(name);
            std::fs::write(&path, name).unwrap();
            path
        };
        let (ours, theirs) = (program("ours"), program("theirs"));
        for (pid, parent, name, program) in [
            (10, 1, "python3", &theirs),
            // A cell of the notebook: a shell, and gpuwhy with its child.
            (20, 10, "sh", &theirs),
            (30, 20, "look", &ours),
            (31, 30, "nv1.-1@9", &ours),
            (40, 10, "pt_data_worker", &theirs),
            // Another gpuwhy, and somebody who only took a name.
            (50, 10, "gpuwhy", &ours),
            (51, 50, "nv15.0@9", &ours),
            (60, 10, "nv15.0@9", &theirs),
            (61, 60, "gpuwhy", &theirs),
        ] {
            let directory = root.path().join(pid.to_string());
            std::fs::create_dir(&directory).unwrap();
            let stat = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 0 0\n");
            std::fs::write(directory.join("stat"), stat).unwrap();
            symlink(program, directory.join("exe")).unwrap();
        }
        symlink("30", root.path().join("self")).unwrap();
        let mut proc = ProcRoot::open(root.path()).unwrap();
        let program = std::fs::metadata(&ours).unwrap();
        let mut index = Index::default();
        index.know(Ourselves::of(&proc, Some((program.dev(), program.ino()))));
        index.refresh(&mut proc, true, &mut Survivors::default()).unwrap();
        let roles = trees(&index, &BTreeSet::from([Pid(10)]));
        assert_eq!(roles.keys().map(|pid| pid.0).collect::<Vec<_>>(), [10, 20, 40, 60, 61]);
        assert_eq!(roles[&Pid(40)], Role::Descendant(Pid(10)));
    }
}
