//! `lab`: brings emulated GPU boxes up, runs programs in them, takes them down.
//!
//! Members of a box run this same binary under other names; their environment says what they do. So do the programs
//! that stand in for the driver's.

mod command;

use std::process::ExitCode;

use gpuwhy_lab::{stand_in, workloads};

fn main() -> ExitCode {
    if let Some(code) = stand_in::answer() {
        return code;
    }
    match workloads::play_part() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => return command::fail(&error.into()),
    }
    command::run()
}
