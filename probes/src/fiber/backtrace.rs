//! Backtraces of the running task, by the unwinder.

use crate::sys::interpose::PROGRAM_CALL;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

type Visit = extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int;
const CONTINUE: c_int = 0;
const NORMAL_STOP: c_int = 4;

/// Whether the runtime walks the running task's stack.
struct Walks(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Walks {}
static WALKS: Walks = Walks(Cell::new(false));

/// Whether the runtime walks the running task's stack: functions that the unwinder calls then are no calls of the
/// program.
pub(crate) fn is_running() -> bool {
    WALKS.0.get()
}

/// Calls `visit` for each frame of the running task, until it returns something else than [`CONTINUE`].
///
/// # Safety
/// `data` is what `visit` expects.
unsafe fn walk_frames(visit: Visit, data: *mut c_void) {
    let outer = WALKS.0.replace(true);
    // SAFETY: the unwinder's function with its own types; the rest is the caller's promise.
    real!(_Unwind_Backtrace(visit, data) as fn(Visit, *mut c_void) -> c_int);
    WALKS.0.set(outer);
}

/// Makes the unwinder build its tables. It does so at its first use, with a once flag, and the
/// program's steps must not depend on which task throws first.
pub(crate) fn wake() {
    extern "C-unwind" fn next_frame(_: *mut c_void, _: *mut c_void) -> c_int {
        CONTINUE
    }
    // SAFETY: the callback only returns.
    unsafe { walk_frames(next_frame, std::ptr::null_mut()) };
}

/// The return addresses on the running task's stack, innermost first, without the runtime's own.
pub(crate) fn take() -> Vec<u64> {
    /// Deeper frames are cut off.
    const DEEPEST: usize = 128;
    let mut addresses = vec![0; DEEPEST];
    let found = innermost(&mut addresses);
    addresses.truncate(found);
    addresses
}

/// The innermost return addresses, as many as fit; returns how many there are. Allocates nothing, and keeps what is
/// stored for the call in progress: the unwinder may call interposed functions.
pub(crate) fn innermost(addresses: &mut [u64]) -> usize {
    struct Walk<'a> {
        addresses: &'a mut [u64],
        found: usize,
        own: (u64, u64),
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `innermost` gave it: a local `Walk`, to
        // which no other reference is used during the walk.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        let own = (walk.own.0..walk.own.0 + walk.own.1).contains(&address);
        if let Some(place) = walk.addresses.get_mut(walk.found).filter(|_| !own) {
            *place = address;
            walk.found += 1;
        }
        if walk.found < walk.addresses.len() { CONTINUE } else { NORMAL_STOP }
    }
    let mut walk = Walk { addresses, found: 0, own: crate::sys::own_image::text() };
    let to = (&raw mut walk).cast();
    // SAFETY: the pointer is that of a `Walk`, which outlives the call.
    PROGRAM_CALL.keep_during(|| unsafe { walk_frames(visit, to) });
    walk.found
}

/// Whether a call is in progress in the running task: the one that returns to `site`, made with this stack
/// pointer. Allocates nothing.
pub(crate) fn is_in_call(site: u64, stack: u64) -> bool {
    struct Walk {
        wanted: (u64, u64),
        found: bool,
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `is_in_call` gave it: a local `Walk`, to which no
        // other reference is used during the walk.
        let walk = unsafe { &mut *walk.cast::<Walk>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        let frame = real!(_Unwind_GetCFA(context) as fn(*mut c_void) -> u64);
        walk.found |= (address, frame) == walk.wanted;
        // The frames of callers are above those of what they call.
        if walk.found || frame > walk.wanted.1 { NORMAL_STOP } else { CONTINUE }
    }
    let mut walk = Walk { wanted: (site, stack), found: false };
    // SAFETY: the pointer is that of a `Walk`, which outlives the call.
    unsafe { walk_frames(visit, (&raw mut walk).cast()) };
    walk.found
}
