//! The scenarios that come with the lab.

use super::{Template, TemplateError};

macro_rules! scenario_files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// Scenarios with a verdict, in order of their causes; variants and near misses behind their cause.
const FILES: &[(&str, &str)] = scenario_files![
    "starved-by-storage",
    "starved-by-storage.near-busy",
    "starved-by-cpu",
    "starved-by-cpu.near-busy",
    "starved-by-host-code",
    "starved-by-network-input",
    "starved-by-network-input.near-busy",
    "transfer-bound",
    "transfer-bound.near-busy",
    "checkpoint-pause",
    "checkpoint-pause.near-short",
    "batch-too-small",
    "batch-too-small.near-full-memory",
    "host-memory-pressure",
    "host-memory-pressure.near-cache",
    "shm-too-small",
    "shm-too-small.near-enough",
    "compute-saturated",
    "compute-saturated.near-light-load",
    "compute-saturated.near-stuck-counter",
    "memory-bandwidth-saturated",
    "memory-bandwidth-saturated.near-compute",
    "gpu-contention",
    "gpu-contention.miner",
    "gpu-contention.near-idle-neighbour",
    "low-sm-occupancy",
    "launch-bound",
    "launch-bound.near-busy",
    "vram-full",
    "vram-full.near-working",
    "vram-leak",
    "vram-leak.near-warm-up",
    "memory-preallocated",
    "memory-preallocated.near-needed",
    "vram-held-by-dead-process",
    "vram-held-by-dead-process.unkillable",
    "vram-held-by-dead-process.zombie",
    "vram-held-by-dead-process.near-detached",
    "vram-held-by-dead-process.near-notebook",
    "vram-held-by-hidden-process",
    "vram-held-by-hidden-process.near-visible",
    "idle-reserved",
    "idle-reserved.near-bursts",
    "idle-reserved.near-worked",
    "bar1-exhausted",
    "bar1-exhausted.near-small",
    "display-process",
    "display-process.near-usual",
    "comm-bound",
    "comm-bound.near-overlapped",
    "collective-hang",
    "collective-hang.near-slow-steps",
    "slow-gpu-outlier",
    "slow-gpu-outlier.near-alike",
    "wrong-process-count",
    "wrong-process-count.near-all",
    "pcie-degraded",
    "pcie-degraded.near-idle",
    "nvlink-fault",
    "nvlink-fault.near-no-bridge",
    "thermal-throttle",
    "thermal-throttle.near-warm",
    "power-throttle",
    "power-throttle.near-full-load",
    "hw-slowdown",
    "low-clocks",
    "low-clocks.near-idle",
    "xid-app-fault",
    "xid-app-fault.near-old",
    "xid-hw-fault",
    "xid-hw-fault.near-application",
    "ecc-uncorrectable",
    "ecc-uncorrectable.near-corrected",
    "ecc-correctable-storm",
    "ecc-correctable-storm.near-few",
    "row-remap-pending",
    "row-remap-pending.near-done",
    "gpu-lost",
    "gpu-lost.near-application-fault",
    "inforom-corrupt",
    "fan-failed",
    "fan-failed.near-passive",
    "driver-library-mismatch",
    "driver-too-old",
    "driver-too-old.near-same-family",
    "driver-not-loaded",
    "driver-not-loaded.near-old-driver",
    "driver-hung",
    "driver-hung.near-slow-init",
    "nvml-abi-mismatch",
    "fabric-manager-down",
    "fabric-manager-down.near-no-switch",
    "mig-misconfig",
    "mig-misconfig.near-used",
    "compute-mode-exclusive",
    "compute-mode-exclusive.near-alone",
    "persistence-off",
    "persistence-off.near-held",
    "nvml-lost-in-container",
    "nvml-lost-in-container.near-none",
    "container-limit",
    "container-limit.near-room",
    "nothing-wrong",
    "nothing-wrong.near-starved",
    "undetermined",
    "undetermined.near-free-cards",
];

/// Boxes that are not for judging.
const OTHER_FILES: &[(&str, &str)] = scenario_files!["demo", "loaded"];

/// Scenarios that are drawn into one box together, called `pair.ONE+OTHER`.
const PAIRS: &[(&str, &str)] = &[
    ("starved-by-storage", "vram-held-by-dead-process"),
    ("idle-reserved", "ecc-uncorrectable"),
    ("gpu-lost", "idle-reserved"),
    ("thermal-throttle", "vram-held-by-dead-process"),
    ("compute-mode-exclusive", "row-remap-pending"),
    ("starved-by-host-code", "nvlink-fault"),
    ("power-throttle", "fan-failed"),
    ("collective-hang", "inforom-corrupt"),
    ("vram-leak", "low-clocks"),
    ("gpu-contention", "ecc-correctable-storm"),
    ("starved-by-network-input", "hw-slowdown"),
    ("mig-misconfig", "transfer-bound"),
    ("display-process", "xid-hw-fault"),
];

