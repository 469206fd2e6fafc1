//! What the update function asks the event loop to do.

use super::job::Job;
use crate::walk::inspection::InspectionRequest;
use crate::walk::loaded_trace::LoadedTrace;
use replay_core::reverse::WishedOrder;
use replay_core::runner::SearchFrom;
use std::sync::Arc;
use traces::{Choice, TaskId};

/// A side effect to perform outside the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run the target with these choices, then show the execution at this step.
    Run {
        /// The choices the execution starts with; default choices follow.
        choices: Vec<Choice>,
        /// The step to select.
        cursor: usize,
    },
    /// Run schedules until one has these orders, of which the displayed one lacks the last.
    Reverse(Vec<WishedOrder>),
    /// Shrink the displayed schedule.
    Shrink,
    /// Explain why the displayed schedule fails.
    Explain,
    /// Check the verdict on a failing schedule, in the background.
    Check(Arc<LoadedTrace>),
    /// Look ahead from a step: explore what follows if each of these tasks runs next.
    LookAhead {
        /// The cursor position the request is for. Replies for earlier positions are dropped.
        generation: u64,
        /// The schedule.
        loaded: Arc<LoadedTrace>,
        /// The step.
        step: usize,
        /// The enabled tasks.
        moves: Vec<TaskId>,
    },
    /// Stop the look-ahead, which is from another step.
    CancelLookAhead,
    /// Start a background job.
    StartJob {
        /// The job's number. Updates of other jobs are dropped.
        number: u64,
        /// The job.
        job: Job,
    },
    /// Start a search.
    Search {
        /// The search's number. Updates of other searches are dropped.
        number: u64,
        /// Strategy, bound and starting position.
        order: SearchFrom,
    },
    /// Stop the search.
    StopSearch,
    /// Cancel the running request and the background job.
    Cancel,
    /// Open a debugger at this step of the displayed schedule.
    Debug(usize, DebuggerKind),
    /// Read stacks and expressions of the target at a step of the displayed schedule.
    Inspect(InspectionRequest),
    /// Read a source file.
    Source(String),
    /// Write the displayed schedule to a trace file.
    Save,
    /// Copy text to the clipboard.
    Copy(String),
    /// Write the notes to the file beside the trace.
    WriteNotes,
    /// Turn the terminal's mouse reporting on or off.
    Mouse(bool),
    /// The target was rebuilt: fit this schedule to the new build.
    Reload(Arc<LoadedTrace>),
    /// Redraw the whole screen.
    Redraw,
    /// Write the screen to files.
    SaveScreen,
    /// Start or stop recording the screen.
    Record,
    /// Suspend this process, as the shell's job control does.
    Suspend,
}

/// The debugger to open, and the part of the screen for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebuggerKind {
    /// gdb on the whole screen.
    Gdb,
    /// lldb on the whole screen.
    Lldb,
    /// gdb in a new tmux pane.
    Split,
}
