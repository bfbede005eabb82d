//! What programs print, from text to answer: the first finding is the one that stands beside each text.

use std::fmt::Write as _;

use gpuwhy_diagnose::diagnose;
use gpuwhy_formats::text::understand;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::window::merge;

const TEXTS: &str = include_str!("program_texts.txt");

/// Returns the first cause by a text, with the class of an error of a program.
fn answer(text: &str) -> String {
    let parts = understand(text).pieces.into_iter().map(|piece| piece.scene);
    let verdict = diagnose(&merge(parts).scene, &Limits::default());
    let first = &verdict.findings[0];
    match first.detail.get("class") {
        Some(class) => format!("{} {class}", first.cause),
        None => first.cause.to_string(),
    }
}

#[test]
fn the_first_answer_is_the_cause() {
    let mut wrong = String::new();
    let mut number = 0;
    for section in format!("\n{TEXTS}").split("\n=== ").skip(1) {
        let Some((title, text)) = section.split_once('\n') else { continue };
        let Some((name, expected)) = title.split_once(": ") else { panic!("`{title}` names no cause") };
        number += 1;
        let found = answer(text);
        if found != expected.trim() {
            let _ = writeln!(wrong, "{name}: expected {expected}, found {found}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(number > 60, "{number}");
}

/// Cut anywhere, a text never becomes sure of another cause than those that its whole lines name.
#[test]
fn a_cut_text_is_never_sure_of_hardware() {
    for section in TEXTS.split("\n=== ").skip(1) {
        let (_, text) = section.split_once('\n').unwrap_or_default();
        let whole = answer(text);
        for length in (0..text.len()).step_by(37).filter(|length| text.is_char_boundary(*length)) {
            let cut = answer(&text[..length]);
            for hardware in ["ecc-uncorrectable", "nvlink-fault", "gpu-lost", "xid-hw-fault"] {
                assert!(
                    !cut.starts_with(hardware) || whole.starts_with(hardware),
                    "{cut}: {}",
                    &text[..length]
                );
            }
        }
    }
}
