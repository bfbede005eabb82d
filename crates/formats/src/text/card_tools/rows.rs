//! Rows about cards that somebody took out of a tool's table: a number, and values that their units name.
//!
//! With a heading (`GPU Temp Power Memory Util`) or without one (`0  P0  35W / 140W  100%`). What two values alike are is
//! only known where the heading, or their place beside others, says so.

use gpuwhy_model::command_line::masked_text;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, Vendor};
use gpuwhy_model::units::{Bytes, Celsius, Megahertz, Percent, Watts};

use super::looks::{Look, memory, scene, vendor_of};
use super::value::amount;
use super::{Block, Context};
use crate::Format;
use crate::paste::Line;

/// No machine has a card of a higher number.
const INDEX_MAX: u32 = 256;
/// Without a heading so many kinds of values must stand in a row.
const KINDS_MIN: usize = 3;
/// A longer line is a text.
const LINE_MAX: usize = 200;

/// What a heading calls a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Index,
    Busy,
    MemoryBusy,
    Fan,
    /// Values that their unit names.
    ByUnit,
}

const COLUMNS: &[(&str, Column)] = &[
    ("gpu", Column::Index),
    ("id", Column::Index),
    ("idx", Column::Index),
    ("index", Column::Index),
    ("#", Column::Index),
    ("card", Column::Index),
    ("util", Column::Busy),
    ("util%", Column::Busy),
    ("gpu-util", Column::Busy),
    ("gpu%", Column::Busy),
    ("gpu_util", Column::Busy),
    ("utilization", Column::Busy),
    ("usage", Column::Busy),
    ("load", Column::Busy),
    ("sm%", Column::Busy),
    ("mem-util", Column::MemoryBusy),
    ("mem_util", Column::MemoryBusy),
    ("memutil", Column::MemoryBusy),
    ("fan", Column::Fan),
    ("fan%", Column::Fan),
    ("temp", Column::ByUnit),
    ("temperature", Column::ByUnit),
    ("power", Column::ByUnit),
    ("pwr", Column::ByUnit),
    ("pwr:usage/cap", Column::ByUnit),
    ("power/cap", Column::ByUnit),
    ("draw", Column::ByUnit),
    ("memory", Column::ByUnit),
    ("memory-usage", Column::ByUnit),
    ("mem", Column::ByUnit),
    ("vram", Column::ByUnit),
    ("perf", Column::ByUnit),
    ("pstate", Column::ByUnit),
    ("p-state", Column::ByUnit),
    ("state", Column::ByUnit),
    ("clock", Column::ByUnit),
    ("sm", Column::ByUnit),
    ("name", Column::ByUnit),
];

/// A value by its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Temperature(f64),
    Power(f64),
    Memory(f64),
    Percent(f64),
    Clock(f64),
    State(u32),
    /// A stroke between what is used and what may be.
    Of,
    /// Words that say that there is no value.
    Nothing,
}

