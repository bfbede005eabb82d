//! `gpuwhy self`: what looking costs, for people and for programs.

mod binary;
mod places;

use binary::{gpuwhy, run};
use places::places;

#[test]
fn costs_are_given_by_source() {
    let empty = tempfile::tempdir().unwrap();
    // The processes of this machine, and nothing else of it.
    let places = places(empty.path()).into_iter().filter(|place| !place.starts_with("--proc"));
    let (code, output, errors) = run(gpuwhy(empty.path()).args(["self", "--json"]).args(places));
    assert_eq!(code, 0, "{errors}");
    let report: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(report["schema"], "gpuwhy.self/1");
    let cost = |kind: &str, part: &str| {
        let parts = report[kind]["parts"].as_array().unwrap();
        let part = parts.iter().find(|known| known["part"] == part).unwrap();
        (part["files"].as_u64().unwrap(), part["processor_ms"].as_f64().unwrap())
    };
    let (calm, full) = (cost("calm_tick", "host"), cost("full_look", "host"));
    assert!(calm.0 >= 5 && full.0 > calm.0, "disks and links are read at full looks only: {calm:?} {full:?}");
    assert!(calm.1 > 0.0);
    assert_eq!(cost("calm_tick", "machine").0, 0, "nothing of this changes quickly");
    let files = |kind: &str| report[kind]["files"].as_u64().unwrap();
    assert!(files("full_look") > files("calm_tick"));
    assert!(report["memory"]["own_bytes"].as_u64().unwrap() > 1_000_000);
    assert_eq!(report["full_look"]["library_calls"], 0, "there is no library");
}

#[test]
fn people_get_a_table_in_their_language() {
    let empty = tempfile::tempdir().unwrap();
    let places = places(empty.path());
    let (code, output, errors) = run(gpuwhy(empty.path()).args(["self", "--lang", "zh-CN"]).args(places));
    assert_eq!(code, 0, "{errors}");
    assert!(output.contains("合计") && output.contains("常规采样"), "{output}");
    assert!(output.lines().all(|line| !line.contains("cost_")), "{output}");
}
