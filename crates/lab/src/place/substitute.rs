//! What becomes of a plan on a machine that cannot show all of it.

use super::ability::{Abilities, Ability};
use super::plan::{DataSet, Member, Plan};
use super::store::{Behaviour, Store};
use crate::workloads::{Data, Work};

/// The plan as far as this machine can show it, and the members that it cannot show.
///
/// A slow disk is replaced by a slow store; what has no substitute is left out.
pub(super) fn what_this_machine_can_show(mut plan: Plan, abilities: &Abilities) -> (Plan, Vec<String>) {
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    let can_serve = abilities.can_show(Ability::Store);
    for mut member in std::mem::take(&mut plan.members) {
        if member.read_bytes_per_s.is_some() && !abilities.can_show(Ability::SlowDisk) {
            if !can_serve {
                left_out.push(member.name);
                continue;
            }
            let store = slow_store_for(&mut member, plan.data_set);
            plan.stores.push(store);
        }
        let needs_cpu_limit = member.cpu_cores.is_some() && !abilities.can_show(Ability::CpuLimit);
        if needs_cpu_limit || (reads_from_store(&member) && !can_serve) {
            left_out.push(member.name);
            continue;
        }
        if reads_from_server(&member) && !abilities.can_show(Ability::Network) {
            left_out.push(member.name);
            continue;
        }
        kept.push(member);
    }
    plan.members = kept;
    if !can_serve {
        plan.stores.clear();
    }
    if !abilities.can_show(Ability::Network) {
        plan.servers.clear();
    }
    (plan, left_out)
}

fn reads_from_store(member: &Member) -> bool {
    match &member.work {
        Work::Train(train) => matches!(train.data, Data::Store(_)),
        Work::Frozen(_) => true,
        _ => false,
    }
}

fn reads_from_server(member: &Member) -> bool {
    matches!(&member.work, Work::Train(train) if matches!(train.data, Data::Server(_)))
}

fn slow_store_for(member: &mut Member, data_set: Option<DataSet>) -> Store {
    let name = format!("{}-data", member.name);
    if let Work::Train(train) = &mut member.work {
        train.data = Data::Store(name.clone());
    }
    let set = data_set.unwrap_or(DataSet { files: 16, file_bytes: 8 << 20 });
    Store {
        name,
        source: "nas:/export/data".to_owned(),
        kind: "fuse.sshfs".to_owned(),
        behaviour: Behaviour::Slow {
            bytes_per_second: member.read_bytes_per_s.take().unwrap_or(8_000_000),
            files: set.files,
            file_bytes: set.file_bytes,
        },
    }
}
