//! The fixed scenarios of the gate: all of them must be right, every time.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use crate::boxes;
use crate::scenarios::case::{self, Outcome};
use crate::scenarios::named;
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Which draws of which scenario; a draw that ever failed stays here for good.
const SEEDS: &str = include_str!("../../scenario-seeds.toml");

/// A run whose members did not do what was planted is tried so often.
const TRIES: usize = 3;

/// Runs every fixed draw.
///
/// # Errors
/// Fails when the list names a scenario that does not exist.
pub(super) fn run(workspace: &Workspace) -> Result<Tally> {
    boxes::clear_left_over()?;
    let mut tally = Tally::default();
    for (name, seeds) in fixed_draws()? {
        for seed in seeds {
            tally += run_one(workspace, &name, seed)?;
        }
    }
    Ok(tally)
}

fn run_one(workspace: &Workspace, name: &str, seed: u64) -> Result<Tally> {
    let template = named(name)?;
    let mut tally = Tally::default();
    let mut why_void = String::new();
    for _ in 0..TRIES {
        match case::run(workspace, &template, seed) {
            Ok(Outcome::Judged { judgement, story }) => {
                tally.count(judgement.is_right());
                if judgement.is_right() {
                    println!("ok      scenario {name} seed {seed}");
                } else {
                    println!("FAILED  scenario {name} seed {seed}: {story}");
                }
                return Ok(tally);
            }
            Ok(Outcome::Void(why)) => why_void = why,
            Err(error) => {
                tally.count(false);
                println!("FAILED  scenario {name} seed {seed}: {error:#}");
                return Ok(tally);
            }
        }
    }
    println!("skipped: scenario {name} seed {seed}: {why_void}");
    tally.skipped += 1;
    Ok(tally)
}

fn fixed_draws() -> Result<BTreeMap<String, Vec<u64>>> {
    toml::from_str(SEEDS).context("scenario-seeds.toml is no table of seeds")
}

#[cfg(test)]
mod tests {
    use gpuwhy_lab::scenario::Template;

    use super::fixed_draws;
    use crate::scenarios::named;

    #[test]
    fn every_planted_cause_has_a_fixed_draw() {
        let draws = fixed_draws().unwrap();
        // Variants, near misses and pairs turn up in fresh draws; one that fails is added to the list.
        let templates = gpuwhy_lab::scenario::catalogue().unwrap();
        for name in templates.iter().map(Template::name).filter(|name| !name.contains('.')) {
            let seeds = draws.get(name);
            assert!(seeds.is_some_and(|seeds| !seeds.is_empty()), "{name} is not in the gate");
        }
    }

    #[test]
    fn every_fixed_draw_can_be_drawn() {
        for (name, seeds) in fixed_draws().unwrap() {
            let template = named(&name).unwrap();
            for seed in seeds {
                template.draw(seed).unwrap();
            }
        }
    }
}
