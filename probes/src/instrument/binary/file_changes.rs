//! Calls that change which files are open.
//!
//! Such a call changes the state of several files in one moment: that of which descriptors and names there are, and
//! that of the file that it closes, opens or names. It is made behind all its steps. So the words that it changes
//! are objects of one step, the last: else another task could come between the step that represents a change and
//! the change.

use crate::instrument::binary::extents::several;
use crate::instrument::binary::open_files;
use crate::instrument::binary::operand::{Measure, Operand};
use crate::instrument::binary::variable_arguments::Arguments;
use crate::schedule::access_points::change_files;
use crate::state::open_words::{self, WordSet};
use crate::state::pipes;
use crate::sys::open_flags::OpenFlags;

/// Determines which operands of a function are parts of its last step, and moves them to the end.
pub(super) fn join(operands: &mut [Operand]) {
    let opens = |it: &Operand| it.writes && is_open_files(it);
    if !operands.iter().any(opens) {
        return;
    }
    for operand in operands.iter_mut().filter(|it| it.writes) {
        operand.is_joined = is_open_files(operand)
            || matches!(
                operand.measure,
                Measure::Closed(_)
                    | Measure::Path
                    | Measure::Ends
                    | Measure::Descriptor(_)
                    | Measure::Stream
            );
    }
    operands.sort_by_key(|operand| operand.is_joined);
}

/// Whether the operand is the word of which files are open.
fn is_open_files(operand: &Operand) -> bool {
    operand.measure == Measure::Element
        && operand.displacement == open_words::at(open_words::OPEN_FILES)
}

/// Makes the last step of a call that changes which files are open. `touch` makes the accesses to other memory.
pub(super) fn change<'a>(
    joined: impl Iterator<Item = &'a Operand> + Clone,
    arguments: &Arguments<'_>,
    mut touch: impl FnMut(&'a Operand, u64, u64),
) {
    let mut words = WordSet::NONE;
    for operand in joined.clone().filter(|it| it.when.holds(arguments.general)) {
        let mut each = |address, size| match open_words::is_one(address) {
            true => words.add(address, size),
            false => touch(operand, address, size),
        };
        if is_open_files(operand) {
            each(operand.displacement, 8);
        } else {
            several(operand, arguments, &mut each);
        }
    }
    if words.is_empty() {
        return;
    }
    change_files(words, arguments.site);
    let (uses_pipes, mut closes) = (pipes::are_any(), false);
    for operand in joined.filter(|it| it.when.holds(arguments.general)) {
        if let Measure::Closed(number) = operand.measure {
            let descriptor = arguments.general[usize::from(number)];
            closes |= uses_pipes && OpenFlags::of(descriptor).is_some_and(OpenFlags::writes);
            open_files::closes(descriptor);
        }
    }
    if uses_pipes {
        pipes::change(words, closes);
    }
}
