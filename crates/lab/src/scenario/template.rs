//! A scenario file: a distribution of boxes, and what a monitor should say about them.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::draw::{DrawError, Drawer};
use super::pair;
use super::proof::Proof;
use crate::board::{Board, BoardError};
use crate::place::ability::Ability;
use crate::place::plan::{KernelLine, Member, Plan};
use crate::random::Random;

/// Why a scenario cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is no TOML, or has unknown keys or wrong types once it is drawn.
    #[error("the scenario `{name}` is not valid")]
    Syntax {
        /// Name of the scenario.
        name: String,
        /// What the parser said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A choice cannot be drawn.
    #[error("the scenario `{name}` cannot be drawn")]
    Draw {
        /// Name of the scenario.
        name: String,
        /// What is wrong with it.
        #[source]
        source: DrawError,
    },
    /// The drawn board is impossible.
    #[error("the scenario `{name}` has an impossible board")]
    Board {
        /// Name of the scenario.
        name: String,
        /// What is wrong with it.
        #[source]
        source: BoardError,
    },
    /// A member wants more cards than are free.
    #[error("the scenario `{name}` has too few cards for `{member}`")]
    Cards {
        /// Name of the scenario.
        name: String,
        /// The member.
        member: String,
    },
}

/// A scenario before it is drawn.
#[derive(Debug, Clone)]
pub struct Template {
    name: String,
    text: Table,
    /// A second scenario, when two shall be in one box.
    beside: Option<Box<Template>>,
}

/// One draw of a scenario: a box, and what should be said about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Name of the scenario.
    pub name: String,
    /// The seed that it was drawn with.
    pub seed: u64,
    /// How long a monitor looks, in seconds.
    pub window_s: f64,
    /// How long the box runs before a monitor looks, in seconds.
    pub settle_s: f64,
    /// What the machine must be able to show.
    pub needs: Vec<Ability>,
    /// The box.
    pub plan: Plan,
    /// What should be said; nothing for boxes that are not for judging.
    pub expect: Option<Expectation>,
    /// What the members' own figures must show.
    pub proofs: Vec<Proof>,
}

/// What a monitor should say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The cause that should stand first.
    pub cause: String,
    /// Members whose processes are the culprits (`NAME@CARD` for those on one card); any of them will do. None where nobody is to blame.
    #[serde(default)]
    pub culprits: Vec<String>,
    /// Cards that it is about, by position on the board, where no member tells.
    #[serde(default)]
    pub cards: Vec<usize>,
    /// Causes that are there beside it and must be named too; each may stand first.
    #[serde(default)]
    pub also: Vec<Acceptable>,
    /// Other first answers that are right too.
    #[serde(default)]
    pub accept: Vec<Acceptable>,
    /// The neighbour's cause that must not be taken for this one, when this is a near miss.
    #[serde(default)]
    pub near_miss_of: Option<String>,
}

/// Another right answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptable {
    /// Its cause.
    pub cause: String,
    /// Members whose processes are the culprits then.
    #[serde(default)]
    pub culprits: Vec<String>,
    /// Cards that it is about, by position on the board, where no member tells.
    #[serde(default)]
    pub cards: Vec<usize>,
}

/// What a scenario file holds, once drawn.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// One sentence for people who read the file.
    #[expect(dead_code, reason = "it is there for readers of the file, and must be there")]
    about: String,
    #[serde(default = "five_seconds")]
    window_s: f64,
    #[serde(default = "two_seconds")]
    settle_s: f64,
    #[serde(default)]
    needs: Vec<Ability>,
    /// Whether people and troubles that have nothing to do with it may be there too.
    #[serde(default = "yes")]
    company: bool,
    #[serde(default)]
    expect: Option<Expectation>,
    #[serde(default, rename = "proof")]
    proofs: Vec<Proof>,
    #[serde(rename = "box")]
    plan: Table,
}

