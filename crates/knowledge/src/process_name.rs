//! What names and arguments of processes and threads say about them.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::pattern::is_one_of;

/// The kernel keeps this many bytes of a name.
const KEPT_NAME: usize = 15;

/// What a process or thread is for, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Loads and prepares data.
    Loader,
    /// Main thread of a training program.
    Main,
    /// Drives the card.
    Driving,
    /// Collective communication.
    Communication,
    /// Starts the ranks of a job.
    Launcher,
    /// Serves a model.
    Server,
    /// Belongs to a run and neither loads data nor computes.
    Helper,
    /// A shell, or what runs a command as somebody else.
    Shell,
    /// Keeps terminals alive.
    Multiplexer,
    /// A notebook server or the remote end of an editor.
    Notebook,
    /// Remote logins, timers.
    SessionManager,
    /// Adopts processes whose parent has ended.
    Init,
    /// Stands between a container and the machine.
    ContainerShim,
    /// Screens and desktops.
    Display,
    /// Looks after cards.
    CardService,
    /// Runs other people's work on a node.
    NodeService,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    role: Vec<RoleNames>,
    launcher_modules: List,
    spawned_worker: Arguments,
    rank_environment: List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleNames {
    role: Role,
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    arguments: Vec<String>,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names: Names = toml::from_str(include_str!("../data/process_names.toml"))
            .expect("the built-in names are read by a test");
        for pattern in names.role.iter_mut().flat_map(|role| &mut role.names) {
            *pattern = kept(pattern).to_owned();
        }
        names
    })
}

/// Returns the part of a name that the kernel keeps.
fn kept(name: &str) -> &str {
    let mut end = name.len().min(KEPT_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Returns the role that a name stands for: `comm`, or the file name of a program.
pub fn role(name: &str) -> Option<Role> {
    let name = kept(name);
    names().role.iter().find(|role| is_one_of(name, &role.names)).map(|role| role.role)
}

/// Returns the role of a process by its name, else by the file name in its first argument, else by the script that an
/// interpreter runs (`python3 /usr/bin/torchrun …`) or the module after `-m`.
pub fn role_of(name: &str, arguments: &[String]) -> Option<Role> {
    let file_name = |path: &str| role(path.rsplit('/').next().unwrap_or(path));
    let of_arguments = || {
        let program = arguments.first().and_then(|program| file_name(program));
        let script = || {
            let is_interpreted = arguments.first().is_some_and(|program| is_interpreter(program));
            is_interpreted.then(|| arguments.get(1).and_then(|script| file_name(script))).flatten()
        };
        let module = || is_launcher_module(arguments).then_some(Role::Launcher);
        program.or_else(script).or_else(module)
    };
    role(name).filter(|role| *role != Role::Main).or_else(of_arguments).or_else(|| role(name))
}

/// Returns whether a program runs scripts of the language that launchers and servers are written in.
fn is_interpreter(program: &str) -> bool {
    program.rsplit('/').next().is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"))
}

/// Returns whether the arguments start a module that starts the ranks of a job (`python -m torch.distributed.run`).
pub fn is_launcher_module(arguments: &[String]) -> bool {
    let modules = &names().launcher_modules.names;
    arguments
        .windows(2)
        .any(|pair| pair[0] == "-m" && modules.iter().any(|module| pair[1].starts_with(module)))
}

/// Returns whether the arguments are those of a worker that Python's multiprocessing spawned.
pub fn is_spawned_worker(arguments: &[String]) -> bool {
    let marks = &names().spawned_worker.arguments;
    arguments.iter().any(|argument| marks.iter().any(|mark| argument.contains(mark)))
}

/// Returns the variables that only a launcher of ranks sets.
pub fn rank_variables() -> &'static [String] {
    &names().rank_environment.names
}

#[cfg(test)]
mod tests {
    use super::{Role, is_launcher_module, is_spawned_worker, names, rank_variables, role, role_of};

    fn arguments(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn every_list_is_read_and_no_name_stands_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for role in &names().role {
            assert!(!role.names.is_empty());
            for name in &role.names {
                assert!(seen.insert(name), "{name}");
                assert_eq!(super::role(name.trim_end_matches('*')), Some(role.role), "{name}");
            }
        }
        assert!(rank_variables().is_sorted());
    }

    #[test]
    fn names_have_roles() {
        for (name, expected) in [
            ("pt_data_worker", Some(Role::Loader)),
            ("pt_data_pin_mem", Some(Role::Loader)),
            ("pt_main_thread", Some(Role::Main)),
            ("torchrun", Some(Role::Launcher)),
            ("bash", Some(Role::Shell)),
            ("tmux: server", Some(Role::Multiplexer)),
            ("sshd", Some(Role::SessionManager)),
            ("systemd", Some(Role::Init)),
            ("containerd-shim-runc-v2", Some(Role::ContainerShim)),
            ("containerd-shim", Some(Role::ContainerShim)),
            ("nvidia-persiste", Some(Role::CardService)),
            ("nvidia-persistenced", Some(Role::CardService)),
            ("python", None),
            ("", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }

    #[test]
    fn arguments_tell_what_the_name_does_not() {
        for (name, line, expected) in [
            ("python3", "/usr/bin/python3 /opt/venv/bin/torchrun --nproc 8 train.py", Some(Role::Launcher)),
            ("python", "python -m torch.distributed.run train.py", Some(Role::Launcher)),
            ("pt_main_thread", "/opt/venv/bin/python /opt/venv/bin/torchrun t.py", Some(Role::Launcher)),
            ("pt_main_thread", "python train.py", Some(Role::Main)),
            ("python3", "/usr/bin/python3 /usr/bin/jupyter-lab", Some(Role::Notebook)),
            ("python", "python train.py --logger bash", None),
            ("cat", "cat torchrun", None),
        ] {
            assert_eq!(role_of(name, &arguments(line)), expected, "{line}");
        }
    }

    #[test]
    fn spawned_workers_are_known_by_their_arguments() {
        assert!(is_spawned_worker(&arguments(
            "python -c from|multiprocessing.spawn|import|spawn_main --multiprocessing-fork"
        )));
        assert!(!is_spawned_worker(&arguments("python train.py")));
        assert!(!is_launcher_module(&arguments("python -m")));
    }
}
