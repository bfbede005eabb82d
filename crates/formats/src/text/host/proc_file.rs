//! Files of `/proc` and of control groups that somebody pasted: what is in them tells most, the path in the prompt or
//! in a head the rest.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::process::{Pid, ProcessKey};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ProcessState;
use gpuwhy_model::scene::{Process, Scene, StateShares, WaitChannel};
use gpuwhy_model::units::{Bytes, Share};

use super::{amounts, block, scene};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::proc;
use crate::text::{Block, Context};

/// No file that is read here has more lines.
const LINES_MAX: usize = 400;

/// Reads the file that begins with the first line, if one does.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let from = usize::from(is_title(first));
    let path = title(first).or_else(|| path_of(context.command?));
    let body = lines.get(from..)?;
    let first = super::text(body, 0)?;
    if let Some(missing) = missing(first) {
        return missing_file(missing).map(|scene| block(from + 1, scene));
    }
    let (length, scene) = None
        .or_else(|| meminfo(body))
        .or_else(|| pressure(body, path))
        .or_else(|| driver_version(body))
        .or_else(|| status(body, path))
        .or_else(|| stack(body, path))
        .or_else(|| one_word(first, path))
        .or_else(|| load_average(first, path))?;
    Some(block(from + length, scene))
}

/// Returns whether a line is the head that `head -v` and `tail -n +1` write over a file.
fn is_title(text: &str) -> bool {
    title(text).is_some()
}

fn title(text: &str) -> Option<&str> {
    let path = text.strip_prefix("==> ")?.strip_suffix(" <==")?;
    path.starts_with('/').then_some(path)
}

/// Returns the path that a command reads.
fn path_of(command: &str) -> Option<&str> {
    let is_path = |word: &&str| word.starts_with("/proc/") || word.starts_with("/sys/fs/cgroup");
    command.split_ascii_whitespace().find(is_path)
}

/// Returns the process that a path belongs to: `/proc/4242/stack`.
fn pid_of(path: &str) -> Option<Pid> {
    path.strip_prefix("/proc/")?.split('/').next().and_then(amounts::whole).map(Pid)
}

