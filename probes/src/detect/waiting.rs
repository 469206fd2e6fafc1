//! What a task does that is suspected of waiting for another in a loop without scheduling points
//! ([`crate::schedule::busy_loops`]).

use crate::detect::access::Access;
use crate::state::world::world;
use std::cell::Cell;

/// After this many accesses without a step, a task is suspected of waiting for another.
pub(crate) const PATIENCE: u32 = 1 << 14;

/// The most words that a waiting task reads.
pub(crate) const WAITED_FOR: usize = 16;

/// The state of tasks that are suspected of waiting.
pub(crate) struct Waiting {
    /// Whether the task did anything that a waiting task does not do.
    pub(crate) busy: Cell<bool>,
    /// The words that the task read.
    pub(crate) read_words: Cell<[u64; WAITED_FOR]>,
    /// How many times the task was found busy, without a step.
    pub(crate) found_busy: Cell<u32>,
    /// How often the task yielded because it was treated as waiting.
    pub(crate) yields: Cell<u32>,
    /// The words that the last inspection found, and how many others before it found the same.
    pub(crate) repeated: Cell<([u64; WAITED_FOR], u32)>,
}

impl Waiting {
    pub(crate) const fn new() -> Waiting {
        Waiting {
            busy: Cell::new(false),
            read_words: Cell::new([0; WAITED_FOR]),
            found_busy: Cell::new(0),
            yields: Cell::new(0),
            repeated: Cell::new(([0; WAITED_FOR], 0)),
        }
    }

    /// An execution begins.
    pub(crate) fn begin(&self) {
        self.yields.set(0);
        self.repeated.set(([0; WAITED_FOR], 0));
    }

    /// A step was decided.
    #[inline]
    pub(crate) fn stepped(&self) {
        self.busy.set(false);
        self.found_busy.set(0);
    }

    /// An access of a suspected task: notes whether it shows that the task does not wait.
    pub(crate) fn inspect(&self, access: &Access) {
        let mut words = self.read_words.get();
        let word = access.address & !7;
        match words.iter().position(|&known| known == word || known == 0) {
            Some(at) => words[at] = word,
            None => self.busy.set(true),
        }
        self.read_words.set(words);
        // A waiting task may count its iterations on its own stack.
        if access.writes && !access.atomic && !is_on_own_stack(access) {
            self.busy.set(true);
        }
    }
}

/// Whether the running task accesses its own stack.
pub(crate) fn is_on_own_stack(access: &Access) -> bool {
    let stack = world().task().stack.get();
    (stack.low..stack.high).contains(&access.address)
}
