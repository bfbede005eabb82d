//! A scenario that is up: run a monitor in it, ask for the truth, take it down.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::proof::Look;
use super::template::{Acceptable, Drawn, Expectation, member_and_card};
use crate::place::ability::{Abilities, Ability, Inability};
use crate::place::keeper::Status;
use crate::place::plan::{Member, Plan};
use crate::place::running::{self, Kept, Lifetime};
use crate::place::{BoxDirectory, PlaceError};
use crate::workloads::truth::{Figures, Part, figures_of, is_ready};

/// Durations that are shortened for all scenarios alike, as a monitor's own configuration.
const LIMITS: &str = include_str!("../../limits.toml");
const STEADY_WITHIN: Duration = Duration::from_mins(1);

/// Why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// This machine cannot show it.
    #[error("this machine cannot show the scenario: {}", reasons(.0))]
    CannotShow(Vec<Inability>),
    /// Its box does not come up or go down.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A member does not get to work.
    #[error("the member `{member}` does not get to work")]
    NotSteady {
        /// Which member.
        member: String,
    },
    /// The monitor cannot be started.
    #[error("cannot run `{program}` in the box")]
    Run {
        /// The program.
        program: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The `lab` binary is not beside the running program.
    #[error("no `lab` beside `{}` (build the package gpuwhy-lab)", .0.display())]
    NoLab(PathBuf),
}

fn reasons(inabilities: &[Inability]) -> String {
    inabilities.iter().map(|inability| inability.why.as_str()).collect::<Vec<_>>().join("; ")
}

/// A box that is up and does what its scenario says.
#[derive(Debug)]
pub struct RunningBox {
    directory: BoxDirectory,
    program: PathBuf,
    plan: Plan,
    drawn: Drawn,
    kept: Kept,
    before: BTreeMap<String, Vec<Figures>>,
    after: BTreeMap<String, Vec<Figures>>,
}

/// What is so, by the scenario and by the members' own figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Why the run proves nothing, if it does not: the planted cause was not there.
    pub void: Option<String>,
    /// Every right first answer; the first one is the planted cause.
    pub answers: Vec<Answer>,
    /// Causes beside the planted one that must be named too.
    pub also: Vec<Answer>,
    /// The cause that must not be named, when this is a near miss.
    pub near_miss_of: Option<String>,
}

/// One right answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The cause.
    pub cause: String,
    /// Its culprits, any of which will do; none where nobody is to blame.
    pub culprits: Vec<TrueProcess>,
    /// The cards that it is about, by position on the board.
    pub cards: Vec<usize>,
}

/// A process that a monitor may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueProcess {
    /// Process id in the machine's pid namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Whose it is.
    pub user: String,
    /// Its command line.
    pub command: String,
    /// What it is to its member.
    pub part: Part,
    /// Its card, by position on the board.
    pub card: Option<usize>,
}

impl Drawn {
    /// Brings the box up below `directory` and returns once all members do what they were made for, and `settle_s` more.
    ///
    /// # Errors
    /// Fails with [`RunError::CannotShow`] where the machine lacks something, and when the box does not come up.
    pub fn start(&self, directory: &Path) -> Result<RunningBox, RunError> {
        let program = lab_program()?;
        fs::create_dir_all(directory).map_err(use_of(directory))?;
        let path = directory.canonicalize().map_err(use_of(directory))?;
        let lacking = self.lacking(&path);
        if !lacking.is_empty() {
            return Err(RunError::CannotShow(lacking));
        }
        let directory = BoxDirectory::new(path);
        write_limits(&directory)?;
        let kept = running::start(&program, &directory, &self.plan, Lifetime::WithStarter)?;
        let mut running = RunningBox {
            directory,
            program,
            plan: self.plan.clone(),
            drawn: self.clone(),
            kept,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
        };
        running.wait_until_steady()?;
        running.before = running.figures();
        Ok(running)
    }

