//! `heddle build` and `heddle header`.

use super::RUNTIME;
use crate::cli::{BuildArgs, HeaderArgs};
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::views::text::clean;

static C: &str = include_str!("../../../probes/include/heddle.h");
static RUST: &str = include_str!("../../../probes/include/heddle.rs");
/// The functions that code built so may call.
static NAMES: &str = include_str!("../../../probes/include/sanitizer.txt");

/// Runs a build command with compilers that tell of accesses to memory.
///
/// # Errors
/// Where there is no compiler, or the command cannot be started or fails.
pub fn main(args: &BuildArgs, console: &Console) -> Result<Status, Problem> {
    replay_core::runtime::install(RUNTIME)?;
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
        Some(how) => Err(Problem::Usage(format!("the build failed: {}", clean(&how)))),
    }
}

/// Prints the header for programs that tell Heddle something.
///
/// # Errors
/// Where standard output cannot be written.
pub fn header(args: &HeaderArgs, console: &Console) -> Result<Status, Problem> {
    console.print(if args.rust { RUST } else { C })?;
    Ok(Status::Fine)
}
