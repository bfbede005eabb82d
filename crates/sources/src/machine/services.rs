//! Services around cards: which are installed, by their unit files, and which run, by the names of processes.

use std::path::{Path, PathBuf};

use gpuwhy_formats::fabric_manager_version;
use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::Service;
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::pread;

use crate::file::{ReadError, count_one};
use crate::roots::Roots;

/// The kernel keeps no more of a name.
const NAME_MAX: usize = 15;

/// Of a log only this much at its end is read.
const TAIL: u64 = 256 << 10;

/// Where unit files stand.
const UNIT_FOLDERS: &[&str] = &["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];

/// The service that joins cards through `NVSwitches`.
const FABRIC_MANAGER: &str = "nvidia-fabricmanager";

/// One service: its name, the programs that run for it, and its units.
struct Known {
    name: &'static str,
    programs: &'static [&'static str],
    units: &'static [&'static str],
}

const SERVICES: &[Known] = &[
    Known { name: FABRIC_MANAGER, programs: &["nv-fabricmanager"], units: &["nvidia-fabricmanager"] },
    Known {
        name: "nvidia-persistenced",
        programs: &["nvidia-persistenced"],
        units: &["nvidia-persistenced"],
    },
    Known { name: "nvidia-imex", programs: &["nvidia-imex"], units: &["nvidia-imex"] },
    Known { name: "nvidia-dcgm", programs: &["nv-hostengine"], units: &["nvidia-dcgm", "dcgm"] },
    Known {
        name: "nvidia-mps",
        programs: &["nvidia-cuda-mps-control", "nvidia-cuda-mps-server"],
        units: &["nvidia-mps", "nvidia-cuda-mps"],
    },
    Known { name: "dcgm-exporter", programs: &["dcgm-exporter"], units: &["dcgm-exporter"] },
    Known { name: "slurmd", programs: &["slurmd"], units: &["slurmd"] },
    Known {
        name: "kubelet",
        programs: &["kubelet", "k3s-server", "k3s-agent"],
        units: &["kubelet", "k3s", "k3s-agent", "snap.microk8s.daemon-kubelite"],
    },
    Known { name: "docker", programs: &["dockerd"], units: &["docker"] },
    Known { name: "containerd", programs: &["containerd"], units: &["containerd"] },
];

/// A service, by its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServiceId(usize);

/// Returns the service that a program runs for, by its name as the kernel keeps it.
pub(crate) fn service_of(name: &[u8]) -> Option<ServiceId> {
    // Nearly every name is told apart by its first letter.
    if !matches!(name.first(), Some(b'n' | b'd' | b's' | b'k' | b'c')) {
        return None;
    }
    let is_of = |known: &Known| known.programs.iter().any(|program| is_called(program, name));
    SERVICES.iter().position(is_of).map(ServiceId)
}

/// Returns whether a name is what the kernel keeps of a program's.
fn is_called(program: &str, name: &[u8]) -> bool {
    program.as_bytes()[..program.len().min(NAME_MAX)] == *name
}

/// What is known of the processes of services.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningServices {
    /// By their places in the list.
    running: [bool; SERVICES.len()],
}

impl RunningServices {
    /// Says that a process of a service was seen.
    pub(crate) fn saw(&mut self, service: ServiceId) {
        self.running[service.0] = true;
    }
}

/// What files say of the services.
#[derive(Debug)]
pub(super) struct Services {
    installed: Vec<Reading<bool>>,
    fabric_manager: Reading<String>,
}

impl Services {
    /// Reads which services are installed.
    pub(super) fn read(roots: &Roots) -> Self {
        let folders: Vec<PathBuf> = UNIT_FOLDERS
            .iter()
            .map(|folder| roots.system.join(folder))
            .filter(|folder| folder.is_dir())
            .collect();
        let has_unit = |unit: &str| {
            let file = format!("{unit}.service");
            folders.iter().any(|folder| {
                count_one();
                folder.join(&file).symlink_metadata().is_ok()
            })
        };
        let installed = |known: &Known| {
            if folders.is_empty() {
                // Without systemd nothing says what is installed.
                return Reading::Unsupported;
            }
            Reading::Known(known.units.iter().any(|unit| has_unit(unit)))
        };
        Self {
            installed: SERVICES.iter().map(installed).collect(),
            fabric_manager: fabric_manager(&roots.system.join("var/log/fabricmanager.log")),
        }
    }

