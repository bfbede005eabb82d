//! Events of a trace, read one after the other: no event is kept.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// One event, as far as it is needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    /// The kind of event; `X` has a length.
    pub(super) ph: String,
    /// What it is of: `kernel`, `cuda_runtime` …
    pub(super) cat: String,
    pub(super) name: String,
    /// When it began, in microseconds.
    #[serde(deserialize_with = "number")]
    pub(super) ts: Option<f64>,
    /// How long it lasted, in microseconds.
    #[serde(deserialize_with = "number")]
    pub(super) dur: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub(super) pid: Option<f64>,
    #[serde(deserialize_with = "arguments")]
    pub(super) args: Arguments,
}

/// What else is said of an event.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// The card.
    pub(super) device: Option<f64>,
    /// The name that the event gives to its process.
    pub(super) name: Option<String>,
}

/// What stands around the events.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) rank: Option<u32>,
    pub(super) members: Option<u32>,
    /// Names of cards by their numbers.
    pub(super) cards: Vec<(u32, String)>,
}

/// Takes what a trace holds, in its order.
pub(super) trait Taker {
    fn event(&mut self, event: &Event);
    fn head(&mut self) -> &mut Head;
}

/// A whole trace: an object with the events in it, or the list of events itself.
pub(super) struct Trace<'taker, T>(pub(super) &'taker mut T);

impl<'de, T: Taker> DeserializeSeed<'de> for Trace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Taker> Visitor<'de> for Trace<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "traceEvents" => map.next_value_seed(Events(self.0))?,
                "distributedInfo" => {
                    let Distributed { rank, world_size } = map.next_value()?;
                    let head = self.0.head();
                    (head.rank, head.members) = (small(rank), small(world_size));
                }
                "deviceProperties" => {
                    let cards: Vec<Device> = map.next_value()?;
                    let named = cards.into_iter().filter_map(|card| Some((small(card.id)?, card.name)));
                    self.0.head().cards.extend(named.take(64));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(sequence)
    }
}

struct Events<'taker, T>(&'taker mut T);

impl<'de, T: Taker> DeserializeSeed<'de> for Events<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Taker> Visitor<'de> for Events<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(event) = sequence.next_element::<Event>()? {
            self.0.event(&event);
        }
        Ok(())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Distributed {
    #[serde(deserialize_with = "number")]
    rank: Option<f64>,
    #[serde(deserialize_with = "number")]
    world_size: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Device {
    #[serde(deserialize_with = "number")]
    id: Option<f64>,
    name: String,
}

/// Returns a small whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be small and not negative"
)]
pub(super) fn small(number: Option<f64>) -> Option<u32> {
    number.filter(|number| (0.0..1e6).contains(number)).map(|number| number as u32)
}

/// Reads a number; anything else that stands there is none.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(Number)
}

struct Number;

impl<'de> Visitor<'de> for Number {
    type Value = Option<f64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number).filter(|number| number.is_finite()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.parse().ok().filter(|number: &f64| number.is_finite()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Reads what else is said of an event; anything but an object says nothing.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
    deserializer.deserialize_any(OfArguments)
}

struct OfArguments;

impl<'de> Visitor<'de> for OfArguments {
    type Value = Arguments;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
        let mut arguments = Arguments::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "device" => arguments.device = map.next_value::<Lenient>()?.0,
                "name" => arguments.name = map.next_value::<LenientText>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(arguments)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Arguments, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Arguments::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_unit<E>(self) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }
}

/// A number, where one stands.
struct Lenient(Option<f64>);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer).map(Self)
    }
}

/// A text, where one stands.
struct LenientText(Option<String>);

impl<'de> Deserialize<'de> for LenientText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_str().map(str::to_owned)))
    }
}
