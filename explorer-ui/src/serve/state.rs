//! What a client has opened.

use crate::walk::opening::{Opened, Opener};
use crate::walk::session::{Refusal, Session};
use std::path::PathBuf;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory that traces are written to.
    pub out: PathBuf,
    /// The number of processes that search in parallel.
    pub workers: u32,
}

/// What one client has opened.
pub(super) struct State<'a> {
    pub(super) opener: &'a dyn Opener,
    pub(super) settings: &'a Settings,
    session: Option<Session>,
}

impl<'a> State<'a> {
    pub(super) fn new(opener: &'a dyn Opener, settings: &'a Settings) -> State<'a> {
        State { opener, settings, session: None }
    }

    /// Replaces what was opened before, whose processes end.
    pub(super) fn open(&mut self, opened: Opened) -> Result<&mut Session, Refusal> {
        self.session = None;
        Ok(self.session.insert(Session::new(opened)?))
    }

    pub(super) fn session(&mut self) -> Result<&mut Session, Refusal> {
        self.session.as_mut().ok_or_else(|| {
            Refusal::Failed("nothing is open: call open_trace or open_program first".into())
        })
    }
}
