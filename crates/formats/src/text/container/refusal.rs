//! Errors with which a runtime refuses to start a container.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{LogLine, ProgramFact, Provenance, Scene, SourceKind, Standing, StartObstacle};

use super::obstacle_of;
use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Begins of errors whose reason may stand in the next lines.
const WRAPPERS: &[&str] = &[
    "docker: Error response from daemon",
    "Error response from daemon",
    "Error: ",
    "ERROR: for ",
    "ERROR: Cannot start service",
    "Cannot start service",
    "FATA[",
    "ERRO[",
    "podman: ",
    "nerdctl: ",
    "ctr: ",
    "Failed to create pod sandbox",
    "failed to create containerd task",
];

/// The reason stands no further below than this.
const BELOW_MAX: usize = 6;

/// What is printed below such an error.
const ADVICE: &[&str] = &[
    "Run 'docker ",
    "See 'docker ",
    "ERRO[",
    "time=\"",
    "please update your driver",
    "Try 'docker ",
    "For more help",
];

/// What the driver's library answers where it cannot be started.
const LIBRARY_CODES: &[(StartObstacle, u32)] = &[
    (StartObstacle::DriverNotLoaded, 9),
    (StartObstacle::VersionMismatch, 18),
    (StartObstacle::CardLost, 15),
];

/// Reads the error that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.as_ref();
    let (fact, own) = match obstacle_of(first) {
        Some(fact) => (fact, 1),
        None => below(first, lines)?,
    };
    let mut taken = own;
    while let Some(line) = lines.get(taken) {
        let text = line.text.trim();
        let advice_follows = lines
            .get(taken + 1)
            .is_some_and(|next| ADVICE.iter().any(|begin| next.text.trim().starts_with(begin)));
        if text.is_empty() && advice_follows {
            taken += 1;
            continue;
        }
        let is_advice = ADVICE.iter().any(|begin| text.starts_with(begin));
        // The same error, as the next layer says it.
        let is_echo = obstacle_of(text).is_some_and(|other| other == fact) && !text.starts_with("docker: ");
        if !(is_advice || is_echo) {
            break;
        }
        taken += 1;
    }
    let text = lines[..own].iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    Some(Block { lines: taken, scene: scene(&text, fact), remarks: Vec::new() })
}

/// Looks for the reason of an error in the lines below its begin.
fn below(first: &str, lines: &[Line<'_>]) -> Option<(ProgramFact, usize)> {
    WRAPPERS.iter().any(|begin| first.starts_with(begin)).then_some(())?;
    let mut whole = first.trim().to_owned();
    for (place, line) in lines.iter().enumerate().skip(1).take(BELOW_MAX) {
        let text = line.text.trim();
        if command_after_prompt(&line.text).is_some()
            || WRAPPERS.iter().any(|begin| text.starts_with(begin)) && !text.starts_with("ERRO[")
        {
            return None;
        }
        whole.push(' ');
        whole.push_str(text);
        if let Some(fact) = obstacle_of(&whole) {
            return Some((fact, place + 1));
        }
    }
    None
}

fn scene(text: &str, fact: ProgramFact) -> Scene {
    let mut scene = Scene {
        provenance: Provenance { source: SourceKind::Text, inputs: vec![Format::ContainerError.to_string()] },
        ..Scene::default()
    };
    if let ProgramFact::ContainerNotStarted(not_started) = &fact {
        let code = LIBRARY_CODES.iter().find(|(obstacle, _)| *obstacle == not_started.obstacle);
        if let Some((_, code)) = code {
            scene.machine.driver.library =
                Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code: *code });
        }
    }
    scene.program = vec![LogLine {
        text: masked_text(text),
        fact: Some(fact),
        standing: Some(Standing::Final),
        ..LogLine::default()
    }];
    scene
}
