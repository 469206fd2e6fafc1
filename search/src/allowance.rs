//! How many steps an execution may have, and whether it makes progress. The scheduler decides, and hashes the
//! program's memory.

use std::cell::Cell;

/// How many times the memory is hashed before a limit.
const LOOKS: usize = 8;
/// An execution lets time pass if one step of this many is an expiry.
const EXPIRIES: u64 = 64;

/// How many steps the execution may have, and signs of its progress.
#[derive(Debug, Clone)]
pub struct Allowance {
    /// The step before which the scheduler looks at the execution; 0 before the first step.
    pub next: Cell<u64>,
    /// The number of expiries.
    pub expiries: Cell<u64>,
    limit: Cell<u64>,
    /// How many hashes of `seen` belong to the current limit.
    looks: Cell<usize>,
    seen: [Cell<u64>; LOOKS],
    /// The number of expiries when the first of these hashes was made.
    expiries_before: Cell<u64>,
}

impl Allowance {
    /// That of an execution without steps.
    #[must_use]
    pub const fn none() -> Allowance {
        Allowance {
            next: Cell::new(0),
            expiries: Cell::new(0),
            limit: Cell::new(0),
            looks: Cell::new(0),
            seen: [const { Cell::new(0) }; LOOKS],
            expiries_before: Cell::new(0),
        }
    }

    /// The largest limit so far.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.get()
    }

    /// Takes over the state of another one.
    pub fn set(&self, from: &Allowance) {
        self.next.set(from.next.get());
        self.expiries.set(from.expiries.get());
        self.limit.set(from.limit.get());
        self.looks.set(from.looks.get());
        self.seen.iter().zip(&from.seen).for_each(|(to, one)| to.set(one.get()));
        self.expiries_before.set(from.expiries_before.get());
    }

    /// A new limit.
    pub fn begin(&self, limit: u64, most: u64) {
        self.limit.set(limit);
        self.looks.set(0);
        // Nothing is to be known about an execution whose limit does not grow.
        self.next.set(if limit >= most { limit } else { look_at(limit, 0) });
    }

    /// Adds a hash of the memory; whether it is the last one before the limit.
    ///
    /// # Panics
    /// If all hashes before the limit were added.
    pub fn note(&self, hash: u64) -> bool {
        let look = self.looks.get();
        if look == 0 {
            self.expiries_before.set(self.expiries.get());
        }
        self.seen[look].set(hash);
        self.looks.set(look + 1);
        let is_last = look + 1 == LOOKS;
        if !is_last {
            self.next.set(look_at(self.limit.get(), look + 1));
        }
        is_last
    }

    /// Whether no two of the hashes are equal, and few of the steps were expiries.
    #[must_use]
    pub fn is_progress(&self) -> bool {
        let seen: [u64; LOOKS] = std::array::from_fn(|look| self.seen[look].get());
        let differs = |look: usize| !seen[..look].contains(&seen[look]);
        let expiries = self.expiries.get() - self.expiries_before.get();
        let steps = self.limit.get() - look_at(self.limit.get(), 0);
        (0..LOOKS).all(differs) && expiries < steps.div_ceil(EXPIRIES)
    }
}

/// A program has long executions if one has this many times the steps of a beginning.
const LONG: u64 = 10;

/// The steps after which an execution counts as long, in a search of beginnings of so many steps.
#[must_use]
pub fn long(beginning: u64) -> u64 {
    beginning.saturating_mul(LONG)
}

/// The steps of the execution with this number, in a search of beginnings of so many steps. Where a strategy
/// allows that, one execution of 4 is longer: twice as long or more, one of 16 four times, one of 64 eight
/// times. So a search sees executions of every length, and spends much of its steps on beginnings. A hash of
/// the number decides, since strategies that take turns would otherwise have fixed lengths.
#[must_use]
pub fn beginning(steps: u64, number: u64, may_be_longer: bool) -> u64 {
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let doublings = if may_be_longer { hash.trailing_zeros() / 2 } else { 0 };
    steps.saturating_mul(1 << doublings.min(16))
}

/// The step of a look: they are spread evenly over the second half of the limit, the last at its end.
fn look_at(limit: u64, look: usize) -> u64 {
    limit - limit * (LOOKS - 1 - look) as u64 / (2 * LOOKS as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(seen: [u64; LOOKS], expiries: u64) -> Allowance {
        let allowance = Allowance::none();
        allowance.begin(1600, u64::MAX);
        allowance.seen.iter().zip(seen).for_each(|(to, one)| to.set(one));
        allowance.expiries.set(expiries);
        allowance
    }

    #[test]
    fn beginnings_are_short_and_some_are_longer() {
        let lengths: Vec<u64> = (1..=1024).map(|number| beginning(2_000, number, true)).collect();
        let short = lengths.iter().filter(|&&length| length == 2_000).count();
        assert!((700..=820).contains(&short), "{short}");
        assert!(lengths.iter().max().is_some_and(|&most| most >= 8 * 2_000), "{lengths:?}");
        assert!(lengths.iter().sum::<u64>() < 3 * 1024 * 2_000, "{lengths:?}");
        assert!((1..=1024).all(|number| beginning(2_000, number, false) == 2_000));
    }

    #[test]
    fn looks_end_at_the_limit() {
        let looks: Vec<u64> = (0..LOOKS).map(|look| look_at(1600, look)).collect();
        assert_eq!(looks, [900, 1000, 1100, 1200, 1300, 1400, 1500, 1600]);
    }

    #[test]
    fn a_state_that_repeats_is_no_progress() {
        assert!(allowance([1, 2, 3, 4, 5, 6, 7, 8], 0).is_progress());
        assert!(!allowance([1, 2, 3, 4, 5, 6, 7, 3], 0).is_progress());
    }

    #[test]
    fn time_that_passes_is_no_progress() {
        assert!(allowance([1, 2, 3, 4, 5, 6, 7, 8], 10).is_progress());
        assert!(!allowance([1, 2, 3, 4, 5, 6, 7, 8], 11).is_progress());
    }
}
