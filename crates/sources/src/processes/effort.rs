//! How the effort of one look is shared among the trees in question.

use std::collections::{BTreeMap, BTreeSet};

use gpuwhy_model::process::Pid;

use super::limits::{
    OPEN_FILES_PER_LOOK, SHARE_MIN, STATUSES_PER_LOOK, THREADS_PER_LOOK, THREADS_PER_PARENT,
    THREADS_PER_PROCESS, WAITS_PER_LOOK,
};
use super::suspicion::Attention;
use super::tree::Role;

/// What may still be read at this look. Shares are fixed by number, so that every look of a window meets the same
/// processes.
#[derive(Debug)]
pub(super) struct Effort {
    /// Processes of each tree whose place of waiting may still be read.
    waits: BTreeMap<Pid, usize>,
    /// Children of each tree whose memory may still be read.
    statuses: BTreeMap<Pid, usize>,
    /// Threads of each tree that may still be read.
    threads: BTreeMap<Pid, usize>,
    /// GPU processes that have children.
    parents: BTreeSet<Pid>,
    /// Processes whose open files may still be looked at.
    pub(super) open_files: usize,
}

impl Effort {
    /// Shares the effort evenly.
    pub(super) fn share(suspects: &BTreeMap<Pid, Attention>, roles: &BTreeMap<Pid, Role>) -> Self {
        let with_threads = suspects.iter().filter(|(_, attention)| **attention == Attention::Threads);
        let with_threads: Vec<Pid> = with_threads.map(|(pid, _)| *pid).collect();
        let share = |all: usize, number: usize| (all / number.max(1)).max(SHARE_MIN);
        let waits_each = share(WAITS_PER_LOOK, suspects.len());
        let statuses_each = share(STATUSES_PER_LOOK, suspects.len());
        let threads_each = share(THREADS_PER_LOOK, with_threads.len());
        let client_of = |role: &Role| if let Role::Descendant(client) = role { Some(*client) } else { None };
        Self {
            waits: suspects.keys().map(|pid| (*pid, waits_each)).collect(),
            statuses: suspects.keys().map(|pid| (*pid, statuses_each)).collect(),
            threads: with_threads.into_iter().map(|pid| (pid, threads_each)).collect(),
            parents: roles.values().filter_map(client_of).collect(),
            open_files: OPEN_FILES_PER_LOOK,
        }
    }

    /// Takes one place of waiting from a tree's share; false when there is none left.
    pub(super) fn takes_wait(&mut self, client: Pid) -> bool {
        takes_one(&mut self.waits, client)
    }

    /// Takes the memory of one child from a tree's share; false when there is none left.
    pub(super) fn takes_status(&mut self, client: Pid) -> bool {
        takes_one(&mut self.statuses, client)
    }

    /// Takes the threads of one process from its tree's share, and returns how many may be read.
    pub(super) fn takes_threads(&mut self, pid: Pid, role: Role) -> usize {
        let at_most = if self.parents.contains(&pid) { THREADS_PER_PARENT } else { THREADS_PER_PROCESS };
        let Some(left) = role.client(pid).and_then(|client| self.threads.get_mut(&client)) else {
            return 0;
        };
        let taken = at_most.min(*left);
        *left -= taken;
        taken
    }
}

fn takes_one(shares: &mut BTreeMap<Pid, usize>, client: Pid) -> bool {
    shares.get_mut(&client).is_some_and(|left| {
        let takes = *left > 0;
        *left = left.saturating_sub(1);
        takes
    })
}

#[cfg(test)]
mod tests {
    use super::Effort;
    use crate::processes::suspicion::Attention;
    use crate::processes::tree::Role;
    use gpuwhy_model::process::Pid;
    use std::collections::BTreeMap;

    #[test]
    fn many_trees_share_and_few_get_all_they_need() {
        let clients =
            |number| (1..=number).map(|pid| (Pid(pid), Attention::Threads)).collect::<BTreeMap<_, _>>();
        let roles = BTreeMap::from([
            (Pid(1), Role::Client),
            (Pid(2), Role::Client),
            (Pid(900), Role::Descendant(Pid(1))),
        ]);
        let mut few = Effort::share(&clients(2), &roles);
        assert_eq!(few.takes_threads(Pid(1), Role::Client), 16, "its children load");
        assert_eq!(few.takes_threads(Pid(2), Role::Client), 96);
        let mut many = Effort::share(&clients(64), &roles);
        assert_eq!(many.takes_threads(Pid(2), Role::Client), 4);
        assert_eq!(many.takes_threads(Pid(2), Role::Client), 0);
        assert_eq!((0..9).filter(|_| many.takes_wait(Pid(2))).count(), 3);
        assert!(!many.takes_wait(Pid(70)), "no suspect");
        assert_eq!((0..9).filter(|_| many.takes_status(Pid(2))).count(), 2);
    }
}
