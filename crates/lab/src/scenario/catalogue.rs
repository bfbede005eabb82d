//! The scenarios that come with the lab.

use super::{Template, TemplateError};

macro_rules! scenario_files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../scenarios/", $name, ".toml")))),*]
    };
}

/// Scenarios with a verdict, in order of their causes; near misses behind their cause.
const FILES: [(&str, &str); 23] = scenario_files![
    "starved-by-storage",
    "starved-by-storage.near-busy",
    "starved-by-cpu",
    "starved-by-cpu.near-busy",
    "vram-held-by-dead-process",
    "vram-held-by-dead-process.near-detached",
    "vram-held-by-dead-process.near-notebook",
    "idle-reserved",
    "idle-reserved.near-worked",
    "compute-saturated",
    "compute-saturated.near-light-load",
    "vram-full",
    "vram-full.near-working",
    "gpu-lost",
    "gpu-lost.near-application-fault",
    "driver-hung",
    "driver-hung.near-slow-init",
    "driver-not-loaded",
    "driver-not-loaded.near-old-driver",
    "nothing-wrong",
    "nothing-wrong.near-starved",
    "undetermined",
    "undetermined.near-free-cards",
];

/// Boxes that are not for judging.
const OTHER_FILES: [(&str, &str); 2] = scenario_files!["demo", "loaded"];

/// Every scenario with a verdict.
///
/// # Errors
/// Fails when a file of the lab is no TOML, which its tests rule out.
pub fn catalogue() -> Result<Vec<Template>, TemplateError> {
    FILES.iter().map(|(name, text)| Template::parse(name, text)).collect()
}

/// The scenario or box called `name`; `None` when there is none.
///
/// # Errors
/// Fails like [`catalogue`].
pub fn named(name: &str) -> Result<Option<Template>, TemplateError> {
    let mut all = FILES.iter().chain(&OTHER_FILES);
    all.find(|(known, _)| *known == name).map(|(name, text)| Template::parse(name, text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_draws_the_same_box_from_the_same_seed_and_others_from_others() {
        for (name, text) in FILES.iter().chain(&OTHER_FILES) {
            let template = Template::parse(name, text).unwrap();
            for seed in 0..200 {
                let drawn = template.draw(seed).unwrap_or_else(|error| panic!("{name} {seed}: {error:?}"));
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
            match template.name().split_once(".near-") {
                Some((neighbour, _)) => assert_eq!(expect.near_miss_of.as_deref(), Some(neighbour)),
                None => assert_eq!(expect.cause, template.name()),
            }
        }
    }

    #[test]
    fn culprits_and_proofs_name_members_that_are_there() {
        for template in catalogue().unwrap() {
            for seed in 0..50 {
                let drawn = template.draw(seed).unwrap();
                let is_there = |name: &String| drawn.plan.members.iter().any(|member| member.name == *name);
                let expect = drawn.expect.unwrap();
                assert!(expect.culprits.iter().all(is_there), "{} {seed}", drawn.name);
                assert!(
                    expect.accept.iter().flat_map(|other| &other.culprits).all(is_there),
                    "{}",
                    drawn.name
                );
                assert!(drawn.proofs.iter().all(|proof| is_there(&proof.member)), "{} {seed}", drawn.name);
            }
        }
    }
}
