//! How a walk gets its first schedule.

use replay_core::runner::Runner;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use traces::Trace;

/// A schedule, and how to run its program.
#[derive(Debug)]
pub struct Opened {
    /// The schedule.
    pub trace: Trace,
    /// How to run the program, or why it cannot be run.
    pub runner: Result<Runner, String>,
    /// The file that the trace was read from.
    pub path: Option<PathBuf>,
}

/// A program to run once, without preemptions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramRequest {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The directory in which it runs; none for the present one.
    pub directory: Option<PathBuf>,
    /// The scheduling points, by name; none for the usual ones.
    pub points: Option<String>,
    /// The most steps of one execution; none for the usual limit.
    pub max_steps: Option<u64>,
}

/// Opens traces and programs.
pub trait Opener: Sync {
    /// Reads a trace. `command` replaces its program, unless it is empty.
    ///
    /// # Errors
    /// If the trace cannot be read; the text says why and what to do.
    fn trace(&self, path: PathBuf, command: &[OsString]) -> Result<Opened, String>;

    /// Learns the scheduling points of a program and runs it once without preemptions. Reports what
    /// it does to `tell`; ends early if `cancelled` is set.
    ///
    /// # Errors
    /// If the program cannot be run; the text says why and what to do.
    fn program(
        &self,
        request: &ProgramRequest,
        cancelled: &AtomicBool,
        tell: &dyn Fn(&str),
    ) -> Result<Opened, String>;
}
