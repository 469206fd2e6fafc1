//! Copies of the process: `fork`, `vfork`, and `clone` and `clone3` without shared memory; and the
//! execution of another program.
//!
//! A copy runs beside the program, without control: the runtime's probes, handlers and stand-ins are
//! removed from it ([`crate::sys::copies`]). A task that executes another program waits for it, and the
//! process ends with the status of that program.

use crate::detect::access;
use crate::instrument::binary;
use crate::kernel::{children, exit, signal_calls, signal_descriptor, spawns};
use crate::memory::{arena, snapshot, thread_block};
use crate::state::outcome;
use crate::state::upcalls;
use crate::state::world::{Stage, on_fiber, world};
use crate::sys::copies;
use crate::sys::dispatch;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{LiveFrames, interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::c_int;

/// Whether the function of the C library that makes the call was reported already.
struct Reported(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Reported {}
static REPORTED: Reported = Reported(Cell::new(false));

/// What `clone` and its relatives are asked for.
#[derive(Clone, Copy)]
struct Request {
    name: &'static str,
    flags: u64,
    stack: u64,
    /// Where the kernel stores the new process's descriptor or number, for the parent and the child.
    parent: u64,
    child: u64,
    tls: u64,
}

impl Request {
    fn of(number: i64, args: [u64; 6]) -> Option<Request> {
        let plain = |name, flags| Request { name, flags, stack: 0, parent: 0, child: 0, tls: 0 };
        let signal = libc::SIGCHLD as u64;
        Some(match number {
            libc::SYS_fork => plain("fork", signal),
            libc::SYS_vfork => plain("vfork", libc::CLONE_VFORK as u64 | signal),
            libc::SYS_clone => {
                let [flags, stack, parent, child, tls, _] = args;
                Request { name: "clone", flags, stack, parent, child, tls }
            }
            _ => {
                let mut words = [0u64; 8];
                // SAFETY: an array of words is also one of bytes.
                let bytes =
                    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 64) };
                // `clone_args`: flags, pidfd, child_tid, parent_tid, exit_signal, stack, its size, tls.
                if args[1] < 64 || !raw::read(args[0], bytes) {
                    return None;
                }
                let [flags, descriptor, child, parent, signal, stack, len, tls] = words;
                let parent =
                    if flags & libc::CLONE_PIDFD as u64 != 0 { descriptor } else { parent };
                Request {
                    name: "clone3",
                    flags: flags | signal,
                    stack: stack + len,
                    parent,
                    child,
                    tls,
                }
            }
        })
    }
}

/// `fork`, `vfork`, `clone` and `clone3`. Returns twice: in the copy, which is not controlled, with 0.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let Some(request) = Request::of(number, args) else { return -i64::from(libc::EINVAL) };
    let asks = |flag: i32| request.flags & flag as u64 != 0;
    let shares = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND;
    // With CLONE_VFORK the process waits until the copy executes a program, so a copy of its memory is as
    // good, except for what the copy writes there.
    let waits = asks(libc::CLONE_VFORK) && !asks(libc::CLONE_THREAD);
    if request.stack != 0 || asks(shares) && !waits {
        outcome::unsupported(request.name, site);
    }
    if !waits && let Some(memory) = snapshot::shared_mapping() {
        let name = request.name;
        outcome::unsupported(
            &format!("{name} with writable memory that both share ({memory})"),
            site,
        );
    }
    if !REPORTED.0.get() {
        spawns::report(request.name, site);
    }
    spawns::about_to_start();
    let flags = request.flags & !(shares as u64);
    // SAFETY: `getpid` takes no arguments. The `clone` copies the memory, so the copy continues here with its
    // own; the addresses are those that the program gave.
    let (own, answer) = unsafe {
        let own = raw::call!(libc::SYS_getpid);
        let [parent, child] = [request.parent, request.child];
        (own, raw::call!(libc::SYS_clone, flags, 0, parent, child, request.tls))
    };
    if answer == 0 {
        leave_control(own);
    }
    answer
}