/// Members and troubles that may be in any box.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Company {
    #[serde(default)]
    members: Vec<Value>,
    #[serde(default)]
    kernel_log: Vec<KernelLine>,
    #[serde(default)]
    accept: Vec<Acceptable>,
    /// How long the box must have stood before this company shows what it is.
    #[serde(default)]
    settle_s: f64,
}

fn five_seconds() -> f64 {
    5.0
}

fn two_seconds() -> f64 {
    2.0
}

fn yes() -> bool {
    true
}

const BYSTANDERS: &str = include_str!("../../scenarios/company/bystanders.toml");
const SECOND_TROUBLES: &str = include_str!("../../scenarios/company/second-troubles.toml");

impl Template {
    /// Reads a scenario from the text of its file.
    ///
    /// # Errors
    /// Fails when the text is no TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, TemplateError> {
        let text = toml::from_str(text).map_err(|source| syntax(name, source))?;
        Ok(Self { name: name.to_owned(), text, beside: None })
    }

    /// Two scenarios in one box, on different cards; both causes must be named.
    #[must_use]
    pub fn pair(first: Self, second: Self) -> Self {
        let name = format!("pair.{}+{}", first.name, second.name);
        Self { name, text: first.text, beside: Some(Box::new(second)) }
    }

    /// The scenario's name, which is its file's: `CAUSE` or `CAUSE.near-WHAT`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Draws the scenario; the same seed gives the same box.
    ///
    /// # Errors
    /// Fails when the scenario is not valid; a seed cannot make a valid scenario fail.
    pub fn draw(&self, seed: u64) -> Result<Drawn, TemplateError> {
        let has_company = self.beside.is_none();
        let mut drawn = self.draw_alone(seed, has_company)?;
        if let Some(second) = &self.beside {
            let first_cards = self.board(&drawn)?.cards.len();
            let second = second.draw_alone(Random::of(seed, "second").next(), false)?;
            drawn = pair::join(&self.name, drawn, second, first_cards);
        }
        let board = self.board(&drawn)?;
        for line in &mut drawn.plan.kernel_log {
            name_addresses(&mut line.text, &board);
        }
        Ok(drawn)
    }

    fn board(&self, drawn: &Drawn) -> Result<Board, TemplateError> {
        let board = drawn.plan.board.resolve();
        board.map_err(|source| TemplateError::Board { name: self.name.clone(), source })
    }

    /// Draws without what stands beside it; addresses in the kernel log are still open.
    fn draw_alone(&self, seed: u64, has_company: bool) -> Result<Drawn, TemplateError> {
        let name = &self.name;
        let mut file: ScenarioFile = settle(name, seed, &self.text)?;
        let mut members = match file.plan.remove("members") {
            Some(Value::Array(members)) => members,
            _ => Vec::new(),
        };
        let needed = members.len();
        file.plan.insert("name".to_owned(), Value::String(name.clone()));
        let mut plan: Plan = file.plan.try_into().map_err(|source| syntax(name, source))?;
        plan.seed = seed;
        let mut expect = file.expect;
        if file.company && has_company {
            for (kind, text) in [("bystanders", BYSTANDERS), ("second troubles", SECOND_TROUBLES)] {
                let text: Table = toml::from_str(text).map_err(|source| syntax(kind, source))?;
                let company: Company = settle(kind, Random::of(seed, name).next(), &text)?;
                members.extend(company.members);
                file.settle_s = file.settle_s.max(company.settle_s);
                plan.kernel_log.extend(company.kernel_log);
                if let Some(expect) = &mut expect {
                    expect.accept.extend(company.accept);
                }
            }
        }
        let board =
            plan.board.resolve().map_err(|source| TemplateError::Board { name: name.clone(), source })?;
        let mut free = free_cards(&board, seed);
        for (position, mut member) in members.into_iter().enumerate() {
            match seat(&mut member, &mut free) {
                Seat::Found => {
                    plan.members.push(member.try_into().map_err(|source| syntax(name, source))?);
                }
                Seat::None if position < needed => {
                    let member = member.get("name").map(Value::to_string).unwrap_or_default();
                    return Err(TemplateError::Cards { name: name.clone(), member });
                }
                Seat::None => {}
            }
        }
        if let Some(expect) = &mut expect {
            forget_absent(expect, &plan.members);
        }
        Ok(Drawn {
            name: name.clone(),
            seed,
            window_s: file.window_s,
            settle_s: file.settle_s,
            needs: file.needs,
            plan,
            expect,
            proofs: file.proofs,
        })
    }
}

