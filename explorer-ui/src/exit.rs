//! Exit statuses, and what ends a command early.

use std::process::ExitCode;

/// The exit status. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Clean, or incomplete; for the other verbs: done.
    Fine = 0,
    /// A bug was found, or reproduced. Wins over an interruption.
    Bug = 1,
    /// Wrong usage or a bad file.
    Usage = 2,
    /// The target cannot be run or controlled, or did not do the same again.
    Target = 3,
    /// Interrupted with nothing found.
    Interrupted = 4,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// What ends a command early.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The command line or `heddle.toml` asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// Something went wrong below.
    #[error(transparent)]
    Core(#[from] replay_core::Error),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Problem {
    /// The exit status that belongs to it.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Problem::Usage(_) => Status::Usage,
            Problem::Core(error) if error.exit_status() == 2 => Status::Usage,
            Problem::Core(_) | Problem::Output(_) => Status::Target,
        }
    }
}
