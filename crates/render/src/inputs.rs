//! Of which texts an answer was made, and what in them nobody knew.

use gpuwhy_model::input::{LineRange, Lines, TextRead};
use gpuwhy_model::text::{Arg, Text};

use crate::format_name::format_name;
use crate::terminal::spaced;
use crate::texts::input;
use crate::values::NO_BREAK;
use crate::words::Words;

/// So many texts are named one by one.
const TEXTS_MAX: usize = 5;
/// Of a longer name only the end is written.
const NAME_MAX: usize = 48;
/// So many ranges of lines are written out.
const RANGES_MAX: usize = 3;

/// Returns a line for each of the first few texts: what was recognised in it, and where.
pub(crate) fn read(inputs: &[TextRead], words: &Words<'_>) -> Vec<String> {
    let known: Vec<&TextRead> = inputs.iter().filter(|text| !text.formats.is_empty()).collect();
    let line = |text: &&TextRead| {
        let outputs = text.formats.iter().map(|format| {
            let name = format_name(&format.format, words);
            words.flowing(&input::output(Arg::Raw(name), lines(&format.lines, words)))
        });
        words.flowing(&input::outputs(short(&text.name), Arg::Raw(words.joined(outputs))))
    };
    few(known.len(), known.iter().map(line), words)
}

/// Returns a line for each of the first few texts with lines that nobody knew, and one for those without any that
/// somebody knew.
pub(crate) fn not_understood(inputs: &[TextRead], words: &Words<'_>) -> Vec<String> {
    let (known, foreign): (Vec<&TextRead>, Vec<&TextRead>) =
        inputs.iter().partition(|text| !text.formats.is_empty());
    let in_part: Vec<&TextRead> = known.into_iter().filter(|text| !text.not_understood.is_empty()).collect();
    let line = |text: &&TextRead| {
        let lines = Arg::Raw(words.flowing(&lines(&text.not_understood, words)));
        words.flowing(&input::outputs(short(&text.name), lines))
    };
    let mut all = few(in_part.len(), in_part.iter().map(line), words);
    if !foreign.is_empty() {
        let names: Vec<String> = foreign.iter().map(|text| short(&text.name)).collect();
        all.push(words.flowing(&input::nothing_known_in(inputs.len(), foreign.len(), names)));
    }
    all
}

/// Returns, in plain lines, which texts were read and what in them nobody knew.
pub fn input_lines(inputs: &[TextRead], words: &Words<'_>) -> Vec<String> {
    let groups =
        [(input::read(), read(inputs, words)), (input::not_understood(), not_understood(inputs, words))];
    let mut all = Vec::new();
    for (label, lines) in groups {
        let label = spaced(&words.sentence(&label));
        all.extend(lines.into_iter().map(|line| format!("{label}{line}").replace(NO_BREAK, " ")));
    }
    all
}

/// Returns a name that fits on a line beside other words: of a long path its end.
fn short(name: &str) -> String {
    let too_many = name.chars().count().saturating_sub(NAME_MAX);
    let Some((begin, _)) = name.char_indices().nth(too_many).filter(|_| too_many > 0) else {
        return name.to_owned();
    };
    let end = &name[begin..];
    // Whole folders are left out if that leaves something.
    let end = end.find('/').map_or(end, |slash| &end[slash..]);
    format!("\u{2026}{end}")
}

fn few(count: usize, lines: impl Iterator<Item = String>, words: &Words<'_>) -> Vec<String> {
    let mut few: Vec<String> = lines.take(TEXTS_MAX).collect();
    if count > TEXTS_MAX {
        few.push(words.flowing(&input::more_texts(count - TEXTS_MAX)));
    }
    few
}

fn lines(lines: &Lines, words: &Words<'_>) -> Text {
    let range = |range: &LineRange| {
        if range.first == range.last {
            range.first.to_string()
        } else {
            format!("{}-{}", range.first, range.last)
        }
    };
    let ranges = words.joined(lines.ranges.iter().take(RANGES_MAX).map(range));
    match lines.ranges.as_slice() {
        [only] if only.first == only.last => input::line(only.first),
        few if few.len() <= RANGES_MAX => input::lines(ranges),
        _ => input::lines_many(lines.count, ranges),
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::input::TextRead;
    use gpuwhy_model::text::{Catalogue, Language};

    use super::{not_understood, read, short};
    use crate::words::Words;

    fn text(name: &str, outputs: &[(&str, u64, u64)], unknown: &[(u64, u64)]) -> TextRead {
        let mut text = TextRead { name: name.to_owned(), ..TextRead::default() };
        for (format, first, last) in outputs {
            text.add_output(format, *first, *last);
        }
        for (first, last) in unknown {
            text.not_understood.add(*first, *last);
        }
        text
    }

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(short("bundle.tar.gz/var/log/kern.log"), "bundle.tar.gz/var/log/kern.log");
        assert_eq!(
            short("/a/very/long/way/to/a/folder/of/somebody/bundle.tar.gz/kern.log"),
            "\u{2026}/to/a/folder/of/somebody/bundle.tar.gz/kern.log"
        );
        assert_eq!(short(&"x".repeat(60)), format!("\u{2026}{}", "x".repeat(48)));
    }

    #[test]
    fn texts_are_named_with_what_was_known_in_them() {
        let catalogue = Catalogue::join(crate::TEXTS.iter().copied()).unwrap();
        let english = Words { catalogue: &catalogue, language: Language::English };
        let chinese = Words { catalogue: &catalogue, language: Language::SimplifiedChinese };
        let inputs = [
            text("a.txt", &[("free", 3, 5), ("kernel log", 9, 9)], &[(1, 2)]),
            text("b.txt", &[("free", 1, 3)], &[(5, 5), (7, 7), (9, 12), (14, 14)]),
            text("c.txt", &[], &[(1, 7)]),
        ];
        assert_eq!(
            read(&inputs, &english),
            ["a.txt: free (lines 3-5), kernel log (line 9)", "b.txt: free (lines 1-3)"]
        );
        assert_eq!(
            not_understood(&inputs, &english),
            [
                "a.txt: lines 1-2",
                "b.txt: 7 lines: 5, 7, 9-12, …",
                "nothing that gpuwhy knows in 1 of 3 texts: c.txt"
            ]
        );
        assert_eq!(read(&inputs, &chinese)[0], "a.txt：free（第 3-5 行）、内核日志（第 9 行）");
        let many = vec![inputs[1].clone(); 9];
        assert_eq!(read(&many, &english).last().unwrap(), "and 4 more");
        assert_eq!(not_understood(&many, &chinese).len(), 6);
        assert!(read(&[], &english).is_empty() && not_understood(&[], &english).is_empty());
    }
}
