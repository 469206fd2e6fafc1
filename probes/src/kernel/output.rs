//! The program's output: captured for the controller, and written nowhere else.

use crate::sys::channel::{self, header};
use std::sync::atomic::Ordering::Relaxed;

/// Appends to the captured output. What exceeds the region is counted, not stored.
pub(crate) fn keep(from: u64, len: u64) {
    let header = header();
    let used = header.output_len.load(Relaxed);
    let room = header.output.len.saturating_sub(used).min(len);
    // SAFETY: `room` is at most the free part of the region, which only this process writes, and
    // the caller passes a readable buffer of `len` bytes (the program's argument of `write`).
    unsafe {
        let to = channel::address(header.output) as u64 + used.min(header.output.len);
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, room as usize);
    }
    header.output_len.store(used + len, Relaxed);
}

/// The output so far.
pub(crate) fn printed() -> &'static [u8] {
    let header = header();
    let len = header.output_len.load(Relaxed).min(header.output.len);
    // SAFETY: `keep` wrote these bytes, within the mapped region, and callers drop the slice before
    // the program prints again.
    unsafe {
        std::slice::from_raw_parts(channel::address(header.output) as *const u8, len as usize)
    }
}

/// `write` or `writev` to a captured descriptor.
pub(crate) fn write(vector: bool, args: [u64; 6]) -> i64 {
    if !vector {
        keep(args[1], args[2]);
        return args[2] as i64;
    }
    let mut total = 0;
    for index in 0..args[2] {
        // SAFETY: the caller of `writev` passes an array of `args[2]` elements.
        let part = unsafe { &*(args[1] as *const libc::iovec).add(index as usize) };
        keep(part.iov_base as u64, part.iov_len as u64);
        total += part.iov_len as i64;
    }
    total
}
