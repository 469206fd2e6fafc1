//! Cancellation (POSIX.1-2017, 2.9.5). A request is stored with its task, which ends at its next
//! cancellation point, or at any operation if its cancelability type is asynchronous.
//!
//! A request opens the gate of a task that waits at a cancellation point. When that task is chosen,
//! it finds the request, undoes what its wait changed, and unwinds, so that cleanup handlers and
//! destructors run, as with `pthread_exit`.

use crate::detect::access;
use crate::instrument::binary::calls;
use crate::primitives::thread_unwind;
use crate::schedule::scheduler;
use crate::state::cancellation::{
    ASYNCHRONOUS, AT_POINT, DISABLED, REQUESTED, has, is_at_point, is_due, is_due_for, opened, set,
};
use crate::state::start;
use crate::state::task::{ALERT_CANCELLED, Gate, Lifecycle};
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::{lazy, real};
use std::cell::Cell;
use std::ffi::{c_int, c_long, c_void};
use traces::Operation;

/// `PTHREAD_CANCELED`.
const CANCELLED: u64 = u64::MAX;
/// `PTHREAD_CANCEL_DISABLE` and `PTHREAD_CANCEL_ASYNCHRONOUS`.
const ONE: c_int = 1;

/// A cancellation point. After the return, the caller checks [`is_due`].
#[inline]
pub(crate) fn point(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    let gate = if is_due_for(task) { opened(gate) } else { gate };
    let before = task.cancel.get();
    task.cancel.set(before | AT_POINT);
    scheduler::point(operation, object, site, gate);
    set(task, AT_POINT, before & AT_POINT != 0);
}

/// Cancels the running task if it has a request to act on.
#[inline]
pub(crate) fn act_if_due() {
    if is_due() {
        act();
    }
}

/// Cancels the running task.
#[cold]
pub(crate) fn act() -> ! {
    record::value(libc::ECANCELED as u64);
    let task = world().task();
    task.waits_on.set(0);
    task.result.set(CANCELLED);
    thread_unwind::unwind()
}

/// A task with asynchronous cancelability was chosen.
pub(crate) fn act_if_asynchronous() {
    if is_due() && has(world().task(), ASYNCHRONOUS) {
        act();
    }
}

fn cancel(thread: u64, site: u64) -> c_int {
    let world = world();
    let Some(number) = world.by_block(thread) else { return libc::ESRCH };
    scheduler::point(Operation::Cancel, u64::from(number) + 1, site, Gate::Open);
    let task = &world.tasks[usize::from(number)];
    if task.life() != Lifecycle::Alive {
        return 0;
    }
    set(task, REQUESTED, true);
    if !is_due_for(task) {
        return 0;
    }
    if number == world.current.get() {
        act_if_asynchronous();
    } else if is_at_point(task) {
        if !task.woken.get() {
            // From here on, no wakeup must be spent on this task.
            task.waits_on.set(0);
        }
        task.set_gate(opened(task.gate()));
    } else if has(task, ASYNCHRONOUS) && task.operation.get() != Operation::Start {
        task.alerts.set(task.alerts.get() | ALERT_CANCELLED);
        task.waits_on.set(0);
        task.set_gate(Gate::Open);
    }
    0
}

fn set_state(bit: u8, value: c_int, old: *mut c_int) -> c_int {
    if !(0..=ONE).contains(&value) {
        return libc::EINVAL;
    }
    let task = world().task();
    if !old.is_null() {
        // SAFETY: the caller of `pthread_setcancelstate` or `pthread_setcanceltype` passes a valid
        // pointer or null.
        unsafe { old.write(c_int::from(has(task, bit))) };
    }
    set(task, bit, value == ONE);
    act_if_asynchronous();
    0
}

/// Restores the type that [`crate::state::cancellation::defer`] returned.
pub(crate) fn restore(kind: i32) {
    set(world().task(), ASYNCHRONOUS, kind != 0);
    act_if_asynchronous();
}

/// Functions of up to six words that are cancellation points and otherwise unchanged: a wait inside
/// the real function can be cancelled.
macro_rules! points {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long {
                let fiber = on_fiber();
                if fiber {
                    begin();
                }
                // SAFETY: all arguments are passed on in the registers in which they came; a
                // function with fewer parameters ignores the rest.
                let answer = unsafe {
                    real!($name(a, b, c, d, e, f)
                        as fn(u64, u64, u64, u64, u64, u64) -> c_long)
                };
                if fiber {
                    end();
                }
                answer
            })*
        }
    };
}

