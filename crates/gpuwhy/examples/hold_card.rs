//! Holds memory of a card of an emulated box until its standard input ends. Tests look at it from outside.
//!
//! The first argument is the box; the others, and the environment, are what a test wants to see or not to see.

use std::error::Error;
use std::io::{self, Read as _, Write as _};

use gpuwhy_lab::board::BoxDirectory;
use gpuwhy_lab::client::Client;

const HELD: u64 = 4 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("which box?")?;
    let client = Client::attach(&BoxDirectory::new(directory), 0)?;
    client.allocate(HELD)?;
    // Whoever started us waits for this line.
    writeln!(io::stdout(), "held")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
