//! Exit statuses, and the errors that end a command.

use std::process::ExitCode;

/// The exit status. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No failure was found (the search may be incomplete); other verbs: success.
    Fine = 0,
    /// A failure was found or reproduced, or occurred once and could not be repeated. Takes precedence
    /// over an interruption.
    Bug = 1,
    /// Wrong usage or a bad file.
    Usage = 2,
    /// The target cannot be run or controlled, or its replay diverged.
    Target = 3,
    /// Interrupted with no failure found.
    Interrupted = 4,
    /// A predicate (`--when`) was satisfied, and no failure was found.
    Satisfied = 5,
    /// `heddle runner`: a test failed, as Rust's harness reports it.
    TestFailed = 101,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The command line or `heddle.toml` is invalid.
    #[error("{0}")]
    Usage(String),
    /// An error of `replay_core`.
    #[error(transparent)]
    Core(#[from] replay_core::Error),
    /// Writing to standard output failed.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Problem {
    /// The exit status of this error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Problem::Usage(_) => Status::Usage,
            Problem::Core(error) if error.exit_status() == 2 => Status::Usage,
            Problem::Core(_) | Problem::Output(_) => Status::Target,
        }
    }
}
