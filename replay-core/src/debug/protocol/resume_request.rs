//! How the debugger wants the program to continue.

use std::ops::Range;

/// The debugger's request for resumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResumeRequest {
    Forwards(Forwards),
    /// A task steps backwards.
    StepBack(u16),
    ContinueBack,
}

/// The actions for the threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Forwards {
    /// The thread that steps, as long as it stays in the range.
    pub(super) step: Option<(u16, Range<u64>)>,
    /// Another thread continues.
    pub(super) continued: bool,
    /// All threads without an action must not run.
    pub(super) locked: bool,
}

impl Forwards {
    /// Whether a single thread may run.
    pub(super) fn is_alone(&self) -> bool {
        self.step.is_some() && self.locked && !self.continued
    }
}
