//! Executions that leave their beginning.
//!
//! A strategy that repeats how an execution began counts on the program doing the same again. Where it does
//! not (it keeps something on disk, another process was quicker or slower this time), the execution
//! runs on to its end with nobody preempted, as it may fail all the same; then the beginning is tried
//! again. Where it is left each time, it is pruned with everything that would have followed, and the
//! search says so. (A depth-first search goes on from there with what the program does now, a number of
//! times: it may have set something up.)

use crate::Divergence;

/// How often a beginning that was left is tried again.
const TRIES: u32 = 2;

/// Whether the execution that runs is the one that was begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Astray {
    left: Option<Divergence>,
    /// How often the beginning at hand was left before.
    tries: u32,
    /// Whether it is to be tried again.
    again: bool,
}

/// What becomes of a beginning at the end of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was repeated.
    Repeated,
    /// It was left, and is tried again.
    Tried,
    /// It was left once too often.
    Pruned,
}

impl Astray {
    /// An execution begins: whether it is the one before, once more.
    pub(crate) fn begin(&mut self) -> bool {
        self.left = None;
        let again = std::mem::take(&mut self.again);
        if !again {
            self.tries = 0;
        }
        again
    }

    /// The execution that runs has left its beginning.
    pub(crate) fn leave(&mut self, divergence: Divergence) {
        self.left = Some(divergence);
    }

    /// Whether the execution that runs, or ran last, left its beginning.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        self.left.is_some()
    }

    /// Whether the next execution is to be the one before, once more.
    pub(crate) fn is_to_try_again(&self) -> bool {
        self.again
    }

    /// The execution is over.
    pub(crate) fn end(&mut self) -> Became {
        match self.left {
            None => Became::Repeated,
            Some(_) if self.tries < TRIES => {
                self.tries += 1;
                self.again = true;
                Became::Tried
            }
            Some(_) => Became::Pruned,
        }
    }

    /// How the beginning was left that was pruned with the execution that ended, if one was.
    pub(crate) fn pruned(&self) -> Option<&Divergence> {
        self.left.as_ref().filter(|_| !self.again)
    }

    /// It is not tried again after all; whether it was to be.
    pub(crate) fn abandon(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }
}
