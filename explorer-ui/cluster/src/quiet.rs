//! An observer that shows nothing.

use replay_core::{Observer, Progress};
use traces::Trace;
use traces::report::Bug;

/// See the module documentation.
pub(crate) struct Quiet;

impl Observer for Quiet {
    fn progress(&mut self, _: &Progress) {}

    fn bug(&mut self, _: &Bug, _: &Trace) {}

    fn note(&mut self, _: &str) {}
}
