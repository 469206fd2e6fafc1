//! Who called whom on the running task's stack, as the unwinder knows it.

use crate::identity;
use crate::real::real;
use std::ffi::{c_int, c_void};

type Visit = extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int;
const GO_ON: c_int = 0;
const NORMAL_STOP: c_int = 4;

/// Lets the unwinder make its tables, which it does at its first use behind a once flag: the steps of
/// the program are not to depend on who throws first.
pub(crate) fn wake() {
    extern "C-unwind" fn go_on(_: *mut c_void, _: *mut c_void) -> c_int {
        GO_ON
    }
    // SAFETY: the unwinder's function with its own types.
    real!(_Unwind_Backtrace(go_on, std::ptr::null_mut()) as fn(Visit, *mut c_void) -> c_int);
}

/// The return addresses on the running task's stack, innermost first, without the runtime's own.
pub(crate) fn take() -> Vec<u64> {
    /// Deeper ones are cut.
    const DEEPEST: usize = 128;
    let mut addresses = vec![0; DEEPEST];
    let found = innermost(&mut addresses);
    addresses.truncate(found);
    addresses
}

/// A number for the frames around the place where the running task stands.
pub(crate) fn around() -> u64 {
    /// How many frames tell a place apart from the same place called from elsewhere.
    const AROUND: usize = 5;
    let mut addresses = [0; AROUND];
    let found = innermost(&mut addresses);
    let around = addresses[..found].iter();
    around.fold(0, |hash, &address| search::events::mix(hash ^ identity::of_code(address)))
}

/// The innermost of them, as many as there is room for; how many there are. Allocates nothing.
pub(crate) fn innermost(addresses: &mut [u64]) -> usize {
    struct Walk<'a> {
        addresses: &'a mut [u64],
        found: usize,
        own: (u64, u64),
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: what `innermost` gave.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        let own = (walk.own.0..walk.own.0 + walk.own.1).contains(&address);
        if let Some(place) = walk.addresses.get_mut(walk.found).filter(|_| !own) {
            *place = address;
            walk.found += 1;
        }
        if walk.found < walk.addresses.len() { GO_ON } else { NORMAL_STOP }
    }
    let mut walk = Walk { addresses, found: 0, own: crate::entry::own_text() };
    // SAFETY: the unwinder's function, with its own types.
    real!(_Unwind_Backtrace(visit, (&raw mut walk).cast()) as fn(Visit, *mut c_void) -> c_int);
    walk.found
}
