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

/// Returns the clients that are there, with their trees.
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
            // A client among the children has a tree of its own.
            if !roles.contains_key(child) {
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
