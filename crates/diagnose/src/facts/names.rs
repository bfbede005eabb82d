//! Names of programs and threads by which their part in a run is known.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessRole;
use gpuwhy_model::scene::Process;

/// Returns the arguments of a process; none when they could not be read.
pub(crate) fn arguments(process: &Process) -> &[String] {
    process.command.known().map_or(&[], |command| command.arguments())
}

/// Returns whether a thread is named as a loader.
pub(crate) fn is_loading_thread(name: &str) -> bool {
    gpuwhy_knowledge::role(name) == Some(ProcessRole::Loader)
}

/// Returns whether a thread drives the card or exchanges data between cards: a busy one is no loader.
pub(crate) fn is_driving_thread(name: &str) -> bool {
    matches!(gpuwhy_knowledge::role(name), Some(ProcessRole::Driving | ProcessRole::Communication))
}

/// Returns whether a thread gives the card its work.
pub(crate) fn is_thread_that_gives_work(name: &str) -> bool {
    gpuwhy_knowledge::role(name) == Some(ProcessRole::Driving)
}

/// Returns whether a process is named as a loader.
pub(crate) fn is_loader(process: &Process) -> bool {
    process.role == Some(ProcessRole::Loader)
}

/// Returns whether a process neither loads data nor computes.
pub(crate) fn is_helper(process: &Process) -> bool {
    matches!(process.role, Some(ProcessRole::Helper | ProcessRole::CardService | ProcessRole::Shell))
}

/// Returns whether only another process can have started this one as its worker.
pub(crate) fn is_spawned_worker(process: &Process) -> bool {
    matches!(process.role, Some(ProcessRole::Loader | ProcessRole::SpawnedWorker | ProcessRole::ServerWorker))
}

/// Returns the parent that a spawned worker names in its arguments (`spawn_main(… parent_pid=N …)`).
pub(crate) fn spawning_parent(process: &Process) -> Option<u32> {
    arguments(process).iter().find_map(|argument| {
        let (_, after) = argument.split_once("parent_pid=")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

/// Returns whether a process adopts what has lost its parent.
pub(crate) fn is_adopter(process: &Process) -> bool {
    process.key.pid.0 == 1 && !is_container_init(process) || process.role == Some(ProcessRole::Init)
}

/// Returns whether a process is the init of a container.
pub(crate) fn is_container_init(process: &Process) -> bool {
    process.role == Some(ProcessRole::ContainerInit)
}

/// Returns the name of a variable that only a launcher sets, if the process has one.
///
/// `RANK` alone is also set by hand, for runs that no launcher started, so it comes last.
pub(crate) fn rank_variable(process: &Process) -> Reading<Option<&'static str>> {
    process.environment.as_ref().map(|environment| {
        let set = gpuwhy_knowledge::rank_variables().iter().filter(|name| environment.contains_key(*name));
        set.map(String::as_str).min_by_key(|name| *name == "RANK")
    })
}

/// Returns whether a process is a notebook's.
pub(crate) fn is_notebook(process: &Process) -> bool {
    process.role == Some(ProcessRole::NotebookKernel)
}

/// Returns whether a process serves a model.
pub(crate) fn is_server(process: &Process) -> bool {
    matches!(process.role, Some(ProcessRole::Server | ProcessRole::ServerWorker))
}

/// Returns what a person calls a process: its script if an interpreter runs one, else its program.
pub(crate) fn called(process: &Process) -> String {
    let arguments = arguments(process);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let Some(program) = arguments.first() else {
        return process.name.clone();
    };
    if !gpuwhy_knowledge::runs_scripts(program) {
        // A rewritten title is one long argument: its first word is its name.
        return base(program.split_whitespace().next().unwrap_or(program));
    }
    let mut rest = arguments[1..].iter();
    while let Some(argument) = rest.next() {
        if argument == "-m" {
            return rest.next().cloned().unwrap_or_else(|| process.name.clone());
        }
        if argument == "-c" {
            break;
        }
        if !argument.starts_with('-') {
            return base(argument);
        }
    }
    process.name.clone()
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::command_line::CommandLine;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Process;

    use super::{called, spawning_parent};

    fn process(arguments: &[&str]) -> Process {
        Process {
            name: "python3".to_owned(),
            command: Reading::Known(CommandLine::masked(arguments)),
            ..Process::default()
        }
    }

    #[test]
    fn a_script_is_called_by_its_name() {
        assert_eq!(
            called(&process(&["/usr/bin/python3", "-u", "/home/a/train.py", "--data", "/d"])),
            "train.py"
        );
        assert_eq!(
            called(&process(&["python", "-m", "ipykernel_launcher", "-f", "x"])),
            "ipykernel_launcher"
        );
        assert_eq!(called(&process(&["VLLM::EngineCore"])), "VLLM::EngineCore");
        assert_eq!(called(&process(&["python", "-c", "import x"])), "python3");
    }

    #[test]
    fn a_spawned_worker_names_its_parent() {
        let worker = process(&[
            "python3",
            "-c",
            "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, parent_pid=4100, pipe_handle=7)",
            "--multiprocessing-fork",
        ]);
        assert_eq!(spawning_parent(&worker), Some(4100));
        assert_eq!(spawning_parent(&process(&["python3", "train.py"])), None);
    }
}
