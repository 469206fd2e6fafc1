//! Time limits of sockets that are before now (`SO_RCVTIMEO` and `SO_SNDTIMEO` with negative seconds): their calls
//! do not wait. The kernel reports such a limit as none.

use crate::kernel::descriptor_kind::inode;
use crate::memory::runtime_heap::in_private;
use crate::state::exclusive::Exclusive;
use crate::sys::open_flags::{may_wait_to_read, may_wait_to_write};
use crate::sys::raw;

/// The most such limits in one execution; with further ones, calls wait.
const MOST: usize = 64;

struct Past(Exclusive<Vec<((u64, u64), i32)>>);
// SAFETY: `Exclusive` checks borrows, and the controlled process has one kernel thread.
unsafe impl Sync for Past {}

/// The sockets with such a limit, and which of the two options it is.
static PAST: Past = Past(Exclusive::new(Vec::new()));

/// An execution begins.
pub(crate) fn begin() {
    PAST.0.borrow().clear();
}

/// The program set an option of a socket, which the kernel accepted.
pub(crate) fn set(args: [u64; 6]) {
    let [descriptor, level, option, value, ..] = args;
    let is_limit = level as i32 == libc::SOL_SOCKET
        && matches!(option as i32, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO);
    let mut seconds = [0; 8];
    let Some(file) = inode(descriptor).filter(|_| is_limit && raw::read(value, &mut seconds))
    else {
        return;
    };
    let mut all = PAST.0.borrow();
    let limit = (file, option as i32);
    all.retain(|&known| known != limit);
    if i64::from_ne_bytes(seconds) < 0 && all.len() < MOST {
        in_private(|| all.push(limit));
    }
}

/// Whether this limit of a socket is before now.
pub(crate) fn is_past(descriptor: u64, option: i32) -> bool {
    let all = PAST.0.borrow();
    !all.is_empty() && inode(descriptor).is_some_and(|file| all.contains(&(file, option)))
}

/// Whether a call that sends or receives, which has this option as its limit, may wait.
pub(crate) fn may_wait_for(descriptor: u64, option: i32) -> bool {
    let may_wait = match option {
        libc::SO_RCVTIMEO => may_wait_to_read,
        _ => may_wait_to_write,
    };
    may_wait(descriptor) && !is_past(descriptor, option)
}
