//! Turns a scenario text with open choices into one with none, by a seed.
//!
//! A table with one of these keys alone is a choice; everything else is taken as it stands:
//!
//! | choice | value |
//! |---|---|
//! | `{ one_of = [a, b] }` | one of them |
//! | `{ between = [low, high] }` | a number from low to high; whole when both are |
//! | `{ chance = 0.3 }` | true that often |
//! | `{ least = [a, b] }` | the smallest |
//! | `{ product = [a, b] }`, `{ quotient = [a, b] }`, `{ sum = [a, b] }` | arithmetic |
//! | `{ whole = a }` | rounded |
//! | `{ when = flag, then = a, else = b }` | one or the other; without `else` the key may vanish |
//!
//! `"$name"` stands for the value of `name` in the table `[draw]`, and `${name}` inside a longer text for its wording. Each name
//! is drawn once, from a stream of its own, so a new name changes no other.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::random::Random;

/// Why a scenario text cannot be drawn.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DrawError {
    /// A name that the table `[draw]` does not have, or that stands for itself.
    #[error("`${0}` is not defined in [draw]")]
    Undefined(String),
    /// A choice that makes no sense.
    #[error("the choice `{0}` is not usable")]
    Choice(String),
}

/// Draws the values of one scenario.
pub(super) struct Drawer<'text> {
    seed: u64,
    definitions: &'text Table,
    drawn: BTreeMap<String, Value>,
    /// Names that are being drawn, to find circles.
    open: Vec<String>,
}

impl<'text> Drawer<'text> {
    /// A drawer for the names in `definitions`.
    pub(super) fn new(seed: u64, definitions: &'text Table) -> Self {
        Self { seed, definitions, drawn: BTreeMap::new(), open: Vec::new() }
    }

    /// `value` with every choice made; `None` when it vanishes.
    pub(super) fn settle(&mut self, value: &Value) -> Result<Option<Value>, DrawError> {
        self.value(value, &mut Random::of(self.seed, "unnamed"))
    }

    fn value(&mut self, value: &Value, random: &mut Random) -> Result<Option<Value>, DrawError> {
        match value {
            Value::String(text) => self.text(text).map(Some),
            Value::Array(items) => {
                let mut settled = Vec::new();
                for item in items {
                    settled.extend(self.value(item, random)?);
                }
                Ok(Some(Value::Array(settled)))
            }
            Value::Table(table) => self.table(table, random),
            other => Ok(Some(other.clone())),
        }
    }

    fn table(&mut self, table: &Table, random: &mut Random) -> Result<Option<Value>, DrawError> {
        if table.contains_key("when") && table.contains_key("then") {
            return self.condition(table, random);
        }
        if let Some((kind, argument)) = only_entry(table)
            && CHOICES.contains(&kind)
        {
            return self.choice(kind, argument, random);
        }
        let mut settled = Table::new();
        for (key, value) in table {
            if let Some(value) = self.value(value, random)? {
                settled.insert(key.clone(), value);
            }
        }
        Ok(Some(Value::Table(settled)))
    }

    fn condition(&mut self, table: &Table, random: &mut Random) -> Result<Option<Value>, DrawError> {
        let flag = self.value(&table["when"], random)?;
        let holds = flag.as_ref().and_then(Value::as_bool).ok_or_else(|| unusable(table))?;
        match table.get(if holds { "then" } else { "else" }) {
            Some(value) => self.value(value, random),
            None => Ok(None),
        }
    }

    fn choice(
        &mut self,
        kind: &str,
        argument: &Value,
        random: &mut Random,
    ) -> Result<Option<Value>, DrawError> {
        let unusable = || DrawError::Choice(format!("{kind} = {argument}"));
        if kind == "one_of" {
            let options = argument.as_array().ok_or_else(unusable)?;
            let picked = random.below(options.len() as u64);
            let option = usize::try_from(picked).ok().and_then(|picked| options.get(picked));
            return self.value(option.ok_or_else(unusable)?, random);
        }
        let argument = self.value(argument, random)?.ok_or_else(unusable)?;
        let numbers = numbers(&argument).ok_or_else(unusable)?;
        let are_whole = is_whole(&argument);
        let (first, last) = (numbers.first().ok_or_else(unusable)?, numbers.last().ok_or_else(unusable)?);
        let value = match kind {
            "chance" => return Ok(Some(Value::Boolean(random.unit() < *first))),
            "between" if are_whole => first + (random.unit() * (last - first + 1.0)).floor(),
            "between" => random.between(*first, *last),
            "least" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
            "sum" => numbers.iter().sum(),
            "product" => numbers.iter().product(),
            "quotient" => first / last,
            _ => return Ok(Some(whole(first.round()))),
        };
        Ok(Some(if are_whole && kind != "quotient" { whole(value) } else { Value::Float(value) }))
    }

