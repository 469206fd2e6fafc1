//! Raw system calls, their dispatch, signals, the vDSO, interposition, the shared memory.

pub(crate) mod channel;
pub(crate) mod checked_read;
pub(crate) mod copies;
pub(crate) mod dispatch;
pub(crate) mod errno;
pub(crate) mod interpose;
pub(crate) mod open_flags;
pub(crate) mod own_image;
pub(crate) mod parent;
pub(crate) mod raw;
pub(crate) mod readable;
pub(crate) mod real;
pub(crate) mod signals;
pub(crate) mod stops;
pub(crate) mod vdso;
pub(crate) mod vector_state;