/// Reads the rows that begin with the first of these lines.
pub(in crate::text) fn read(lines: &[Line<'_>], _: &Context<'_>) -> Option<Block> {
    let heading = heading(&lines.first()?.text);
    let mut taken = usize::from(heading.is_some());
    let rows = || lines.iter().skip(usize::from(heading.is_some()));
    let mut cards: Vec<CardSample> = Vec::new();
    for line in rows() {
        let text = line.text.trim();
        let is_rule = !text.is_empty() && text.bytes().all(|byte| b"-=+|: ".contains(&byte));
        if is_rule && cards.is_empty() && heading.is_some() {
            taken += 1;
            continue;
        }
        let Some(card) = card(text, heading.as_deref()) else {
            break;
        };
        // A number that comes again begins another look, without a time between them.
        if cards.iter().any(|known| known.index == card.index) {
            break;
        }
        cards.push(card);
        taken += 1;
    }
    if cards.is_empty() {
        return None;
    }
    let look = Look { cards, ..Look::default() };
    Some(Block { lines: taken, scene: scene(vec![look], Format::CardRows), remarks: Vec::new() })
}

/// Returns the columns that hold shares, in their order; none when a line is no heading.
fn heading(text: &str) -> Option<Vec<Column>> {
    if text.len() > LINE_MAX {
        return None;
    }
    let plain = text.to_ascii_lowercase().replace(['|', ','], " ");
    let mut columns = Vec::new();
    for word in plain.split_ascii_whitespace() {
        // Units may stand behind the names.
        if matches!(word, "(w)" | "(c)" | "(°c)" | "(%)" | "(mib)" | "(mb)" | "(gb)" | "(gib)" | "used" | "/")
        {
            continue;
        }
        let column = COLUMNS.iter().find(|(name, _)| *name == word).map(|(_, column)| *column)?;
        // `GPU Util`, `Mem Util`: the word in front belongs to it.
        let last_is_index = columns.last() == Some(&Column::Index);
        if column == Column::Busy && columns.len() > 1 && last_is_index {
            columns.pop();
        }
        columns.push(column);
    }
    let is_heading = columns.first() == Some(&Column::Index) && columns.len() >= KINDS_MIN;
    is_heading.then_some(columns)
}

/// Reads a row.
fn card(text: &str, heading: Option<&[Column]>) -> Option<CardSample> {
    if text.len() > LINE_MAX {
        return None;
    }
    let plain = text.replace('|', " ").replace('/', " / ");
    let mut words: Vec<&str> = plain.split_whitespace().collect();
    if words.first().is_some_and(|word| word.eq_ignore_ascii_case("gpu")) {
        words.remove(0);
    }
    let first = words.first()?;
    let number = first.strip_prefix("GPU").unwrap_or(first).trim_end_matches(':');
    let index = number.parse().ok().filter(|index| *index < INDEX_MAX)?;
    let (values, name) = values(&words[1..])?;
    let kinds = [
        |value: &Value| matches!(value, Value::Temperature(_)),
        |value: &Value| matches!(value, Value::Power(_)),
        |value: &Value| matches!(value, Value::Memory(_)),
        |value: &Value| matches!(value, Value::Percent(_)),
        |value: &Value| matches!(value, Value::Clock(_)),
        |value: &Value| matches!(value, Value::State(_)),
    ];
    let kinds = kinds.iter().filter(|is_kind| values.iter().any(**is_kind)).count();
    if kinds < if heading.is_some() { 2 } else { KINDS_MIN } {
        return None;
    }
    let vendor = name.as_deref().map_or(Vendor::Nvidia, vendor_of);
    let mut card = CardSample { index, vendor, handle: Reading::Known(()), ..CardSample::default() };
    card.name = name.as_deref().map(masked_text).into();
    fill(&mut card, &values);
    shares(&mut card, &values, heading);
    Some(card)
}

/// Returns the values of a row and the name in front of them; none when there are words that nobody knows.
fn values(words: &[&str]) -> Option<(Vec<Value>, Option<String>)> {
    let mut values = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    let mut place = 0;
    while let Some(word) = words.get(place) {
        let next = words.get(place + 1).copied().unwrap_or_default();
        if let Some(value) = value(word, "") {
            values.push(value);
            place += 1;
        } else if let Some(value) = value(word, next) {
            values.push(value);
            place += 2;
        } else if values.is_empty() && word.len() <= 20 {
            name.push(word);
            place += 1;
        } else {
            return None;
        }
    }
    let name = name.join(" ");
    let is_name = name.contains(|letter: char| letter.is_ascii_alphabetic()) && !name.contains("0x");
    (is_name || name.is_empty()).then_some((values, is_name.then_some(name)))
}

fn value(word: &str, unit: &str) -> Option<Value> {
    let bare = word.trim_matches(['[', ']', ',']);
    if unit.is_empty() {
        match bare {
            "/" => return Some(Value::Of),
            "N/A" | "-" | "ERR!" | "N" | "A" => return Some(Value::Nothing),
            _ => {}
        }
        if let Some(state) = bare.strip_prefix('P').and_then(|state| state.parse().ok()) {
            return (state <= 15).then_some(Value::State(state));
        }
    }
    let end = bare.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(bare.len());
    let (digits, own) = bare.split_at(end);
    let unit = if own.is_empty() { unit.trim_end_matches(',') } else { own };
    if !own.is_empty() && own != unit {
        return None;
    }
    let number: f64 = digits.parse().ok().filter(|number: &f64| *number < 1e9)?;
    Some(match unit {
        "C" | "°C" | "℃" | "°" | "degC" | "'C" => Value::Temperature(number),
        "W" => Value::Power(number),
        "%" => Value::Percent(number),
        "MHz" => Value::Clock(number),
        "MiB" | "MB" | "M" => Value::Memory(number * 1_048_576.0),
        "GiB" | "GB" | "G" => Value::Memory(number * 1_073_741_824.0),
        _ => return None,
    })
}

/// Fills in what a unit alone names: what stands behind a stroke is what may be.
fn fill(card: &mut CardSample, values: &[Value]) {
    let after =
        |place: usize| (values.get(place + 1) == Some(&Value::Of)).then(|| values.get(place + 2)).flatten();
    let only = |is_kind: fn(&Value) -> bool| {
        let mut places = (0..values.len())
            .filter(|place| is_kind(&values[*place]) && (*place == 0 || values[*place - 1] != Value::Of));
        places.next().filter(|_| places.next().is_none())
    };
    if let Some(place) = only(|value| matches!(value, Value::Temperature(_)))
        && let Value::Temperature(degrees) = values[place]
    {
        card.temperature = Reading::Known(Celsius(degrees));
    }
    if let Some(place) = only(|value| matches!(value, Value::Power(_)))
        && let Value::Power(watts) = values[place]
    {
        card.power = Reading::Known(Watts(watts));
        if let Some(Value::Power(limit)) = after(place) {
            card.power_limits.enforced = Reading::Known(Watts(*limit));
        }
    }
    if let Some(place) = only(|value| matches!(value, Value::Memory(_)))
        && let (Value::Memory(used), Some(Value::Memory(total))) = (values[place], after(place))
    {
        let known = |bytes: f64| -> Reading<Bytes> { amount(bytes).into() };
        card.memory = memory(&known(used), &known(*total));
    }
    if let Some(place) = only(|value| matches!(value, Value::Clock(_)))
        && let Value::Clock(clock) = values[place]
    {
        card.clocks.sm = Reading::Known(Megahertz(clock));
    }
    if let Some(place) = only(|value| matches!(value, Value::State(_)))
        && let Value::State(state) = values[place]
    {
        card.performance_state = Reading::Known(state);
    }
}

/// Fills in the shares: the heading says which is which, or their place beside the temperature.
fn shares(card: &mut CardSample, values: &[Value], heading: Option<&[Column]>) {
    let places: Vec<(usize, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(place, value)| match value {
            Value::Percent(share) if *share <= 100.0 => Some((place, *share)),
            _ => None,
        })
        .collect();
    let named: Vec<Column> = heading
        .into_iter()
        .flatten()
        .copied()
        .filter(|column| matches!(column, Column::Busy | Column::MemoryBusy | Column::Fan))
        .collect();
    if heading.is_some() {
        if named.len() != places.len() {
            return;
        }
        for ((_, share), column) in places.iter().zip(named) {
            let share = Reading::Known(Percent(*share));
            match column {
                Column::Busy => card.busy = share,
                Column::MemoryBusy => card.memory_busy = share,
                _ => card.fan = share,
            }
        }
        return;
    }
    // The tool's own table begins with the fan, right before the temperature, and ends with the utilization.
    let is_fan = |place: usize| matches!(values.get(place + 1), Some(Value::Temperature(_))) && place == 0;
    match places[..] {
        [(place, share)] if is_fan(place) => card.fan = Reading::Known(Percent(share)),
        [(_, share)] => card.busy = Reading::Known(Percent(share)),
        [(fan_at, fan), (_, busy)] if is_fan(fan_at) => {
            card.fan = Reading::Known(Percent(fan));
            card.busy = Reading::Known(Percent(busy));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::scene::Card;
    use gpuwhy_model::units::{Bytes, Percent, Watts};

    use super::read;
    use crate::paste::Paste;
    use crate::text::{Block, Context};

    fn block(text: &str) -> Option<Block> {
        read(&Paste::of(text).lines, &Context::default())
    }

    fn cards(text: &str) -> Vec<Card> {
        block(text).map(|block| block.scene.cards).unwrap_or_default()
    }

    fn busy(card: &Card) -> Option<f64> {
        card.busy.known().map(|busy| busy.last.0)
    }

    #[test]
    fn rows_with_a_heading_are_read() {
        let text = "GPU  Fan  Temp  Power      Memory             Util\n\
                    ---  ---  ----  -----      ------             ----\n\
                    0    30%  51°C  120W/300W  1024 MiB / 24 GB   97%\n\
                    1    31%  40 C  22 W       N/A                0 %\n\nmore";
        let block = block(text).unwrap();
        let [first, second] = block.scene.cards.as_slice() else { panic!("two cards") };
        assert_eq!((block.lines, busy(first), busy(second)), (4, Some(97.0), Some(0.0)));
        assert_eq!(first.memory.known().unwrap().total, Bytes(24 << 30));
        assert_eq!(
            (&first.fan, first.power_limits.enforced.known()),
            (&Reading::Known(Percent(30.0)), Some(&Watts(300.0)))
        );
        assert!(second.memory.is_not_in_source() && second.power_limits.enforced.is_not_in_source());
    }

    #[test]
    fn rows_without_a_heading_need_three_kinds_of_values() {
        let text = "0  P0  35W / 140W  100%\n1  P8  9W / 140W  0%\n";
        let cards = cards(text);
        assert_eq!(cards.iter().map(busy).collect::<Vec<_>>(), [Some(100.0), Some(0.0)]);
        assert_eq!(cards[0].performance_state, Reading::Known(0));
        let named = self::cards("GPU 3: NVIDIA L4 | 61C | 70W / 72W | 20 GiB / 23 GiB | 99%");
        assert_eq!((named[0].index, named[0].name.known().unwrap().as_str()), (3, "NVIDIA L4"));
    }

    #[test]
    fn what_is_not_sure_stays_unknown() {
        let fan = &cards("0  30%  45C  12W / 250W")[0];
        assert_eq!((busy(fan), &fan.fan), (None, &Reading::Known(Percent(30.0))));
        let two = &cards("0  45C  12W / 250W  10%  70%")[0];
        assert!(two.busy.is_not_in_source() && two.fan.is_not_in_source());
        let columns = &cards("GPU Temp Power Util\n0 45C 12W 10% 70%")[0];
        assert!(columns.busy.is_not_in_source());
    }

    #[test]
    fn other_rows_are_left_alone() {
        for text in [
            "0  1  0x744c,  41924  34.0°C  11.0W  N/A, N/A, 0  42Mhz  96Mhz  0%  auto  327.0W  4%  0%",
            "1 apple 5 C",
            "3: done 10% at 5 MB/s",
            "0 12% of 40 W are lost at 30 C",
            "GPU Temp Power Util\nhello",
            "",
        ] {
            assert!(block(text).is_none(), "{text}");
        }
    }
}
