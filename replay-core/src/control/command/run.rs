//! Runs and records one execution, for `heddle run`.

use super::backtraces::print_backtraces;
use super::execution::{Outcome, first_of};
use super::reduced_environment::reduce_environment;
use crate::{Error, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use traces::Trace;

/// Runs the strategy's first execution under control and records it.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn run(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Trace, Error> {
    match first_of(target, options, interrupt)? {
        Outcome::Recorded(mut trace) => {
            // Each is another execution, for readers of the trace. One without names has none.
            if options.names || trace.failure.is_some() {
                reduce_environment(&mut trace, target, options, interrupt);
                print_backtraces(&mut trace, target, interrupt);
            }
            Ok(*trace)
        }
        Outcome::Diverged { what, .. } => Err(Error::Runtime(what)),
        Outcome::Died { how, .. } => Err(Error::Runtime(format!(
            "{} died without a message: {how}",
            target.program.display()
        ))),
        Outcome::Interrupted => Err(Error::Runtime("interrupted".into())),
    }
}
