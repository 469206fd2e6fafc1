//! The state of synchronization primitives as glibc lays it out in the program's own bytes: what the
//! scheduler asks to find the enabled tasks.

pub(crate) mod barrier;
pub(crate) mod holders;
pub(crate) mod mutex;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spin_lock;
