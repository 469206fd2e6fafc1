//! Words that may be times near the present one, in the state of a task that waits in a loop.

use crate::time::SECOND;

const DAY: u64 = 86_400;
/// The units in which programs store times, in nanoseconds.
const UNITS: [u64; 4] = [SECOND, 1_000_000, 1_000, 1];

/// The unit in which `word` would be a time near `now` (nanoseconds since a clock's epoch): how many
/// nanoseconds one is.
#[must_use]
pub fn unit(word: u64, now: u64) -> Option<u64> {
    UNITS.into_iter().find(|&unit| word.abs_diff(now / unit) <= DAY * (SECOND / unit))
}

/// Whether a word may be a time near `now` that the program converted: seconds in half a word, or a
/// floating-point number.
#[must_use]
pub fn is_converted(word: u64, now: u64) -> bool {
    let halves = [word & u64::from(u32::MAX), word >> 32];
    let is_near = |seconds: u64| seconds.abs_diff(now / SECOND) <= DAY;
    halves.into_iter().any(is_near) || unit(f64::from_bits(word) as u64, now).is_some()
}

/// The ranges in which words may be times, each by its start and length. A state has thousands of words,
/// and few of them are in any.
#[derive(Debug)]
pub struct Near {
    /// For each clock and unit.
    words: [(u64, u64); 8],
    /// Seconds, in half a word.
    halves: [(u32, u32); 2],
}

impl Near {
    /// The ranges around the present times of the clocks.
    #[must_use]
    pub fn to(epochs: [u64; 2]) -> Near {
        let around = |number: usize| {
            let unit = UNITS[number % UNITS.len()];
            let (now, distance) = (epochs[number / UNITS.len()] / unit, DAY * (SECOND / unit));
            let start = now.saturating_sub(distance);
            (start, now.saturating_add(distance) - start)
        };
        let words: [(u64, u64); 8] = std::array::from_fn(around);
        let in_half = |(start, len): (u64, u64)| (start as u32, len as u32);
        Near { halves: [in_half(words[0]), in_half(words[UNITS.len()])], words }
    }

    /// False only if the word is no time by [`unit()`] and no converted one by [`is_converted`].
    #[must_use]
    #[inline]
    pub fn may_be_time(&self, word: u64) -> bool {
        // A number of at least 1 that is finite: all others are far from a time.
        const ONE: u64 = 0x3ff;
        const INFINITE: u64 = 0x7ff;
        let is_in_half =
            |half: u32| self.halves.iter().any(|&(start, len)| half.wrapping_sub(start) <= len);
        self.words.iter().any(|&(start, len)| word.wrapping_sub(start) <= len)
            || is_in_half(word as u32)
            || is_in_half((word >> 32) as u32)
            || (ONE..INFINITE).contains(&(word >> 52))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_overlooked() {
        for shown in [0, 7 * SECOND, 10 * DAY * SECOND] {
            let epochs = [1_767_225_600, 1_000_000].map(|start| start * SECOND + shown);
            let near = Near::to(epochs);
            let mut words = vec![0, 1, u64::MAX, 1 << 32, f64::NAN.to_bits(), (-5.0f64).to_bits()];
            for now in epochs {
                for unit in UNITS {
                    let distance = DAY * (SECOND / unit);
                    for by in [0, 1, distance - 1, distance, distance + 1] {
                        for time in [now / unit - by, now / unit + by] {
                            let seconds = time & u64::from(u32::MAX);
                            words.extend([
                                time,
                                seconds,
                                seconds << 32 | 5,
                                (time as f64).to_bits(),
                            ]);
                        }
                    }
                }
            }
            let is_time = |word: u64| {
                epochs.iter().any(|&now| unit(word, now).is_some() || is_converted(word, now))
            };
            let (mut times, mut others) = (0, 0);
            for word in words {
                let may_be = near.may_be_time(word);
                assert!(may_be || !is_time(word), "{word:#x} at {shown}");
                times += usize::from(is_time(word));
                others += usize::from(!may_be);
            }
            assert!(times > 50 && others > 10, "{times}, {others}");
        }
    }
}
