//! Where a jump can replace instructions.
//!
//! A jump takes five bytes, more than most instructions: neighbours in front or behind move
//! together with the probed instruction. None of them may be a branch target, except the first. The
//! module is pure: it takes the properties of instructions, and returns which instructions move
//! together.

/// Whether an instruction can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moves {
    /// It can run elsewhere.
    Anywhere,
    /// It can run elsewhere as the last one: it ends the straight line of execution.
    Last,
    /// The instruction must stay where it is.
    Never,
}

/// The relevant properties of an instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) address: u64,
    pub(super) len: u64,
    pub(super) moves: Moves,
    /// Whether a branch may lead here.
    pub(super) target: bool,
}

/// The length of a jump in bytes.
pub(super) const JUMP: u64 = 5;

/// Instructions that move together: the indices of the first and the last.
pub(super) type Range = (usize, usize);

/// Ranges for the instructions of a function that are to be probed (indices, ascending). An
/// instruction in no range gets a breakpoint. Unless the branch targets are `certain` to be
/// complete, only single instructions move.
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

/// A range that consists of the instruction and those after it.
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

/// A range of the instruction and those in front of it; it extends an existing range that it meets.
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