    /// What the scenario needs and this machine lacks.
    fn lacking(&self, path: &Path) -> Vec<Inability> {
        let abilities = Abilities::look(path);
        let missing = abilities.missing().iter();
        missing.filter(|inability| self.needs.contains(&inability.what)).cloned().collect()
    }
}

impl RunningBox {
    fn wait_until_steady(&self) -> Result<(), RunError> {
        let deadline = Instant::now() + STEADY_WITHIN;
        for member in self.present_members() {
            while !is_ready(&self.directory, member) {
                if Instant::now() >= deadline {
                    return Err(RunError::NotSteady { member: member.name.clone() });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        std::thread::sleep(Duration::from_secs_f64(self.drawn.settle_s.max(0.0)));
        Ok(())
    }

    fn present_members(&self) -> impl Iterator<Item = &Member> {
        let left_out = &self.kept.status.left_out;
        self.plan.members.iter().filter(|member| !left_out.contains(&member.name))
    }

    fn figures(&self) -> BTreeMap<String, Vec<Figures>> {
        self.present_members()
            .map(|member| (member.name.clone(), figures_of(&self.directory, member)))
            .collect()
    }

    /// The box directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What came of bringing the box up: members, what cannot be shown, who was left out.
    pub fn status(&self) -> &Status {
        &self.kept.status
    }

    /// Whether this machine shows `ability` in this box.
    pub fn shows(&self, ability: Ability) -> bool {
        self.kept.status.cannot_show.iter().all(|inability| inability.what != ability)
    }

    /// The variables and the command that run `command` in the box, as `user` or as the caller.
    ///
    /// Where the box cannot show users, it is always the caller.
    pub fn command(&self, user: Option<&str>, command: &[&str]) -> Command {
        let mut shell = Command::new(&self.program);
        shell.arg("shell").arg(self.directory.path());
        let user = user.or(self.plan.visitor.user.as_deref());
        if let Some(user) = user.filter(|_| self.shows(Ability::Users)) {
            shell.args(["--user", user]);
        }
        shell.arg("--").args(command);
        // Where programs look for a user's own configuration.
        shell.env("XDG_CONFIG_HOME", self.directory.configuration());
        shell
    }

    /// Runs `command` in the box, as `user` or as the caller, and waits for its end.
    ///
    /// The members' figures of this time are what [`RunningBox::truth`] judges by.
    ///
    /// # Errors
    /// Fails when the command cannot be started.
    pub fn run(&mut self, user: Option<&str>, command: &[&str]) -> Result<Output, RunError> {
        self.before = self.figures();
        let program = command.first().copied().unwrap_or_default().to_owned();
        let output =
            self.command(user, command).output().map_err(|source| RunError::Run { program, source })?;
        self.after = self.figures();
        Ok(output)
    }

    /// What is so: by the figures of the last [`RunningBox::run`], or from the start until now.
    pub fn truth(&self) -> Truth {
        let after = if self.after.is_empty() { self.figures() } else { self.after.clone() };
        let mut answers = Vec::new();
        let mut also = Vec::new();
        let mut near_miss_of = None;
        if let Some(expect) = &self.drawn.expect {
            answers = self.answers(expect);
            also = expect.also.iter().map(|other| self.answer_of(other)).collect();
            near_miss_of.clone_from(&expect.near_miss_of);
        }
        Truth { void: self.void(&after), answers, also, near_miss_of }
    }

    fn void(&self, after: &BTreeMap<String, Vec<Figures>>) -> Option<String> {
        for proof in &self.drawn.proofs {
            if self.kept.status.left_out.contains(&proof.member) {
                return Some(format!("this machine cannot show {}", proof.member));
            }
            let looks: Vec<Look> = match (self.before.get(&proof.member), after.get(&proof.member)) {
                (Some(before), Some(after)) => before
                    .iter()
                    .zip(after)
                    .map(|(before, after)| Look { before: before.clone(), after: after.clone() })
                    .collect(),
                _ => Vec::new(),
            };
            if let Some(failure) = proof.failure(&looks) {
                return Some(failure);
            }
        }
        None
    }

    fn answers(&self, expect: &Expectation) -> Vec<Answer> {
        let first = self.answer(&expect.cause, &expect.culprits, &expect.cards);
        let others = expect.also.iter().chain(&expect.accept).map(|other| self.answer_of(other));
        std::iter::once(first).chain(others).collect()
    }

    fn answer_of(&self, acceptable: &Acceptable) -> Answer {
        self.answer(&acceptable.cause, &acceptable.culprits, &acceptable.cards)
    }

    fn answer(&self, cause: &str, named: &[String], cards: &[usize]) -> Answer {
        let mut cards = cards.to_vec();
        let mut culprits = Vec::new();
        for (name, card) in named.iter().map(|culprit| member_and_card(culprit)) {
            let Some(member) = self.present_members().find(|member| member.name == name) else { continue };
            let processes = self.processes_of(member);
            cards.extend(card.map_or_else(|| member.cards.clone(), |card| vec![card]));
            culprits.extend(processes.into_iter().filter(|process| card.is_none() || process.card == card));
        }
        cards.sort_unstable();
        cards.dedup();
        Answer { cause: cause.to_owned(), culprits, cards }
    }

    /// The processes of `member` by name.
    pub fn processes(&self, member: &str) -> Vec<TrueProcess> {
        let found = self.present_members().find(|candidate| candidate.name == member);
        found.map(|member| self.processes_of(member)).unwrap_or_default()
    }

    fn processes_of(&self, member: &Member) -> Vec<TrueProcess> {
        let user = if self.shows(Ability::Users) { member.user.clone() } else { caller() };
        let mut processes: Vec<TrueProcess> = figures_of(&self.directory, member)
            .into_iter()
            .flat_map(|figures| figures.processes)
            .map(|process| TrueProcess {
                pid: process.identity.pid,
                start_ticks: process.identity.start_ticks,
                user: user.clone(),
                command: command_line(process.identity.pid),
                part: process.part,
                card: process.card,
            })
            .collect();
        processes.sort_by_key(|process| (process.pid, process.card));
        processes.dedup_by_key(|process| (process.pid, process.card));
        processes
    }

    /// Takes the box down.
    ///
    /// # Errors
    /// Fails when it does not go down, or something cannot be put back.
    pub fn stop(mut self) -> Result<(), RunError> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<(), RunError> {
        running::stop(&self.directory)?;
        self.kept.keeper.wait().map_err(PlaceError::Watch)?;
        Ok(())
    }
}

impl Drop for RunningBox {
    fn drop(&mut self) {
        // The lifeline ends with us at the latest, and the next start puts back what is left.
        let _ = self.take_down();
    }
}

/// The `lab` binary: beside the running program, or one folder up for a test.
///
/// # Errors
/// Fails when it was not built.
pub fn lab_program() -> Result<PathBuf, RunError> {
    let ourselves = std::env::current_exe().map_err(use_of(Path::new("/proc/self/exe")))?;
    let folder = ourselves.parent().unwrap_or(Path::new("/"));
    let beside = folder.join("lab");
    let above = folder.join("../lab");
    [beside, above]
        .into_iter()
        .find(|program| program.is_file())
        .and_then(|program| program.canonicalize().ok())
        .ok_or(RunError::NoLab(ourselves))
}

fn use_of(path: &Path) -> impl FnOnce(io::Error) -> RunError {
    let path = path.to_owned();
    move |source| RunError::Place(PlaceError::Io { path, source })
}

fn write_limits(directory: &BoxDirectory) -> Result<(), RunError> {
    let folder = directory.configuration().join("gpuwhy");
    fs::create_dir_all(&folder).map_err(use_of(&folder))?;
    let file = folder.join("gpuwhy.toml");
    fs::write(&file, LIMITS).map_err(use_of(&file))
}

fn caller() -> String {
    let machine = fs::read_to_string("/etc/passwd").unwrap_or_default();
    crate::place::users::name_of(&machine, rustix::process::getuid().as_raw())
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        bytes.split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    words.join(" ")
}
