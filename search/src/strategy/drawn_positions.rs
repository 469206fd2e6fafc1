//! Positions in an execution, drawn uniformly before it begins. The length of an execution is not
//! known in advance, so they are drawn from the length of the longest execution so far.

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// The drawn positions of the running execution, and the position that it has reached.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct DrawnPositions {
    /// The length of the longest execution.
    longest: u64,
    /// The position that the running execution has reached.
    reached: u64,
    /// The drawn positions, ascending. One may be there several times.
    drawn: Vec<u64>,
    /// How many of them the execution has passed.
    passed: usize,
}

impl DrawnPositions {
    /// Whether an execution has ended, so that there is a length to draw from.
    pub(crate) fn is_length_known(&self) -> bool {
        self.longest > 0
    }

    /// Begins an execution with this many positions. Before a length is known, all are 0.
    pub(crate) fn begin(&mut self, rng: &mut Rng, count: u32) {
        self.reached = 0;
        self.passed = 0;
        self.drawn.clear();
        let among = self.longest.clamp(1, u64::from(u32::MAX)) as u32;
        self.drawn.extend((0..count).map(|_| u64::from(rng.below(among))));
        self.drawn.sort_unstable();
    }

    /// Passes a drawn position that the execution has reached, if there is one.
    pub(crate) fn pass(&mut self) -> bool {
        let due = self.drawn.get(self.passed).is_some_and(|&position| position <= self.reached);
        self.passed += usize::from(due);
        due
    }

    /// Passes all drawn positions that the execution has reached. Returns whether there was one.
    pub(crate) fn pass_all(&mut self) -> bool {
        let due = self.pass();
        while self.pass() {}
        due
    }

    /// Moves on to the next position.
    pub(crate) fn advance(&mut self) {
        self.reached += 1;
    }

    /// Ends the execution.
    pub(crate) fn end(&mut self) {
        self.longest = self.longest.max(self.reached);
    }

    /// Adds what a search of the same program has learned.
    pub(crate) fn merge(&mut self, other: &DrawnPositions) {
        self.longest = self.longest.max(other.longest);
    }
}
