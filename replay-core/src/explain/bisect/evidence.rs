//! The runs that support a cause.

/// Numbers of runs, by whether the cause's orders hold and whether they fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Runs in which the orders hold and that fail in this way.
    pub with_failing: usize,
    /// Runs in which the orders hold and that pass.
    pub with_passing: usize,
    /// Runs in which the orders do not hold and that fail in this way.
    pub without_failing: usize,
    /// Runs in which the orders do not hold and that pass.
    pub without_passing: usize,
    /// Runs that fail in another way; they are not counted as evidence.
    pub other: usize,
}

impl Evidence {
    /// Whether every run with the orders fails, and some run without them passes.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.with_passing == 0 && self.with_failing > 0 && self.without_passing > 0
    }

    /// Whether, in addition, no run without the orders fails.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_enough() && self.without_failing == 0
    }
}
