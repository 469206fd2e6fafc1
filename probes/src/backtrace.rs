//! The stack of the task that runs, by the unwinder that the program has, too.

use crate::real::real;
use std::ffi::{c_int, c_void};

/// The return addresses on the running task's stack, innermost first, without the runtime's own.
pub(crate) fn take() -> Vec<u64> {
    /// Deeper ones are cut.
    const DEEPEST: usize = 128;
    struct Walk {
        addresses: Vec<u64>,
        own: (u64, u64),
    }
    type Visit = extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int;
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: what `take` gave.
        let walk = unsafe { &mut *walk.cast::<Walk>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        if !(walk.own.0..walk.own.0 + walk.own.1).contains(&address) {
            walk.addresses.push(address);
        }
        const GO_ON: c_int = 0;
        const NORMAL_STOP: c_int = 4;
        if walk.addresses.len() < DEEPEST { GO_ON } else { NORMAL_STOP }
    }
    let mut walk = Walk { addresses: Vec::new(), own: crate::entry::own_text() };
    // SAFETY: the unwinder's function, with its own types.
    real!(_Unwind_Backtrace(visit, (&raw mut walk).cast()) as fn(Visit, *mut c_void) -> c_int);
    walk.addresses
}
