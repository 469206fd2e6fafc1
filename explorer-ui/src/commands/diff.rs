//! `heddle diff`.

use super::budget::budget;
use crate::cli::arguments::DiffArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::diff;
use crate::report::style::Style;
use replay_core::store;

/// Runs the verb.
///
/// # Errors
/// If a trace is invalid, or the traces are of different programs.
pub fn main(args: &DiffArgs, console: &Console) -> Result<Status, Problem> {
    let _budget = budget(args.limits, &args.first, "");
    let first = store::load(&args.first)?.trace;
    let mut second = store::load(&args.second)?.trace;
    if first.header.build_id != second.header.build_id {
        return Err(Problem::Usage(format!(
            "the traces are of different programs, or of different builds of a program: {} is of {}, \
             {} of {}; record one of them again",
            args.first.display(),
            first.header.program,
            args.second.display(),
            second.header.program
        )));
    }
    second.execution.call_like(&first.execution);
    let style = Style { ascii: args.ascii, ..console.style };
    console.print(&diff::render(&first, &second, args.context, &style, console.width))?;
    Ok(Status::Fine)
}
