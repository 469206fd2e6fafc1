//! The controller's errors. Each message says what happened, where, and what to do.

use std::path::PathBuf;

/// Why a command cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be run under control. The text says why and what to do.
    #[error("{0}")]
    Target(String),
    /// A trace or another file that the user named is unusable.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file, and what to do.
        what: String,
    },
    /// The request is invalid or cannot be met.
    #[error("{0}")]
    Usage(String),
    /// A predicate (`--when`), or a condition to watch (`--always`, `--never`), is invalid.
    #[error("{option}: {what} (at character {} of its text)", at + 1)]
    Predicate {
        /// The option that has it.
        option: &'static str,
        /// What is wrong, and what to write instead.
        what: String,
        /// The text as the user wrote it.
        text: String,
        /// The position in it, in characters.
        at: usize,
    },
    /// The trace names a program that the user neither named nor confirmed.
    #[error("{0}")]
    NotConfirmed(String),
    /// The runtime inside the target failed.
    #[error("{0}")]
    Runtime(String),
    /// Something outside of the program ended its processes at every attempt.
    #[error("{0}")]
    Disturbed(String),
    /// A system call failed.
    #[error("{what}: {source}{}", remedy(source))]
    System {
        /// The action that failed.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// The exit status for this error: 2 for wrong usage or an unusable file, 3 for a target that
    /// cannot be run or controlled.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::File { .. }
            | Error::NotConfirmed(_)
            | Error::Predicate { .. }
            | Error::Usage(_) => 2,
            Error::Target(_) | Error::Runtime(_) | Error::Disturbed(_) | Error::System { .. } => 3,
        }
    }

    /// Wraps an I/O error in an [`Error::System`].
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::System { what, source }
    }
}

/// What to do about a resource that has run out, each with its own remedy; empty for other errors.
pub(crate) fn remedy(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            "; there is no memory left: use fewer --workers or a smaller --max-memory, or raise the \
             limit (ulimit -v, or that of the control group)"
        }
        Some(libc::ENOSPC) => {
            "; the disk is full: free some space, or choose another directory (--out)"
        }
        Some(libc::EDQUOT) => {
            "; your disk quota is used up: free some space, or choose another directory (--out)"
        }
        Some(libc::EAGAIN) => {
            "; there are too many processes: use fewer --workers, or raise the limit (ulimit -u, or \
             that of the control group)"
        }
        Some(libc::EMFILE) => "; too many files are open: raise the limit (ulimit -n)",
        Some(libc::ENFILE) => {
            "; too many files are open on this machine: close other programs, or raise fs.file-max"
        }
        // What files refuse is EACCES.
        Some(libc::EPERM | libc::ENOSYS) => {
            "; the kernel or the container refuses it: `heddle doctor` says what Heddle needs"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_that_runs_out_has_its_own_remedy() {
        let all = [
            (
                libc::ENOMEM,
                "; there is no memory left: use fewer --workers or a smaller --max-memory, or raise the \
                 limit (ulimit -v, or that of the control group)",
            ),
            (
                libc::ENOSPC,
                "; the disk is full: free some space, or choose another directory (--out)",
            ),
            (
                libc::EDQUOT,
                "; your disk quota is used up: free some space, or choose another directory (--out)",
            ),
            (
                libc::EAGAIN,
                "; there are too many processes: use fewer --workers, or raise the limit (ulimit -u, \
                 or that of the control group)",
            ),
            (libc::EMFILE, "; too many files are open: raise the limit (ulimit -n)"),
            (
                libc::ENFILE,
                "; too many files are open on this machine: close other programs, or raise fs.file-max",
            ),
        ];
        for (number, remedy) in all {
            let source = std::io::Error::from_raw_os_error(number);
            let text = Error::system("cannot do it")(source).to_string();
            assert!(text.ends_with(remedy) && text.starts_with("cannot do it: "), "{text}");
        }
        let source = std::io::Error::from_raw_os_error(libc::EACCES);
        assert!(!Error::system("x")(source).to_string().contains(';'));
    }
}
