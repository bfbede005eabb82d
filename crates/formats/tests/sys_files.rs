//! Files of sysfs and of graphics drivers of real machines.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod beside;

use std::collections::BTreeMap;

use beside::beside;
use gpuwhy_formats::proc::{pressure, whole_number};
use gpuwhy_formats::sys::{drm_client, error_total, lane_speed, numa_node, width};

/// Returns a file of the test data as text, if this checkout has it.
fn text_of(name: &str) -> Option<String> {
    let path = beside(&format!("testdata/{name}"))?;
    Some(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
}

/// Returns the files of a tree that was packed as text, by path.
fn unpacked(archive: &str) -> BTreeMap<&str, String> {
    let mut files = BTreeMap::new();
    let mut lines = archive.lines();
    while let Some(line) = lines.next() {
        let Some(path) = line.strip_prefix("Path: ") else {
            continue;
        };
        let count = lines.next().and_then(|line| line.strip_prefix("Lines: ")?.parse().ok()).unwrap_or(0);
        let text: Vec<&str> = lines.by_ref().take(count).collect();
        files.insert(path, text.join("\n"));
    }
    files
}

#[test]
fn a_card_of_amd_is_read() {
    let Some(archive) = text_of("amd/prometheus-procfs__sysfs-class-drm.ttar") else { return };
    let files = unpacked(&archive);
    let file = |name: &str| files[format!("fixtures/sys/class/drm/card0/device/{name}").as_str()].as_bytes();
    for errors in ["aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"] {
        assert_eq!(error_total(file(errors)), Ok(0), "{errors}");
    }
    assert_eq!(width(file("current_link_width")), Ok(Some(16)));
    assert_eq!(numa_node(file("numa_node")), Ok(None));
    let speed = lane_speed(file("current_link_speed")).unwrap().unwrap();
    assert!((speed.0 / 1e6 - 984.6).abs() < 0.1, "{speed:?}");
    assert_eq!(whole_number(file("mem_info_vram_used")), Ok(1_490_378_752));
    assert_eq!(whole_number(file("gpu_busy_percent")), Ok(4));
}

#[test]
fn clients_of_graphics_devices_are_read_and_broken_ones_do_no_harm() {
    let Some(text) = text_of("drm-fdinfo/lablup-all-smi__fdinfo-samples.txt") else { return };
    let sections: Vec<(&str, &str)> =
        text.split("=== ").filter_map(|section| section.split_once('\n')).collect();
    let client = |name: &str| {
        let (_, text) = sections.iter().find(|(known, _)| *known == name).unwrap();
        drm_client(text.as_bytes()).unwrap()
    };
    let discrete = client("parse_fdinfo_i915_discrete");
    assert_eq!((discrete.device_memory, discrete.system_memory), (Some(256 << 20), Some(32 << 20)));
    assert_eq!(discrete.engine_ns["render"], 1_234_567_890);
    let integrated = client("parse_fdinfo_i915_integrated");
    assert_eq!((integrated.device_memory, integrated.system_memory), (None, Some(12 << 20)));
    assert_eq!(client("parse_fdinfo_xe_discrete").device_memory, Some(512 << 20));
    let cut = client("parse_fdinfo_tolerates_truncated_content");
    assert_eq!((cut.device_memory, cut.system_memory), (None, None));
    let malformed = client("parse_fdinfo_skips_malformed_lines");
    assert_eq!((malformed.id, malformed.device_memory), (None, Some(16 << 20)));
}

#[test]
fn a_neural_processor_is_a_graphics_device_too() {
    let Some(text) = text_of("drm-fdinfo/Umio-Yasuno-amdgpu_top__fdinfo_sample.txt") else { return };
    let client = drm_client(text.as_bytes()).unwrap();
    assert_eq!((client.driver.as_str(), client.id), ("amdxdna_accel_driver", Some(287)));
    assert_eq!(client.system_memory, Some(8 << 20));
    assert_eq!(client.engine_ns["npu-amdxdna"], 76_360);
}

#[test]
fn pressure_of_a_machine_is_read() {
    let Some(archive) = text_of("host-pressure/prometheus-procfs__proc-pressure.ttar") else { return };
    let files = unpacked(&archive);
    let read = files.iter().filter(|(path, _)| path.contains("pressure/"));
    let read: Vec<_> = read.map(|(path, text)| (path, pressure(text.as_bytes()))).collect();
    assert!(!read.is_empty() && read.iter().all(|(_, pressure)| pressure.is_ok()), "{read:?}");
}
