#![no_main]

#[path = "../../crates/formats/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|input: &[u8]| entries::read("any_text", input));
