//! Control groups that limit a process.

use gpuwhy_model::sample::Owner;
use gpuwhy_model::scene::{Cgroup, Process, Scene};

/// Returns the control groups that limit a process: its own and those above it, without the root that is the machine.
pub(crate) fn cgroups_of<'scene>(
    scene: &'scene Scene,
    process: &'scene Process,
) -> impl Iterator<Item = &'scene Cgroup> {
    let paths: Vec<&String> = process.cgroups.known().into_iter().flat_map(|paths| paths.values()).collect();
    scene
        .cgroups
        .iter()
        .filter(|cgroup| cgroup.path != "/")
        .filter(move |cgroup| paths.iter().any(|path| is_within(path, &cgroup.path)))
}

/// Returns whether a group is another one or lies below it.
pub(crate) fn is_within(path: &str, group: &str) -> bool {
    let group = group.trim_end_matches('/');
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whose work a group was made for: that of a container, a pod, a job or a unit; none where it is the place of
/// many, or where its name says nothing.
pub(crate) fn owner_of(cgroup: &Cgroup) -> Option<Owner> {
    let owner = gpuwhy_knowledge::owner(&cgroup.path);
    let is_one_work =
        owner.container.is_some() || owner.pod.is_some() || owner.job.is_some() || owner.unit.is_some();
    is_one_work.then_some(owner)
}

/// Returns what a person calls the owner of a group; its path where nobody is known.
pub(crate) fn called(cgroup: &Cgroup) -> String {
    let owner = owner_of(cgroup).unwrap_or_default();
    owner.job.or(owner.container).or(owner.pod).or(owner.unit).unwrap_or_else(|| cgroup.path.clone())
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::Cgroup;

    use super::{called, is_within, owner_of};

    #[test]
    fn a_group_holds_what_lies_below_it() {
        assert!(is_within("/jobs/42/step", "/jobs/42") && is_within("/jobs/42", "/jobs/42/"));
        assert!(!is_within("/jobs/421", "/jobs/42") && !is_within("/jobs", "/jobs/42"));
    }

    #[test]
    fn a_group_of_one_work_has_an_owner() {
        let group = |path: &str| Cgroup { path: path.to_owned(), ..Cgroup::default() };
        assert_eq!(called(&group("/slurm/uid_1000/job_8841/step_0")), "8841");
        assert!(owner_of(&group("/user.slice")).is_none());
        assert_eq!(called(&group("/user.slice")), "/user.slice");
    }
}
