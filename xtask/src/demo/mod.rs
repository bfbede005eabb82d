//! `cargo xtask demo`: a box of four cards, what gpuwhy says about it, and whether that is right.

mod words;

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use gpuwhy_lab::place::ability::{Ability, Inability};
use gpuwhy_lab::scenario::RunningBox;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::report::{Report, ReportFinding};
use gpuwhy_model::verdict::CardState;

use self::words::Words;
use crate::boxes;
use crate::scenarios::{case, named};
use crate::workspace::{Profile, Workspace};

/// The box is the same every time.
const SEED: u64 = 1;

/// The look that the demonstration shows, as without arguments.
const WINDOW: Duration = Duration::from_secs(5);

/// What one card of the box is for.
struct Card {
    index: u32,
    /// Who lives on it, by the name in the scenario.
    member: Option<&'static str>,
    state: CardState,
    cause: Option<Cause>,
}

impl Card {
    /// Whether this machine could not show who lives on it.
    fn is_left_out(&self, left_out: &[String]) -> bool {
        self.member.is_some_and(|member| left_out.iter().any(|name| name == member))
    }
}

/// The four cards.
const CARDS: &[Card] = &[
    Card {
        index: 0,
        member: Some("starved-run"),
        state: CardState::Busy,
        cause: Some(Cause::StarvedByStorage),
    },
    Card {
        index: 1,
        member: Some("dead-run"),
        state: CardState::Held,
        cause: Some(Cause::VramHeldByDeadProcess),
    },
    Card {
        index: 2,
        member: Some("busy-server"),
        state: CardState::Busy,
        cause: Some(Cause::ComputeSaturated),
    },
    Card { index: 3, member: None, state: CardState::Free, cause: None },
];

/// Builds, brings the box up, shows what gpuwhy says in a language (none: the locale's), and judges it.
///
/// # Errors
/// Fails when something cannot be built or the box does not come up.
pub(crate) fn run(workspace: &Workspace, language: Option<&str>) -> Result<bool> {
    let words = Words::of(language);
    println!("{}", words.building);
    workspace.build(Profile::Development)?;
    boxes::clear_left_over()?;
    let drawn = named("demo")?.draw(SEED)?;
    let directory = boxes::fresh_path("demo");
    println!("{}", words.bringing_up);
    for (card, story) in CARDS.iter().zip(words.stories) {
        println!("  GPU {}: {story}", card.index);
    }
    let mut running = drawn.start(&directory).context("the box did not come up")?;
    for inability in &running.status().cannot_show {
        println!("  {} {}", words.not_here, without_stop(inability));
    }
    if !running.shows(Ability::SlowDisk) && running.shows(Ability::Store) {
        println!("  {}", words.slow_store);
    }
    show(workspace, &running, language)?;
    let output = case::ask(workspace, &mut running, WINDOW.as_secs_f64())?;
    let report = case::report_of(&output)?;
    let wrong = wrong_cards(&report, &running);
    let left_out = running.status().left_out.clone();
    running.stop()?;
    boxes::remove(&directory)?;
    println!();
    for line in &wrong {
        println!("{} {line}", words.wrong);
    }
    if wrong.is_empty() {
        let shown = CARDS.iter().filter(|card| !card.is_left_out(&left_out)).count();
        println!("{} {shown}/{}", words.all_right, CARDS.len());
        println!("{}", words.try_yourself);
    }
    Ok(wrong.is_empty())
}

/// Runs gpuwhy in the box as a person would.
fn show(workspace: &Workspace, running: &RunningBox, language: Option<&str>) -> Result<()> {
    let gpuwhy = workspace.program(Profile::Development, "gpuwhy");
    let gpuwhy = gpuwhy.to_str().context("the path of gpuwhy is no UTF-8")?;
    let mut arguments = vec![gpuwhy];
    if let Some(language) = language {
        arguments.extend(["--lang", language]);
    }
    println!("\n$ gpuwhy{}", language.map(|language| format!(" --lang {language}")).unwrap_or_default());
    if !std::io::stdout().is_terminal() {
        println!();
    }
    let status = running.command(None, &arguments).status().context("cannot run gpuwhy")?;
    ensure!(matches!(status.code(), Some(0 | 1)), "gpuwhy ended with {status}");
    Ok(())
}

fn without_stop(inability: &Inability) -> &str {
    inability.why.trim_end_matches('.')
}

/// Returns what a report says wrongly about the four cards.
fn wrong_cards(report: &Report, running: &RunningBox) -> Vec<String> {
    let mut wrong = Vec::new();
    for card in CARDS {
        let index = card.index;
        let Some(said) = report.cards.iter().find(|said| said.index == index) else {
            wrong.push(format!("GPU {index} is not listed"));
            continue;
        };
        if card.is_left_out(&running.status().left_out) {
            println!("GPU {index} cannot be shown on this machine");
            continue;
        }
        if said.state != card.state {
            wrong.push(format!("GPU {index} is {}, not {}", card.state, said.state));
        }
        let Some(cause) = card.cause else {
            continue;
        };
        let mut about_it = said.findings.iter().filter_map(|position| report.findings.get(*position));
        match about_it.find(|finding| finding.cause == cause) {
            None => wrong.push(format!("GPU {index}: {cause} is not named")),
            Some(finding) if !names_member(finding, running, card.member) => {
                wrong.push(format!("GPU {index}: {cause} names the wrong process"));
            }
            Some(_) => {}
        }
    }
    wrong
}

fn names_member(finding: &ReportFinding, running: &RunningBox, member: Option<&str>) -> bool {
    let named = finding.culprit.as_ref();
    let processes = member.map(|member| running.processes(member)).unwrap_or_default();
    processes.iter().any(|process| {
        named.is_some_and(|named| {
            named.pid == Some(process.pid)
                && named.start_ticks == Some(process.start_ticks)
                && named.user.as_deref() == Some(process.user.as_str())
        })
    })
}
