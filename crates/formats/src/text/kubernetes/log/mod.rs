//! Logs of what offers the cards of a node to a cluster (device plugins, the kubelet, the GPU operator), and sentences of
//! schedulers in any log.

mod plugin;

use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{LogLine, PluginReport, ProgramFact, Scene};

use super::event::{line, waits};
use super::picture::Picture;
use super::reasons::{attempt, begin_of_sentence};
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};
use plugin::{library, plugin};

/// A longer line is cut before it is looked at.
const LINE_MAX: usize = 4000;

/// A log whose first lines say nothing of cards is looked into so far.
const LOOK_AHEAD: usize = 40;

/// What a line says.
#[derive(Debug, PartialEq)]
enum Said {
    Plugin(PluginReport),
    /// The library does not start.
    Library(Failure),
    /// A pod cannot be placed.
    Waits,
    /// A container cannot be started.
    NotStarted(ProgramFact),
}

/// Reads the log that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    if said(first).is_none() {
        let is_log = is_of_component(first);
        let ahead = lines.iter().skip(1).take(LOOK_AHEAD).take_while(|line| is_of_component(&line.text));
        if !is_log || !ahead.into_iter().any(|line| is_of_plugin(&line.text)) {
            return None;
        }
    }
    let mut picture = Picture::default();
    let mut library = None;
    let mut taken = 0;
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let text = line.text.as_ref();
        let number = length_of_sentence(&lines[next..]);
        let whole =
            lines[next..next + number].iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
        match said(&whole) {
            Some(said) => add(said, &whole, &mut picture, &mut library),
            None if is_of_component(text) => {}
            None => break,
        }
        next += number;
        taken = next;
    }
    let mut scene = picture.scene(Format::KubernetesLog);
    fill_library(library, &mut scene);
    Some(Block { lines: taken.max(1), scene, remarks: Vec::new() })
}

fn add(said: Said, text: &str, picture: &mut Picture, library: &mut Option<Failure>) {
    match said {
        Said::Plugin(report) => picture.program.push(line(text, Some(ProgramFact::Plugin(report)))),
        Said::NotStarted(fact) => picture.program.push(line(text, Some(fact))),
        Said::Library(failure) => {
            picture.program.push(LogLine { fact: None, ..line(text, None) });
            *library = Some(failure);
        }
        Said::Waits => {
            if let Some(begin) = begin_of_sentence(text) {
                let id = named_pod(&text[..begin]).unwrap_or_default();
                waits(picture.job(&id), attempt(&text[begin..]));
            }
        }
    }
}

/// Says what the library answers where the log was written: inside the container of the plugin.
fn fill_library(library: Option<Failure>, scene: &mut Scene) {
    let Some(failure) = library else {
        return;
    };
    scene.machine.driver.library = Reading::Failed(failure);
    scene.machine.container = Reading::Known("kubernetes".to_owned());
}

