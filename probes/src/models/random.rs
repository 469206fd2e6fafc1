//! Random bytes for the program: the same in every execution.

use crate::interpose::interpose;
use crate::real::real;
use crate::world::{on_fiber, world};
use search::rng::Rng;
use std::ffi::{c_int, c_uint, c_void};

/// Fills memory; how much.
pub(crate) fn fill(to: u64, len: u64) -> i64 {
    let drawn = &world().randomness;
    let mut at = 0;
    while at < len {
        drawn.set(drawn.get() + 1);
        let bytes = Rng::new(0x6865_6464_6c65, drawn.get()).next().to_le_bytes();
        let some = (len - at).min(8);
        // SAFETY: the program's buffer of that length.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (to + at) as *mut u8, some as usize);
        }
        at += some;
    }
    len as i64
}

interpose! {
    fn getrandom(to: *mut c_void, len: usize, flags: c_uint) -> isize {
        if !on_fiber() {
            return unsafe { real!(getrandom(to, len, flags)
                as fn(*mut c_void, usize, c_uint) -> isize) };
        }
        fill(to as u64, len as u64) as isize
    }

    fn getentropy(to: *mut c_void, len: usize) -> c_int {
        if !on_fiber() {
            return unsafe { real!(getentropy(to, len) as fn(*mut c_void, usize) -> c_int) };
        }
        if len > 256 {
            crate::models::set_errno(libc::EIO);
            return -1;
        }
        fill(to as u64, len as u64);
        0
    }
}
