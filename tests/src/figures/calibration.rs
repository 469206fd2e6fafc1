//! The speed of this machine, by a walk over fibers that has nothing of Heddle (`fibers.c`).

use crate::debugging::compiled_text;
use crate::heddle::{Home, run};
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = include_str!("fibers.c");

/// The row of the table with the measured walk.
pub const ROW: &str = "a walk over 3 fibers";
/// Its column.
pub const COLUMN: &str = "µs";

/// What the walk takes on the machine to which rates refer, a 2.8 GHz Xeon, in microseconds. There
/// the prototype of this project, a preloaded library without a strategy or a record, takes 3.3 µs
/// for two threads with five locked increments each; one run of both on another machine gave 2.25
/// and 1.135 µs.
pub const REFERENCE: f64 = 3.3 * 1.135 / 2.25;

/// The least time of a walk in microseconds.
///
/// # Panics
/// If the program does not compile or run.
#[must_use]
pub fn walk() -> f64 {
    let home = Home::new();
    let program = compiled_text(&home, "fibers", PROGRAM, &["-O2"]);
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run(command, Duration::from_secs(60));
    run.stdout.trim().parse().unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// The table that examples with rates print.
#[must_use]
pub fn table(walk: f64) -> String {
    format!("| calibration | {COLUMN} |\n| --- | --: |\n| {ROW} | {walk:.3} |\n")
}
