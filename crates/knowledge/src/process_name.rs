//! What names and arguments of processes and threads say about them.

use std::sync::OnceLock;

use gpuwhy_model::sample::ProcessRole;
use serde::Deserialize;

use crate::pattern::is_one_of;

/// The kernel keeps this many bytes of a name.
const KEPT_NAME: usize = 15;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    role: Vec<RoleNames>,
    launcher_modules: List,
    argument: Vec<RoleArguments>,
    script_runners: List,
    rank_environment: List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleNames {
    role: ProcessRole,
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleArguments {
    role: ProcessRole,
    /// In how many of the first arguments; none: in any.
    first: Option<usize>,
    parts: Vec<String>,
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
pub fn role(name: &str) -> Option<ProcessRole> {
    let name = kept(name);
    names().role.iter().find(|role| is_one_of(name, &role.names)).map(|role| role.role)
}

/// Returns the role of a process by its name, else by its first argument, else by the script that an interpreter runs
/// (`python3 /usr/bin/torchrun …`), the module after `-m`, or what else the arguments hold.
pub fn role_of(name: &str, arguments: &[String]) -> Option<ProcessRole> {
    let by_name = role(name);
    by_name
        .filter(|role| says_enough(*role))
        .or_else(|| role_by_program(arguments))
        .or_else(|| is_launcher_module(arguments).then_some(ProcessRole::Launcher))
        .or_else(|| role_by_parts(arguments))
        .or(by_name)
}

/// Returns whether a name tells more than that the process runs a program of its language.
const fn says_enough(role: ProcessRole) -> bool {
    !matches!(role, ProcessRole::Main | ProcessRole::Interpreter)
}

/// Returns the role by the program in the arguments, or the script that it runs.
fn role_by_program(arguments: &[String]) -> Option<ProcessRole> {
    let program = arguments.first()?;
    // A rewritten title is no path, and may hold one.
    let by_program = role(program).or_else(|| role(file_name(program)));
    match by_program {
        Some(ProcessRole::Interpreter) => {
            arguments.get(1).and_then(|script| role(file_name(script))).filter(|role| says_enough(*role))
        }
        other => other.filter(|role| says_enough(*role)),
    }
}

fn role_by_parts(arguments: &[String]) -> Option<ProcessRole> {
    let holds = |row: &&RoleArguments| {
        let read = row.first.unwrap_or(arguments.len());
        arguments.iter().take(read).any(|argument| row.parts.iter().any(|part| argument.contains(part)))
    };
    names().argument.iter().find(holds).map(|row| row.role)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a program runs a script whose name says more than its own.
pub fn runs_scripts(program: &str) -> bool {
    is_one_of(file_name(program), &names().script_runners.names)
}

/// Returns whether the arguments start a module that starts the ranks of a job (`python -m torch.distributed.run`).
fn is_launcher_module(arguments: &[String]) -> bool {
    let modules = &names().launcher_modules.names;
    arguments
        .windows(2)
        .any(|pair| pair[0] == "-m" && modules.iter().any(|module| pair[1].starts_with(module)))
}

/// Returns the variables that only a launcher of ranks sets.
pub fn rank_variables() -> &'static [String] {
    &names().rank_environment.names
}

#[cfg(test)]
mod tests {
    use super::{ProcessRole as Role, names, rank_variables, role, role_of, runs_scripts};

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
            ("tini", Some(Role::ContainerInit)),
            ("raylet", Some(Role::NodeService)),
            ("ray::TrainWorker.run", Some(Role::SpawnedWorker)),
            ("VLLM::EngineCore", Some(Role::ServerWorker)),
            ("sglang::scheduler_TP0", Some(Role::ServerWorker)),
            ("ipykernel_launcher", Some(Role::NotebookKernel)),
            ("gnome-terminal-server", Some(Role::Display)),
            ("python3.11", Some(Role::Interpreter)),
            ("containerd-shim-runc-v2", Some(Role::ContainerShim)),
            ("containerd-shim", Some(Role::ContainerShim)),
            ("nvidia-persiste", Some(Role::CardService)),
            ("nvidia-persistenced", Some(Role::CardService)),
            ("train", None),
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
            ("python", "python train.py --logger bash", Some(Role::Interpreter)),
            ("python3", "python3 -m ipykernel_launcher -f k.json", Some(Role::NotebookKernel)),
            ("pt_main_thread", "python -m vllm.entrypoints.openai.api_server", Some(Role::Server)),
            ("python3", "python3 train.py --name vllm-baseline", Some(Role::Interpreter)),
            ("python3", "ray::f(/a/b)", Some(Role::SpawnedWorker)),
            ("python3", "python3 -c from|multiprocessing.resource_tracker|import|main", Some(Role::Helper)),
            (
                "pt_main_thread",
                "python -c from|multiprocessing.spawn|import|spawn_main --multiprocessing-fork",
                Some(Role::SpawnedWorker),
            ),
            ("pt_data_worker", "python train.py", Some(Role::Loader)),
            ("python", "python -m", Some(Role::Interpreter)),
            ("cat", "cat torchrun", None),
        ] {
            assert_eq!(role_of(name, &arguments(line)), expected, "{line}");
        }
    }

    #[test]
    fn scripts_say_more_than_what_runs_them() {
        assert!(runs_scripts("/usr/bin/python3.11") && runs_scripts("bash") && runs_scripts("torchrun"));
        assert!(!runs_scripts("/opt/vllm/bin/vllm") && !runs_scripts("shred"));
    }
}