/// Returns over how many lines a sentence about nodes goes that a narrow window broke.
fn length_of_sentence(lines: &[Line<'_>]) -> usize {
    let first = lines[0].text.as_ref();
    let Some(begin) = begin_of_sentence(first).filter(|_| first.len() >= 60) else {
        return 1;
    };
    let mut last = &first[begin..];
    let mut number = 1;
    while let Some(line) = lines.get(number).filter(|_| number < 8) {
        let text = line.text.trim();
        let is_rest = !last.trim_end().ends_with(['.', '"', '\''])
            && !text.is_empty()
            && command_after_prompt(text).is_none()
            && !is_of_component(text)
            && said(text).is_none()
            && (text.starts_with(|first: char| {
                first.is_ascii_lowercase() || first.is_ascii_digit() || "{(})".contains(first)
            }) || text.starts_with("Insufficient")
                || text.starts_with("No preemption")
                || text.starts_with("Preemption")
                || text.starts_with("Pod"));
        if !is_rest {
            break;
        }
        last = text;
        number += 1;
    }
    number
}

/// Most lines of most texts have none of these words.
const SIGNS: &[&str] = &[
    "nhealthy",
    "XidCritical",
    "evice plugin",
    "evices found",
    "devices unavailable",
    "NVML",
    "healthy",
    "nodes are",
    "node is",
    "odes are",
    "nvidia-container",
    "nvidia.com/",
    "event",
    "runtime",
    "CDI",
    "OCI",
];

/// Returns what a line says, if it is about cards or places of pods.
fn said(text: &str) -> Option<Said> {
    let end = (0..=LINE_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let text = &text[..end];
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    if let Some(report) = plugin(text) {
        return Some(Said::Plugin(report));
    }
    if let Some(begin) = begin_of_sentence(text) {
        return text[begin..].contains(':').then_some(Said::Waits);
    }
    if let Some(failure) = library(text) {
        return Some(Said::Library(failure));
    }
    // Errors of the runtime alone are read elsewhere.
    is_of_component(text).then(|| crate::text::container::obstacle_of(text)).flatten().map(Said::NotStarted)
}

/// Returns whether a line surely is of a device plugin or the kubelet about cards.
fn is_of_plugin(text: &str) -> bool {
    matches!(said(text), Some(Said::Plugin(_) | Said::Library(_) | Said::NotStarted(_)))
}

/// Returns the pod that a line names before its sentence: `pod="ns/name"`, `pod: ns/name`.
fn named_pod(text: &str) -> Option<String> {
    let (_, rest) = text
        .rsplit_once("pod=")
        .or_else(|| text.rsplit_once("pod: "))
        .or_else(|| text.rsplit_once("pod/"))?;
    let rest = rest.trim_start_matches(['"', ' ']);
    let end = rest
        .find(|character: char| !(character.is_ascii_alphanumeric() || "-./".contains(character)))
        .unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].trim_end_matches('.').to_owned())
}

/// Returns whether a line has the form in which parts of Kubernetes log: `I0805 12:00:00.000000 1 file.go:7] …`,
/// `2026/11/30 20:00:00 …`, `time="…" level=… msg="…"`, `{"level":"info","ts":…}`.
fn is_of_component(text: &str) -> bool {
    let text = text.trim_start();
    // The name of a pod stands before, where logs of several are shown.
    let text = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(name, _)| name.starts_with("pod/"))
        .map_or(text, |(_, rest)| rest);
    let bytes = text.as_bytes();
    let is_digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is_klog = matches!(bytes.first(), Some(b'I' | b'W' | b'E' | b'F'))
        && is_digits(1..5)
        && bytes.get(5) == Some(&b' ')
        && text.contains(".go:");
    let is_go = is_digits(0..4)
        && bytes.get(4) == Some(&b'/')
        && is_digits(5..7)
        && bytes.get(7) == Some(&b'/')
        && is_digits(8..10)
        && bytes.get(13) == Some(&b':');
    let is_logrus = text.starts_with("time=\"") && text.contains("level=");
    let is_zap = text.starts_with("{\"level\":\"") && text.contains("\"ts\":");
    let is_of_journal = (text.contains(" kubelet[")
        || text.contains(" containerd[")
        || text.contains(" dockerd[")
        || text.contains(" crio["))
        && bytes.len() > 20
        && text.contains("]: ");
    is_klog || is_go || is_logrus || is_zap || is_of_journal
}

#[cfg(test)]
mod tests {
    use super::is_of_component;

    #[test]
    fn forms_of_logs_are_known() {
        for text in [
            "I0805 12:00:00.000000       1 main.go:7] Starting",
            "2026/11/30 20:00:00 Loading NVML",
            "time=\"2026-11-30T20:00:00Z\" level=info msg=\"x\"",
            "Nov 30 20:00:00 n1 kubelet[99]: E1130 x",
        ] {
            assert!(is_of_component(text), "{text}");
        }
        assert!(
            !is_of_component("INFO 11-30 10:00:00 core.py:3] x")
                && !is_of_component("E1130 10:00:00.1 7 cuda.cc:8] x")
        );
    }
}
