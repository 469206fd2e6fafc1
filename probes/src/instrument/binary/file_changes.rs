//! Calls that change which files are open.
//!
//! Such a call changes the state of several files in one moment: that of which descriptors and names there are, and
//! that of the file that it closes, opens or names. It is made behind all its steps. So the words that it changes
//! are objects of one step, the last: else another task could come between the step that represents a change and
//! the change.

use crate::detect::access::is_in_company;
use crate::instrument::binary::extents::several;
use crate::instrument::binary::open_files;
use crate::instrument::binary::operand::{Measure, Operand};
use crate::instrument::binary::variable_arguments::Arguments;
use crate::schedule::access_points::change_files;
use crate::state::open_words::{self, WordSet};
use crate::state::pipes;
use crate::sys::open_flags::OpenFlags;
use crate::sys::raw;
use std::cell::Cell;

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

/// The descriptors below 64 that represent those which calls in progress have for a moment.
struct Held(Cell<u64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Held {}

static HELD: Held = Held(Cell::new(0));

/// A call has the lowest free number of a descriptor for a moment: here, and once more when it is made. Another task
/// that opens a file in between gets another number.
pub(super) fn hold_number(site: u64) {
    if !is_in_company() {
        return;
    }
    let files = WordSet::of(open_words::OPEN_FILES);
    change_files(files, site);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: the path is a constant.
    let held = unsafe { raw::call!(libc::SYS_openat, libc::AT_FDCWD, c"/".as_ptr(), flags) };
    let bit = u32::try_from(held).ok().and_then(|held| 1u64.checked_shl(held)).unwrap_or(0);
    HELD.0.set(HELD.0.get() | bit);
    if held >= 0 && bit == 0 {
        // SAFETY: passes no pointer, and the descriptor is the runtime's.
        unsafe { raw::call!(libc::SYS_close, held) };
    }
    change_files(files, site);
    release(bit);
}

/// Closes those of the held descriptors that are in `bits`.
fn release(bits: u64) {
    let held = HELD.0.get();
    HELD.0.set(held & !bits);
    for number in (0..u64::BITS).filter(|number| held & bits & 1 << number != 0) {
        // SAFETY: passes no pointer. The program's calls can only have closed the descriptor if they close numbers
        // that they did not open.
        unsafe { raw::call!(libc::SYS_close, number) };
    }
}

/// An execution begins, or goes back to a moment at which no number was held.
pub(crate) fn release_all() {
    release(u64::MAX);
}

/// Whether no call in progress has a number.
pub(crate) fn holds_none() -> bool {
    HELD.0.get() == 0
}

/// Makes the last step of a call that changes which files are open. `touch` makes the accesses to other memory.
pub(super) fn change<'a>(
    joined: impl Iterator<Item = &'a Operand> + Clone,
    arguments: &Arguments<'_>,
    mut touch: impl FnMut(&'a Operand, u64, u64),
) {
    if joined.clone().next().is_none() {
        return;
    }
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