/// This process is a copy, of process `parent`: removes everything by which the runtime controls it.
fn leave_control(parent: i64) {
    let world = world();
    dispatch::allow();
    world.stage.set(Stage::Before);
    access::end();
    upcalls::unregister();
    binary::remove_from_copy();
    arena::leave();
    thread_block::unlink_all();
    thread_block::link_own();
    copies::begin();
    let stack = world.task().alternate_stack.get();
    let stack = libc::stack_t {
        ss_sp: stack.low as *mut libc::c_void,
        ss_flags: stack.flags,
        ss_size: stack.size as usize,
    };
    let mask = world.task().mask.get();
    signal_descriptor::leave_control();
    // SAFETY: the kernel reads locals: the program's own alternate stack, actions and mask.
    unsafe {
        // It ends with the execution that it belongs to.
        raw::die_with_parent(parent);
        raw::call!(libc::SYS_sigaltstack, &raw const stack, 0);
        for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            let action = signal_calls::action(signal);
            raw::call!(libc::SYS_rt_sigaction, signal, &raw const action, 0, 8);
        }
        raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8);
    }
}

/// `execve` and `execveat`: a child executes the program. When that ends, so does the process, with the
/// same status. An error is returned as by the kernel.
pub(crate) fn execute(number: i64, args: [u64; 6], site: u64) -> i64 {
    if number == libc::SYS_execve {
        // A search of the PATH makes calls that fail.
        // SAFETY: the kernel reads the path that the program gave.
        let found = unsafe { raw::call!(libc::SYS_access, args[0], libc::X_OK) };
        if found < 0 {
            return found;
        }
    }
    let live = LiveFrames::of_call();
    exit::before_end(site);
    spawns::report("execve", site);
    spawns::about_to_start();
    let mut pipe = [0i32; 2];
    // SAFETY: the kernel writes two descriptors to the local.
    let made = unsafe { raw::call!(libc::SYS_pipe2, pipe.as_mut_ptr(), libc::O_CLOEXEC) };
    if made < 0 {
        return made;
    }
    let flags = libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: as in `serve`. The copy makes the program's own call, and ends if that fails.
    let child = unsafe {
        let own = raw::call!(libc::SYS_getpid);
        let child = raw::call!(libc::SYS_clone, flags, 0, 0, 0, 0);
        if child == 0 {
            leave_control(own);
            let error = raw::syscall(number, args);
            raw::call!(libc::SYS_write, pipe[1], &raw const error, size_of::<i64>());
            raw::exit_process(127);
        }
        child
    };
    let mut error = 0i64;
    // SAFETY: the two descriptors are this function's own; the kernel writes to a local.
    unsafe {
        raw::call!(libc::SYS_close, pipe[1]);
        // Nothing to read means that the program was executed.
        raw::call!(libc::SYS_read, pipe[0], &raw mut error, size_of::<i64>());
        raw::call!(libc::SYS_close, pipe[0]);
    }
    let status = children::wait_for(if child < 0 { 0 } else { child }, error != 0);
    match status {
        _ if child < 0 => child,
        _ if error != 0 => error,
        Some(status) if libc::WIFEXITED(status) => exit::end(libc::WEXITSTATUS(status), site, live),
        Some(status) => exit::end(128 + libc::WTERMSIG(status), site, live),
        None => {
            outcome::unsupported("execve of a program that runs for more than 10 seconds", site)
        }
    }
}

/// Calls the C library's function, which makes the call, and reports it by its own name.
fn named(name: &str, call: impl FnOnce() -> c_int) -> c_int {
    if !on_fiber() {
        return call();
    }
    spawns::report(name, site());
    REPORTED.0.set(true);
    let answer = call();
    REPORTED.0.set(false);
    answer
}

interpose! {
    fn fork() -> c_int {
        named("fork", || real!(fork() as fn() -> c_int))
    }

    // The C library's function returns twice to one stack frame, which this one would leave in between.
    fn vfork() -> c_int {
        let site = site();
        let answer = match on_fiber() {
            true => serve(libc::SYS_vfork, [0; 6], site),
            // SAFETY: the process is copied, and the copy continues here with its own memory.
            false => unsafe {
                raw::call!(libc::SYS_clone, libc::CLONE_VFORK | libc::SIGCHLD, 0, 0, 0, 0)
            },
        };
        if answer < 0 {
            set_errno(-answer as c_int);
            return -1;
        }
        answer as c_int
    }

    fn daemon(keeps_directory: c_int, keeps_output: c_int) -> c_int {
        named("daemon", || real!(daemon(keeps_directory, keeps_output) as fn(c_int, c_int) -> c_int))
    }
}