/// `fcntl` is a cancellation point only where it waits for a lock (POSIX 2.9.5).
macro_rules! fcntl {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(descriptor: c_int, command: c_int, argument: u64) -> c_int {
                let waits = on_fiber() && command == libc::F_SETLKW;
                if waits {
                    begin();
                }
                let answer = unsafe {
                    real!($name(descriptor, command, argument) as fn(c_int, c_int, u64) -> c_int)
                };
                if waits {
                    end();
                }
                answer
            })*
        }
    };
}

fcntl! { fcntl fcntl64 }

/// A function that is a cancellation point begins.
#[inline]
pub(crate) fn begin() {
    act_if_due();
    set(world().task(), AT_POINT, true);
}

/// A function that is a cancellation point ends.
#[inline]
pub(crate) fn end() {
    set(world().task(), AT_POINT, false);
}

/// The code of the C library's functions `read` and `write`: start and end.
struct InnerPoints([Cell<(u64, u64)>; 2]);
// SAFETY: `Cell`s hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for InnerPoints {}
static INNER_POINTS: InnerPoints = InnerPoints([const { Cell::new((0, 0)) }; 2]);

/// Finds the code of `read` and `write`, before the first execution: the loader's lookup waits for its
/// lock.
pub(crate) fn find_inner_points() {
    /// `RTLD_DL_SYMENT`: the symbol's entry is wanted.
    const ENTRY: c_int = 1;
    lazy! {
        static READ = c"read", None;
        static WRITE = c"write", None;
    }
    for (code, function) in INNER_POINTS.0.iter().zip([READ.get(), WRITE.get()]) {
        // SAFETY: `info` is plain data, and the loader only writes it and the pointer to the entry,
        // which is valid as long as the library is loaded.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            let mut entry: *const libc::Elf64_Sym = std::ptr::null();
            let found = real!(dladdr1(function, &raw mut info, &raw mut entry, ENTRY)
                as fn(
                    *mut c_void,
                    *mut libc::Dl_info,
                    *mut *const libc::Elf64_Sym,
                    c_int,
                ) -> c_int);
            if found != 0 && !entry.is_null() {
                let start = info.dli_saddr as u64;
                code.set((start, start + (*entry).st_size));
            }
        }
    }
}

/// The code of the C library's function `read`, or of `write`.
pub(crate) fn inner_point(writes: bool) -> (u64, u64) {
    INNER_POINTS.0[usize::from(writes)].get()
}

/// Whether the system call at `site` is one of the C library's function `read` or `write`, called by the
/// library itself. (It also has versions of them that are no cancellation points.)
pub(crate) fn is_inner_point(site: u64) -> bool {
    let is_within = |code: &Cell<(u64, u64)>| (code.get().0..code.get().1).contains(&site);
    !is_at_point(world().task()) && INNER_POINTS.0.iter().any(is_within)
}

points! {
    readv pread pread64 preadv writev pwrite pwrite64 pwritev
    open open64 openat openat64 creat creat64 close
    fsync fdatasync msync tcdrain
    connect accept accept4 recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg
    mq_send mq_timedsend mq_receive mq_timedreceive splice tee vmsplice preadv2 pwritev2
    wait waitpid wait3 wait4 waitid
    msgrcv msgsnd lockf lockf64
    ppoll select pselect epoll_wait epoll_pwait epoll_pwait2
    aio_suspend aio_suspend64
}

interpose! {
    fn pthread_cancel(thread: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_cancel(thread) as fn(u64) -> c_int) };
        }
        cancel(thread, site())
    }

    fn pthread_testcancel() -> () {
        if !on_fiber() {
            unsafe { real!(pthread_testcancel() as fn() -> ()) };
            return;
        }
        point(Operation::TestCancel, 0, site(), Gate::Open);
        act_if_due();
    }

    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_setcancelstate(state, old)
                as fn(c_int, *mut c_int) -> c_int) };
        }
        set_state(DISABLED, state, old)
    }

    fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_setcanceltype(kind, old)
                as fn(c_int, *mut c_int) -> c_int) };
        }
        if kind == ONE && start::may_cancel() && access::is_in_company() {
            // It ends the task at any instruction; the search tries points only.
            calls::report_unexplored("asynchronous cancellation", "the threads library", site());
        }
        set_state(ASYNCHRONOUS, kind, old)
    }
}
