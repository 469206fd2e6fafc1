//! What each operation does: the models of the primitives.
//!
//! The state of a mutex or a semaphore is in the program's own bytes, laid out as glibc lays it out:
//! so initialisers, copies, `destroy` and a debugger's view work as they are, objects made before
//! control was taken need no introduction, and a reset puts them back with all other memory. Who
//! waits is in the tasks.

pub(crate) mod abort;
pub(crate) mod action;
pub(crate) mod barrier;
pub(crate) mod c11;
pub(crate) mod cancel;
pub(crate) mod captured;
pub(crate) mod ceiling;
pub(crate) mod condition;
pub(crate) mod delivery;
pub(crate) mod exit;
pub(crate) mod file_lock;
pub(crate) mod futex;
pub(crate) mod guard;
pub(crate) mod holdings;
pub(crate) mod jump;
pub(crate) mod keys;
pub(crate) mod left_held;
pub(crate) mod misuse;
pub(crate) mod mutex;
pub(crate) mod named;
pub(crate) mod output;
pub(crate) mod pending;
pub(crate) mod random;
pub(crate) mod readiness;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spin;
pub(crate) mod thread;
pub(crate) mod time;
pub(crate) mod timer;
pub(crate) mod unsupported;
pub(crate) mod unwind;

/// Looks at an object that the program names: where there is none, its task faults, as it would in the C
/// library, and not the scheduler, which looks at what tasks stand before.
#[inline]
pub(crate) fn touch(object: u64) {
    // SAFETY: the program says that an object is there; if it lies, it faults as it would natively.
    unsafe { (object as *const u32).read_volatile() };
}

/// Sets `errno` of the running task.
pub(crate) fn set_errno(code: i32) {
    // SAFETY: the running task's own.
    unsafe { *libc::__errno_location() = code }
}
