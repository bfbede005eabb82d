//! `cargo xtask scenarios`: emulated boxes with a planted cause, drawn from seeds, and how often gpuwhy is right.

pub(crate) mod case;
pub(crate) mod judge;
pub(crate) mod score;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use anyhow::{Context as _, Result, ensure};
use gpuwhy_lab::scenario::{self, Template};

use self::case::Outcome;
use self::score::Score;
use crate::boxes;
use crate::workspace::{Profile, Workspace};

/// Seeds are kept short, so that they can be typed.
const SEEDS: u64 = 1_000_000_000;

/// Which scenarios to run.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The first seed; drawn where it is not given.
    pub(crate) seed: Option<u64>,
    /// How many runs.
    pub(crate) count: usize,
    /// Only the scenario of this name, or all whose name begins with `CAUSE.`.
    pub(crate) only: Option<String>,
}

/// Builds, runs the selected scenarios one after another, prints each miss and the closing line.
///
/// # Errors
/// Fails when nothing can be built or no scenario has the wanted name.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<Score> {
    workspace.build(Profile::Development)?;
    boxes::clear_left_over()?;
    let templates = selected(selection.only.as_deref())?;
    let seed = selection.seed.unwrap_or_else(fresh_seed);
    println!("seed {seed}, {} runs over {} scenarios", selection.count, templates.len());
    let mut score = Score::default();
    for (number, template) in templates.iter().cycle().take(selection.count).enumerate() {
        run_one(workspace, template, seed + number as u64, &mut score);
    }
    if let Some(pairs) = score.pairs() {
        println!("{pairs}");
    }
    println!("{score}");
    Ok(score)
}

fn run_one(workspace: &Workspace, template: &Template, seed: u64, score: &mut Score) {
    let name = template.name();
    match case::run(workspace, template, seed) {
        Ok(Outcome::Judged { judgement, story }) => {
            score.add(judgement);
            if judgement.is_right() {
                println!("ok    {name} seed {seed}");
            } else {
                println!("MISS  {name} seed {seed}: {story}");
            }
        }
        Ok(Outcome::Void(why)) => {
            score.add_void();
            println!("void  {name} seed {seed}: {why}");
        }
        Err(error) => {
            // It is a miss in every way but a harmful or a confident one.
            score.add(judge::Judgement::default());
            println!("MISS  {name} seed {seed}: {error:#}");
        }
    }
}

/// Returns the scenarios of this name, or of this cause with its near misses; all without a name.
///
/// # Errors
/// Fails when there is none.
pub(crate) fn selected(only: Option<&str>) -> Result<Vec<Template>> {
    let mut templates = scenario::catalogue()?;
    if let Some(only) = only {
        templates
            .retain(|template| template.name() == only || template.name().starts_with(&format!("{only}.")));
    }
    let wanted = only.unwrap_or("any");
    ensure!(!templates.is_empty(), "there is no scenario `{wanted}`");
    Ok(templates)
}

/// Returns the scenario of exactly this name.
///
/// # Errors
/// Fails when there is none.
pub(crate) fn named(name: &str) -> Result<Template> {
    scenario::named(name)?.with_context(|| format!("there is no scenario `{name}`"))
}

/// Draws a seed from the randomness that the process was started with.
pub(crate) fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish() % SEEDS
}

#[cfg(test)]
mod tests {
    use super::selected;

    #[test]
    fn a_cause_selects_its_near_misses_too() {
        let names: Vec<String> = selected(Some("idle-reserved"))
            .unwrap()
            .iter()
            .map(|template| template.name().to_owned())
            .collect();
        assert!(names.len() > 1 && names.iter().all(|name| name.starts_with("idle-reserved")), "{names:?}");
    }

    #[test]
    fn an_unknown_scenario_is_an_error() {
        assert!(selected(Some("no-such-cause")).is_err());
    }
}
