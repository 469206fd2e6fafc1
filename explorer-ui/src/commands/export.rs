//! `heddle export`.

use crate::cli::arguments::ExportArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::export;
use replay_core::store;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, or the file cannot be written.
pub fn main(args: &ExportArgs, console: &Console) -> Result<Status, Problem> {
    let trace = store::load(&args.trace)?.trace;
    let text = export::render(&trace, args.format);
    match &args.output {
        None => console.print(&text)?,
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Problem::Usage(format!("cannot write {}: {error}", path.display())))?,
    }
    Ok(Status::Fine)
}
