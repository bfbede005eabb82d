//! How values are written: bytes, times, shares, counts, lists.

use gpuwhy_model::text::{Arg, Text};

use crate::texts::value;

/// Longest list that is written out.
const LIST_SHOWN_MAX: usize = 8;

/// A space inside a value at which no line may break.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// A written value: either final characters, or a text of the catalogue to be worded in turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Written {
    /// The characters themselves; our own spaces are [`NO_BREAK`].
    Plain(String),
    /// Raw data from outside.
    Raw(String),
    /// A text whose spaces do not break.
    Unit(Text),
    /// A text whose spaces may break.
    Text(Text),
    /// Several raw data, and how many there are in all if not each is written.
    List(Vec<String>, Option<usize>),
}

/// Writes a value; the language comes in where a text is named.
pub(crate) fn written(arg: &Arg) -> Written {
    match arg {
        Arg::Count(count) => Written::Plain(count.to_string()),
        Arg::Bytes(bytes) => {
            let (number, unit) = binary_unit(*bytes as f64);
            Written::Unit(value::bytes(number, unit))
        }
        Arg::BytesPerSecond(bytes) => {
            let (number, unit) = binary_unit(*bytes);
            Written::Unit(value::bytes_per_second(number, unit))
        }
        Arg::Seconds(seconds) => Written::Unit(duration(*seconds)),
        Arg::Percent(percent) => Written::Unit(value::percent(short_number(*percent))),
        Arg::Watts(watts) => Written::Unit(value::watts(short_number(*watts))),
        Arg::Celsius(celsius) => Written::Unit(value::celsius(short_number(*celsius))),
        Arg::Megahertz(megahertz) => Written::Unit(value::megahertz(format!("{megahertz:.0}"))),
        Arg::Cores(number) | Arg::Number(number) => Written::Plain(one_decimal(*number)),
        Arg::Raw(raw) => Written::Raw(raw.clone()),
        Arg::List(list) if list.len() > LIST_SHOWN_MAX => {
            Written::List(list[..LIST_SHOWN_MAX].to_vec(), Some(list.len()))
        }
        Arg::List(list) => Written::List(list.clone(), None),
        Arg::Text(text) => Written::Text(Text::clone(text)),
    }
}

/// Returns a number of bytes in the largest binary unit in which it is at least 1.
fn binary_unit(bytes: f64) -> (String, &'static str) {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut number = bytes;
    let mut unit = 0;
    // 1023.96 would be written as 1024.0.
    while number >= 1023.95 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    let number = if unit == 0 { format!("{number:.0}") } else { trimmed(number, 1) };
    (number, UNITS[unit])
}

/// Returns a length of time in at most two units, rounded down: what is "at least" stays true.
fn duration(seconds: f64) -> Text {
    if seconds < 1.0 {
        let milliseconds = (seconds * 1000.0).max(0.0);
        if milliseconds == 0.0 {
            return value::seconds("0");
        }
        return value::milliseconds(format!("{milliseconds:.0}"));
    }
    if seconds < 10.0 {
        return value::seconds(trimmed((seconds * 10.0).floor() / 10.0, 1));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; a cast saturates")]
    let whole = seconds as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400);
    match () {
        () if whole < 120 => value::seconds(whole),
        () if minutes < 120 => value::minutes(minutes),
        () if hours < 48 && minutes % 60 == 0 => value::hours(hours),
        () if hours < 48 => value::hours_minutes(hours, minutes % 60),
        () if hours % 24 == 0 => value::days(days),
        () => value::days_hours(days, hours % 24),
    }
}

/// Returns a number with one decimal below 10, without decimals from there on; a decimal of 0 is left out.
fn short_number(number: f64) -> String {
    trimmed(number, usize::from(number.abs() < 9.95))
}

/// Returns a number with one decimal.
fn one_decimal(number: f64) -> String {
    trimmed(number, 1)
}

/// Returns a number with this many decimals, without zeros at its end.
fn trimmed(number: f64, decimals: usize) -> String {
    let written = format!("{number:.decimals$}");
    let written = match written.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|byte| byte == b'0') => whole,
        _ => &written,
    };
    // A small negative number rounds to `-0`.
    if written == "-0" { "0".to_owned() } else { written.to_owned() }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::text::{Arg, Catalogue, Language, Text};

    use crate::words::Words;

    fn both(arg: Arg) -> (String, String) {
        let catalogue = Catalogue::join(crate::TEXTS.iter().copied()).unwrap();
        let text = Text::plain("answer.unit").with("name", arg);
        let word = |language| Words { catalogue: &catalogue, language }.sentence(&text);
        (word(Language::English), word(Language::SimplifiedChinese))
    }

    #[test]
    fn values_are_written_for_people() {
        for (arg, english, chinese) in [
            (Arg::Bytes(33_500_954_624), "31.2 GiB", "31.2 GiB"),
            (Arg::Bytes(512 << 20), "512 MiB", "512 MiB"),
            (Arg::Bytes(1), "1 B", "1 B"),
            (Arg::Bytes((1 << 30) - 1), "1 GiB", "1 GiB"),
            (Arg::BytesPerSecond(4_194_304.0), "4 MiB/s", "4 MiB/s"),
            (Arg::Seconds(0.0), "0 s", "0 秒"),
            (Arg::Seconds(0.25), "250 ms", "250 毫秒"),
            (Arg::Seconds(5.0), "5 s", "5 秒"),
            (Arg::Seconds(4.98), "4.9 s", "4.9 秒"),
            (Arg::Seconds(2400.0), "40 min", "40 分钟"),
            (Arg::Seconds(11_400.0), "3 h 10 min", "3 小时 10 分"),
            (Arg::Seconds(86_400.0), "24 h", "24 小时"),
            (Arg::Seconds(187_300.0), "2 d 4 h", "2 天 4 小时"),
            (Arg::Percent(31.2), "31 %", "31%"),
            (Arg::Percent(0.4), "0.4 %", "0.4%"),
            (Arg::Percent(100.0), "100 %", "100%"),
            (Arg::Watts(245.3), "245 W", "245 W"),
            (Arg::Celsius(65.0), "65 °C", "65 °C"),
            (Arg::Megahertz(1409.6), "1410 MHz", "1410 MHz"),
            (Arg::Number(2.5), "2.5", "2.5"),
            (Arg::Cores(0.42), "0.4", "0.4"),
            (Arg::Cores(16.0), "16", "16"),
            (Arg::Count(12), "12", "12"),
            (Arg::List(vec!["1".into(), "2".into()]), "1, 2", "1、2"),
        ] {
            assert_eq!(both(arg), (english.to_owned(), chinese.to_owned()));
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let list = (0..20).map(|number| number.to_string()).collect();
        let (english, chinese) = both(Arg::List(list));
        assert_eq!(english, "0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)");
        assert_eq!(chinese, "0、1、2、3、4、5、6、7 等共 20 个");
    }
}
