//! The commands: explore, run, replay.

use crate::{Error, Observer, Replayed, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use traces::Trace;
use traces::report::Report;

/// Searches for failing schedules until the options say stop or `interrupt` is set.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn explore(
    _target: &Target,
    _options: &SearchOptions,
    _interrupt: &AtomicBool,
    _observer: &mut dyn Observer,
) -> Result<Report, Error> {
    Err(Error::Runtime("not yet".into()))
}

/// One controlled execution, recorded.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn run(
    _target: &Target,
    _options: &SearchOptions,
    _interrupt: &AtomicBool,
    _observer: &mut dyn Observer,
) -> Result<Trace, Error> {
    Err(Error::Runtime("not yet".into()))
}

/// Runs a trace again `times` times, each verified step by step.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn replay(
    _trace: &Trace,
    _target: &Target,
    _times: u64,
    _interrupt: &AtomicBool,
    _observer: &mut dyn Observer,
) -> Result<Replayed, Error> {
    Err(Error::Runtime("not yet".into()))
}
