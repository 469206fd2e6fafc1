//! `heddle narrow`.

use super::progress::NarrowProgress;
use super::trace_program::TraceProgram;
use crate::cli::arguments::NarrowArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::narrow as report;
use crate::report::style::Style;
use replay_core::narrow::narrow;
use replay_core::shrink::Refused;
use replay_core::{Error, store};

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, does not fail, or cannot be reproduced; if the program has no debug
/// information.
pub fn main(args: &NarrowArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let trace_program = TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command };
    if loaded.trace.failure.is_none() {
        return Err(refused(args, "the trace does not fail: there is no cause to find"));
    }
    let target = trace_program.recorded(&loaded, console)?;
    let interrupted = interrupt::flag();
    let narrowed = {
        let mut line = NarrowProgress(Line::new(console, false));
        narrow(&target, &loaded.trace, &interrupted, &mut line)
    };
    let narrowed = narrowed.map_err(|why| match why {
        Refused::Core(Error::Usage(why)) => refused(args, &why),
        Refused::Core(error) => Problem::Core(error),
        Refused::NotReproduced(what) => refused(
            args,
            &format!(
                "the failure did not occur again ({what}): only a reproducible failure has a cause \
                 that can be checked"
            ),
        ),
        other => refused(args, &other.to_string()),
    })?;
    if args.json {
        console.print(&json(&report::object(&narrowed)))?;
        return Ok(Status::Fine);
    }
    let style = Style { ascii: args.ascii, ..console.style };
    console.print(&report::render(&narrowed, &loaded.trace, &style))?;
    Ok(Status::Fine)
}

fn refused(args: &NarrowArgs, why: &str) -> Problem {
    Problem::Usage(format!("{}: {why}", args.trace.display()))
}
