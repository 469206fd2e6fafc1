//! Times, and how long it takes what tasks do.

/// In nanoseconds, like all times here.
pub const SECOND: u64 = 1_000_000_000;

/// How far reading a clock advances it, so that a loop that waits for time to pass ends.
pub const READING: u64 = 1_000;

/// After this many steps without an expiry, a task has taken a second.
pub const STEPS: u32 = 10_000;

/// A task that has waited for so long by looking at the time only does not wait for a time.
pub const LONGEST: u64 = 86_400 * SECOND;

/// How much later it is after [`STEPS`] steps of a task that has only read the time for this long: a
/// second, or a small part of that time, so that a loop that waits for an hour ends as well, and not
/// much later than it should.
#[must_use]
pub fn seconds(waited: u64) -> u64 {
    const PART: u64 = 32;
    (waited / PART).max(SECOND)
}
/// The time at a step: the clock, and how many readings of clocks it was preceded by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Moment {
    /// Nanoseconds.
    pub clock: u64,
    /// Readings of clocks that happened before.
    pub readings: u64,
}

impl Moment {
    /// The later of the two, for both parts.
    pub fn join(&mut self, other: Moment) {
        self.clock = self.clock.max(other.clock);
        self.readings = self.readings.max(other.readings);
    }

    /// What a clock shows.
    #[must_use]
    pub fn now(self) -> u64 {
        self.clock.saturating_add(self.readings.saturating_mul(READING))
    }

    /// A deadline by the task's clock, given as a time that a clock shows: a time in the past is now.
    #[must_use]
    pub fn deadline(self, shown: u64) -> u64 {
        self.clock.saturating_add(shown.saturating_sub(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_reads_the_time_waits_not_much_longer_than_it_has_to() {
        for limit in [SECOND, 3 * SECOND, 30 * SECOND, 600 * SECOND, 3_600 * SECOND, LONGEST] {
            let (mut waited, mut turns) = (0, 0);
            while waited < limit {
                waited += seconds(waited);
                turns += 1;
            }
            assert!(waited - limit <= SECOND.max(limit / 32), "{limit}: {waited}");
            assert!(turns <= 300, "{limit}: {turns} times 10,000 readings");
        }
    }
}
