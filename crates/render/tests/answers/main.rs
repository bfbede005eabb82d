//! What people and programs read, for verdicts of many kinds, in both languages, narrow and wide.

mod verdicts;

use gpuwhy_model::text::{Catalogue, Language, TextFile};
use gpuwhy_render::{Layout, Words, html, json_text, markdown, report, text};

/// The texts of the verdicts; in the product they come from the rules.
const CASE_TEXTS: [TextFile; 2] = [
    TextFile { prefix: "case", language: Language::English, toml: include_str!("words.en.toml") },
    TextFile {
        prefix: "case",
        language: Language::SimplifiedChinese,
        toml: include_str!("words.zh-CN.toml"),
    },
];

fn catalogue() -> Catalogue {
    Catalogue::join(gpuwhy_render::TEXTS.iter().copied().chain(CASE_TEXTS))
        .expect("the words of both languages fit")
}

fn layout(width: usize) -> Layout {
    Layout { width, colour: false }
}

#[test]
fn answers_read_as_recorded() {
    let catalogue = catalogue();
    for (name, verdict) in verdicts::all() {
        for language in Language::ALL {
            let words = Words { catalogue: &catalogue, language: *language };
            for width in [80, 160] {
                let shown = text(&verdict, &words, &layout(width));
                insta::assert_snapshot!(format!("{name}.{}.{width}", language.tag()), shown);
            }
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_character_steers_it() {
    let catalogue = catalogue();
    for (name, verdict) in verdicts::all() {
        for language in Language::ALL {
            let words = Words { catalogue: &catalogue, language: *language };
            for width in [20, 80, 81, 97, 160] {
                for line in text(&verdict, &words, &layout(width)).lines() {
                    let columns = unicode_width::UnicodeWidthStr::width(line);
                    assert!(columns <= width.max(80), "{name} {width}: {columns} columns in `{line}`");
                    assert!(!line.chars().any(char::is_control), "{name}: `{line:?}`");
                    assert!(!line.ends_with(' '), "{name}: `{line}`");
                    assert!(!line.contains('\u{202e}'), "{name}: `{line:?}`");
                }
            }
        }
    }
}

#[test]
fn colour_changes_no_word() {
    let catalogue = catalogue();
    let words = Words { catalogue: &catalogue, language: Language::English };
    for (name, verdict) in verdicts::all() {
        let plain = text(&verdict, &words, &layout(80));
        let coloured = text(&verdict, &words, &Layout { width: 80, colour: true });
        assert!(coloured.contains("\u{1b}["), "{name}");
        assert_eq!(without_colour(&coloured), plain, "{name}");
    }
}

/// Returns the text without the escape codes that set colours.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').expect("a colour code ends in m").1);
    }
    plain
}

#[test]
fn reports_follow_the_contract() {
    let catalogue = catalogue();
    for (name, verdict) in verdicts::all() {
        for language in Language::ALL {
            let words = Words { catalogue: &catalogue, language: *language };
            let report = report(&verdict, &words);
            let json = json_text(&report).unwrap();
            assert!(!json.contains('\u{202e}') && !json.contains('\u{9b}'), "{name}");
            let read: gpuwhy_model::report::Report = serde_json::from_str(&json).unwrap();
            assert_eq!(read, report, "{name}: escaping changed the data");
        }
    }
}

#[test]
fn a_report_reads_as_recorded() {
    let catalogue = catalogue();
    let (_, verdict) = verdicts::all().swap_remove(0);
    for language in Language::ALL {
        let words = Words { catalogue: &catalogue, language: *language };
        insta::assert_snapshot!(
            format!("report.{}", language.tag()),
            json_text(&report(&verdict, &words)).unwrap()
        );
    }
}

#[test]
fn tickets_read_as_recorded() {
    let catalogue = catalogue();
    for (name, verdict) in verdicts::all() {
        if !["four_cards", "text_input", "hostile_names"].contains(&name) {
            continue;
        }
        for language in Language::ALL {
            let words = Words { catalogue: &catalogue, language: *language };
            let tag = language.tag();
            insta::assert_snapshot!(format!("ticket.{name}.{tag}.md"), markdown(&verdict, &words));
        }
        let words = Words { catalogue: &catalogue, language: Language::English };
        insta::assert_snapshot!(format!("ticket.{name}.html"), html(&verdict, &words));
    }
}

#[test]
fn no_ticket_holds_foreign_markup_or_what_only_a_terminal_needs() {
    let catalogue = catalogue();
    for (name, verdict) in verdicts::all() {
        for language in Language::ALL {
            let words = Words { catalogue: &catalogue, language: *language };
            for ticket in [markdown(&verdict, &words), html(&verdict, &words)] {
                assert!(!ticket.contains(['\u{a0}', '\u{202e}', '\u{1b}']), "{name}: {ticket}");
                assert!(!ticket.contains("  "), "{name}: {ticket}");
                assert!(ticket.contains(verdict.findings[0].cause.id()), "{name}: {ticket}");
            }
        }
    }
}
