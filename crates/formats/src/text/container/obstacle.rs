//! Why a container cannot be started with its cards, in the words of docker, podman, containerd, runc, crun and NVIDIA's tools.

use gpuwhy_model::scene::{ContainerNotStarted, ProgramFact, StartObstacle};

/// Each such message has one of these, in lower case.
const SIGNS: &[&str] = &[
    "nvidia-container",
    "nvidia-ctk",
    "nvidia-cdi",
    "could not select device driver",
    "cdi device",
    "from cdi",
    "/dev/nvidia",
    "runtime",
    "libnvidia",
    "libcuda",
    "nvidia.com/gpu=",
];

/// Words of a message, all in lower case and each of which must be there, and what they mean; the first that fit count.
const MEANINGS: &[(&[&str], StartObstacle)] = &[
    (&["could not select device driver", "gpu"], StartObstacle::NotSetUp),
    (&["could not select device driver", "nvidia"], StartObstacle::NotSetUp),
    (&["could not select device driver", "cdi"], StartObstacle::NotSetUp),
    (&["unknown runtime specified nvidia"], StartObstacle::NotSetUp),
    (&["unknown or invalid runtime name: nvidia"], StartObstacle::NotSetUp),
    (&["invalid runtime name nvidia"], StartObstacle::NotSetUp),
    (&["no runtime for \"nvidia\" is configured"], StartObstacle::NotSetUp),
    (&["no runtime for \\\"nvidia\\\" is configured"], StartObstacle::NotSetUp),
    (&["runtimehandler \"nvidia\" not supported"], StartObstacle::NotSetUp),
    (&["runtime handler \"nvidia\"", "not"], StartObstacle::NotSetUp),
    (&["failed to discover gpu vendor from cdi"], StartObstacle::NotSetUp),
    (&["nvidia-cdi-hook", "no such file"], StartObstacle::DescriptionStale),
    (&["nvidia-ctk", "no such file"], StartObstacle::DescriptionStale),
    (&["nvidia-container", "executable file not found"], StartObstacle::NotSetUp),
    (&["nvidia-container-runtime", "no such file"], StartObstacle::NotSetUp),
    (&["unresolvable cdi device"], StartObstacle::NotDescribed),
    (&["cgroup subsystem devices not found"], StartObstacle::NotSetUp),
    (&["nvidia-container-cli", "driver not loaded"], StartObstacle::DriverNotLoaded),
    (&["nvidia-container-cli", "no adapters were found"], StartObstacle::DriverNotLoaded),
    (&["nvidia-container-cli", "load library failed"], StartObstacle::LibraryMissing),
    (&["nvidia-container-cli", "version mismatch"], StartObstacle::VersionMismatch),
    (&["nvidia-container-cli", "timed out"], StartObstacle::DriverTimedOut),
    (&["nvidia-container-cli", "gpu is lost"], StartObstacle::CardLost),
    (&["nvidia-container-cli", "insufficient permissions"], StartObstacle::NotAllowed),
    (&["nvidia-container-cli", "device error", "unknown device"], StartObstacle::DeviceUnknown),
    (&["nvidia-container-cli", "device error", "unsupported"], StartObstacle::MigDevice),
    (&["nvidia-container-cli", "mig", "error"], StartObstacle::MigDevice),
    (&["nvidia-container-cli", "file exists"], StartObstacle::ImageHoldsDriver),
    (&["nvidia-container-cli", "operation not permitted"], StartObstacle::NotAllowed),
    (&["nvidia-container-cli", "permission denied"], StartObstacle::NotAllowed),
    (&["nvidia-container-cli", "/dev/nvidia", "no such"], StartObstacle::DeviceFileMissing),
    (&["nvidia-container-cli", "unknown error"], StartObstacle::DriverError),
    (&["nvidia-container-cli", "initialization error"], StartObstacle::DriverError),
    (&["nvidia-container-cli", "detection error"], StartObstacle::DriverError),
    (&["nvidia-container-cli: ", "error"], StartObstacle::Other),
    (&["/dev/nvidia", "permission denied"], StartObstacle::NotAllowed),
    (&["/dev/nvidia", "operation not permitted"], StartObstacle::NotAllowed),
    (&["/dev/nvidia", "no such device"], StartObstacle::DeviceFileMissing),
    (&["/dev/nvidia", "no such file"], StartObstacle::DeviceFileMissing),
];

