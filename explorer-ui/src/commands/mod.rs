//! The verbs. Each calls `replay_core` and prints; what things look like is in [`crate::views`].

pub mod bisect;
pub mod build;
mod chosen;
pub mod config;
mod confirm;
pub mod demo;
pub mod diff;
pub mod doctor;
mod environment;
pub mod explain;
pub mod explore;
pub mod export;
pub mod gdb;
pub mod replay;
pub mod run;
pub mod shell;
pub mod show;
pub mod shrink;
pub mod ui;

use crate::console::Console;
use crate::exit::Problem;
use replay_core::Target;
use std::ffi::OsString;
use traces::report::{Points, Report, Verdict};

/// The library that runs inside targets, built along with this program.
static RUNTIME: &[u8] = include_bytes!(env!("HEDDLE_RUNTIME"));

/// Puts the runtime in place and checks the program that stands after `--`.
///
/// # Errors
/// Where there is no program, it cannot be run under control, or the runtime cannot be written.
pub fn target(command: &[OsString]) -> Result<Target, Problem> {
    let (program, args) = command
        .split_first()
        .ok_or_else(|| Problem::Usage("no program: write it after `--`".into()))?;
    replay_core::runtime::install(RUNTIME)?;
    Ok(Target::new(program, args.to_vec())?)
}

/// A program reads nothing on its standard input: every execution is to find the same. Whoever gave
/// Heddle a file there is told.
fn warn_of_input(console: &Console) {
    if std::fs::metadata("/dev/stdin").is_ok_and(|file| file.is_file()) {
        console.note(
            "note: the program finds its standard input empty, not the file that Heddle was given \
             there: name the file among the program's arguments",
        );
    }
}

/// A report of nothing but a verdict, to be filled in.
pub(crate) fn empty_report(verdict: Verdict, strategy: &str, reason: String) -> Report {
    Report {
        heddle: 1,
        verdict,
        memory_model: "sc".to_owned(),
        strategy: strategy.to_owned(),
        found_by: None,
        bound: Some(-1),
        complete: false,
        executions: 0,
        learning: 0,
        checks: 0,
        distinct: 0,
        diverged: 0,
        elapsed_s: 0.0,
        executions_per_s: 0,
        workers: 1,
        reset: "exec".to_owned(),
        points: Points::default(),
        threads: 0,
        max_steps: 0,
        races: Vec::new(),
        race_details: Vec::new(),
        suppressed: Vec::new(),
        conflicts: Vec::new(),
        store_buffers: Vec::new(),
        leaks: Vec::new(),
        left_held: Vec::new(),
        bugs: Vec::new(),
        notes: Vec::new(),
        reason,
    }
}

/// One JSON object on one line.
fn json(value: &impl serde::Serialize) -> String {
    // Only maps with keys that are no text can fail, and no type here has one.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}
