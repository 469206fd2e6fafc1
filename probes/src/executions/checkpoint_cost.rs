//! What a checkpoint takes, estimated from those that were made.

use std::cell::Cell;

/// A checkpoint counts as at most so many cycles: another process may have run meanwhile.
const LONGEST: u64 = 1 << 20;
/// A checkpoint counts as at least so many cycles where it is compared with long work, also if none was made.
pub(super) const SHORTEST: u64 = 1 << 12;
/// The estimate falls by this part each time that it prevents a checkpoint.
const FADE: u64 = 64;

/// The average time of a checkpoint, in cycles; 0 before the first.
pub(super) struct Cost(Cell<u64>);

impl Cost {
    pub(super) const fn new() -> Cost {
        Cost(Cell::new(0))
    }

    pub(super) fn cycles(&self) -> u64 {
        self.0.get()
    }

    /// A checkpoint took so many cycles. It counts as at most twice what the others took.
    pub(super) fn took(&self, cycles: u64) {
        let average = self.0.get();
        let most = if average == 0 { LONGEST } else { (average * 2).clamp(SHORTEST, LONGEST) };
        self.0.set(average / 8 * 7 + cycles.min(most) / 8);
    }

    /// No checkpoint was made, since it would have taken too long. The first ones fault pages in and take longer:
    /// none would ever be made again, and measured, if the estimate stayed.
    pub(super) fn prevented_one(&self) {
        self.0.set(self.0.get() / FADE * (FADE - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_first_checkpoints_prevent_others_only_for_some_executions() {
        let cost = Cost::new();
        (0..8).for_each(|_| cost.took(480_000));
        assert!(cost.cycles() > 100_000);
        let prevented = (0..).take_while(|_| {
            cost.prevented_one();
            cost.cycles() > 20_000
        });
        assert!((100..300).contains(&prevented.count()));
    }

    #[test]
    fn one_interrupted_checkpoint_changes_little() {
        let cost = Cost::new();
        (0..100).for_each(|_| cost.took(20_000));
        let before = cost.cycles();
        cost.took(u64::MAX);
        assert!(cost.cycles() <= before + before / 4 + 8, "{before} {}", cost.cycles());
    }
}
