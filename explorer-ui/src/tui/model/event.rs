//! Input to the update function.

use super::job::JobUpdate;
use super::message::Message;
use crate::tui::keys::key::Key;
use crate::walk::reply::Reply;
use replay_core::source::Source;
use std::sync::Arc;

/// Something that happened outside the model.
#[derive(Debug)]
pub enum Event {
    /// A key press.
    Key(Key),
    /// The left mouse button was pressed at column, row.
    Click(u16, u16),
    /// The mouse moved to column, row with the button pressed.
    Drag(u16, u16),
    /// The mouse button was released at column, row.
    Release(u16, u16),
    /// The mouse wheel turned at column, row, by this many notches; positive is down.
    Wheel(u16, u16, i32),
    /// Bracketed paste.
    Paste(String),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// A reply of the engine.
    Engine(Reply),
    /// A source file by path; none if it cannot be read.
    Source(String, Option<Arc<Source>>),
    /// An update of a background job.
    Job {
        /// The job's number. Updates of jobs that were superseded are dropped.
        number: u64,
        /// Progress or the result.
        update: JobUpdate,
    },
    /// The executable of the target changed on disk.
    Rebuilt,
    /// A message to show, from performing an effect.
    Message(Message),
}

impl Event {
    /// Whether the event came from the terminal.
    #[must_use]
    pub fn is_input(&self) -> bool {
        use Event::{Click, Drag, Key, Paste, Release, Resize, Wheel};
        matches!(
            self,
            Key(_) | Click(..) | Drag(..) | Release(..) | Wheel(..) | Paste(_) | Resize(..)
        )
    }
}