fn syntax(name: &str, source: toml::de::Error) -> TemplateError {
    TemplateError::Syntax { name: name.to_owned(), source: Box::new(source) }
}

/// Draws `text` and reads it as `T`.
fn settle<T: serde::de::DeserializeOwned>(name: &str, seed: u64, text: &Table) -> Result<T, TemplateError> {
    let mut text = text.clone();
    let definitions = match text.remove("draw") {
        Some(Value::Table(definitions)) => definitions,
        _ => Table::new(),
    };
    let mut drawer = Drawer::new(seed, &definitions);
    let settled = drawer
        .settle(&Value::Table(text))
        .map_err(|source| TemplateError::Draw { name: name.to_owned(), source })?;
    settled.unwrap_or(Value::Table(Table::new())).try_into().map_err(|source| syntax(name, source))
}

/// The cards that answer, in an order that the seed decides.
fn free_cards(board: &Board, seed: u64) -> Vec<usize> {
    let mut free: Vec<usize> = board
        .cards
        .iter()
        .filter(|card| !card.setting.missing && !card.setting.lost && card.setting.lost_after_s.is_none())
        .map(|card| card.index)
        .collect();
    let mut random = Random::of(seed, "cards");
    for position in (1..free.len()).rev() {
        let other = random.below(position as u64 + 1);
        free.swap(position, usize::try_from(other).unwrap_or(position));
    }
    free
}

enum Seat {
    Found,
    None,
}

/// Gives a member the cards that it takes: `cards = { take = 2 }` from the free ones; numbers are taken as they stand.
fn seat(member: &mut Value, free: &mut Vec<usize>) -> Seat {
    let Some(member) = member.as_table_mut() else { return Seat::None };
    match member.get("cards") {
        Some(Value::Table(wish)) => {
            let wanted = wish.get("take").and_then(Value::as_integer).unwrap_or(1);
            let wanted = usize::try_from(wanted).unwrap_or(1);
            if free.len() < wanted {
                return Seat::None;
            }
            let taken = free.drain(..wanted).map(as_value).collect();
            member.insert("cards".to_owned(), Value::Array(taken));
        }
        Some(Value::Array(cards)) => {
            let named: Vec<usize> =
                cards.iter().filter_map(|card| usize::try_from(card.as_integer()?).ok()).collect();
            free.retain(|card| !named.contains(card));
        }
        _ => {}
    }
    Seat::Found
}

fn as_value(card: usize) -> Value {
    Value::Integer(i64::try_from(card).unwrap_or(i64::MAX))
}

/// An answer about a bystander who found no card is not acceptable.
fn forget_absent(expect: &mut Expectation, members: &[Member]) {
    let is_there = |culprit: &String| {
        let (name, _) = member_and_card(culprit);
        members.iter().any(|member| member.name == name)
    };
    expect
        .accept
        .retain(|acceptable| acceptable.culprits.is_empty() || acceptable.culprits.iter().any(is_there));
}

/// The member that a culprit names, and the card when it names one.
pub(super) fn member_and_card(culprit: &str) -> (&str, Option<usize>) {
    match culprit.split_once('@') {
        Some((member, card)) => (member, card.parse().ok()),
        None => (culprit, None),
    }
}

/// Replaces `<pci:N>` by the address of card N as the driver prints it (`0000:0f:00`).
fn name_addresses(text: &mut String, board: &Board) {
    for card in &board.cards {
        let address = card.pci_address();
        let address = address.strip_suffix(".0").unwrap_or(&address);
        *text = text.replace(&format!("<pci:{}>", card.index), address);
    }
}
