//! What can go wrong outside the program, each with what to do about it.

use std::path::PathBuf;

/// Everything that keeps a command from doing its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be run under control; the text says why and what to do.
    #[error("{0}")]
    Target(String),
    /// A trace or another file that the user named is no good.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// Something was asked for that makes no sense, or cannot be had.
    #[error("{0}")]
    Usage(String),
    /// The program of a trace was neither named nor confirmed by the user.
    #[error("{0}")]
    NotConfirmed(String),
    /// The runtime inside the target could not do its work.
    #[error("{0}")]
    Runtime(String),
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// The exit status that belongs to it: 2 for wrong usage or a bad file, 3 for a target that
    /// cannot be run or controlled.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::File { .. } | Error::NotConfirmed(_) | Error::Usage(_) => 2,
            Error::Target(_) | Error::Runtime(_) | Error::System { .. } => 3,
        }
    }

    /// An [`Error::System`] from an I/O error.
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::System { what, source }
    }
}
