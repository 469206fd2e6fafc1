//! `errno`.

/// Sets `errno` of the running task.
pub(crate) fn set_errno(code: i32) {
    // SAFETY: glibc returns the address of the running task's own `errno`, as the thread pointer is
    // that task's.
    unsafe { *libc::__errno_location() = code }
}
