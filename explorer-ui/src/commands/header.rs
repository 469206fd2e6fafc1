//! `heddle header`.

use crate::cli::arguments::HeaderArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};

pub(super) static C: &str = include_str!("../../../probes/include/heddle.h");
pub(super) static RUST: &str = include_str!("../../../probes/include/heddle.rs");

/// Prints the header with the annotations for programs.
///
/// # Errors
/// If standard output cannot be written.
pub fn main(args: &HeaderArgs, console: &Console) -> Result<Status, Problem> {
    console.print(if args.rust { RUST } else { C })?;
    Ok(Status::Fine)
}
