//! `heddle export`.

use super::budget::budget;
use crate::cli::arguments::ExportArgs;
use crate::exit::{Problem, Status};
use crate::export;
use replay_core::store;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, or the file cannot be written.
pub fn main(args: &ExportArgs) -> Result<Status, Problem> {
    let _budget = budget(args.limits, &args.trace, "");
    let trace = store::load(&args.trace)?.trace;
    let Some(path) = &args.output else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        export::write(&trace, args.format, &mut out)?;
        out.flush()?;
        return Ok(Status::Fine);
    };
    let write = |path: &Path| {
        let mut out = BufWriter::new(File::create(path)?);
        export::write(&trace, args.format, &mut out)?;
        out.flush()
    };
    write(path)
        .map_err(|error| Problem::Usage(format!("cannot write {}: {error}", path.display())))?;
    Ok(Status::Fine)
}
