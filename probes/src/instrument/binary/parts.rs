//! Accesses that a function makes in parts, and that are one step here.
//!
//! A `memcpy` or a `strcmp` is made in pieces ([`super::bulk`]). Other functions of the C library and system
//! calls run at full speed: what another task does between two parts of their accesses is not explored. It
//! matters where another task accesses the same memory unordered, so that is reported, by the function's name.

use crate::detect::access::Access;
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::calls::report_unexplored;
use crate::instrument::binary::operand::{FunctionName, Measure, Operand, Parts};
use std::cell::Cell;
use traces::wire::CALL_IN_PARTS;

/// The functions that were called at some sites, the last ones.
struct Called([Cell<(u64, &'static str)>; CALLED]);
const CALLED: usize = 1024;
// SAFETY: the controlled process has one kernel thread, and the cells hand out no references.
unsafe impl Sync for Called {}
static CALLED_AT: Called = Called([const { Cell::new((0, "")) }; CALLED]);

fn place(site: u64) -> &'static Cell<(u64, &'static str)> {
    &CALLED_AT.0[(site ^ site >> 10) as usize % CALLED]
}

/// Determines which accesses of a function are made in parts.
pub(super) fn determine(function: &'static str, operands: &mut [Operand]) {
    if Bulk::of_function(function) != Bulk::None {
        return;
    }
    let scalars = operands.iter().filter(|it| is_of_memory(it) && is_scalar(it)).count();
    let is_copy = !operands.iter().any(is_of_text);
    let mut name = None;
    for operand in operands.iter_mut().filter(|it| is_of_memory(it)) {
        operand.parts = match operand.measure {
            _ if is_scalar(operand) && scalars < 2 => Parts::One,
            Measure::Register(_) | Measure::Elements(_) | Measure::Segment if is_copy => {
                Parts::Words
            }
            _ => Parts::Unknown,
        };
        if operand.parts != Parts::One {
            operand.function = Some(*name.get_or_insert_with(|| FunctionName::of(function)));
        }
    }
}

/// Whether the operand is memory that programs access themselves.
fn is_of_memory(operand: &Operand) -> bool {
    let is_variable = operand.measure == Measure::Element && operand.size > 8;
    !operand.is_library_state() || is_variable || operand.measure == Measure::Environment
}

fn is_scalar(operand: &Operand) -> bool {
    operand.measure == Measure::TokenPosition
        || operand.measure == Measure::Element && operand.size <= 8 && !operand.pointed
}

/// Whether the function reads or makes text, byte after byte, or has a buffer.
fn is_of_text(operand: &Operand) -> bool {
    !matches!(
        operand.measure,
        Measure::Element
            | Measure::Register(_)
            | Measure::Elements(_)
            | Measure::Segment
            | Measure::Descriptor(_)
            | Measure::Taken { .. }
            | Measure::Given(_)
            | Measure::Hidden { .. }
            | Measure::HiddenKnown
    )
}

/// The access to so many bytes at an operand, marked if the function makes it in parts.
#[inline]
pub(super) fn marked(operand: &Operand, access: Access) -> Access {
    match operand.parts {
        Parts::One => access,
        Parts::Words if access.is_of_word() => access,
        Parts::Unknown if access.size == 1 && operand.measure != Measure::Element => access,
        Parts::Words | Parts::Unknown => in_parts(access, operand.function_name()),
    }
}

/// The access of a system call, marked unless it is to one word.
pub(crate) fn of_system_call(access: Access) -> Access {
    if access.is_of_word() { access } else { in_parts(access, "syscall") }
}

/// The access, which the function that is called before its site makes in parts.
fn in_parts(access: Access, function: &'static str) -> Access {
    place(access.site).set((access.site, function));
    Access { in_parts: true, ..access }
}

/// A call of a function that is made in pieces otherwise accesses memory that another task accesses, at once.
pub(super) fn met_call(function: &str, site: u64) {
    report_unexplored(&format!("{CALL_IN_PARTS}{function}"), "the C library", site);
}

/// Another task accesses, unordered, memory that the call before `site` accesses in parts.
pub(crate) fn met(site: u64) {
    let (known, function) = place(site).get();
    // The place of a site may have been taken by another.
    let function = if known == site { function } else { "a function" };
    report_unexplored(&format!("{CALL_IN_PARTS}{function}"), "the C library", site);
}
