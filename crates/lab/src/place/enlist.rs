//! What it takes to start one member: its specification, its folder, its control groups, its environment.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;

use super::BoxDirectory;
use super::ability::{Abilities, Ability};
use super::container;
use super::control_group::{self, Disk, Limit};
use super::error::PlaceError;
use super::journal::Journal;
use super::keeper::write_json;
use super::launch::Launch;
use super::plan::{Member, Plan};
use super::programs::SPECIFICATION_VARIABLE;
use super::users;
use crate::stand_in;
use crate::workloads::Specification;

/// Prepares the start of `member`.
///
/// # Errors
/// Fails when the box has no such user, a file cannot be written, or a control group cannot be made.
pub(super) fn prepare(
    directory: &BoxDirectory,
    journal: &mut Journal,
    plan: &Plan,
    member: &Member,
    anchor: u32,
    abilities: &Abilities,
) -> Result<Launch, PlaceError> {
    let program = directory.programs().join(&member.program);
    let user = users::user_named(&member.user)
        .ok_or_else(|| PlaceError::NoSuchUser { name: member.user.clone() })?;
    let specification = Specification {
        member: member.name.clone(),
        directory: directory.path().to_owned(),
        program: program.clone(),
        cards: member.cards.clone(),
        command: member.command.clone(),
        work: member.work.clone(),
        seed: plan.seed,
    };
    let file = directory.members().join(format!("{}.json", member.name));
    write_json(&file, &specification)?;
    let checkpoints = directory.checkpoints().join(&member.name);
    fs::create_dir_all(&checkpoints).map_err(failed(&checkpoints))?;
    let changes_user = abilities.can_show(Ability::Users);
    if changes_user {
        chown(&checkpoints, Some(user.id), Some(user.id)).map_err(failed(&checkpoints))?;
    }
    let mut groups = Vec::new();
    for limit in limits(member, directory, abilities) {
        let path = match member.container {
            Some(kind) => container::group_path(kind, plan.seed, &member.name),
            None => format!("gpuwhy-lab-{}-{}", std::process::id(), member.name).into(),
        };
        groups.push(control_group::make(journal, &path, limit)?);
    }
    let mut environment = BTreeMap::from([
        ("PATH".to_owned(), stand_in::search_path(directory, "/usr/local/bin:/usr/bin:/bin")),
        ("USER".to_owned(), member.user.clone()),
        ("HOME".to_owned(), format!("/home/{}", member.user)),
        ("LD_LIBRARY_PATH".to_owned(), directory.library_directory().to_string_lossy().into_owned()),
        (SPECIFICATION_VARIABLE.to_owned(), file.to_string_lossy().into_owned()),
    ]);
    environment.extend(member.environment.clone());
    Ok(Launch {
        anchor,
        groups,
        cpus: member.cpus.clone(),
        user: changes_user.then_some(user.id),
        program,
        command: member.command.clone(),
        environment,
        log: Some(directory.logs().join(format!("{}.log", member.name))),
        is_member: true,
        own_pids: None,
    })
}

fn limits(member: &Member, directory: &BoxDirectory, abilities: &Abilities) -> Vec<Limit> {
    let mut limits = Vec::new();
    if let Some(cores) = member.cpu_cores
        && abilities.can_show(Ability::CpuLimit)
    {
        limits.push(Limit::Cpu(cores));
    }
    if let Some(bytes_per_second) = member.read_bytes_per_s
        && abilities.can_show(Ability::SlowDisk)
        && let Some(disk) = Disk::below(directory.path())
    {
        limits.push(Limit::Reads { disk, bytes_per_second });
    }
    if let Some(bytes_per_second) = member.write_bytes_per_s
        && abilities.can_show(Ability::SlowDisk)
        && let Some(disk) = Disk::below(directory.path())
    {
        limits.push(Limit::Writes { disk, bytes_per_second });
    }
    if let Some(bytes) = member.memory_bytes
        && abilities.can_show(Ability::MemoryLimit)
    {
        limits.push(Limit::Memory(bytes));
    }
    if (member.tasks.is_some() || member.container.is_some()) && abilities.can_show(Ability::TaskLimit) {
        limits.push(Limit::Tasks(member.tasks));
    }
    limits
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |source| PlaceError::Io { path, source }
}
