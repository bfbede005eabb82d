//! Control groups that limit a process.

use gpuwhy_model::scene::{Cgroup, Process, Scene};

/// Ids of containers are long; so much of one tells them apart, as the container programs themselves show it.
const ID_SHOWN: usize = 12;

/// Returns the control groups that limit a process: its own and those above it. The root of a machine has no limits, so
/// it is not among them; that of a container is.
pub(crate) fn cgroups_of<'scene>(
    scene: &'scene Scene,
    process: &'scene Process,
) -> impl Iterator<Item = &'scene Cgroup> {
    let paths: Vec<&String> = process.cgroups.known().into_iter().flat_map(|paths| paths.values()).collect();
    scene.cgroups.iter().filter(move |cgroup| paths.iter().any(|path| is_within(path, &cgroup.path)))
}

/// Returns whether a group is another one or lies below it.
pub(crate) fn is_within(path: &str, group: &str) -> bool {
    let group = group.trim_end_matches('/');
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a group was made for one piece of work: a container, a pod, a job or a unit.
pub(crate) fn is_of_one_work(cgroup: &Cgroup) -> bool {
    let owner = gpuwhy_knowledge::owner(&cgroup.path);
    // What we see as root, with limits, is the container in which we are.
    cgroup.path == "/"
        || owner.container.is_some()
        || owner.pod.is_some()
        || owner.job.is_some()
        || owner.unit.is_some()
}

/// Returns what a person calls the work of a group; its path where nobody is known.
pub(crate) fn called(scene: &Scene, cgroup: &Cgroup) -> String {
    if cgroup.path == "/" {
        return scene.machine.hostname.known().cloned().unwrap_or_else(|| cgroup.path.clone());
    }
    let owner = gpuwhy_knowledge::owner(&cgroup.path);
    let id = owner.job.or(owner.container).or(owner.pod).or(owner.unit);
    id.map_or_else(|| cgroup.path.clone(), |id| id.chars().take(ID_SHOWN).collect())
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{Cgroup, Scene};

    use super::{called, is_of_one_work, is_within};

    #[test]
    fn a_group_holds_what_lies_below_it() {
        assert!(is_within("/jobs/42/step", "/jobs/42") && is_within("/jobs/42", "/jobs/42/"));
        assert!(!is_within("/jobs/421", "/jobs/42") && !is_within("/jobs", "/jobs/42"));
        assert!(is_within("/", "/") && is_within("/jobs/42", "/"));
    }

    #[test]
    fn a_group_of_one_work_has_an_owner() {
        let group = |path: &str| Cgroup { path: path.to_owned(), ..Cgroup::default() };
        let scene = Scene::default();
        assert_eq!(called(&scene, &group("/slurm/uid_1000/job_8841/step_0")), "8841");
        assert!(!is_of_one_work(&group("/user.slice")) && is_of_one_work(&group("/")));
        assert_eq!(called(&scene, &group("/user.slice")), "/user.slice");
    }
}
