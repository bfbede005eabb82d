//! Who makes it so, in one line: program, pids, user, and the job, pod or container it runs in.

use gpuwhy_knowledge::runs_scripts;
use gpuwhy_model::text::Text;
use gpuwhy_model::verdict::Culprit;

use crate::safe::safe;
use crate::texts::answer;
use crate::values::NO_BREAK;
use crate::words::Words;

/// Most groups of equal culprits that are written out.
const GROUPS_MAX: usize = 3;
/// Most process numbers of a group that are written out.
const PIDS_MAX: usize = 4;
/// Shown digits of a container's id, as container tools show it.
const CONTAINER_ID_DIGITS: usize = 12;

/// Culprits of one program, user and place.
struct Group {
    program: Option<String>,
    rest: Vec<String>,
    pids: Vec<u32>,
}

/// Returns a line for each of the first few groups of culprits, `train.py 4242 · alice · job 8841`.
pub(crate) fn lines(culprits: &[Culprit], words: &Words<'_>) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    for culprit in culprits {
        let program = program(culprit);
        let rest: Vec<String> = culprit
            .user
            .iter()
            .map(|user| unbroken(user))
            .chain(place(culprit).map(|place| words.sentence(&place)))
            .chain(culprit.remark.as_ref().map(|remark| words.flowing(remark)))
            .collect();
        let pid = culprit.pid.map(|pid| pid.0);
        match groups.iter_mut().find(|group| group.program == program && group.rest == rest) {
            Some(group) => group.pids.extend(pid),
            None => groups.push(Group { program, rest, pids: pid.into_iter().collect() }),
        }
    }
    let left_out = groups.len().saturating_sub(GROUPS_MAX);
    groups.truncate(GROUPS_MAX);
    let mut lines: Vec<String> = groups.iter().map(|group| line(group, words)).collect();
    lines.retain(|line| !line.is_empty());
    if left_out > 0 {
        lines.push(words.flowing(&answer::more_culprits(left_out)));
    }
    lines
}

fn line(group: &Group, words: &Words<'_>) -> String {
    let mut pids = words.joined(group.pids.iter().take(PIDS_MAX).map(ToString::to_string));
    if group.pids.len() > PIDS_MAX {
        pids = words.flowing(&crate::texts::value::list_long(group.pids.len(), pids));
    }
    let who = match (&group.program, group.pids.is_empty()) {
        (Some(program), true) => program.clone(),
        (Some(program), false) => format!("{program}{NO_BREAK}{pids}"),
        (None, false) => words.flowing(&answer::pid(pids)),
        (None, true) => String::new(),
    };
    let parts: Vec<&str> = std::iter::once(who.as_str())
        .chain(group.rest.iter().map(String::as_str))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" · ")
}

/// Returns the job, pod, container, notebook or unit that the culprit runs in: the first that is known.
fn place(culprit: &Culprit) -> Option<Text> {
    let container = culprit.container.as_deref().map(|name| {
        let is_id = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { &name[..CONTAINER_ID_DIGITS] } else { name }
    });
    let service = culprit.unit.as_deref().filter(|unit| unit.ends_with(".service"));
    (culprit.job.as_deref().map(answer::job))
        .or_else(|| culprit.pod.as_deref().map(answer::pod))
        .or_else(|| container.map(answer::container))
        .or_else(|| culprit.notebook.as_deref().map(answer::notebook))
        .or_else(|| service.map(answer::unit))
}

/// Returns what a person calls the program: the script behind an interpreter, else the program's own name.
fn program(culprit: &Culprit) -> Option<String> {
    let arguments = culprit.command.as_ref().map_or(&[][..], |command| command.arguments());
    let Some((first, rest)) = arguments.split_first() else {
        return culprit.name.as_deref().map(unbroken);
    };
    let program = base_name(first);
    if !runs_scripts(program) {
        return Some(unbroken(program));
    }
    let mut words = rest.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "-m" {
            return Some(unbroken(words.next().unwrap_or(program)));
        }
        if word == "-c" || word == "-" {
            break;
        }
        if !word.starts_with('-') {
            return Some(unbroken(base_name(word)));
        }
    }
    Some(unbroken(program))
}

fn base_name(path: &str) -> &str {
    let name = path.trim_end_matches('/');
    name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// Makes a name safe and holds it together.
fn unbroken(name: &str) -> String {
    safe(name).replace(' ', NO_BREAK.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::command_line::CommandLine;
    use gpuwhy_model::verdict::Culprit;

    use super::program;

    fn named(arguments: &[&str]) -> String {
        let culprit = Culprit {
            process: None,
            pid: None,
            user: None,
            command: Some(CommandLine::masked(arguments)),
            name: None,
            container: None,
            pod: None,
            job: None,
            unit: None,
            session: None,
            notebook: None,
            remark: None,
        };
        program(&culprit).unwrap().replace('\u{a0}', " ")
    }

    #[test]
    fn scripts_are_named_by_themselves() {
        assert_eq!(named(&["/usr/bin/python3.11", "-u", "/home/a/train.py", "--lr", "1"]), "train.py");
        assert_eq!(
            named(&["python", "-m", "vllm.entrypoints.openai.api_server"]),
            "vllm.entrypoints.openai.api_server"
        );
        assert_eq!(named(&["python", "-c", "import x"]), "python");
        assert_eq!(named(&["bash"]), "bash");
        assert_eq!(named(&["VLLM::EngineCore"]), "VLLM::EngineCore");
        assert_eq!(named(&["/opt/app/"]), "app");
    }
}