fn text_of(lines: &[Line<'_>], belongs: impl Fn(&str) -> bool) -> (usize, String) {
    let body: Vec<&str> = lines
        .iter()
        .take(LINES_MAX)
        .map(|line| line.text.as_ref())
        .take_while(|text| belongs(text))
        .collect();
    (body.len(), body.join("\n"))
}

fn has_key(text: &str) -> bool {
    let key = text.split_once(':').map(|(key, _)| key);
    key.is_some_and(|key| !key.is_empty() && key.len() <= 40 && !key.contains(char::is_whitespace))
        && command_after_prompt(text).is_none()
}

/// Reads `/proc/meminfo`.
fn meminfo(lines: &[Line<'_>]) -> Option<(usize, Scene)> {
    if !super::text(lines, 0)?.starts_with("MemTotal:") {
        return None;
    }
    let (length, text) = text_of(lines, has_key);
    let mut scene = scene(Format::ProcFile);
    scene.host.memory = proc::meminfo(text.as_bytes()).ok().into();
    Some((length, scene))
}

/// Reads `/proc/pressure/*`; the path says of what, in the prompt, in a head, or before every line.
///
/// One look at the totals gives no share of time. What the kernel itself measured over the last ten seconds does.
fn pressure(lines: &[Line<'_>], path: Option<&str>) -> Option<(usize, Scene)> {
    let first = super::text(lines, 0)?;
    pressure_line(first)?;
    let mut scene = scene(Format::ProcFile);
    let mut length = 0;
    for line in lines {
        let Some((own_path, kind, share)) = pressure_line(&line.text) else {
            break;
        };
        length += 1;
        let of = own_path.or(path).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let of = of.split('.').next().unwrap_or_default();
        let is_of_machine = own_path.or(path).is_some_and(|path| path.starts_with("/proc/pressure"));
        let pressure = &mut scene.host.pressure;
        let slot = match (of, kind) {
            ("cpu", "some") => &mut pressure.cpu_some,
            ("io", "some") => &mut pressure.io_some,
            ("memory", "some") => &mut pressure.memory_some,
            ("memory", "full") => &mut pressure.memory_full,
            _ => continue,
        };
        if is_of_machine {
            *slot = Reading::Known(Share(share));
        }
    }
    Some((length, scene))
}

/// Reads `some avg10=0.01 avg60=0.11 avg300=0.17 total=4140807`, with the file's path before it where `grep` wrote it.
fn pressure_line(text: &str) -> Option<(Option<&str>, &str, f64)> {
    let (path, rest) = match text.split_once(':') {
        Some((path, rest)) if path.starts_with('/') => (Some(path), rest),
        _ => (None, text),
    };
    let (kind, rest) = rest.split_once(" avg10=")?;
    let share = rest.split(' ').next().and_then(amounts::number)? / 100.0;
    matches!(kind, "some" | "full").then_some((path, kind, share))
}

/// Reads `/proc/driver/nvidia/version`.
fn driver_version(lines: &[Line<'_>]) -> Option<(usize, Scene)> {
    if !super::text(lines, 0)?.starts_with("NVRM version:") {
        return None;
    }
    let (length, text) =
        text_of(lines, |text| text.starts_with("NVRM version:") || text.starts_with("GCC version:"));
    let mut scene = scene(Format::ProcFile);
    scene.machine.driver.module = proc::nvidia_module_version(text.as_bytes()).ok().into();
    Some((length, scene))
}

/// Reads `/proc/PID/status`.
fn status(lines: &[Line<'_>], path: Option<&str>) -> Option<(usize, Scene)> {
    let first = super::text(lines, 0)?;
    let is_status =
        first.starts_with("Name:") && lines.iter().take(4).any(|line| line.text.starts_with("State:"));
    if !is_status {
        return None;
    }
    let (length, text) = text_of(lines, has_key);
    let status = proc::status(text.as_bytes()).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(str::trim)
    };
    let number = |key: &str| value(key).and_then(amounts::whole::<u32>);
    let pid = number("Pid").map(Pid).or_else(|| path.and_then(pid_of))?;
    let name = masked_text(value("Name").unwrap_or_default());
    let mut scene = scene(Format::ProcFile);
    scene.processes.push(Process {
        key: ProcessKey { pid, ..ProcessKey::default() },
        parent: number("PPid").map(Pid).unwrap_or_default(),
        state: status.state.into(),
        states: looks(status.state),
        role: proc::role(&name, &Reading::default()),
        name,
        uid: status.uid.into(),
        thread_count: value("Threads").and_then(amounts::whole).unwrap_or_default(),
        namespace_pids: status.namespace_pids.into(),
        resident: Reading::from(status.resident).map(Bytes),
        shared_resident: Reading::from(status.shared_resident).map(Bytes),
        swapped: Reading::from(status.swapped).map(Bytes),
        cpus_allowed: status.cpus_allowed.into(),
        ..Process::default()
    });
    Some((length, scene))
}

fn looks(state: Option<ProcessState>) -> StateShares {
    let share = |wanted: ProcessState| if state == Some(wanted) { 1.0 } else { 0.0 };
    StateShares {
        n: usize::from(state.is_some()),
        running: share(ProcessState::Running),
        blocked: share(ProcessState::Blocked),
        sleeping: share(ProcessState::Sleeping),
    }
}

/// Reads `/proc/PID/stack`: the first function is the one in which the main thread waits.
fn stack(lines: &[Line<'_>], path: Option<&str>) -> Option<(usize, Scene)> {
    let (length, _) = text_of(lines, |text| frame(text).is_some());
    let first = frame(super::text(lines, 0)?)?;
    Some((length, waits_in(first, path)))
}

/// Returns the function of `[<0>] nvidia_ioctl+0x12/0x34 [nvidia]`.
fn frame(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("[<")?.split_once(">] ")?.1;
    rest.split(['+', ' ']).next().filter(|name| !name.is_empty())
}

/// Reads `/proc/PID/wchan` and `/proc/PID/comm`.
fn one_word(text: &str, path: Option<&str>) -> Option<(usize, Scene)> {
    let path = path?;
    let word = text.trim();
    let is_name = !word.is_empty() && word.len() <= 64 && !word.contains(char::is_whitespace);
    match path.rsplit('/').next()? {
        "wchan" if is_name => Some((1, waits_in(word, Some(path)))),
        _ => None,
    }
}

/// Returns a scene in which a process was seen once to wait in a function.
fn waits_in(function: &str, path: Option<&str>) -> Scene {
    let mut scene = scene(Format::ProcFile);
    // Without the path nobody knows whose it is.
    let Some(pid) = path.and_then(pid_of) else {
        return scene;
    };
    if function != "0" {
        scene.processes.push(Process {
            key: ProcessKey { pid, ..ProcessKey::default() },
            wait_channels: vec![WaitChannel { name: function.to_owned(), seen: 1 }],
            ..Process::default()
        });
    }
    scene
}

/// Takes `/proc/loadavg`: how many tasks run or wait says nothing that is judged.
fn load_average(text: &str, path: Option<&str>) -> Option<(usize, Scene)> {
    if !text.contains('/') {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [one, five, fifteen, tasks, newest] = words[..] else {
        return None;
    };
    let are_numbers =
        [one, five, fifteen].iter().all(|word| word.contains('.') && amounts::number(word).is_some());
    let are_tasks = tasks.split_once('/').is_some_and(|(running, all)| {
        amounts::whole::<u64>(running).is_some() && amounts::whole::<u64>(all).is_some()
    });
    let is_it = are_numbers && are_tasks && amounts::whole::<u64>(newest).is_some();
    (is_it || path == Some("/proc/loadavg") && are_numbers).then(|| (1, scene(Format::ProcFile)))
}

/// Returns the path of `cat: /proc/driver/nvidia/version: No such file or directory`.
fn missing(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(": ")?;
    let (path, error) = rest.split_once(": ")?;
    let path = path.trim_start_matches("cannot open ").trim_matches(['\'', '`', '"', '’', '‘']);
    let is_missing = ["No such file or directory", "没有那个文件或目录", "沒有此一檔案或目錄"]
        .iter()
        .any(|words| error.contains(words));
    (is_missing && path.starts_with('/')).then_some(path)
}

/// Returns what the absence of a file says.
fn missing_file(path: &str) -> Option<Scene> {
    let mut scene = scene(Format::ProcFile);
    match path {
        "/proc/driver/nvidia/version" | "/proc/driver/nvidia" => {
            scene.machine.driver.module = Reading::Unsupported;
        }
        _ if path.starts_with("/proc/pressure/") => {
            let pressure = &mut scene.host.pressure;
            for share in [
                &mut pressure.cpu_some,
                &mut pressure.io_some,
                &mut pressure.memory_some,
                &mut pressure.memory_full,
            ] {
                *share = Reading::Unsupported;
            }
        }
        _ => return None,
    }
    Some(scene)
}
