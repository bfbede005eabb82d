//! `lab list`

use std::io::Write;

use gpuwhy_lab::place::journal;
use gpuwhy_lab::place::keeper::{Status, read_json};

/// Prints one line per box: where it is, whether it runs, what it is called, who lives in it.
pub(super) fn run() -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    for directory in journal::known_boxes() {
        let state = if journal::is_kept(&directory) { "up" } else { "abandoned" };
        let path = directory.path().display();
        match read_json::<Status>(&directory.status()) {
            Ok(status) => {
                let members: Vec<&str> = status.members.keys().map(String::as_str).collect();
                writeln!(output, "{path}\t{state}\t{}\t{}", status.name, members.join(" "))?;
            }
            Err(_) => writeln!(output, "{path}\t{state}")?,
        }
    }
    Ok(())
}
