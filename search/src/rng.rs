//! Random numbers with no hidden state: equal seeds give equal numbers on every machine.

use serde::{Deserialize, Serialize};

/// splitmix64 (Steele, Lea and Flood 2014): small, fast, good enough for choosing among tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(u64);

impl Rng {
    /// A stream for one part of a search: different parts, and different executions, get
    /// independent streams.
    #[must_use]
    pub fn new(seed: u64, part: u64) -> Rng {
        let mut rng = Rng(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.0 = rng.next().wrapping_add(part);
        rng
    }

    /// The next 64 bits.
    #[allow(
        clippy::should_implement_trait,
        reason = "the stream has no end, so it is not an iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`, which is not 0. The bias, below 2^-32, does not matter here.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_below_the_bound_comes_about_equally_often() {
        let mut rng = Rng::new(0, 1);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
    }
}
