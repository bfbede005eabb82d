//! `cargo xtask versus`: gpuwhy and nvsonar on the same boxes in the same run, against what was planted there.

mod nvsonar;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Result;
use gpuwhy_lab::scenario::{self, Drawn, RunError, RunningBox, Template};

use self::nvsonar::Said;
use crate::scenarios::judge::judge;
use crate::scenarios::{Selection, case};
use crate::workspace::{Profile, Workspace};
use crate::{boxes, prerequisites, scenarios};

/// Who was right how often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    both: usize,
    only_gpuwhy: usize,
    only_nvsonar: usize,
    neither: usize,
    void: usize,
}

impl Standing {
    /// Whether gpuwhy is right wherever nvsonar is.
    pub(crate) const fn holds(self) -> bool {
        self.only_nvsonar == 0 && self.both + self.only_gpuwhy + self.neither > 0
    }

    const fn add(&mut self, is_ours_right: bool, is_theirs_right: bool) {
        let place = match (is_ours_right, is_theirs_right) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.only_gpuwhy,
            (false, true) => &mut self.only_nvsonar,
            (false, false) => &mut self.neither,
        };
        *place += 1;
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { both, only_gpuwhy, only_nvsonar, neither, void } = self;
        let boxes = both + only_gpuwhy + only_nvsonar + neither;
        write!(
            formatter,
            "boxes {boxes} both right {both} only gpuwhy {only_gpuwhy} only nvsonar {only_nvsonar} neither {neither} void {void}"
        )
    }
}

/// What the two said about one box.
struct Comparison {
    is_ours_right: bool,
    is_theirs_right: bool,
    /// For people.
    story: String,
}

/// Runs both on every selected scenario, prints each disagreement and the closing line.
///
/// # Errors
/// Fails when nothing can be built or installed, or no scenario has the wanted name.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<Standing> {
    let rival = prerequisites::python_tools(workspace)?.join("nvsonar");
    let table = nvsonar::table()?;
    workspace.build(Profile::Development)?;
    boxes::clear_left_over()?;
    let templates = scenarios::selected(selection.only.as_deref())?;
    let seed = selection.seed.unwrap_or_else(scenarios::fresh_seed);
    println!("seed {seed}, {} runs over {} scenarios", selection.count, templates.len());
    let mut standing = Standing::default();
    for (number, template) in templates.iter().cycle().take(selection.count).enumerate() {
        let seed = seed + number as u64;
        let name = template.name();
        match compare(workspace, template, seed, &rival, &table)? {
            Err(why) => {
                standing.void += 1;
                println!("void      {name} seed {seed}: {why}");
            }
            Ok(comparison) => {
                standing.add(comparison.is_ours_right, comparison.is_theirs_right);
                let who = match (comparison.is_ours_right, comparison.is_theirs_right) {
                    (true, true) => "both     ",
                    (true, false) => "gpuwhy   ",
                    (false, true) => "NVSONAR  ",
                    (false, false) => "neither  ",
                };
                println!("{who} {name} seed {seed}: {}", comparison.story);
            }
        }
    }
    println!("{standing}");
    Ok(standing)
}

/// Lets both look at one box; a reason instead, where the run proves nothing.
fn compare(
    workspace: &Workspace,
    template: &Template,
    seed: u64,
    rival: &Path,
    table: &BTreeMap<String, Vec<String>>,
) -> Result<Result<Comparison, String>> {
    let drawn = template.draw(seed)?;
    let directory = boxes::fresh_path(template.name());
    let compared = match drawn.start(&directory) {
        Ok(running) => look(workspace, &drawn, running, rival, &directory, table),
        Err(RunError::CannotShow(inabilities)) => {
            let reasons: Vec<String> = inabilities.into_iter().map(|inability| inability.why).collect();
            Ok(Err(reasons.join("; ")))
        }
        Err(error) => Err(error.into()),
    };
    boxes::remove(&directory)?;
    compared
}

fn look(
    workspace: &Workspace,
    drawn: &Drawn,
    mut running: RunningBox,
    rival: &Path,
    home: &Path,
    table: &BTreeMap<String, Vec<String>>,
) -> Result<Result<Comparison, String>> {
    let output = case::ask(workspace, &mut running, drawn.window_s)?;
    let truth = running.truth();
    let theirs: Said = nvsonar::ask(&mut running, rival, home)?;
    running.stop()?;
    if let Some(why) = truth.void {
        return Ok(Err(why));
    }
    let report = case::report_of(&output)?;
    let positions = case::positions_of_first(&report, drawn);
    let board = drawn.plan.board.resolve()?;
    let uuids: Vec<String> = board.cards.iter().map(|card| card.uuid.clone()).collect();
    let planted = truth.answers.iter().map(|answer| answer.cause.as_str()).collect::<Vec<_>>().join(" or ");
    let ours = report.findings.first().map_or("nothing", |first| first.cause.id());
    Ok(Ok(Comparison {
        is_ours_right: judge(&report, &truth, &positions).rightness.is_first,
        is_theirs_right: theirs.is_right(&truth, &uuids, table),
        story: format!("planted {planted}; gpuwhy {ours}; nvsonar {}", theirs.story()),
    }))
}

/// Returns how many runs show every scenario once.
///
/// # Errors
/// Fails when a scenario is not valid.
pub(crate) fn once_each() -> Result<usize> {
    Ok(scenario::catalogue()?.len())
}

#[cfg(test)]
mod tests {
    use super::Standing;

    #[test]
    fn being_right_alone_is_for_us_only() {
        let mut standing = Standing::default();
        assert!(!standing.holds(), "nothing was compared");
        standing.add(true, true);
        standing.add(true, false);
        standing.add(false, false);
        assert!(standing.holds());
        standing.add(false, true);
        assert!(!standing.holds());
        assert_eq!(
            standing.to_string(),
            "boxes 4 both right 1 only gpuwhy 1 only nvsonar 1 neither 1 void 0"
        );
    }
}
