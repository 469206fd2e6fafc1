//! The functions by which the program starts other programs: `posix_spawn`, `system` and `popen`.

use crate::instrument::binary::calls;
use crate::kernel::{children, ipc, pass};
use crate::memory::{kernel_changes, snapshot};
use crate::state::root::root;
use crate::state::world::on_fiber;
use crate::sys::dispatch;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_char, c_int, c_void};
use traces::wire::Reset;

/// The program is about to start a process, or to make a copy of itself.
pub(crate) fn about_to_start() {
    kernel_changes::expect_children();
    // The new process shares this memory until it begins its program, and has no handler for the faults
    // by which changes are tracked.
    snapshot::allow_all();
    pass::leave_trace_of(libc::SYS_clone);
    if !children::note_start() && root().reset.get() != Reset::Fork {
        children::adopt();
    }
}

/// The program starts a process by this function.
pub(crate) fn report(name: &str, site: u64) {
    calls::report_unexplored(name, "other processes", site);
}

/// Makes a call of the C library that starts a process. Its system calls go to the kernel.
fn start<T>(name: &str, site: u64, call: impl FnOnce() -> T) -> T {
    about_to_start();
    report(name, site);
    let blocked = dispatch::is_blocking();
    dispatch::allow();
    let result = call();
    if blocked {
        dispatch::block();
    }
    result
}

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// The functions that start a program and return its process number.
macro_rules! spawn {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(
                process: *mut c_int,
                program: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                arguments: *const *mut c_char,
                environment: *const *mut c_char,
            ) -> c_int {
                unsafe {
                    let call = || {
                        real!($name(process, program, actions, attributes, arguments, environment)
                            as fn(*mut c_int, *const c_char, *const c_void, *const c_void,
                                  *const *mut c_char, *const *mut c_char) -> c_int)
                    };
                    if on_fiber() { start(stringify!($name), site(), call) } else { call() }
                }
            })*
        }
    };
}

spawn! {
    posix_spawn posix_spawnp
}

interpose! {
    fn system(command: *const c_char) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(system(command) as fn(*const c_char) -> c_int);
            }
            let site = site();
            let mut process = 0;
            let arguments = [
                c"sh".as_ptr().cast_mut(),
                c"-c".as_ptr().cast_mut(),
                c"--".as_ptr().cast_mut(),
                // Without a command, the question is whether there is a shell.
                if command.is_null() { c"exit 0".as_ptr() } else { command }.cast_mut(),
                std::ptr::null_mut(),
            ];
            let error = start("system", site, || {
                real!(posix_spawn(
                    &raw mut process,
                    c"/bin/sh".as_ptr(),
                    std::ptr::null(),
                    std::ptr::null(),
                    arguments.as_ptr(),
                    environ,
                ) as fn(*mut c_int, *const c_char, *const c_void, *const c_void,
                        *const *mut c_char, *const *mut c_char) -> c_int)
            });
            // As the C library does: a shell that cannot be started counts as one that ended so.
            const NOT_STARTED: c_int = 127 << 8;
            let answer = |status: c_int| match command.is_null() {
                true => c_int::from(status == 0),
                false => status,
            };
            if error != 0 {
                return answer(NOT_STARTED);
            }
            let mut status: c_int = 0;
            let args = [process as u64, &raw mut status as u64, 0, 0, 0, 0];
            loop {
                match ipc::child(libc::SYS_wait4, args, site) {
                    // A handler interrupted the wait, which `system` does not report.
                    interrupted if interrupted == -i64::from(libc::EINTR) => {}
                    answer if answer < 0 => return -1,
                    _ => return answer(status),
                }
            }
        }
    }

    fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
        unsafe {
            let call = || {
                real!(popen(command, mode) as fn(*const c_char, *const c_char) -> *mut c_void)
            };
            if on_fiber() { start("popen", site(), call) } else { call() }
        }
    }
}
