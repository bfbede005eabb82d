//! What the outputs of `nvidia-smi` have in common when they become a scene.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Sample;
use gpuwhy_model::scene::{Provenance, Scene, SourceKind};
use gpuwhy_model::window::window;
use jiff::Timestamp;

use crate::Format;

/// Makes a scene of looks that a text holds. Without a calendar time the looks only stand in their order.
pub(super) fn scene_of(samples: &[Sample], format: Format, has_time: bool) -> Scene {
    let mut scene = window(samples);
    // The text tells neither how long the library took to start nor the time since boot.
    scene.machine.driver.init_ms = Reading::default();
    scene.window.end_boot_ns = None;
    // Instances stand in the order of their numbers, whatever they are called.
    scene.cards.sort_by_key(|card| (card.parent.unwrap_or(card.index), card.parent, card.index));
    if !has_time {
        scene.window.taken_at = Timestamp::UNIX_EPOCH;
    }
    scene.provenance = Provenance { source: SourceKind::Text, inputs: vec![format.to_string()] };
    scene
}

/// Returns what kind of container a command runs its tool in, if it does.
pub(super) fn container_of(command: &str) -> Option<&'static str> {
    let mut words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let tool = words.next()?;
    let runs = |verbs: &[&str]| words.clone().any(|word| verbs.contains(&word));
    match tool {
        "docker" | "docker-compose" | "nerdctl" if runs(&["exec", "run"]) => Some("docker"),
        "podman" if runs(&["exec", "run"]) => Some("podman"),
        "kubectl" | "oc" | "k3s" | "microk8s" if runs(&["exec", "run", "debug"]) => Some("kubernetes"),
        _ => None,
    }
}

/// Returns whether a command of the tool asks for some cards only.
pub(super) fn names_cards(command: &str) -> bool {
    command.split_whitespace().any(|word| {
        ["-i", "-g"].contains(&word)
            || word.starts_with("--id")
            || word.starts_with("-i=")
            || word.starts_with("--gpu")
    })
}

/// Returns the numbers of cards that a command asks for.
pub(super) fn asked_for(command: &str) -> Option<Vec<u32>> {
    let mut words = command.split_whitespace();
    let list = words.find_map(|word| match word.split_once('=') {
        Some(("-i" | "--id", list)) => Some(Some(list)),
        _ if word == "-i" || word == "--id" => Some(None),
        _ => None,
    })?;
    let list = list.or_else(|| words.next())?;
    list.split(',').map(|number| number.trim().parse().ok().filter(|number| *number < 4096)).collect()
}

/// Returns how many seconds a command of the tool waits between two looks, if it says so.
pub(super) fn delay_s(command: &str) -> Option<f64> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("-d" | "--delay", value)) => value,
            _ if word == "-d" || word == "--delay" => words.next()?,
            _ => match word.strip_prefix("-d") {
                Some(value) if value.starts_with(|first: char| first.is_ascii_digit()) => value,
                _ => continue,
            },
        };
        return value.parse().ok().filter(|seconds: &f64| (0.001..=86400.0).contains(seconds));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{asked_for, container_of, delay_s, names_cards};

    #[test]
    fn commands_say_where_they_run() {
        assert_eq!(container_of("kubectl exec -it -n x pod-1 -- nvidia-smi"), Some("kubernetes"));
        assert_eq!(container_of("/usr/bin/docker run --rm --gpus all cuda nvidia-smi"), Some("docker"));
        assert_eq!(container_of("docker ps"), None);
        assert_eq!(container_of("nvidia-smi"), None);
        assert!(names_cards("nvidia-smi -i 0,1") && names_cards("nvidia-smi --id=3"));
        assert_eq!(asked_for("nvidia-smi -q -i 5,6"), Some(vec![5, 6]));
        assert_eq!((asked_for("nvidia-smi -q"), asked_for("nvidia-smi -i GPU-1")), (None, None));
        assert!(!names_cards("nvidia-smi"));
    }

    #[test]
    fn commands_say_how_long_they_wait() {
        assert_eq!(delay_s("nvidia-smi dmon -s u -d 5"), Some(5.0));
        assert_eq!(delay_s("nvidia-smi dmon -d10 -c 3"), Some(10.0));
        assert_eq!(delay_s("nvidia-smi dmon --delay=2"), Some(2.0));
        assert_eq!((delay_s("nvidia-smi dmon"), delay_s("nvidia-smi dmon -d x")), (None, None));
    }
}
