//! `docker info`: which ways of starting containers the runtime knows.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};

use crate::Format;
use crate::paste::{Line, command_after_prompt};
use crate::text::{Block, Context};

/// Labels of which a whole output has several.
const LABELS: &[&str] = &[
    "Server Version",
    "Storage Driver",
    "Cgroup Driver",
    "Cgroup Version",
    "Kernel Version",
    "Operating System",
    "Default Runtime",
    "Runtimes",
    "Docker Root Dir",
    "Logging Driver",
];

/// Reads the output, or the lines of it about runtimes, that begins with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], context: &Context<'_>) -> Option<Block> {
    let first = lines.first()?.text.trim();
    let is_line = value(first, "Runtimes").is_some() || value(first, "Default Runtime").is_some();
    let is_begin = matches!(first, "Client:" | "Server:")
        || first.starts_with("Client: ")
        || first.starts_with("Containers: ");
    let is_asked = context.command.is_some_and(|command| command.contains(" info"));
    if !is_line && !(is_begin && (is_asked || count(lines) >= 3)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut taken = 0;
    let mut is_known = false;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let belongs = line.text.starts_with(' ')
            || text.contains(':')
            || text.is_empty()
            || text.starts_with("WARNING");
        if !belongs || command_after_prompt(&line.text).is_some() {
            break;
        }
        let runtimes = value(text, "Runtimes").or_else(|| value(text, "Default Runtime"));
        if is_line && runtimes.is_none() {
            break;
        }
        if let Some(runtimes) = runtimes {
            is_known = true;
            names.extend(runtimes.split_whitespace().map(str::to_owned));
        }
        if !text.is_empty() {
            taken = place + 1;
        }
    }
    names.sort();
    names.dedup();
    let mut scene = Scene {
        provenance: Provenance {
            source: SourceKind::Text,
            inputs: vec![Format::ContainerInformation.to_string()],
        },
        ..Scene::default()
    };
    if is_known {
        scene.machine.container_runtimes = Reading::Known(names);
    }
    Some(Block { lines: taken.max(1), scene, remarks: Vec::new() })
}

/// Returns how many labels of such an output stand in the next lines.
fn count(lines: &[Line<'_>]) -> usize {
    let is_label = |line: &&Line<'_>| LABELS.iter().any(|label| value(line.text.trim(), label).is_some());
    lines.iter().take(60).filter(is_label).count()
}

fn value<'text>(text: &'text str, label: &str) -> Option<&'text str> {
    text.strip_prefix(label)?.strip_prefix(':').map(str::trim)
}