/// Every scenario with a verdict.
///
/// # Errors
/// Fails when a file of the lab is no TOML, which its tests rule out.
pub fn catalogue() -> Result<Vec<Template>, TemplateError> {
    let mut all =
        FILES.iter().map(|(name, text)| Template::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
    for (first, second) in PAIRS {
        if let (Some(first), Some(second)) = (in_file(first)?, in_file(second)?) {
            all.push(Template::pair(first, second));
        }
    }
    Ok(all)
}

/// The scenario or box called `name`; `None` when there is none. Any two scenarios make a pair, called `pair.ONE+OTHER`.
///
/// # Errors
/// Fails like [`catalogue`].
pub fn named(name: &str) -> Result<Option<Template>, TemplateError> {
    let Some((first, second)) = name.strip_prefix("pair.").and_then(|names| names.split_once('+')) else {
        return in_file(name);
    };
    Ok(in_file(first)?.zip(in_file(second)?).map(|(first, second)| Template::pair(first, second)))
}

fn in_file(name: &str) -> Result<Option<Template>, TemplateError> {
    let mut all = FILES.iter().chain(OTHER_FILES);
    all.find(|(known, _)| *known == name).map(|(name, text)| Template::parse(name, text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_draws_the_same_box_from_the_same_seed_and_others_from_others() {
        let mut templates = catalogue().unwrap();
        templates.extend(OTHER_FILES.iter().map(|(name, text)| Template::parse(name, text).unwrap()));
        for template in templates {
            for seed in 0..60 {
                let drawn = template
                    .draw(seed)
                    .unwrap_or_else(|error| panic!("{} {seed}: {error:?}", template.name()));
                assert_eq!(drawn, template.draw(seed).unwrap());
            }
        }
        let template = named("starved-by-storage").unwrap().unwrap();
        assert_ne!(template.draw(1).unwrap().plan.members, template.draw(2).unwrap().plan.members);
    }

    #[test]
    fn every_scenario_with_a_verdict_expects_one_that_its_name_tells() {
        for template in catalogue().unwrap() {
            let expect = template.draw(1).unwrap().expect.expect("a scenario of the catalogue has a verdict");
            if let Some((neighbour, _)) = template.name().split_once(".near-") {
                assert_eq!(expect.near_miss_of.as_deref(), Some(neighbour));
                continue;
            }
            // `CAUSE`, `CAUSE.variant`, `pair.CAUSE+OTHER`.
            let name = template.name();
            let name = name.strip_prefix("pair.").unwrap_or(name);
            assert_eq!(name.split(['.', '+']).next(), Some(expect.cause.as_str()));
        }
    }

    #[test]
    fn culprits_and_proofs_name_members_that_are_there() {
        for template in catalogue().unwrap() {
            for seed in 0..50 {
                let drawn = template.draw(seed).unwrap();
                let is_there = |name: &String| {
                    let name = name.split('@').next().unwrap();
                    drawn.plan.members.iter().any(|member| member.name == name)
                };
                let expect = drawn.expect.unwrap();
                assert!(expect.culprits.iter().all(is_there), "{} {seed}", drawn.name);
                assert!(
                    expect.accept.iter().chain(&expect.also).flat_map(|other| &other.culprits).all(is_there),
                    "{}",
                    drawn.name
                );
                assert!(drawn.proofs.iter().all(|proof| is_there(&proof.member)), "{} {seed}", drawn.name);
            }
        }
    }

    #[test]
    fn a_pair_keeps_both_expectations_and_no_name_twice() {
        let template = named("pair.starved-by-storage+vram-held-by-dead-process").unwrap().unwrap();
        for seed in 0..50 {
            let drawn = template.draw(seed).unwrap();
            let expect = drawn.expect.unwrap();
            assert_eq!(
                (expect.cause.as_str(), expect.also[0].cause.as_str()),
                ("starved-by-storage", "vram-held-by-dead-process")
            );
            let mut names: Vec<&String> = drawn.plan.members.iter().map(|member| &member.name).collect();
            let mut cards: Vec<usize> =
                drawn.plan.members.iter().flat_map(|member| member.cards.iter().copied()).collect();
            let (name_count, card_count) = (names.len(), cards.len());
            names.sort_unstable();
            names.dedup();
            cards.sort_unstable();
            cards.dedup();
            assert_eq!((names.len(), cards.len()), (name_count, card_count));
        }
        assert!(named("pair.starved-by-storage+no-such").unwrap().is_none());
    }
}
