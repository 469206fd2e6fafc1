//! A separate working directory for each execution of a program that changes files there.
//!
//! An execution that finds the files of an earlier one may behave differently: it refuses to overwrite
//! its output, or reads what it should write. So executions run in a copy of the working directory,
//! which is mounted in its place for the program alone, and what an execution changed there is restored
//! before the next one. Files elsewhere are shared by all executions.

mod copy;
mod mount;

use crate::Error;
use copy::{Original, View};
use mount::Mount;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use traces::wire::FilePolicy;

/// The directory for traces: no part of what the program works on.
const TRACES: &str = "heddle-out";

/// Which files the executions of a target see in its working directory. Copies of the value share one
/// state, so that all executions of a command agree.
#[derive(Debug, Clone)]
pub struct WorkingFiles(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    policy: FilePolicy,
    /// The files as the first execution that needed a copy found them.
    original: Option<Arc<Original>>,
    /// Why executions have no copies although one of them changes files.
    refused: Option<String>,
}

impl Default for WorkingFiles {
    fn default() -> WorkingFiles {
        WorkingFiles::new(FilePolicy::Shared)
    }
}

impl WorkingFiles {
    /// With this policy until an execution changes files.
    #[must_use]
    pub fn new(policy: FilePolicy) -> WorkingFiles {
        WorkingFiles(Arc::new(Mutex::new(State { policy, original: None, refused: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy for the next execution.
    #[must_use]
    pub fn policy(&self) -> FilePolicy {
        self.state().policy
    }

    /// Whether executions run in copies of the working directory.
    #[must_use]
    pub fn are_private(&self) -> bool {
        self.policy() == FilePolicy::Private
    }

    /// Why executions have no copies although one of them changes files.
    #[must_use]
    pub fn refused(&self) -> Option<String> {
        self.state().refused.clone()
    }

    /// An execution is about to change files in `directory`: from now on executions run in copies, or,
    /// if that is impossible, share the files.
    pub(crate) fn begin_to_change(&self, directory: &Path) {
        let mut state = self.state();
        if state.policy != FilePolicy::Hold {
            return;
        }
        let possible = mount::check().and_then(|()| Original::of(directory, TRACES));
        state.policy = match possible {
            Ok(original) => {
                state.original = Some(Arc::new(original));
                FilePolicy::Private
            }
            Err(why) => {
                state.refused = Some(why);
                FilePolicy::Unrestored
            }
        };
    }

    /// The files of one process, if executions run in copies of `directory`.
    ///
    /// # Errors
    /// If the directory cannot be copied, or the copy not mounted.
    pub(crate) fn of_process(&self, directory: &Path) -> Result<Option<OwnFiles>, Error> {
        let mut state = self.state();
        if state.policy != FilePolicy::Private {
            return Ok(None);
        }
        let failed = |why: String| {
            let directory = directory.display();
            Error::Target(format!(
                "{directory}: the program cannot have a copy of its working directory: {why}; without \
                 one (--scratch=never) executions see the files of earlier ones"
            ))
        };
        let original = match &state.original {
            Some(original) => original.clone(),
            None => {
                mount::check().map_err(failed)?;
                let original = Arc::new(Original::of(directory, TRACES).map_err(failed)?);
                state.original = Some(original.clone());
                original
            }
        };
        let view = View::of(original).map_err(failed)?;
        let mount = Mount::new(view.path(), directory).map_err(failed)?;
        Ok(Some(OwnFiles { view, mount }))
    }
}

/// The files of one process, in place of its working directory.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    view: View,
    pub(super) mount: Mount,
}

impl OwnFiles {
    /// Restores what executions changed.
    ///
    /// # Errors
    /// If a file cannot be restored.
    pub(crate) fn restore(&mut self) -> Result<(), Error> {
        self.view.restore().map_err(|why| {
            Error::Runtime(format!(
                "the files that an execution changed in its copy of the working directory cannot be \
                 restored: {why}"
            ))
        })
    }
}
