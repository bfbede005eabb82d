//! What the raw facts of a process say about it: what it is for, and where it belongs.

use std::collections::BTreeMap;

use gpuwhy_model::command_line::CommandLine;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{Owner, ProcessRole};

/// The hierarchies whose paths say where a process belongs, the surest first: version 1 by controller, then version 2
/// (`""`), which stands alone on most machines.
const HIERARCHIES: &[&str] = &["memory", "cpu", "devices", "", "name=systemd"];

/// Returns what a process is for, as far as its name and arguments tell.
pub fn role(name: &str, command: &Reading<CommandLine>) -> Option<ProcessRole> {
    let arguments = command.known().map_or(&[][..], |command| command.arguments());
    gpuwhy_knowledge::role_of(name, arguments)
}

/// Returns where a process belongs, as far as its control groups tell, and for its job also its environment.
pub fn owner(
    cgroups: &Reading<BTreeMap<String, String>>,
    environment: &Reading<BTreeMap<String, String>>,
) -> Owner {
    let mut owner = Owner::default();
    for hierarchy in HIERARCHIES {
        let is_wanted = |controllers: &str| controllers.split(',').any(|name| name == *hierarchy);
        let paths = cgroups.known().into_iter().flatten();
        for (_, path) in paths.filter(|(controllers, _)| is_wanted(controllers)) {
            owner = owner.or(gpuwhy_knowledge::owner(path));
        }
    }
    if owner.job.is_none() {
        let variables = environment.known();
        let named = |name: &String| variables.and_then(|variables| variables.get(name)).cloned();
        owner.job = gpuwhy_knowledge::job_variables().iter().find_map(named);
    }
    owner
}

#[cfg(test)]
mod tests {
    use super::{owner, role};
    use gpuwhy_model::command_line::CommandLine;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{Owner, ProcessRole};

    fn named<const N: usize>(
        pairs: [(&str, &str); N],
    ) -> Reading<std::collections::BTreeMap<String, String>> {
        Reading::Known(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    #[test]
    fn the_name_alone_may_tell_the_role() {
        assert_eq!(role("pt_data_worker", &Reading::default()), Some(ProcessRole::Loader));
        let command = Reading::Known(CommandLine::masked(["python3", "/usr/bin/torchrun", "train.py"]));
        assert_eq!(role("python3", &command), Some(ProcessRole::Launcher));
        assert_eq!(role("train", &Reading::Unsupported), None);
    }

    #[test]
    fn both_versions_of_control_groups_are_asked() {
        let session = Owner { session: Some("3".to_owned()), ..Owner::default() };
        let path = "/user.slice/user-1000.slice/session-3.scope";
        assert_eq!(owner(&named([("", path)]), &Reading::default()), session);
        let first = named([("cpuset", "/"), ("cpu,cpuacct", "/"), ("memory", "/"), ("name=systemd", path)]);
        assert_eq!(owner(&first, &Reading::default()), session);
        assert!(owner(&named([("cpuset", path)]), &Reading::default()).is_nobody());
        assert!(owner(&Reading::default(), &Reading::default()).is_nobody());
    }

    #[test]
    fn the_environment_names_the_job_where_no_path_does() {
        let job = |owner: Owner| owner.job;
        let environment = named([("SLURM_JOB_ID", "8841"), ("RANK", "0")]);
        assert_eq!(job(owner(&Reading::default(), &environment)).as_deref(), Some("8841"));
        let path = named([("", "/system.slice/slurmstepd.scope/job_7/step_0")]);
        assert_eq!(job(owner(&path, &environment)).as_deref(), Some("7"));
    }
}
