//! The pieces of a search, divided among other machines and the collector's own: those whose workers share
//! a table of visited states in memory run on one machine, which is this one. They are those of `icb`
//! within `auto`; all others go to the server.

use crate::collector::RemotePool;
use replay_core::pieces::{IssuedPiece, Message, PieceRunner};
use replay_core::{Error, Machines, WorkerPool};
use std::sync::mpsc::{Sender, channel};

/// See the module documentation.
pub(crate) struct DividedPool<'a> {
    there: RemotePool<'a>,
    here: WorkerPool<'a>,
    /// The number of workers of this machine; each process starts with its first piece.
    workers: u32,
    /// A message of a worker of this machine with the paths that files have at the collector.
    translate: Box<dyn Fn(Message) -> Message + Sync + 'a>,
}

impl<'a> DividedPool<'a> {
    pub(crate) fn new(
        there: RemotePool<'a>,
        here: WorkerPool<'a>,
        workers: u32,
        translate: impl Fn(Message) -> Message + Sync + 'a,
    ) -> DividedPool<'a> {
        DividedPool { there, here, workers, translate: Box::new(translate) }
    }
}

impl PieceRunner for DividedPool<'_> {
    fn add(&self, piece: usize, issued: IssuedPiece, first: bool) {
        match issued.work.shares_states() {
            // The learning phase runs with the first pieces, which share no states.
            true => self.here.add(piece, IssuedPiece { pioneer: false, ..issued }, first),
            false => self.there.add(piece, issued, first),
        }
    }

    fn want_all(&self) {
        self.there.want_all();
        self.here.want_all();
    }

    fn waiting(&self) -> usize {
        self.there.waiting() + self.here.waiting()
    }

    fn drop_from(&self, piece: usize) -> Vec<usize> {
        let mut dropped = self.there.drop_from(piece);
        dropped.extend(self.here.drop_from(piece));
        dropped
    }

    fn recall_all(&self) -> Vec<usize> {
        let mut recalled = self.there.recall_all();
        recalled.extend(self.here.recall_all());
        recalled
    }

    fn forget_states(&self) -> Result<(), Error> {
        self.here.forget_states()
    }

    fn close(&self) {
        self.there.close();
        self.here.close();
    }

    fn work(&self, number: usize, to: &Sender<Message>) {
        std::thread::scope(|scope| {
            let (inner, from) = channel();
            for worker in 0..self.workers {
                let inner = inner.clone();
                scope.spawn(move || self.here.work(worker as usize, &inner));
            }
            drop(inner);
            scope.spawn(|| {
                for message in from {
                    // A search that is over needs no messages.
                    let _ = to.send((self.translate)(message));
                }
            });
            self.there.work(number, to);
            self.here.close();
        });
    }

    fn running(&self) -> u64 {
        self.there.running() + self.here.running()
    }

    fn learning(&self) -> u64 {
        self.there.learning() + self.here.learning()
    }

    fn machines(&self) -> Option<Machines> {
        self.there.machines()
    }
}
