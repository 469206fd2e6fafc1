//! `read` and `write` of the C library are served without its code: that the kernel intercepts its system call
//! costs more than most of these calls.
//!
//! They have the site that the intercepted call would have, the instruction behind the system call in the
//! library, so that it makes no difference to a schedule which of the two ways a call took. Under a debugger,
//! which reports intercepted calls, the library's code runs.

use crate::kernel::{output, syscalls};
use crate::primitives::cancel;
use crate::state::overdue;
use crate::state::world::{on_fiber, world};
use crate::sys::errno::set_errno;
use crate::sys::interpose::{PROGRAM_CALL, interpose};
use crate::sys::real::real;
use crate::sys::stops;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The sites of the system calls in `read` and in `write`; 0 if unknown.
struct Sites([Cell<u64>; 2]);

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Sites {}

static SITES: Sites = Sites([const { Cell::new(0) }; 2]);

/// The instruction `syscall`.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Finds the sites, after [`cancel::find_inner_points`]. The functions have two such instructions: for processes
/// with one thread, and behind it for others, of which this is one. In a library where that is not so, the
/// library's code runs.
pub(crate) fn prepare() {
    for (writes, site) in [false, true].into_iter().zip(&SITES.0) {
        let (start, end) = cancel::inner_point(writes);
        if start == 0 {
            continue;
        }
        // SAFETY: the code of a function of a loaded library, which is mapped and readable.
        let code =
            unsafe { std::slice::from_raw_parts(start as *const u8, (end - start) as usize) };
        let mut calls = code.windows(2).enumerate().filter(|(_, two)| *two == SYSCALL);
        if let (Some(_), Some((at, _)), None) = (calls.next(), calls.next(), calls.next()) {
            site.set(start + at as u64 + 2);
        }
    }
}

/// Serves a call where that is possible without the library's code.
#[inline]
fn serve(number: i64, args: [u64; 3]) -> Option<isize> {
    let site = SITES.0[usize::from(number == libc::SYS_write)].get();
    if site == 0 || stops::is_there() {
        return None;
    }
    let (_, sp, registers) = PROGRAM_CALL.save();
    PROGRAM_CALL.restore(&(site, sp, registers));
    overdue::act_if_due(site);
    let [descriptor, memory, len] = args;
    let answer = syscalls::serve(number, [descriptor, memory, len, 0, 0, 0], site);
    if (-4095..0).contains(&answer) {
        set_errno(-answer as i32);
        return Some(-1);
    }
    Some(answer as isize)
}

interpose! {
    fn read(descriptor: c_int, to: *mut c_void, len: usize) -> isize {
        let real = || unsafe {
            real!(read(descriptor, to, len) as fn(c_int, *mut c_void, usize) -> isize)
        };
        if !on_fiber() {
            return real();
        }
        cancel::begin();
        let args = [descriptor as u64, to as u64, len as u64];
        let answer = serve(libc::SYS_read, args).unwrap_or_else(real);
        cancel::end();
        answer
    }

    fn write(descriptor: c_int, from: *const c_void, len: usize) -> isize {
        let real = || unsafe {
            real!(write(descriptor, from, len) as fn(c_int, *const c_void, usize) -> isize)
        };
        if !on_fiber() {
            return real();
        }
        cancel::begin();
        let args = [descriptor as u64, from as u64, len as u64];
        let answer = match world().is_captured(descriptor as u64) {
            true => {
                output::keep(from as u64, len as u64);
                len as isize
            }
            false => serve(libc::SYS_write, args).unwrap_or_else(real),
        };
        cancel::end();
        answer
    }
}
