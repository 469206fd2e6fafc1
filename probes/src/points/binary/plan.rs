//! Where a jump can take the place of instructions.
//!
//! A jump takes five bytes, more than most instructions: those that follow, or come before, move along
//! with the one that is to be probed. None of them may be where a branch leads, but the first. Pure: what
//! is known of the code goes in, and which instructions move together comes out.

/// What an instruction allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moves {
    /// It may run elsewhere.
    Anywhere,
    /// The same, as the last one: it leaves the straight line.
    Last,
    /// It stays where it is.
    Never,
}

/// An instruction, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) moves: Moves,
    /// Whether a branch may lead here.
    pub(super) target: bool,
}

/// The bytes of a jump.
pub(super) const JUMP: u64 = 5;

/// Instructions that move together: the first and the last of them, by their places in the list.
pub(super) type Range = (usize, usize);

/// Ranges for the instructions of a function that are to be probed (their places, ascending). One that
/// lies in no range gets a breakpoint. Where branches lead is only known for certain if it is `certain`;
/// where not, nothing moves but single instructions.
pub(super) fn ranges(steps: &[Step], wanted: &[usize], certain: bool) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for &at in wanted {
        let before = ranges.last().copied();
        if before.is_some_and(|(_, last)| at <= last) {
            continue;
        }
        let found = match certain {
            _ if steps[at].moves == Moves::Never => None,
            _ if steps[at].len >= JUMP => Some((at, at)),
            false => None,
            true => forwards(steps, at).or_else(|| backwards(steps, at, before)),
        };
        let Some(range) = found else { continue };
        if before.is_some_and(|(first, _)| first == range.0) {
            ranges.pop();
        }
        ranges.push(range);
    }
    ranges
}

/// The instruction and those behind it.
fn forwards(steps: &[Step], at: usize) -> Option<Range> {
    let (mut last, mut len) = (at, steps[at].len);
    while len < JUMP {
        let next = steps.get(last + 1)?;
        if steps[last].moves != Moves::Anywhere || next.target || next.moves == Moves::Never {
            return None;
        }
        len += next.len;
        last += 1;
    }
    Some((at, last))
}

/// The instruction and those in front of it, with all of a range that is there.
fn backwards(steps: &[Step], at: usize, before: Option<Range>) -> Option<Range> {
    let (mut first, mut len) = (at, steps[at].len);
    while len < JUMP {
        if steps[first].target || first == 0 || steps[first - 1].moves != Moves::Anywhere {
            return None;
        }
        first -= 1;
        len += steps[first].len;
        if let Some((start, last)) = before
            && first <= last
        {
            return Some((start, at));
        }
    }
    Some((first, at))
}
