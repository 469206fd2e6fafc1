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

/// The most times of a state whose nanoseconds are recognised elsewhere.
const TIMES: usize = 8;
/// Fewer nanoseconds are not recognised: they may be any number.
const FEWEST: u64 = 1_000_000;

/// The times in the state of a task that waits in a loop.
///
/// Two states that differ only in that all times are later by the same amount lead to the same steps, later by
/// that amount. So each time is replaced by its distance from the present time. That also holds for the
/// nanoseconds of a time that is in the state: compilers keep them in separate registers and stack slots.
#[derive(Debug)]
pub struct Times {
    /// The present times of the calendar and the monotonic clock.
    epochs: [u64; 2],
    /// The present time since the clocks started.
    shown: u64,
    near: Near,
    /// The nanoseconds of the times found, and the distance of each.
    parts: [(u64, u64); TIMES],
    len: usize,
}

/// A time in words of the state.
struct Found {
    unit: u64,
    distance: u64,
    /// The nanoseconds, if they are a separate part, and what else is in their word.
    part: Option<(u64, u64)>,
}

impl Times {
    /// Finds the times in a state, whose words are in several parts.
    #[must_use]
    pub fn of(state: &[&[u64]], epochs: [u64; 2], shown: u64) -> Times {
        let near = Near::to(epochs);
        let mut times = Times { epochs, shown, near, parts: [(0, 0); TIMES], len: 0 };
        for words in state {
            let mut rest = *words;
            while let Some(&word) = rest.first() {
                let found = if times.near.may_be_time(word) { times.at(rest) } else { None };
                let part = found.as_ref().and_then(|found| found.part);
                rest = &rest[1 + usize::from(part.is_some())..];
                if let (Some(found), Some((nanoseconds, _))) = (found, part) {
                    times.remember(nanoseconds, found.distance);
                }
            }
        }
        times
    }

    fn remember(&mut self, nanoseconds: u64, distance: u64) {
        let is_known = self.parts[..self.len].iter().any(|&(known, _)| known == nanoseconds);
        if nanoseconds >= FEWEST && !is_known && self.len < TIMES {
            self.parts[self.len] = (nanoseconds, distance);
            self.len += 1;
        }
    }

    /// The time at the beginning of these words.
    fn at(&self, words: &[u64]) -> Option<Found> {
        let word = words[0];
        let (now, unit) =
            self.epochs.iter().find_map(|&now| unit(word, now).map(|unit| (now, unit)))?;
        // The two parts of a `timespec`. Rust's has its nanoseconds in half a word.
        let part = words.get(1).map(|&part| (part & u64::from(u32::MAX), part >> 32));
        let part = part.filter(|&(nanoseconds, _)| unit == SECOND && nanoseconds < SECOND);
        let time = word.wrapping_mul(unit).wrapping_add(part.map_or(0, |(part, _)| part));
        Some(Found { unit, distance: time.wrapping_sub(now), part })
    }

    /// Adds words of the state to a hash.
    pub fn fold(&self, words: &[u64], hash: u64, add: impl Fn(u64, u64) -> u64) -> u64 {
        let (mut hash, mut rest) = (hash, words);
        while let Some(&word) = rest.first() {
            let found = if self.near.may_be_time(word) { self.at(rest) } else { None };
            let Some(Found { unit, distance, part }) = found else {
                rest = &rest[1..];
                hash = self.fold_other(word, hash, &add);
                continue;
            };
            rest = &rest[1 + usize::from(part.is_some())..];
            hash = add(add(hash, unit), distance);
            hash = part.map_or(hash, |(_, other)| add(hash, other));
        }
        hash
    }

    /// Adds a word that is no time.
    fn fold_other(&self, word: u64, hash: u64, add: &impl Fn(u64, u64) -> u64) -> u64 {
        // No two states with such numbers are equal: the clock has advanced.
        if self.epochs.iter().any(|&now| is_converted(word, now)) {
            return add(add(hash, word), self.shown);
        }
        let low = word & u64::from(u32::MAX);
        match self.parts[..self.len].iter().find(|&&(part, _)| part == low) {
            Some(&(_, distance)) => add(add(add(hash, SECOND - 1), distance), word >> 32),
            None => add(hash, word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of a state at this time since the clocks started, in nanoseconds.
    fn hash(shown: u64, state: impl Fn(u64, u64) -> Vec<u64>) -> u64 {
        let epochs = [1_767_225_600, 1_000_000].map(|start| start * SECOND + shown);
        let deadline = epochs[1] + 10_000_000;
        let words = state(deadline / SECOND, deadline % SECOND);
        let times = Times::of(&[&words], epochs, shown);
        times.fold(&words, 7, |hash, word| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn states_that_differ_in_the_time_only_are_equal() {
        let states: [fn(u64, u64) -> Vec<u64>; 5] = [
            |seconds, part| vec![1, seconds, part, 2],
            // The upper half of the word is padding.
            |seconds, part| vec![1, seconds, part | 0x5555 << 32, 2],
            // The nanoseconds once more, in a separate slot.
            |seconds, part| vec![part, seconds, part, part | 3 << 32],
            |seconds, part| vec![seconds * SECOND + part],
            |seconds, part| vec![(seconds * SECOND + part) / 1_000_000],
        ];
        for state in states {
            let at = |shown| hash(shown, state);
            assert_eq!(at(10_000_000), at(20_000_000));
            assert_eq!(at(10_000_000), at(3 * SECOND + 40_000_000));
        }
    }

    #[test]
    fn states_that_differ_otherwise_are_not_equal() {
        let states: [fn(u64, u64) -> Vec<u64>; 4] = [
            // A deadline that comes nearer.
            |_, _| vec![1_000_005, 0],
            |_, _| vec![1_000_005, 7 | 1 << 32],
            // Nanoseconds of no time in the state.
            |_, part| vec![part],
            // Seconds in half a word.
            |seconds, part| vec![part, seconds << 32 | 1],
        ];
        for state in states {
            assert_ne!(hash(10_000_000, state), hash(20_000_000, state));
        }
        let counts = |count: u64| hash(10_000_000, move |seconds, part| vec![seconds, part, count]);
        assert_ne!(counts(1), counts(2));
        let padding =
            |count: u64| hash(10_000_000, move |seconds, part| vec![seconds, part | count << 32]);
        assert_ne!(padding(1), padding(2));
    }

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
