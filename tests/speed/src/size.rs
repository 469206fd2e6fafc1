//! The size of a measured program: threads, each with this many pairs of locked reads and locked
//! writes.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) threads: u64,
    pub(crate) rounds: u64,
    /// Executions of a measurement: several seconds for the fastest tool.
    pub(crate) executions: u64,
}

impl Size {
    /// The final value of the counter if no update is lost.
    pub(crate) fn expected(self) -> u64 {
        self.threads * self.rounds
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.threads, self.rounds)
    }
}

pub(crate) const SIZES: [Size; 4] = [
    Size { threads: 2, rounds: 1, executions: 2_000_000 },
    Size { threads: 2, rounds: 5, executions: 1_000_000 },
    Size { threads: 3, rounds: 5, executions: 500_000 },
    Size { threads: 4, rounds: 25, executions: 150_000 },
];
