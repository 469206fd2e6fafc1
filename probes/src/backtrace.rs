//! The stack of the task that runs, by the unwinder that the program has, too.

use crate::identity;
use crate::real::real;
use std::ffi::{c_int, c_void};

/// Of a stack, deeper frames are cut.
const DEEPEST: usize = 128;

/// How many frames tell a place apart from the same place called from elsewhere.
const AROUND: usize = 5;

/// The return addresses on the running task's stack, innermost first, without the runtime's own.
pub(crate) fn take() -> Vec<u64> {
    innermost(DEEPEST)
}

/// A number for the frames around the place where the running task stands.
pub(crate) fn around() -> u64 {
    let around = innermost(AROUND).into_iter();
    around.fold(0, |hash, address| search::events::mix(hash ^ identity::of_code(address)))
}

/// At most so many of the return addresses.
fn innermost(most: usize) -> Vec<u64> {
    struct Walk {
        addresses: Vec<u64>,
        own: (u64, u64),
        most: usize,
    }
    type Visit = extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int;
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: what `innermost` gave.
        let walk = unsafe { &mut *walk.cast::<Walk>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        if !(walk.own.0..walk.own.0 + walk.own.1).contains(&address) {
            walk.addresses.push(address);
        }
        const GO_ON: c_int = 0;
        const NORMAL_STOP: c_int = 4;
        if walk.addresses.len() < walk.most { GO_ON } else { NORMAL_STOP }
    }
    let mut walk = Walk { addresses: Vec::new(), own: crate::entry::own_text(), most };
    // SAFETY: the unwinder's function, with its own types.
    real!(_Unwind_Backtrace(visit, (&raw mut walk).cast()) as fn(Visit, *mut c_void) -> c_int);
    walk.addresses
}
