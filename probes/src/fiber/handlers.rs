//! Which functions on the running task's stack catch any exception, as Rust's `catch_unwind` and C++'s `catch (...)`
//! do.
//!
//! The unwinder asks each frame's personality function. This reads the tables that those of Rust and C++ read (the
//! language-specific data area of the Itanium C++ ABI), so it needs no symbols.

use crate::fiber::backtrace;
use crate::sys::real::real;
use std::ffi::{c_int, c_void};

/// The functions that catch any exception at the call that is in progress there.
pub(crate) struct Catching {
    pub(crate) count: usize,
    /// The start of the outermost one; 0 if there is none.
    pub(crate) outermost: u64,
}

/// Finds them on the running task's stack.
pub(crate) fn catching() -> Catching {
    extern "C-unwind" fn visit(context: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `catching` gave it: a local `Catching`, to which no other
        // reference is used during the walk.
        let found = unsafe { &mut *found.cast::<Catching>() };
        let table = real!(_Unwind_GetLanguageSpecificData(context) as fn(*mut c_void) -> u64);
        let function = real!(_Unwind_GetRegionStart(context) as fn(*mut c_void) -> u64);
        // The return address may be behind the range of the call.
        let call = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64).wrapping_sub(1);
        // SAFETY: the frame's own table, which the unwinder found.
        if table != 0 && unsafe { catches(table, call.wrapping_sub(function)) } {
            found.count += 1;
            found.outermost = function;
        }
        backtrace::CONTINUE
    }
    let mut found = Catching { count: 0, outermost: 0 };
    // SAFETY: the pointer is that of a `Catching`, which outlives the call.
    unsafe { backtrace::walk_frames(visit, (&raw mut found).cast()) };
    found
}

/// Reads numbers of the table.
struct Reader(u64);

/// The encoding of values that are left out.
const OMITTED: u8 = 0xff;

impl Reader {
    /// # Safety
    /// The table has another byte here.
    unsafe fn byte(&mut self) -> u8 {
        self.0 += 1;
        // SAFETY: the caller's promise.
        unsafe { *((self.0 - 1) as *const u8) }
    }

    /// A number of variable length (LEB128), and how many of its bits there are.
    ///
    /// # Safety
    /// The table has such a number here.
    unsafe fn variable(&mut self) -> (u64, u32) {
        let (mut value, mut shift) = (0, 0);
        loop {
            // SAFETY: the caller's promise.
            let byte = unsafe { self.byte() };
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return (value, shift);
            }
        }
    }

    /// # Safety
    /// As for [`Reader::variable`].
    unsafe fn signed(&mut self) -> i64 {
        // SAFETY: the caller's promise.
        let (value, bits) = unsafe { self.variable() };
        let unused = 64u32.saturating_sub(bits);
        (value << unused) as i64 >> unused
    }

    /// A number in this encoding, without what it is relative to.
    ///
    /// # Safety
    /// The table has such a number here.
    unsafe fn encoded(&mut self, encoding: u8) -> u64 {
        let Some(size) = size_of_encoded(encoding) else {
            // SAFETY: the caller's promise.
            return unsafe { self.variable() }.0;
        };
        // SAFETY: the caller's promise.
        (0..size).fold(0, |value, at| value | u64::from(unsafe { self.byte() }) << (8 * at))
    }
}

/// The size of numbers in this encoding; none if it is variable.
fn size_of_encoded(encoding: u8) -> Option<u64> {
    match encoding & 0x07 {
        1 => None,
        2 => Some(2),
        3 => Some(4),
        _ => Some(8),
    }
}

/// Whether a function catches any exception at the call with this offset.
///
/// # Safety
/// `table` is the address of the function's language-specific data area.
unsafe fn catches(table: u64, call: u64) -> bool {
    let mut at = Reader(table);
    // SAFETY: reads the parts of the table in their order, up to the end that the table names.
    unsafe {
        let base = at.byte();
        if base != OMITTED {
            at.encoded(base);
        }
        let types = at.byte();
        let types = match types {
            OMITTED => None,
            _ => {
                let offset = at.variable().0;
                Some((types, at.0 + offset))
            }
        };
        let encoding = at.byte();
        let len = at.variable().0;
        let actions = at.0 + len;
        while at.0 < actions {
            let start = at.encoded(encoding);
            let size = at.encoded(encoding);
            let pad = at.encoded(encoding);
            let action = at.variable().0;
            if (start..start.saturating_add(size)).contains(&call) {
                return pad != 0 && action != 0 && any_is_caught(actions + action - 1, types);
            }
        }
    }
    false
}

/// Whether one of the actions from an address on is to catch any exception: its entry in the table of types, which
/// ends at the address beside the encoding, is 0.
///
/// # Safety
/// The address is that of an action of a function, and the other is that of its types.
unsafe fn any_is_caught(action: u64, types: Option<(u8, u64)>) -> bool {
    let Some((encoding, end)) = types else { return false };
    let mut at = Reader(action);
    loop {
        // SAFETY: each action has its type, and the distance from there to the next action or 0. A positive type is
        // the index of an entry, counted from the end.
        unsafe {
            let kind = at.signed();
            let from = at.0;
            let next = at.signed();
            if kind > 0
                && let Some(size) = size_of_encoded(encoding)
            {
                let entry = end.wrapping_sub(kind as u64 * size);
                if Reader(entry).encoded(encoding) == 0 {
                    return true;
                }
            }
            if next == 0 {
                return false;
            }
            at = Reader(from.wrapping_add_signed(next));
        }
    }
}
