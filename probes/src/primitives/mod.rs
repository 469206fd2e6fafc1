//! The models of the primitives: what each operation does.
//!
//! The state of a mutex or a semaphore is in the program's own bytes, in glibc's layout. So static
//! initialisers, copies, `destroy`, objects that were locked before control began, and a debugger's
//! view work unchanged, and a reset restores the state with all other memory. Which task waits for
//! what is stored with the tasks.

pub(crate) mod abandoned_locks;
pub(crate) mod attributes;
pub(crate) mod barrier;
pub(crate) mod c11;
pub(crate) mod cancel;
pub(crate) mod common;
pub(crate) mod condition;
pub(crate) mod futex;
pub(crate) mod join;
pub(crate) mod long_jump;
pub(crate) mod misuse;
pub(crate) mod mutex;
pub(crate) mod mutex_ceiling;
pub(crate) mod named_semaphore;
pub(crate) mod once;
pub(crate) mod robust_list;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spare_threads;
pub(crate) mod spin_lock;
pub(crate) mod static_guard;
pub(crate) mod thread;
pub(crate) mod thread_keys;
pub(crate) mod thread_unwind;
pub(crate) mod waiters;
