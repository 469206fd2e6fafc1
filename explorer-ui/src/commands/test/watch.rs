//! `--watch`: the tests again, whenever what they are built from changes.

use super::{Request, round};
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::text::clean;
use crate::suites::Program;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Searches the tests of `programs`, and then those of `rebuild` after each change that `wait` returns,
/// until it returns none. A program that cannot be built, or has no tests, is reported, and the next change
/// is waited for.
///
/// # Errors
/// If the first round cannot be run.
pub(in crate::commands) fn run(
    request: &Request,
    programs: Vec<Program>,
    rebuild: &mut dyn FnMut() -> Result<Vec<Program>, Problem>,
    wait: &mut dyn FnMut() -> Option<PathBuf>,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Status, Problem> {
    let (mut status, mut failed) =
        round(request, programs, &BTreeSet::new(), interrupted, console)?;
    loop {
        console.note("heddle: waiting for changes; press Ctrl-C to stop");
        let Some(changed) = wait() else { return Ok(status) };
        console.note(&format!("heddle: {} changed", clean(&changed.display().to_string())));
        let again = rebuild().and_then(|now| round(request, now, &failed, interrupted, console));
        match again {
            Ok(ended) => (status, failed) = ended,
            Err(problem) => console.error(&problem.to_string()),
        }
    }
}
