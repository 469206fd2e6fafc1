//! Runs other schedules for `heddle show --prospects`.

use super::trace_program::TraceProgram;
use crate::cli::arguments::ShowArgs;
use crate::console::Console;
use crate::exit::Problem;
use crate::interrupt;
use crate::progress::Line;
use replay_core::runner::{Forecast, Outlook};
use replay_core::shrink::runner_for;
use replay_core::store::Loaded;

/// Runs the schedules that may follow each step of a failing trace.
pub(super) fn forecast(
    args: &ShowArgs,
    loaded: &Loaded,
    console: &Console,
) -> Result<Forecast, Problem> {
    if loaded.trace.failure.is_none() {
        return Err(Problem::Usage(format!(
            "{}: --prospects is for failing traces, and this one passes; `heddle ui` shows what may \
             follow each of its steps",
            args.trace.display()
        )));
    }
    let program = TraceProgram { trace: &args.trace, yes: args.yes, command: &[] };
    let target = program.recorded(loaded, console)?;
    let walk = runner_for(target, &loaded.trace);
    let mut line = Line::new(console, false);
    let mut forecast = Forecast::default();
    let mut report = |outlook| {
        if let Outlook::After(after, _) = outlook {
            line.show(&format!("running the schedules after step {after}"));
        }
        forecast.add(outlook);
    };
    walk.forecast(&loaded.trace, &interrupt::flag(), &mut report)?;
    Ok(forecast)
}
