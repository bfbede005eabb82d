//! To whom a control group belongs, by its path: container, pod, job, unit, session.

use std::sync::OnceLock;

use gpuwhy_model::sample::Owner;
use regex::Regex;
use serde::Deserialize;

/// Ids of containers are at least this long; names of other things only hold one when they are made of it.
const ID_LENGTH: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patterns {
    path: Vec<PathPattern>,
    shared_units: SharedUnits,
    job_variables: List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathPattern {
    /// Every path that the pattern matches holds one of these.
    has: Vec<String>,
    pattern: String,
    /// A path that holds this is something else.
    never: Option<String>,
    /// Such a path, and whose it is.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads every row"))]
    example: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads every row"))]
    owner: Owner,
    #[serde(skip)]
    compiled: OnceLock<Regex>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedUnits {
    beginnings: Vec<String>,
    endings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    names: Vec<String>,
}

fn patterns() -> &'static Patterns {
    static PATTERNS: OnceLock<Patterns> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        toml::from_str(include_str!("../data/cgroup_patterns.toml"))
            .expect("the built-in patterns are read by a test")
    })
}

impl PathPattern {
    /// Returns what the pattern finds in a path.
    fn owner(&self, path: &str) -> Owner {
        let may_match = self.has.iter().any(|part| path.contains(part.as_str()))
            && !self.never.as_ref().is_some_and(|part| path.contains(part.as_str()));
        if !may_match {
            return Owner::default();
        }
        let regex = self
            .compiled
            .get_or_init(|| Regex::new(&self.pattern).expect("the built-in patterns are compiled by a test"));
        let Some(found) = regex.captures(path) else {
            return Owner::default();
        };
        let group = |name: &str| found.name(name).map(|text| text.as_str().to_owned());
        Owner {
            container: group("container"),
            pod: group("pod").map(|uid| uid.replace('_', "-")),
            job: group("job"),
            unit: group("unit").filter(|unit| !is_shared(unit)),
            session: group("session"),
        }
    }
}

/// Returns whether a unit holds the work of many people or of the whole machine.
fn is_shared(unit: &str) -> bool {
    let shared = &patterns().shared_units;
    shared.beginnings.iter().any(|beginning| unit.starts_with(beginning.as_str()))
        || shared.endings.iter().any(|ending| unit.ends_with(ending.as_str()))
}

/// Returns to whom a control group belongs, by its path as `/proc/PID/cgroup` gives it. Layers may stand one in the
/// other (a container in a job): all of them are named, of two containers the inner one.
pub fn owner(cgroup_path: &str) -> Owner {
    let mut owner = Owner::default();
    for pattern in &patterns().path {
        owner = owner.or(pattern.owner(cgroup_path));
    }
    // The unit that a container itself is says nothing more.
    let own_unit = owner.container.as_ref().filter(|id| id.len() >= ID_LENGTH);
    if own_unit.is_some_and(|id| owner.unit.as_ref().is_some_and(|unit| unit.contains(id.as_str()))) {
        owner.unit = None;
    }
    owner
}

/// Returns the variables that name the job of a process where the path of its control group does not.
pub fn job_variables() -> &'static [String] {
    &patterns().job_variables.names
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::sample::Owner;

    use super::{job_variables, owner, patterns};

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn every_row_finds_its_own_example() {
        for row in &patterns().path {
            let found = row.owner(&row.example);
            assert!(!found.is_nobody(), "{}", row.pattern);
            assert_eq!(owner(&row.example), row.owner, "{}", row.example);
        }
        assert_eq!(job_variables()[0], "SLURM_JOB_ID");
    }

    #[test]
    fn layers_are_all_named() {
        let found = owner(&format!("/system.slice/slurmstepd.scope/job_7/step_0/user/task_0/docker/{ID}"));
        let expected =
            Owner { job: Some("7".to_owned()), container: Some(ID.to_owned()), ..Owner::default() };
        assert_eq!(found, expected);
        let nested = owner(&format!(
            "/docker/{ID}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{pod}.slice/cri-containerd-{inner}.scope",
            pod = "12345678_9abc_def0_1234_56789abcdef0",
            inner = ID.replace('0', "f"),
        ));
        assert_eq!(nested.container, Some(ID.replace('0', "f")));
        assert_eq!(nested.pod.as_deref(), Some("12345678-9abc-def0-1234-56789abcdef0"));
    }

    #[test]
    fn units_of_many_people_are_nobodys() {
        for path in [
            "/",
            "/init.scope",
            "/system.slice/ssh.service",
            "/system.slice/docker.service",
            "/system.slice/slurmstepd.scope/s0123456789ABC/step_0",
            "/system.slice/node1_slurmstepd.scope/system",
            "/user.slice/user-1000.slice/user@1000.service/init.scope",
            "/system.slice/libpod-conmon-0123.scope",
            "/lxc.monitor.gpu-box",
        ] {
            let found = owner(path);
            assert!(found.job.is_none() && found.container.is_none(), "{path}");
            assert!(found.unit.is_none() || path.contains("conmon"), "{path}");
        }
    }

    #[test]
    fn scopes_of_a_session_name_the_session() {
        let found = owner("/user.slice/user-1000.slice/session-3.scope");
        assert_eq!(found, Owner { session: Some("3".to_owned()), ..Owner::default() });
    }
}
