//! `heddle build`.

use super::header::{C, RUST};
use super::runtime::embedded;
use crate::cli::arguments::BuildArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::text::clean;

/// The instrumentation functions that compilers may call.
static NAMES: &str = include_str!("../../../probes/include/sanitizer.txt");

/// Runs a build command with compilers that instrument memory accesses.
///
/// # Errors
/// If there is no compiler, or the command cannot be started or fails.
pub fn main(args: &BuildArgs, console: &Console) -> Result<Status, Problem> {
    replay_core::runtime::install(embedded())?;
    let names = NAMES.lines().filter(|line| !line.starts_with('#'));
    let names = names.filter_map(|line| line.split_once(' ')).filter(|(_, fate)| *fate != "absent");
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    let headers = [("heddle.h", C), ("heddle.rs", RUST)];
    let built = replay_core::build::build(&args.command, &headers, &names)?;
    for line in &built.lines {
        console.note(&format!("heddle: {}", clean(line)));
    }
    match built.failed {
        None => Ok(Status::Fine),
        Some(reason) => Err(Problem::Usage(format!("the build failed: {}", clean(&reason)))),
    }
}
