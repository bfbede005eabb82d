//! Reading tables that are part of the program.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};

/// Reads a table with a head line.
///
/// # Panics
/// Panics when a row does not fit its type: the tables are part of the program, and a test reads every row.
pub(crate) fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("every row of the built-in tables is read by a test")
}

/// Reads numbers between bars: `8|16`.
pub(crate) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.split('|')
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().map_err(Error::custom))
        .collect()
}

/// Reads words between bars, semicolons, commas or plus signs.
pub(crate) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.split(['|', ';', ',', '+']).filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

/// Reads `yes` or `no`.
pub(crate) fn yes_or_no<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(Error::custom(format!("expected `yes` or `no`, found `{other}`"))),
    }
}
