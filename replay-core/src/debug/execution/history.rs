//! All writes to some memory in an execution, from its beginning to its end.

use super::memory_write::Written;
use super::position::{Position, Watch};
use super::{Execution, OnHit, Reason, RecordedStop, StopRequests};
use crate::Error;

/// All writes to some memory.
#[derive(Debug)]
pub(crate) struct History {
    /// The first contents of each watched part.
    pub(crate) before: Vec<u64>,
    pub(crate) writes: Vec<Written>,
    /// How many of them come before the position at which the history was asked for.
    pub(crate) passed: usize,
    /// The user interrupted the run: later writes are missing.
    pub(crate) cut: bool,
}

impl Execution {
    /// Runs the whole execution once and lists the writes; the position stays as it is.
    pub(crate) fn writes_to(&mut self, watches: &[Watch]) -> Result<History, Error> {
        let here = self.at.clone();
        let (original, at) = self.divert()?;
        let armed = std::mem::take(&mut self.armed);
        let result = self.collect_writes(watches, &here);
        self.armed = armed;
        self.collected = None;
        self.rejoin(original, at);
        result
    }

    fn collect_writes(&mut self, watches: &[Watch], here: &Position) -> Result<History, Error> {
        self.rewind()?;
        let before = watches.iter().map(|watch| self.contents(*watch)).collect();
        self.armed = StopRequests { watches: watches.to_vec(), ..StopRequests::default() };
        self.collected = Some(Vec::new());
        // First to the position, then on to the end: what is recorded there comes after it.
        let mut stop = self.follow(here, OnHit::Record)?;
        let passed = self.collected.as_ref().map_or(0, Vec::len);
        if !matches!(stop.reason, Reason::End | Reason::Gone(_) | Reason::Interrupted) {
            let last = self.trace.execution.steps.len() as u64;
            stop = self.follow(&Position::end(last), OnHit::Record)?;
        }
        let cut = self.interrupt.take() || stop.reason == Reason::Interrupted;
        let writes = self.collected.take().unwrap_or_default();
        Ok(History { before, writes, passed, cut })
    }

    /// Remembers a write that was just recorded.
    pub(super) fn collect(&mut self, recorded: &RecordedStop) {
        let Reason::Touched(watch) = recorded.reason else { return };
        let Some(rip) = self.at_rip() else { return };
        let value = self.contents(watch);
        let near = match self.live.probe_of_copy(rip) {
            Some(probe) => probe.address,
            None if !self.live.is_runtime(rip) => rip.saturating_sub(1),
            // The runtime writes in place of a call.
            None => {
                let exit = self.thread(recorded.task).ok().flatten();
                exit.and_then(|thread| thread.runtime_exit).map_or(0, |exit| exit.address - 1)
            }
        };
        let RecordedStop { position, task, .. } = recorded.clone();
        if let Some(collected) = &mut self.collected {
            collected.push(Written { position, task, near, watch, value });
        }
    }

    /// What watched memory contains.
    pub(super) fn contents(&self, watch: Watch) -> u64 {
        let mut bytes = [0; 8];
        self.live.read(watch.address, &mut bytes[..usize::from(watch.len)]);
        u64::from_le_bytes(bytes)
    }
}
