//! How much time each search gets of a limit on all.

use std::time::Duration;

/// The time for the next of `left` tests, of which `at_once` run at the same time: an equal share of
/// the time that remains, at most `each`. What a test does not use is shared by those after it.
/// `None` if the time is used up.
#[must_use]
pub fn next(
    each: Duration,
    remaining: Option<Duration>,
    left: usize,
    at_once: usize,
) -> Option<Duration> {
    let Some(remaining) = remaining else { return Some(each) };
    if remaining < LEAST {
        return None;
    }
    let at_once = at_once.clamp(1, left.max(1)) as f64;
    let share = remaining.mul_f64(at_once / left.max(1) as f64);
    Some(share.max(LEAST).min(each).min(remaining))
}

/// A search that gets less finds nothing that one run does not.
const LEAST: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_shared_equally() {
        let seconds = Duration::from_secs;
        for (each, remaining, left, at_once, expected) in [
            (10, None, 5, 1, Some(10)),
            (10, Some(20), 5, 1, Some(4)),
            (10, Some(20), 5, 2, Some(8)),
            (10, Some(20), 1, 4, Some(10)),
            (60, Some(20), 1, 4, Some(20)),
            (10, Some(0), 3, 1, None),
        ] {
            let share = next(seconds(each), remaining.map(seconds), left, at_once);
            assert_eq!(share, expected.map(seconds), "{each} {remaining:?} {left} {at_once}");
        }
    }
}
