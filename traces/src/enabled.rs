//! The digest of the set of enabled tasks.

use crate::TaskId;

/// A digest of an enabled set, independent of the order of its members.
///
/// It is the exclusive or of one well-mixed number for each member, so that one operation updates
/// it when a task becomes enabled or blocked. Replay compares digests at every step; the trace
/// contains the sets themselves.
#[must_use]
pub fn digest(enabled: impl IntoIterator<Item = TaskId>) -> u32 {
    enabled.into_iter().fold(0, |sum, task| sum ^ word(task))
}

/// The number that represents one task in [`digest`].
#[must_use]
#[inline]
pub fn word(task: TaskId) -> u32 {
    // The finaliser of splitmix64, cut to 32 bits.
    let mut x = (u64::from(task.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_ignores_order_and_distinguishes_small_sets() {
        let sets = (0u16..1 << 10)
            .map(|bits| digest((0..10).filter(|t| bits & (1 << t) != 0).map(TaskId)))
            .collect::<std::collections::HashSet<_>>();
        assert_eq!(sets.len(), 1 << 10);
        assert_eq!(digest([TaskId(1), TaskId(2)]), digest([TaskId(2), TaskId(1)]));
    }
}
