//! Signal actions and polls, which language runtimes use at every start. System call dispatch would
//! serve them as well, at the cost of a signal for each.

use crate::kernel::captured_output;
use crate::kernel::syscalls;
use crate::primitives::cancel;
use crate::state::world::on_fiber;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use crate::sys::signals::{self, Action};
use std::ffi::{c_int, c_void};

/// glibc's `struct sigaction`, which differs from the kernel's.
type Program = libc::sigaction;

/// Whether an action needs no restorer (the return path of a handler), which only the C library
/// knows.
fn is_plain(signal: c_int, handler: usize) -> bool {
    signals::is_reserved(signal) || handler == libc::SIG_DFL || handler == libc::SIG_IGN
}

fn first_word(mask: &libc::sigset_t) -> u64 {
    // SAFETY: a mask is 128 bytes, of which the kernel uses the first eight.
    unsafe { *(&raw const *mask).cast::<u64>() }
}

fn serve(signal: c_int, new: Option<Action>, old: Option<&mut Action>) -> c_int {
    let new = new.as_ref().map_or(0, |new| new as *const Action as u64);
    let old = old.map_or(0, |old| old as *mut Action as u64);
    let args = [signal as u64, new, old, 8, 0, 0];
    match syscalls::serve(libc::SYS_rt_sigaction, args, site()) {
        0 => 0,
        error => {
            set_errno(-error as c_int);
            -1
        }
    }
}

const NONE: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };

/// The result of a poll of the standard streams only, if that is all it asks for.
fn of_standard_streams(descriptors: *mut libc::pollfd, count: u64) -> Option<c_int> {
    if count > 3 {
        return None;
    }
    // SAFETY: the caller of `poll` passes an array of `count` elements. It belongs to the calling
    // task, and no other reference to it exists during the call.
    captured_output::poll(unsafe { std::slice::from_raw_parts_mut(descriptors, count as usize) })
}

interpose! {
    fn sigaction(signal: c_int, new: *const Program, old: *mut Program) -> c_int {
        unsafe {
            let plain = new.as_ref().is_none_or(|new| is_plain(signal, new.sa_sigaction));
            // The C library reserves two signals for itself and refuses them in its own way.
            if !on_fiber() || !plain || (32..=33).contains(&signal) {
                return real!(sigaction(signal, new, old)
                    as fn(c_int, *const Program, *mut Program) -> c_int);
            }
            let action = new.as_ref().map(|new| Action {
                handler: new.sa_sigaction as u64,
                flags: new.sa_flags as u64,
                restorer: 0,
                mask: first_word(&new.sa_mask),
            });
            let mut before = NONE;
            let answer = serve(signal, action, Some(&mut before));
            if answer == 0 && !old.is_null() {
                (*old).sa_sigaction = before.handler as usize;
                (*old).sa_flags = before.flags as c_int;
                (*old).sa_restorer = std::mem::transmute::<u64, Option<extern "C" fn()>>(before.restorer);
                (&raw mut (*old).sa_mask).write_bytes(0, 1);
                (&raw mut (*old).sa_mask).cast::<u64>().write(before.mask);
            }
            answer
        }
    }

    fn signal(signal: c_int, handler: usize) -> usize {
        unsafe {
            if !on_fiber() || !is_plain(signal, handler) || !(1..32).contains(&signal) {
                return real!(signal(signal, handler) as fn(c_int, usize) -> usize);
            }
        }
        // The flags of `signal` in BSD and glibc.
        let action = Action {
            handler: handler as u64,
            flags: libc::SA_RESTART as u64,
            restorer: 0,
            mask: 1 << (signal - 1),
        };
        let mut before = NONE;
        match serve(signal, Some(action), Some(&mut before)) {
            0 => before.handler as usize,
            _ => libc::SIG_ERR,
        }
    }

    fn poll(descriptors: *mut c_void, count: u64, timeout: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(poll(descriptors, count, timeout)
                as fn(*mut c_void, u64, c_int) -> c_int) };
        }
        let site = site();
        if timeout == 0 && let Some(ready) = of_standard_streams(descriptors.cast(), count) {
            return ready;
        }
        let args = [descriptors as u64, count, timeout as u64, 0, 0, 0];
        // A poll that may wait is a cancellation point.
        if timeout != 0 {
            cancel::begin();
        }
        let answer = syscalls::serve(libc::SYS_poll, args, site);
        cancel::end();
        match answer {
            error @ ..0 => {
                set_errno(-error as c_int);
                -1
            }
            ready => ready as c_int,
        }
    }
}