/// Words of messages about starting a container: without one, a missing device file may be anybody's.
const OF_A_START: &[&str] = &[
    "error response from daemon",
    "oci runtime",
    "runc",
    "crun",
    "error: ",
    "error gathering device information",
    "failed to create",
    "docker",
    "podman",
    "containerd",
    "mount",
];

/// Returns why a container cannot be started with its cards, if a message says so.
pub(in crate::text) fn obstacle_of(message: &str) -> Option<ProgramFact> {
    let lower = message.to_ascii_lowercase();
    if !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    if let Some(needs) = unmet_cuda(&lower) {
        return Some(ProgramFact::DriverTooOld { supports: None, needs: Some(needs) });
    }
    let fits = |(words, _): &&(&[&str], StartObstacle)| words.iter().all(|word| lower.contains(word));
    if let Some((_, obstacle)) = MEANINGS.iter().find(fits) {
        let of_file =
            matches!(obstacle, StartObstacle::DeviceFileMissing) && !lower.contains("nvidia-container-cli");
        if of_file && !OF_A_START.iter().any(|word| lower.contains(word)) {
            return None;
        }
        return Some(not_started(*obstacle, named(message, *obstacle)));
    }
    let is_stale = lower.contains("no such file") && OF_A_START.iter().any(|word| lower.contains(word));
    let library = library_of_driver(message).filter(|_| is_stale)?;
    Some(not_started(StartObstacle::DescriptionStale, Some(library)))
}

fn not_started(obstacle: StartObstacle, device: Option<String>) -> ProgramFact {
    ProgramFact::ContainerNotStarted(ContainerNotStarted { obstacle, device })
}

/// Returns the CUDA that an image asks for and the driver does not run: `unsatisfied condition: cuda>=12.4`.
fn unmet_cuda(lower: &str) -> Option<String> {
    let (_, rest) = lower.split_once("unsatisfied condition:")?;
    let rest = rest.trim_start().strip_prefix("cuda")?.trim_start_matches([' ', '>', '=']);
    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let version = rest[..length].trim_end_matches('.');
    (!version.is_empty()).then(|| version.to_owned())
}

/// Returns what a message names: a card, a device, a file.
fn named(message: &str, obstacle: StartObstacle) -> Option<String> {
    let word_behind = |words: &str| {
        let place = message.to_ascii_lowercase().find(words)? + words.len();
        let rest = message.get(place..)?.trim_start_matches([':', ' ', '"', '\\']);
        let end = rest.find([' ', ',', '"', '\\', '\n']).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches([':', '.']);
        (!word.is_empty()).then(|| word.to_owned())
    };
    match obstacle {
        StartObstacle::DeviceUnknown => word_behind("device error:").filter(|word| word != "unknown"),
        StartObstacle::NotDescribed => {
            word_behind("unresolvable cdi devices").or_else(|| word_behind("unresolvable cdi device"))
        }
        StartObstacle::DeviceFileMissing => device_file(message),
        _ => None,
    }
}

