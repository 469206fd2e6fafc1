//! The interface between a search and those who run its pieces: worker processes of this machine, or
//! other machines. Pieces and results are plain data.

use super::super::execution::{plan, search_job};
use super::round::PieceResult;
use crate::control::ending::Ending;
use crate::{Error, Machines, SearchOptions, Target};
use search::share::frontier::{Work, WorkOutline};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::time::Duration;
use traces::points::Learned;
use traces::wire::{Job, RuntimeMessage};

/// Everything that is needed to run pieces of a search.
#[derive(Debug)]
pub struct SearchOrder<'a> {
    /// The program.
    pub target: &'a Target,
    /// The instructions to the runtime.
    pub job: Job,
    /// How long a task may run without reaching a scheduling point.
    pub spin_after: Duration,
    /// The options of the search.
    pub options: &'a SearchOptions,
    /// Set when the user interrupts the search.
    pub interrupt: &'a AtomicBool,
}

/// A piece of work with what a worker needs to run it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IssuedPiece {
    /// The work.
    pub work: Work,
    /// The learned points.
    pub learned: Learned,
    /// Whether the worker must run the learning phase.
    pub pioneer: bool,
}

/// A message about a piece, which has a number within its round.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// A message of the runtime about the piece with this number.
    FromRuntime(usize, RuntimeMessage),
    /// The result of a piece.
    Returned(usize, Box<PieceResult>),
    /// The process died, or was killed after an interrupt; the piece is unchanged.
    Lost {
        /// The number of the piece.
        piece: usize,
        /// How the process ended; none if the user interrupted it.
        died: Option<Ending>,
    },
    /// The workers use another reset from now on: the number of the piece, the reset, the reason.
    FellBack(usize, u32, String),
    /// The search cannot continue.
    #[serde(skip)]
    Failed(Error),
}

impl Message {
    /// The piece that the message is about; none if it is about all.
    #[must_use]
    pub fn piece(&self) -> Option<usize> {
        match self {
            Message::FromRuntime(piece, _)
            | Message::Returned(piece, _)
            | Message::Lost { piece, .. }
            | Message::FellBack(piece, ..) => Some(*piece),
            Message::Failed(_) => None,
        }
    }

    /// The same message about the piece with another number. Machines number pieces in the order in
    /// which they receive them.
    #[must_use]
    pub fn renumbered(self, piece: usize) -> Message {
        match self {
            Message::FromRuntime(_, message) => Message::FromRuntime(piece, message),
            Message::Returned(_, result) => Message::Returned(piece, result),
            Message::Lost { died, .. } => Message::Lost { piece, died },
            Message::FellBack(_, reset, why) => Message::FellBack(piece, reset, why),
            Message::Failed(error) => Message::Failed(error),
        }
    }

    /// Whether the piece is no longer being run after this message.
    #[must_use]
    pub fn ends_piece(&self) -> bool {
        matches!(self, Message::Returned(..) | Message::Lost { .. } | Message::Failed(_))
    }

    /// Whether the message can be about this piece of work: a result has the same piece, continued by no
    /// more executions than it allows.
    #[must_use]
    pub fn fits(&self, work: &WorkOutline) -> bool {
        match self {
            Message::Returned(_, result) => result.done.continues(work),
            _ => true,
        }
    }

    /// The number of executions that the message returns.
    #[must_use]
    pub fn executions(&self) -> u64 {
        match self {
            Message::Returned(_, result) => result.done.executions,
            _ => 0,
        }
    }
}

/// Runs pieces. The search adds all open pieces of a round, and then handles the messages about them
/// until each has been returned, lost or dropped.
pub trait PieceRunner: Sync {
    /// Adds a piece to the queue, at its front if it comes `first`.
    fn add(&self, piece: usize, issued: IssuedPiece, first: bool);

    /// Marks all pieces of a new round as wanted.
    fn want_all(&self);

    /// Number of pieces in the queue.
    fn waiting(&self) -> usize;

    /// Marks pieces from this one on as unwanted. Returns those about which no message will come.
    fn drop_from(&self, piece: usize) -> Vec<usize>;

    /// Asks for all pieces to be returned. Returns those about which no message will come.
    fn recall_all(&self) -> Vec<usize>;

    /// Forgets the states that searches of this level have visited.
    ///
    /// # Errors
    /// If the memory that the workers share cannot be cleared.
    fn forget_states(&self) -> Result<(), Error>;

    /// Ends the worker threads.
    fn close(&self);

    /// The body of worker thread `number`: runs pieces until the runner is closed.
    fn work(&self, number: usize, to: &Sender<Message>);

    /// Executions in pieces that have not been returned.
    fn running(&self) -> u64;

    /// Executions of the learning phase so far.
    fn learning(&self) -> u64;

    /// The machines that run pieces, if there are others than this one.
    fn machines(&self) -> Option<Machines> {
        None
    }
}

/// The instructions to the runtime for a search with these options, before anything is known about the
/// program.
#[must_use]
pub fn job_of(options: &SearchOptions) -> Job {
    search_job(options, plan(options))
}