    /// Returns the services that are installed or run. What runs elsewhere cannot be seen from inside a container, nor
    /// where processes of others are hidden.
    pub(super) fn reading(&self, running: Option<&RunningServices>, sees_all: bool) -> Reading<Vec<Service>> {
        let Some(running) = running.filter(|_| sees_all) else {
            return Reading::Denied(Access::VisibleProcesses);
        };
        let mut services = Vec::new();
        for (place, known) in SERVICES.iter().enumerate() {
            let installed = self.installed[place].clone();
            if running.running[place] || installed == Reading::Known(true) {
                let version = if known.name == FABRIC_MANAGER {
                    self.fabric_manager.clone()
                } else {
                    Reading::Unsupported
                };
                let running = Reading::Known(running.running[place]);
                services.push(Service {
                    name: known.name.to_owned(),
                    installed,
                    running,
                    version,
                    failed: false,
                });
            }
        }
        Reading::Known(services)
    }
}

/// Reads which version the fabric manager said to be when it was started last.
fn fabric_manager(log: &Path) -> Reading<String> {
    match end_of(log) {
        Ok(text) => Reading::from(fabric_manager_version(&text)),
        Err(error) => match error.reading_with(Access::Root) {
            Reading::Failed(Failure::Missing { .. }) => Reading::Unsupported,
            reading => reading,
        },
    }
}

fn end_of(path: &Path) -> Result<Vec<u8>, ReadError> {
    count_one();
    let failed = |errno| ReadError::Io { path: path.display().to_string(), errno };
    let file =
        open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()).map_err(failed)?;
    let length = u64::try_from(fstat(&file).map_err(failed)?.st_size).unwrap_or(0);
    let mut text = vec![0; usize::try_from(length.min(TAIL)).unwrap_or(0)];
    let taken = pread(&file, &mut text[..], length.saturating_sub(TAIL)).map_err(failed)?;
    text.truncate(taken);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{RunningServices, SERVICES, Services, service_of};
    use crate::roots::Roots;
    use gpuwhy_model::reading::Reading;

    #[test]
    fn programs_are_told_by_what_the_kernel_keeps_of_their_names() {
        let name = |comm: &str| service_of(comm.as_bytes()).map(|id| SERVICES[id.0].name);
        assert_eq!(name("nv-fabricmanage"), Some("nvidia-fabricmanager"));
        assert_eq!(name("nvidia-persiste"), Some("nvidia-persistenced"));
        assert_eq!(name("nvidia-cuda-mps"), Some("nvidia-mps"));
        assert_eq!(name("containerd"), Some("containerd"));
        assert_eq!(name("containerd-shim"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn services_that_run_or_are_installed_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { system: root.path().to_owned(), ..Roots::default() };
        let units = root.path().join("usr/lib/systemd/system");
        std::fs::create_dir_all(&units).unwrap();
        std::fs::create_dir_all(root.path().join("var/log")).unwrap();
        std::fs::write(units.join("nvidia-fabricmanager.service"), "").unwrap();
        let log = "[Oct 12 2023] [INFO] [tid 7] Fabric Manager version is : 535.104.12\n";
        std::fs::write(root.path().join("var/log/fabricmanager.log"), log).unwrap();
        let mut running = RunningServices::default();
        running.saw(service_of(b"dockerd").unwrap());
        let services = Services::read(&roots);
        let listed = services.reading(Some(&running), true).into_known().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(
            (listed[0].name.as_str(), &listed[0].running),
            ("nvidia-fabricmanager", &Reading::Known(false))
        );
        assert_eq!(listed[0].version, Reading::Known("535.104.12".to_owned()));
        assert_eq!((listed[1].name.as_str(), &listed[1].installed), ("docker", &Reading::Known(false)));
        assert!(!services.reading(Some(&running), false).is_known(), "who sees not all cannot say");
        assert!(!services.reading(None, true).is_known());
    }
}