    fn text(&mut self, text: &str) -> Result<Value, DrawError> {
        if let Some(name) = text.strip_prefix('$')
            && !name.starts_with('{')
        {
            return self.named(name);
        }
        let mut worded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| DrawError::Choice(text.to_owned()))?;
            worded.push_str(before);
            match self.named(name)? {
                Value::String(value) => worded.push_str(&value),
                value => worded.push_str(&value.to_string()),
            }
            rest = after;
        }
        worded.push_str(rest);
        Ok(Value::String(worded))
    }

    fn named(&mut self, name: &str) -> Result<Value, DrawError> {
        if let Some(value) = self.drawn.get(name) {
            return Ok(value.clone());
        }
        let undefined = || DrawError::Undefined(name.to_owned());
        let definitions = self.definitions;
        let definition = definitions.get(name).ok_or_else(undefined)?;
        if self.open.iter().any(|open| open == name) {
            return Err(undefined());
        }
        self.open.push(name.to_owned());
        let value = self.value(definition, &mut Random::of(self.seed, name))?.ok_or_else(undefined)?;
        self.open.pop();
        self.drawn.insert(name.to_owned(), value.clone());
        Ok(value)
    }
}

const CHOICES: [&str; 8] = ["one_of", "between", "chance", "least", "sum", "product", "quotient", "whole"];

fn only_entry(table: &Table) -> Option<(&str, &Value)> {
    let mut entries = table.iter();
    let (key, value) = entries.next()?;
    entries.next().is_none().then_some((key.as_str(), value))
}

fn unusable(table: &Table) -> DrawError {
    DrawError::Choice(table.to_string())
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Integer(number) => Some(vec![*number as f64]),
        Value::Float(number) => Some(vec![*number]),
        Value::Array(items) => {
            let mut all = Vec::new();
            for item in items {
                all.extend(numbers(item)?);
            }
            Some(all)
        }
        _ => None,
    }
}

fn is_whole(value: &Value) -> bool {
    match value {
        Value::Integer(_) => true,
        Value::Array(items) => items.iter().all(is_whole),
        _ => false,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "scenario figures are far below 2^53")]
fn whole(value: f64) -> Value {
    Value::Integer(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(seed: u64, text: &str) -> Result<Table, DrawError> {
        let table: Table = toml::from_str(text).unwrap();
        let nothing = Table::new();
        let definitions = table.get("draw").and_then(Value::as_table).unwrap_or(&nothing);
        let mut drawer = Drawer::new(seed, definitions);
        let mut rest = table.clone();
        rest.remove("draw");
        match drawer.settle(&Value::Table(rest))? {
            Some(Value::Table(table)) => Ok(table),
            other => panic!("a table stays a table, not {other:?}"),
        }
    }

    #[test]
    fn a_name_has_one_value_wherever_it_stands() {
        let text = "a = \"$n\"\nb = \"n is ${n}\"\n[draw]\nn = { between = [1, 1000000] }";
        for seed in 0..20 {
            let table = settle(seed, text).unwrap();
            let number = table["a"].as_integer().unwrap();
            assert!((1..=1_000_000).contains(&number));
            assert_eq!(table["b"].as_str().unwrap(), format!("n is {number}"));
        }
    }

    #[test]
    fn a_new_name_changes_no_other() {
        let short = "a = \"$n\"\n[draw]\nn = { between = [0.0, 1.0] }";
        let long = "a = \"$n\"\nb = \"$m\"\n[draw]\nm = { chance = 0.5 }\nn = { between = [0.0, 1.0] }";
        assert_eq!(settle(3, short).unwrap()["a"], settle(3, long).unwrap()["a"]);
    }

    #[test]
    fn both_ends_of_a_whole_range_are_drawn() {
        let text = "a = { between = [1, 3] }";
        let drawn: std::collections::BTreeSet<i64> =
            (0..100).map(|seed| settle(seed, text).unwrap()["a"].as_integer().unwrap()).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), vec![1, 2, 3]);
    }

    #[test]
    fn a_condition_without_else_removes_its_key() {
        let table =
            settle(1, "a = { when = false, then = 1 }\nb = { when = true, then = 2, else = 3 }").unwrap();
        assert!(!table.contains_key("a"));
        assert_eq!(table["b"].as_integer(), Some(2));
    }

    #[test]
    fn arithmetic_stays_whole_where_it_can() {
        let text = "a = { product = [2, 3] }\nb = { quotient = [1, 4] }\nc = { whole = 2.6 }\nd = { least = [4, 2] }";
        let table = settle(1, text).unwrap();
        assert_eq!(table["a"].as_integer(), Some(6));
        assert_eq!(table["b"].as_float(), Some(0.25));
        assert_eq!(table["c"].as_integer(), Some(3));
        assert_eq!(table["d"].as_integer(), Some(2));
    }

    #[test]
    fn circles_and_unknown_names_are_refused() {
        let circle = "a = \"$n\"\n[draw]\nn = \"$m\"\nm = \"$n\"";
        assert_eq!(settle(1, circle), Err(DrawError::Undefined("n".to_owned())));
        assert_eq!(settle(1, "a = \"$n\""), Err(DrawError::Undefined("n".to_owned())));
    }
}