/// Returns the device file that a message names.
fn device_file(message: &str) -> Option<String> {
    let begin = message.find("/dev/nvidia")?;
    let rest = &message[begin..];
    let end = rest
        .find(|character: char| !(character.is_ascii_alphanumeric() || "/-_".contains(character)))
        .unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Returns the library of the driver, with its version, that a message names.
fn library_of_driver(message: &str) -> Option<String> {
    let ends = |character: char| !(character.is_ascii_alphanumeric() || "/-_.+".contains(character));
    let mut words = message.split(ends).map(|word| word.trim_matches('.'));
    let is_of_driver =
        |word: &&str| (word.contains("libnvidia-") || word.contains("libcuda.")) && word.contains(".so");
    words.find(is_of_driver).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::{ProgramFact, StartObstacle};

    use super::obstacle_of;

    fn obstacle(text: &str) -> Option<(StartObstacle, Option<String>)> {
        match obstacle_of(text)? {
            ProgramFact::ContainerNotStarted(not_started) => Some((not_started.obstacle, not_started.device)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_tool_has_its_words() {
        let hook = "docker: Error response from daemon: failed to create task for container: OCI runtime create failed: runc create \
                    failed: unable to start container process: error running prestart hook #0: exit status 1, stderr: \
                    nvidia-container-cli: ";
        for (text, expected, device) in [
            (
                "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
                StartObstacle::NotSetUp,
                None,
            ),
            (
                "Error response from daemon: could not select device driver \"nvidia\" with capabilities: [[gpu]]",
                StartObstacle::NotSetUp,
                None,
            ),
            (
                "docker: Error response from daemon: Unknown runtime specified nvidia.",
                StartObstacle::NotSetUp,
                None,
            ),
            (
                "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for \"nvidia\" is configured",
                StartObstacle::NotSetUp,
                None,
            ),
            (
                "exec: \"nvidia-container-runtime-hook\": executable file not found in $PATH: unknown",
                StartObstacle::NotSetUp,
                None,
            ),
            (
                "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
                StartObstacle::NotDescribed,
                Some("nvidia.com/gpu=all"),
            ),
            (
                "docker: Error response from daemon: error gathering device information while adding custom device \"/dev/nvidia0\": no such file or directory.",
                StartObstacle::DeviceFileMissing,
                Some("/dev/nvidia0"),
            ),
            (
                "Error: crun: cannot stat `/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05`: No such file or directory: OCI runtime attempted to invoke a command that was not found",
                StartObstacle::DescriptionStale,
                Some("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"),
            ),
        ] {
            assert_eq!(obstacle(text), Some((expected, device.map(str::to_owned))), "{text}");
        }
        for (words, expected) in [
            ("initialization error: nvml error: driver not loaded: unknown", StartObstacle::DriverNotLoaded),
            (
                "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory",
                StartObstacle::LibraryMissing,
            ),
            (
                "initialization error: nvml error: driver/library version mismatch: unknown.",
                StartObstacle::VersionMismatch,
            ),
            ("initialization error: driver rpc error: timed out: unknown", StartObstacle::DriverTimedOut),
            ("initialization error: driver error: timed out", StartObstacle::DriverTimedOut),
            ("detection error: nvml error: unknown error: unknown.", StartObstacle::DriverError),
            ("initialization error: nvml error: insufficient permissions", StartObstacle::NotAllowed),
            (
                "mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown.",
                StartObstacle::NotAllowed,
            ),
            (
                "mount error: open failed: /sys/fs/cgroup/devices/user.slice/devices.allow: permission denied",
                StartObstacle::NotAllowed,
            ),
            (
                "mount error: stat failed: /dev/nvidia-uvm: no such file or directory",
                StartObstacle::DeviceFileMissing,
            ),
            (
                "mount error: file creation failed: /var/lib/docker/overlay2/x/merged/usr/lib/libnvidia-ml.so.1: file exists",
                StartObstacle::ImageHoldsDriver,
            ),
            ("ldcache error: process /sbin/ldconfig failed with error code: 1", StartObstacle::Other),
        ] {
            assert_eq!(
                obstacle(&format!("{hook}{words}")).map(|(obstacle, _)| obstacle),
                Some(expected),
                "{words}"
            );
        }
        let unknown = format!("{hook}device error: GPU-1234: unknown device: unknown.");
        assert_eq!(obstacle(&unknown), Some((StartObstacle::DeviceUnknown, Some("GPU-1234".to_owned()))));
    }

    #[test]
    fn an_unmet_requirement_is_an_old_driver() {
        let text = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version";
        assert_eq!(
            obstacle_of(text),
            Some(ProgramFact::DriverTooOld { supports: None, needs: Some("12.8".to_owned()) })
        );
    }

    #[test]
    fn other_texts_say_nothing() {
        for text in [
            "",
            "docker: Error response from daemon: pull access denied for x, repository does not exist",
            "OCI runtime create failed: exec: \"train\": executable file not found in $PATH",
            "ls: cannot access '/dev/nvidia0': No such file or directory",
            "RuntimeError: CUDA error: out of memory",
            "/dev/nvidia0 is there",
        ] {
            assert_eq!(obstacle_of(text), None, "{text}");
        }
    }
}
