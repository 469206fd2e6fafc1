//! `heddle export`.

use super::budget::budget;
use super::output_path::sibling_path;
use crate::cli::arguments::ExportArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::export;
use crate::report::text::clean;
use replay_core::store;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use traces::redaction::redact_trace;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, or the file cannot be written.
pub fn main(args: &ExportArgs, console: &Console) -> Result<Status, Problem> {
    let _budget = budget(args.limits, &args.trace, "");
    let mut trace = store::load(&args.trace)?.trace;
    let Some(format) = args.format else {
        redact_trace(&mut trace);
        let path = args.output.clone().unwrap_or_else(|| sibling_path(&args.trace, "redacted"));
        store::save_new(&trace, &path)?;
        console.print(&format!("{}\n", clean(&path.display().to_string())))?;
        console.note(
            "heddle: the trace still contains paths, arguments and output of the program; look at \
             it with `heddle show --output` before you hand it on",
        );
        return Ok(Status::Fine);
    };
    let Some(path) = &args.output else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        export::write(&trace, format, &mut out)?;
        out.flush()?;
        return Ok(Status::Fine);
    };
    let write = |path: &Path| {
        let mut out = BufWriter::new(File::create(path)?);
        export::write(&trace, format, &mut out)?;
        out.flush()
    };
    write(path)
        .map_err(|error| Problem::Usage(format!("cannot write {}: {error}", path.display())))?;
    Ok(Status::Fine)
}
