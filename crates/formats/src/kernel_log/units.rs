//! What the service manager and services around cards write into system logs.

use std::collections::BTreeMap;

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::Service;

use super::driver::versions;

/// Services that have no name in some lines of the service manager, by how their units describe them.
const DESCRIBED: &[(&str, &str)] = &[
    ("NVIDIA fabric manager service", "nvidia-fabricmanager"),
    ("NVIDIA Persistence Daemon", "nvidia-persistenced"),
    ("nvidia-powerd service", "nvidia-powerd"),
    ("NVIDIA IMEX service", "nvidia-imex"),
    ("NVIDIA DCGM service", "nvidia-dcgm"),
];

/// Beginnings of the names of services that matter here.
const NAMES: &[&str] =
    &["nvidia-", "dcgm", "nv-", "slurmd", "docker", "containerd", "kubelet", "k3s", "munge"];

/// Programs of the service that joins cards through `NVSwitches`.
const FABRIC_MANAGER: &str = "nv-fabricmanager";
/// The program that keeps the driver's state of cards.
const PERSISTENCE_DAEMON: &str = "nvidia-persistenced";
/// Programs around cards whose lines begin a log; what the others say is passed over.
const AROUND_CARDS: &[&str] =
    &[FABRIC_MANAGER, PERSISTENCE_DAEMON, "nv-hostengine", "nvidia-powerd", "nvidia-imex"];

/// What is known of services, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    services: BTreeMap<String, Service>,
    module: Option<String>,
    has_no_switches: bool,
}

impl Units {
    /// Reads a line of a program.
    pub(crate) fn note(&mut self, program: &str, text: &str) {
        match program {
            "systemd" | "init" => self.of_manager(text),
            FABRIC_MANAGER => self.of_fabric_manager(text),
            PERSISTENCE_DAEMON => self.of_persistence_daemon(text),
            _ => {}
        }
    }

    /// Returns whether lines of a program say something here.
    pub(crate) fn are_told_by(program: &str, text: &str) -> bool {
        if AROUND_CARDS.contains(&program) {
            return true;
        }
        let of_unit = text.split_once(".service").and_then(|(before, _)| before.rsplit(' ').next());
        program == "systemd"
            && (of_unit.is_some_and(is_of_interest)
                || DESCRIBED.iter().any(|(words, _)| text.contains(words)))
    }

    /// Returns the version of the driver's module, where a service says it.
    pub(crate) fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    /// Returns whether a service looked for `NVSwitches` and found none.
    pub(crate) fn has_no_switches(&self) -> bool {
        self.has_no_switches
    }

    /// Returns the services.
    pub(crate) fn into_services(self) -> Vec<Service> {
        self.services.into_values().collect()
    }

    /// Returns what is known of a service, to add to it.
    pub(crate) fn service(&mut self, name: &str) -> &mut Service {
        let name = name.strip_suffix(".service").unwrap_or(name);
        let new = || Service { name: name.to_owned(), installed: Reading::Known(true), ..Service::default() };
        self.services.entry(name.to_owned()).or_insert_with(new)
    }

    fn of_manager(&mut self, text: &str) {
        if let Some((unit, what)) = text.split_once(".service: ") {
            let ends =
                ["exited, code=", "Failed with result", "Main process exited", "Control process exited"];
            let is_over = ends.iter().any(|words| what.contains(words)) && !what.contains("status=0/SUCCESS");
            if is_over && is_of_interest(unit) {
                let service = self.service(unit);
                service.running = Reading::Known(false);
                service.failed = true;
            }
            return;
        }
        for (words, runs) in [("Started ", true), ("Failed to start ", false), ("Stopped ", false)] {
            let Some(what) = text.strip_prefix(words) else {
                continue;
            };
            if let Some(unit) = unit_of(what.trim_end_matches('.')) {
                let service = self.service(unit);
                service.running = Reading::Known(runs);
                // That it was stopped takes no failure back.
                service.failed = words.starts_with("Failed") || !runs && service.failed;
            }
        }
    }

    fn of_persistence_daemon(&mut self, text: &str) {
        if text.contains("failed to initialize") || text.contains("Failed to query NVIDIA devices") {
            let service = self.service(PERSISTENCE_DAEMON);
            service.running = Reading::Known(false);
            service.failed = true;
        }
    }

    fn of_fabric_manager(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        let service = self.service("nvidia-fabricmanager");
        // `… driver interface version 550.127.05 don't match with driver version 550.120 …`
        if let Some((own, driver)) = text.split_once("match with driver version") {
            if let Some(version) = versions(own).last() {
                service.version = Reading::Known(version.to_owned());
            }
            service.running = Reading::Known(false);
            service.failed = true;
            self.module = versions(driver).next().map(str::to_owned);
            return;
        }
        let finds_none = ["nv_warn_nothing_to_do", "no nvswitch", "nvswitch devices not found"];
        if finds_none.iter().any(|words| lower.contains(words)) {
            self.has_no_switches = true;
        } else if lower.contains("version is")
            && let Some(version) = versions(text).next()
        {
            service.version = Reading::Known(version.to_owned());
        }
    }
}

/// Returns the unit that a line means: by name (`x.service - What it is`) or by its description.
fn unit_of(what: &str) -> Option<&str> {
    let first = what.split(' ').next()?;
    if let Some(unit) = first.strip_suffix(".service") {
        return is_of_interest(unit).then_some(unit);
    }
    DESCRIBED.iter().find(|(description, _)| *description == what).map(|(_, unit)| *unit)
}

fn is_of_interest(unit: &str) -> bool {
    NAMES.iter().any(|name| unit.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::Units;
    use gpuwhy_model::reading::Reading;

    #[test]
    fn services_that_fail_are_told_from_those_that_run() {
        for (texts, running) in [
            (&["Started NVIDIA fabric manager service."][..], Some(true)),
            (&["Started nvidia-fabricmanager.service - NVIDIA fabric manager service."], Some(true)),
            (
                &[
                    "Starting NVIDIA fabric manager service...",
                    "nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE",
                ],
                Some(false),
            ),
            (&["nvidia-fabricmanager.service: Failed with result 'exit-code'."], Some(false)),
            (
                &[
                    "Started x.",
                    "nvidia-fabricmanager.service: Scheduled restart job, restart counter is at 5.",
                ],
                None,
            ),
        ] {
            let mut units = Units::default();
            for text in texts {
                units.note("systemd", text);
            }
            let services = units.into_services();
            let found = services.iter().find(|service| service.name == "nvidia-fabricmanager");
            assert_eq!(found.and_then(|service| service.running.known().copied()), running, "{texts:?}");
        }
    }

    #[test]
    fn both_versions_are_read() {
        let mut units = Units::default();
        let text = "fabric manager NVIDIA GPU driver interface version 550.90.07 don't match with driver version \
                    550.54. Please update with matching NVIDIA driver package.";
        units.note("nv-fabricmanager", text);
        assert_eq!(units.module(), Some("550.54"));
        let services = units.into_services();
        assert_eq!(services[0].version, Reading::Known("550.90.07".to_owned()));
        assert_eq!(services[0].running, Reading::Known(false));
    }
}
