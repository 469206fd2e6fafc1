//! System calls that are passed to the kernel, and what they change there.

use crate::detect::access;
use crate::instrument::binary::{calls, open_files};
use crate::instrument::monitoring;
use crate::kernel::captured_output;
use crate::kernel::changed_files;
use crate::kernel::left_files;
use crate::kernel::own_names;
use crate::kernel::random;
use crate::kernel::system_v;
use crate::memory::shared_views::{self, Change};
use crate::memory::{kernel_changes, snapshot};
use crate::primitives::named_semaphore;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::start;
use crate::state::world::world;
use crate::sys::raw;
use crate::sys::stops;
use std::cell::Cell;
use traces::points::InstrumentationGap;

/// Whether a call duplicates a descriptor.
pub(crate) fn is_second_name(number: i64, args: [u64; 6]) -> bool {
    number != libc::SYS_fcntl || matches!(args[1] as i32, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// Whether the program changed something in the kernel that a memory reset does not undo: one more
/// than the number of the first such call, or 0.
struct Traces(Cell<i64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Traces {}

static TRACES: Traces = Traces(Cell::new(0));

/// The value for a change that no call made.
const NO_CALL: i64 = i64::MAX;

/// The first change in the kernel since this function was called last; 0 for none.
pub(crate) fn take_traces() -> i64 {
    TRACES.0.replace(0)
}

/// A description of such a change, for messages.
pub(crate) fn describe_trace(trace: i64) -> String {
    match trace {
        NO_CALL => "it uses more stack than the snapshot holds".to_owned(),
        one_more => format!("it calls {}", name(one_more - 1)),
    }
}

/// Notes a change in the kernel that no call made.
pub(crate) fn leave_trace() {
    leave(NO_CALL);
}

/// Notes the change in the kernel that a call made, which was not passed on by this file.
pub(crate) fn leave_trace_of(number: i64) {
    leave(number + 1);
}

fn leave(what: i64) {
    if TRACES.0.get() == 0 {
        TRACES.0.set(what);
    }
}

/// The last call of the execution whose result may differ between executions.
struct Last(Cell<i64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Last {}

static LAST: Last = Last(Cell::new(-1));

/// An execution begins.
pub(crate) fn begin() {
    LAST.0.set(-1);
}

/// The last call whose result may differ between executions, for [`restore`].
pub(crate) fn save() -> i64 {
    LAST.0.get()
}

/// An execution continues where [`save`] returned `last`.
pub(crate) fn restore(last: i64) {
    LAST.0.set(last);
}

/// Whether the execution has changed anything in the kernel that a memory reset does not undo.
pub(crate) fn has_left_traces() -> bool {
    TRACES.0.get() != 0
}

/// What may have caused an execution to diverge, for messages.
pub(crate) fn last_call() -> String {
    match LAST.0.get() {
        -1 => {
            "before the divergence no call was made whose result can differ between executions, so something else in the process differs"
                .to_owned()
        }
        number => format!(
            "the last call before the divergence whose result can differ between executions is {}: if \
             only the first executions differ, run some before the search (--prime N)",
            name(number)
        ),
    }
}

/// The name of a call that changes state in the kernel.
pub(crate) fn name(number: i64) -> String {
    const NAMES: &[(i64, &str)] = &[
        (libc::SYS_clone, "a function that starts another program"),
        (libc::SYS_write, "write"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_pwrite64, "pwrite"),
        (libc::SYS_read, "read"),
        (libc::SYS_open, "open (for writing)"),
        (libc::SYS_openat, "openat (for writing)"),
        (libc::SYS_close, "close (of a file that it did not open)"),
        (libc::SYS_dup, "dup"),
        (libc::SYS_dup2, "dup2"),
        (libc::SYS_dup3, "dup3"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_ioctl, "ioctl"),
        (libc::SYS_lseek, "lseek"),
        (libc::SYS_pipe, "pipe"),
        (libc::SYS_pipe2, "pipe2"),
        (libc::SYS_socket, "socket"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_bind, "bind"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_eventfd2, "eventfd"),
        (libc::SYS_epoll_create1, "epoll_create"),
        (libc::SYS_mmap, "mmap (shared or fixed)"),
        (libc::SYS_munmap, "munmap (of memory mapped before main)"),
        (libc::SYS_mprotect, "mprotect (of memory mapped before main)"),
        (libc::SYS_mremap, "mremap"),
        (libc::SYS_brk, "brk"),
        (libc::SYS_unlink, "unlink"),
        (libc::SYS_prctl, "prctl"),
        (libc::SYS_tgkill, "a signal to itself"),
        (libc::SYS_stat, "stat"),
        (libc::SYS_fstat, "fstat"),
        (libc::SYS_newfstatat, "fstatat"),
        (libc::SYS_access, "access"),
        (libc::SYS_faccessat, "faccessat"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_getpid, "getpid"),
        (libc::SYS_mkdir, "mkdir"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_preadv, "preadv"),
        (libc::SYS_preadv2, "preadv2"),
        (libc::SYS_pwritev, "pwritev"),
        (libc::SYS_pwritev2, "pwritev2"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_recvmmsg, "recvmmsg"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_sendmmsg, "sendmmsg"),
        (libc::SYS_sendfile, "sendfile"),
        (libc::SYS_splice, "splice"),
        (libc::SYS_tee, "tee"),
        (libc::SYS_vmsplice, "vmsplice"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_accept4, "accept4"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_fdatasync, "fdatasync"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_waitid, "waitid"),
        (libc::SYS_msgsnd, "msgsnd"),
        (libc::SYS_msgget, "msgget"),
        (libc::SYS_semget, "semget"),
        (libc::SYS_shmget, "shmget"),
        (libc::SYS_poll, "poll"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_select, "select"),
        (libc::SYS_pselect6, "pselect"),
        (libc::SYS_epoll_wait, "epoll_wait"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_epoll_pwait2, "epoll_pwait2"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_msgrcv, "msgrcv"),
        (libc::SYS_semop, "semop"),
        (libc::SYS_semtimedop, "semtimedop"),
        (libc::SYS_mq_timedreceive, "mq_receive"),
        (libc::SYS_mq_timedsend, "mq_send"),
    ];
    let known = NAMES.iter().find(|(call, _)| *call == number);
    known.map_or_else(|| format!("system call {number}"), |(_, name)| (*name).to_owned())
}

/// Whether a call changes state behind a descriptor, such as a file position or the contents of a
/// pipe.
fn moves_descriptor(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_lseek
            | libc::SYS_getdents64
            | libc::SYS_sendfile
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_accept
            | libc::SYS_accept4
    )
}

/// The number of the program's call that the kernel is executing, for the watchdog; -1 for none.
struct InKernel(Cell<i64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread, whose
// signal handlers only read it.
unsafe impl Sync for InKernel {}

static IN_KERNEL: InKernel = InKernel(Cell::new(-1));

/// The name and the site of the program's call that the kernel is executing, if it is.
pub(crate) fn blocked() -> Option<(String, u64)> {
    let number = IN_KERNEL.0.get();
    (number >= 0).then(|| (name(number), world().task().served.get()))
}

/// Passes a call of the program to the kernel.
pub(crate) fn pass(number: i64, args: [u64; 6]) -> i64 {
    // SAFETY: the program made this call with these arguments; passing it on has the effect that the
    // program asked for.
    pass_as(number, args, || unsafe { raw::syscall(number, args) })
}

/// Makes `call`, which does a part of this call of the program, or all of it in another form.
pub(crate) fn pass_as(number: i64, args: [u64; 6], mut call: impl FnMut() -> i64) -> i64 {
    if let Some(answer) = captured_output::as_a_pipe(number, args) {
        return answer;
    }
    let harmless = is_harmless(number, args);
    if !harmless {
        kernel_changes::update_kernel_actions();
    }
    if moves_descriptor(number) {
        stops::outside();
        if start::was_open(args[0]) {
            root().moved.set(true);
        }
    }
    if !harmless {
        monitoring::note_call(number, args);
    }
    changed_files::before(number, args);
    let makes_queue = own_names::makes_queue(number, args);
    let left = left_files::before(number, args);
    if left.as_ref().is_some_and(|call| call.uses(named_semaphore::has_file)) {
        outcome::unsupported("the file of a named semaphore", world().task().site.get());
    }
    LAST.0.set(number);
    let watched = stops::watched();
    IN_KERNEL.0.set(number);
    let mut answer = call();
    if answer == -i64::from(libc::EFAULT) {
        // The kernel may have tried to write to a page that memory tracking has write-protected.
        snapshot::allow_all();
        answer = call();
    }
    IN_KERNEL.0.set(-1);
    if let Some(left) = left {
        left_files::after(left, answer);
    }
    if answer >= 0 {
        system_v::note(number, args, answer);
        own_names::note(number, args, answer, makes_queue);
        match shared_views::note(number, args, answer as u64) {
            Change::None => {}
            Change::Changed => access::views_changed(),
            Change::Both => {
                access::views_changed();
                let what = "a file that is mapped both shared and privately";
                calls::report_unexplored(what, "the kernel", world().task().served.get());
            }
            Change::Full => access::note_gap(InstrumentationGap::Crowded),
        }
    }
    if answer >= 0 && opens_memory(number, args) {
        calls::report_unexplored("accesses through /proc/self/mem", "the kernel", 0);
    }
    if answer >= 0 && number == libc::SYS_socketpair {
        open_files::paired(args[3]);
    }
    if answer >= 0 && may_receive(number) {
        random::received();
    }
    if answer >= 0 && may_duplicate(number, args) {
        open_files::duplicates();
    }
    if number != libc::SYS_fcntl || is_second_name(number, args) {
        captured_output::note(number, args, answer);
    }
    if answer == 0 && captured_output::asks(number, args) {
        captured_output::describe(number, args);
    }
    if !harmless && !kernel_changes::note(number, args, answer) {
        leave(number + 1);
    }
    stops::look(watched);
    answer
}

/// Whether a call that succeeded may have made a second descriptor of an open file.
fn may_duplicate(number: i64, args: [u64; 6]) -> bool {
    match number {
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl => {
            is_second_name(number, args)
        }
        _ => may_receive(number),
    }
}

/// Whether a call that succeeded may have brought descriptors that the program did not open by `open`.
fn may_receive(number: i64) -> bool {
    matches!(
        number,
        // A message may bring descriptors.
        libc::SYS_recvmsg
            | libc::SYS_recvmmsg
            | libc::SYS_pidfd_getfd
            | libc::SYS_openat2
            | libc::SYS_open_by_handle_at
    )
}

/// Whether a call opens the file through which a process's memory can be accessed.
fn opens_memory(number: i64, args: [u64; 6]) -> bool {
    let path = match number {
        libc::SYS_open => args[0],
        libc::SYS_openat => args[1],
        _ => return false,
    };
    // SAFETY: the call succeeded, so the path is a C string.
    let path = unsafe { std::ffi::CStr::from_ptr(path as *const std::ffi::c_char) }.to_bytes();
    path.starts_with(b"/proc/") && path.ends_with(b"/mem")
}

/// The program locked a file by a call that was not passed on unchanged.
pub(crate) fn locked(number: i64, descriptor: u64) {
    stops::outside();
    if start::was_open(descriptor) {
        // The lock belongs to the open file description, which all executions would share.
        root().moved.set(true);
    }
    LAST.0.set(number);
    leave(number + 1);
}

/// Whether a call only returns a number: it changes nothing in the kernel and accesses no memory.
pub(crate) fn only_answers(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_getpid
            | libc::SYS_getppid
            | libc::SYS_getuid
            | libc::SYS_geteuid
            | libc::SYS_getgid
            | libc::SYS_getegid
            | libc::SYS_sched_get_priority_max
            | libc::SYS_sched_get_priority_min
    )
}

/// Whether a call changes nothing in the kernel.
fn is_harmless(number: i64, args: [u64; 6]) -> bool {
    match number {
        _ if only_answers(number) => true,
        libc::SYS_fstat
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_access
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlink
        | libc::SYS_readlinkat
        | libc::SYS_uname
        | libc::SYS_getcwd
        | libc::SYS_clock_getres => true,
        libc::SYS_prlimit64 => args[2] == 0,
        libc::SYS_fcntl => args[1] as i32 == libc::F_GETFL || args[1] as i32 == libc::F_GETFD,
        libc::SYS_ioctl => args[1] == libc::TCGETS,
        _ => false,
    }
}
