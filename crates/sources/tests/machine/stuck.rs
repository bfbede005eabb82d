//! A driver call that cannot even be killed: a read from a store that took the request and never answers, made by the
//! library inside a box with a place of its own.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use super::support::{beside_the_tests, child_program, one_at_a_time};
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{ProcessState, Sample};

const SCENARIO: &str = r#"
about = "A call that is blocked in the kernel for ever."
company = false

[draw]

[box.board]
card = [{ profile = "a100-sxm4-80gb", count = 2 }]

[[box.board.fault]]
function = "nvmlDeviceGetPowerUsage"
card = 1
hang = "file"
file = "/mnt/frozen/silent"

[[box.stores]]
name = "frozen"
source = "nas:/export/home"
kind = "fuse.sshfs"
behaviour = "silent"

[expect]
cause = "driver-hung"
"#;

/// A box of the lab that goes down with the test.
struct Place {
    lab: std::path::PathBuf,
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    /// Brings the box up; none where that cannot be done here.
    fn up() -> Option<Self> {
        let lab = beside_the_tests("lab")?;
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            return None;
        }
        let turn = one_at_a_time();
        // Every user must be able to reach a box.
        let folder = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir_in("/var/tmp")
            .unwrap();
        std::fs::write(folder.path().join("hung.toml"), SCENARIO).unwrap();
        let place = Self { lab, folder, _turn: turn };
        let output = place.lab(&["up", &place.path("hung.toml"), "--dir", &place.path("box")]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(place)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn lab(&self, arguments: &[&str]) -> Output {
        Command::new(&self.lab).args(arguments).output().unwrap()
    }

    /// Looks once from inside the box, and returns the sample and how long it took.
    fn look(&self) -> (Sample, Duration) {
        let look = child_program().path.display().to_string();
        let begun = Instant::now();
        let output = self.lab(&["shell", &self.path("box"), "--", &look, "--once"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (serde_json::from_slice(&output.stdout).unwrap(), begun.elapsed())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lab(&["down", &self.path("box")]);
    }
}

#[test]
fn a_child_that_cannot_be_killed_is_named_and_never_replaced() {
    let Some(place) = Place::up() else {
        println!("skipped: needs root, /dev/fuse and the program `lab`");
        return;
    };
    let (first, took) = place.look();
    assert!(took < Duration::from_secs(4), "{took:?}");
    let stuck = &first.stuck_calls[0];
    assert!(stuck.survived_kill && !stuck.from_earlier_run, "{stuck:?}");
    assert_eq!((stuck.call.as_deref(), stuck.card), (Some("nvmlDeviceGetPowerUsage"), Some(1)));
    assert_eq!(stuck.state, Reading::Known(ProcessState::Blocked));
    let cards = &first.nvml.value.known().unwrap().cards;
    assert!(cards[0].power.is_known() && !cards[1].handle.is_known());

    // The next run finds it, starts no second one, and knows the call from the name of the process alone.
    let (second, took) = place.look();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let again = &second.stuck_calls[0];
    assert!(again.from_earlier_run && again.survived_kill, "{again:?}");
    assert_eq!((again.pid, again.start_ticks), (stuck.pid, stuck.start_ticks));
    assert_eq!((again.call.as_deref(), again.card), (Some("nvmlDeviceGetPowerUsage"), Some(1)));
    assert!(again.for_s >= stuck.for_s - 1.0);
    assert!(!second.nvml.value.is_known());
    assert!(second.host.value.is_known());
}
