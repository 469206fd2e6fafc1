//! Streams of bytes of simulated programs.

use crate::reduction::pending::PendingOperation;
use crate::reduction::stream::{Needs, Stream, message};
use traces::Operation;

/// The number of the first stream as an object: above those of variables, mutexes and conditions.
const FIRST: u64 = 1 << 20;

/// The streams of a machine, each with the number of ends through which bytes are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Streams(Vec<(Stream, usize)>);

/// The object for what was written to a stream, and that for what was taken.
fn objects(stream: usize) -> [u64; 2] {
    [FIRST + 2 * stream as u64, FIRST + 2 * stream as u64 + 1]
}

impl Streams {
    pub(super) fn new(ends: &[usize]) -> Streams {
        Streams(ends.iter().map(|&ends| (Stream::NONE, ends)).collect())
    }

    /// The pending operation of a task that writes, or closes an end.
    pub(super) fn sends(
        &self,
        stream: usize,
        next: &impl Fn(Operation, u64) -> PendingOperation,
    ) -> PendingOperation {
        PendingOperation {
            message: message(stream as u32, self.0[stream].0.next()),
            ..next(Operation::Write, objects(stream)[0])
        }
    }

    /// The pending operation of a task that reads at most `len` bytes.
    pub(super) fn receives(
        &self,
        stream: usize,
        len: u64,
        next: &impl Fn(Operation, u64) -> PendingOperation,
    ) -> PendingOperation {
        let [written, taken] = objects(stream);
        let next = next(Operation::Ready, taken);
        let held = self.0[stream].0.held();
        let (number, exact) = match self.needs(stream, len, next.task.0) {
            Needs::Nothing => (None, true),
            Needs::Message { number, exact } => (Some(number), exact),
            // It is empty: these streams have few messages.
            Needs::Unknown => (Some(self.0[stream].0.next()), true),
        };
        PendingOperation {
            further_objects: (!exact).then_some(written).into_iter().collect(),
            message: number.map_or(0, |number| message(stream as u32, number)),
            writes: true,
            enabled: held > 0 || self.0[stream].1 == 0,
            ..next
        }
    }

    fn needs(&self, stream: usize, len: u64, reader: u16) -> Needs {
        let (stream, ends) = &self.0[stream];
        stream.needs(reader, len, stream.held() == 0 && *ends == 0)
    }

    /// Nothing is written once no end is left for that.
    pub(super) fn send(&mut self, stream: usize, len: u64) {
        let (stream, ends) = &mut self.0[stream];
        stream.post(false);
        if *ends > 0 {
            stream.write(len);
        }
    }

    pub(super) fn shut(&mut self, stream: usize) {
        let (stream, ends) = &mut self.0[stream];
        stream.post(*ends > 0);
        *ends = ends.saturating_sub(1);
    }

    /// Returns how many bytes were read.
    pub(super) fn receive(&mut self, stream: usize, len: u64, reader: u16) -> u64 {
        let stream = &mut self.0[stream].0;
        let count = len.min(stream.held());
        if count > 0 {
            stream.take(reader, count);
        }
        count
    }
}
