//! System calls that the dispatch handler intercepted: each is modelled, passed to the kernel, or
//! ends the execution as unsupported.

use crate::debugger::stops;
use crate::detect::access;
use crate::entry::start_point;
use crate::kernel::pending_signals::{self, Information};
use crate::kernel::timer::descriptor;
use crate::kernel::{
    captured_output, exit, file_lock, output, random, readiness, signal_delivery, time,
};
use crate::memory::kernel_changes;
use crate::memory::snapshot;
use crate::primitives::{futex, thread};
use crate::schedule::scheduler::point;
use crate::schedule::stall;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::task::{Gate, Task};
use crate::state::world::world;
use crate::sys::dispatch::PR_SET_SYSCALL_USER_DISPATCH;
use crate::sys::raw;
use crate::sys::signals;
use std::cell::Cell;
use traces::Operation;

/// Serves a system call made by a fiber at `site`. Returns as the kernel does.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let error = |code: i32| -i64::from(code);
    if !matches!(
        number,
        libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_gettid
    ) {
        stall::makes_progress();
    }
    match number {
        libc::SYS_futex => futex::serve(args, site),
        libc::SYS_futex_waitv => futex::wait_vector(args, site),
        libc::SYS_prctl if args[0] as i32 == libc::PR_SET_NAME => thread::set_own_name(args[1]),
        libc::SYS_prctl if args[0] as i32 == libc::PR_GET_NAME => thread::get_own_name(args[1]),
        libc::SYS_sched_yield => {
            point(Operation::Yield, 0, site, Gate::Open);
            0
        }
        libc::SYS_nanosleep => time::sleep(args[0], args[1], None, site),
        libc::SYS_clock_nanosleep => time::sleep(args[2], args[3], Some((args[0], args[1])), site),
        libc::SYS_clock_gettime => time::clock_gettime(args[0], args[1]),
        libc::SYS_gettimeofday => time::gettimeofday(args[0]),
        libc::SYS_time => time::time(args[0]),
        libc::SYS_times => time::times(args[0]),
        libc::SYS_getrusage => time::getrusage(args[0], args[1]),
        libc::SYS_sysinfo => time::sysinfo(args[0]),
        libc::SYS_getrandom => random::fill(args[0], args[1]),
        libc::SYS_read | libc::SYS_pread64 if random::is_source(args[0]) => {
            random::fill(args[1], args[2])
        }
        libc::SYS_readv | libc::SYS_preadv if random::is_source(args[0]) => {
            random::fill_vector(args[1], args[2])
        }
        libc::SYS_exit_group => exit::now(args[0] as i32, site),
        libc::SYS_gettid => i64::from(world().tid(world().current.get())),
        libc::SYS_set_tid_address => i64::from(world().tid(world().current.get())),
        libc::SYS_set_robust_list => 0,
        libc::SYS_rseq => error(libc::ENOSYS),
        libc::SYS_rt_sigprocmask => sigprocmask(args),
        libc::SYS_rt_sigpending => {
            // SAFETY: the caller of `rt_sigpending` passes a valid signal set.
            unsafe { *(args[0] as *mut u64) = signal_delivery::pending() };
            0
        }
        libc::SYS_sched_setscheduler if args[2] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setparam | libc::SYS_sched_getparam if args[1] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setscheduler | libc::SYS_sched_setparam
            if task_meant(args[0]).is_some() =>
        {
            set_priority(number, args)
        }
        // All tasks have the same policy and priority.
        libc::SYS_sched_getscheduler if task_meant(args[0]).is_some() => 0,
        libc::SYS_sched_getparam if task_meant(args[0]).is_some() => {
            // SAFETY: the caller of `sched_getparam` passes a valid `sched_param`; null was handled
            // above.
            unsafe { *(args[1] as *mut i32) = 0 };
            0
        }
        libc::SYS_sched_setaffinity => set_processors(args),
        libc::SYS_sched_getaffinity => processors(args),
        libc::SYS_getcpu => {
            own_processor(args[0] as *mut u32, args[1] as *mut u32);
            0
        }
        libc::SYS_pause => signal_delivery::suspend(world().task().mask.get(), site),
        libc::SYS_rt_sigsuspend => {
            // SAFETY: the caller of `rt_sigsuspend` passes a valid signal set.
            signal_delivery::suspend(unsafe { *(args[0] as *const u64) }, site)
        }
        libc::SYS_rt_sigtimedwait => {
            // SAFETY: the caller of `rt_sigtimedwait` passes a valid signal set.
            signal_delivery::wait_for(unsafe { *(args[0] as *const u64) }, args[1], args[2], site)
        }
        libc::SYS_rt_sigqueueinfo if args[0] as i64 == own_process() => {
            // SAFETY: the caller passes a valid `siginfo_t`; the value is at offset 24, behind the
            // sender's ids.
            let value = unsafe { *((args[2] + 24) as *const u64) };
            signal_delivery::send_to_process(args[1] as i32, Information::queued(value), site)
        }
        libc::SYS_sigaltstack => sigaltstack(args),
        libc::SYS_rt_sigaction => sigaction(args),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => kill(number, args, site),
        libc::SYS_write | libc::SYS_writev if captured_output::is_captured(args[0]) => {
            output::write(number == libc::SYS_writev, args)
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl
            if is_second_name(number, args) && descriptor::is_one(args[0]) =>
        {
            outcome::unsupported("a second descriptor for a timer", site)
        }
        libc::SYS_close | libc::SYS_dup2 | libc::SYS_dup3 => {
            descriptor::closed(args[usize::from(number != libc::SYS_close)], site);
            pass(number, args)
        }
        libc::SYS_timerfd_create => descriptor::create(args[0], args[1]),
        libc::SYS_timerfd_settime => descriptor::set_time(args, site),
        libc::SYS_timerfd_gettime => descriptor::get_time(args, site),
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4 => match readiness::wait_ready(args[0], libc::POLLIN, site) {
            true => pass(number, args),
            false => error(libc::EINTR),
        },
        libc::SYS_write | libc::SYS_writev if descriptor::is_one(args[0]) => error(libc::EINVAL),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => {
            match readiness::wait_ready(args[0], libc::POLLOUT, site) {
                true => pass(number, args),
                false => error(libc::EINTR),
            }
        }
        libc::SYS_epoll_ctl if args[3] != 0 && descriptor::is_one(args[2]) => {
            let event = descriptor::without_writing(args[3]);
            pass(number, [args[0], args[1], args[2], &raw const event as u64, 0, 0])
        }
        libc::SYS_mmap if kernel_changes::is_too_much(number, args) => error(libc::ENOMEM),
        libc::SYS_poll => readiness::poll(args, site),
        libc::SYS_ppoll => readiness::ppoll(args, site),
        libc::SYS_select | libc::SYS_pselect6 => readiness::select(number, args, site),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            readiness::epoll_wait(number, args, site)
        }
        libc::SYS_flock | libc::SYS_fcntl if file_lock::waits(number, args) => {
            file_lock::serve(number, args, site)
        }
        _ => match refused(number, args) {
            Some(name) => outcome::unsupported(name, site),
            None => pass(number, args),
        },
    }
}

/// Whether a call duplicates a descriptor.
fn is_second_name(number: i64, args: [u64; 6]) -> bool {
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

/// What may have caused an execution to diverge, for messages.
pub(crate) fn last_call() -> String {
    match LAST.0.get() {
        -1 => {
            "it made no call before whose result may differ: something else in the process differs"
                .to_owned()
        }
        number => format!(
            "the last call before it whose result may differ is {}: if only the first executions \
             differ, run some before the search (--prime N)",
            name(number)
        ),
    }
}

/// The name of a call that changes state in the kernel.
fn name(number: i64) -> String {
    const NAMES: [(i64, &str); 38] = [
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

/// Passes a call of the program to the kernel.
fn pass(number: i64, args: [u64; 6]) -> i64 {
    if let Some(answer) = captured_output::as_a_pipe(number, args) {
        return answer;
    }
    let harmless = is_harmless(number, args);
    if !harmless {
        kernel_changes::update_kernel_actions();
    }
    if moves_descriptor(number) {
        stops::outside();
        if start_point::was_open(args[0]) {
            root().moved.set(true);
        }
    }
    if !harmless {
        access::note_call(number, args);
    }
    LAST.0.set(number);
    let watched = stops::watched();
    // SAFETY: the program made this call with these arguments; passing it on has the effect that
    // the program asked for.
    let mut answer = unsafe { raw::syscall(number, args) };
    if answer == -i64::from(libc::EFAULT) {
        // The kernel may have tried to write to a page that memory tracking has write-protected.
        snapshot::allow_all();
        // SAFETY: as above.
        answer = unsafe { raw::syscall(number, args) };
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

/// The program locked a file by a call that was not passed on unchanged.
pub(crate) fn locked(number: i64, descriptor: u64) {
    stops::outside();
    if start_point::was_open(descriptor) {
        // The lock belongs to the open file description, which all executions would share.
        root().moved.set(true);
    }
    LAST.0.set(number);
    leave(number + 1);
}

/// Whether a call changes nothing in the kernel.
fn is_harmless(number: i64, args: [u64; 6]) -> bool {
    match number {
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
        | libc::SYS_getpid
        | libc::SYS_getppid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_uname
        | libc::SYS_getcwd
        | libc::SYS_sched_get_priority_max
        | libc::SYS_sched_get_priority_min
        | libc::SYS_clock_getres => true,
        libc::SYS_prlimit64 => args[2] == 0,
        libc::SYS_fcntl => args[1] as i32 == libc::F_GETFL || args[1] as i32 == libc::F_GETFD,
        libc::SYS_ioctl => args[1] == libc::TCGETS,
        _ => false,
    }
}

/// The name of a call that cannot be passed to the kernel: it would start something that runs
/// concurrently, block the one kernel thread, or disable system call dispatch.
fn refused(number: i64, args: [u64; 6]) -> Option<&'static str> {
    Some(match number {
        libc::SYS_prctl => match args[0] as i32 {
            libc::PR_SET_SECCOMP => "prctl(PR_SET_SECCOMP)",
            PR_SET_SYSCALL_USER_DISPATCH => "prctl(PR_SET_SYSCALL_USER_DISPATCH)",
            _ => return None,
        },
        libc::SYS_clone => "clone",
        libc::SYS_clone3 => "clone3",
        libc::SYS_fork => "fork",
        libc::SYS_vfork => "vfork",
        libc::SYS_execve => "execve",
        libc::SYS_execveat => "execveat",
        libc::SYS_exit => "the exit system call of one thread",
        libc::SYS_ptrace => "ptrace",
        libc::SYS_seccomp => "seccomp",
        libc::SYS_setns => "setns",
        libc::SYS_unshare => "unshare",
        libc::SYS_timer_create => "timer_create",
        libc::SYS_setitimer => "setitimer",
        libc::SYS_alarm => "alarm",
        libc::SYS_signalfd | libc::SYS_signalfd4 => "signalfd",
        libc::SYS_io_uring_setup | libc::SYS_io_uring_enter => "io_uring",
        libc::SYS_io_getevents => "io_getevents",
        libc::SYS_userfaultfd => "userfaultfd",
        libc::SYS_modify_ldt => "modify_ldt",
        libc::SYS_msgrcv => "msgrcv",
        libc::SYS_semop | libc::SYS_semtimedop => "semop",
        libc::SYS_mq_timedreceive => "mq_receive",
        libc::SYS_arch_prctl => "arch_prctl",
        _ => return None,
    })
}

/// `rt_sigprocmask`: each task's mask is stored with the task. The kernel's mask stays empty, since
/// the runtime's signals must arrive.
fn sigprocmask(args: [u64; 6]) -> i64 {
    let task = world().task();
    let old = task.mask.get();
    // SAFETY: the caller passes valid signal sets or null.
    unsafe {
        if args[1] != 0 {
            let set = *(args[1] as *const u64);
            let new = match args[0] as i32 {
                libc::SIG_BLOCK => old | set,
                libc::SIG_UNBLOCK => old & !set,
                libc::SIG_SETMASK => set,
                _ => return -i64::from(libc::EINVAL),
            };
            // These two cannot be masked.
            task.mask.set(new & !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1)));
        }
        if args[2] != 0 {
            *(args[2] as *mut u64) = old;
        }
    }
    signal_delivery::mask_changed();
    0
}

/// `sigaltstack`: reports the stack of the runtime's handlers, so that code that would otherwise
/// make one for each thread (Rust's standard library) makes none. A request for another stack
/// succeeds and has no effect.
fn sigaltstack(args: [u64; 6]) -> i64 {
    if args[1] != 0 {
        let (low, high) = signals::stack();
        let there = libc::stack_t {
            ss_sp: low as *mut libc::c_void,
            ss_flags: 0,
            ss_size: (high - low) as usize,
        };
        // SAFETY: the caller of `sigaltstack` passes a valid `stack_t` or null.
        unsafe { (args[1] as *mut libc::stack_t).write(there) };
    }
    0
}

/// `rt_sigaction`. If a signal is ignored from here on, pending ones are discarded (POSIX 2.4.3).
fn sigaction(args: [u64; 6]) -> i64 {
    let signal = args[0] as i32;
    let answer = match signals::is_reserved(signal) {
        true => reserved_action(args),
        false => kernel_changes::serve_action(args),
    };
    if answer == 0
        && args[1] != 0
        // SAFETY: the caller of `rt_sigaction` passes a valid action, whose first word is the
        // handler.
        && signal_delivery::ignores(signal, unsafe { *(args[1] as *const u64) })
    {
        pending_signals::forget(signal);
    }
    answer
}

/// Sets the action for a signal.
pub(crate) fn set_action(signal: i32, action: signals::Action) {
    sigaction([signal as u64, &raw const action as u64, 0, 8, 0, 0]);
}

fn reserved_action(args: [u64; 6]) -> i64 {
    // SAFETY: the caller of `rt_sigaction` passes valid actions or null.
    unsafe {
        let new = (args[1] != 0).then(|| *(args[1] as *const signals::Action));
        let old = signals::want(args[0] as i32, new);
        if args[2] != 0 {
            *(args[2] as *mut signals::Action) = old;
        }
    }
    0
}

/// The task with a thread id; 0 is the caller.
fn task_meant(tid: u64) -> Option<&'static Task> {
    let world = world();
    if tid == 0 {
        return Some(world.task());
    }
    world.by_tid(tid as i32).map(|number| &world.tasks[usize::from(number)])
}

/// Whether a process or a thread with this id exists; 0 is the caller.
pub(crate) fn process_exists(id: i32) -> bool {
    let ours = task_meant(id as u64).is_some() || i64::from(id) == own_process();
    // SAFETY: signal 0 only checks whether the process exists.
    ours || unsafe { raw::call!(libc::SYS_kill, id, 0) == 0 }
}

/// Accepts a policy and a priority that the kernel could accept; they have no effect.
fn set_priority(number: i64, args: [u64; 6]) -> i64 {
    let (policy, priority) = match number {
        libc::SYS_sched_setscheduler => (args[1] as i32 & !libc::SCHED_RESET_ON_FORK, args[2]),
        _ => (libc::SCHED_OTHER, args[1]),
    };
    // SAFETY: the caller passes a valid `sched_param`; null was handled in `serve`.
    let priority = unsafe { *(priority as *const i32) };
    let may_be = match policy {
        libc::SCHED_OTHER if number == libc::SYS_sched_setparam => 0..=99,
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => 0..=0,
        libc::SCHED_FIFO | libc::SCHED_RR => 1..=99,
        _ => return -i64::from(libc::EINVAL),
    };
    if !may_be.contains(&priority) {
        return -i64::from(libc::EINVAL);
    }
    PRIORITIES.0.set(true);
    0
}

/// Whether a task was ever given a policy or a priority.
struct Priorities(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Priorities {}
static PRIORITIES: Priorities = Priorities(Cell::new(false));

/// Whether tasks may have other policies or priorities than the default; otherwise callers need not
/// ask for them.
pub(crate) fn priorities_are_used() -> bool {
    PRIORITIES.0.get()
}

/// The first 128 bits of a set of processors.
fn set_of(address: u64, len: u64) -> u128 {
    let mut set = [0u8; 16];
    let len = len.min(16) as usize;
    // SAFETY: the caller passes a set of `len` bytes, and at most 16 are copied to a local of 16.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, set.as_mut_ptr(), len) };
    u128::from_le_bytes(set)
}

/// `sched_setaffinity`: succeeds if the kernel would accept the set, which is stored with the task.
fn set_processors(args: [u64; 6]) -> i64 {
    let Some(task) = task_meant(args[0]) else { return -i64::from(libc::ESRCH) };
    let Some(granted) = granted(args[2], args[1]) else { return -i64::from(libc::EINVAL) };
    task.processors.set(granted);
    0
}

/// The processors of the set of `len` bytes at this address on which the process may run; none if
/// the two have no processor in common.
pub(crate) fn granted(address: u64, len: u64) -> Option<u128> {
    let mut there = [0u64; 16];
    // SAFETY: the kernel writes at most 128 bytes to the local `there`.
    unsafe { raw::call!(libc::SYS_sched_getaffinity, 0, 128, there.as_mut_ptr()) };
    let both = set_of(address, len) & set_of(there.as_ptr() as u64, 16);
    (both != 0).then_some(both)
}

fn processors(args: [u64; 6]) -> i64 {
    let Some(task) = task_meant(args[0]) else { return -i64::from(libc::ESRCH) };
    // SAFETY: the kernel checks the program's buffer; the call asks about the process's one kernel
    // thread.
    let answer = unsafe { raw::call!(libc::SYS_sched_getaffinity, 0, args[1], args[2]) };
    let asked = task.processors.get();
    if asked != 0 && answer > 0 {
        // SAFETY: the kernel wrote `answer` bytes there, so they are writable, and at most as many
        // are written here.
        unsafe {
            let set = args[2] as *mut u8;
            set.write_bytes(0, answer as usize);
            let len = (answer as usize).min(16);
            std::ptr::copy_nonoverlapping(asked.to_le_bytes().as_ptr(), set, len);
        }
    }
    answer
}

/// The processor on which the running task seems to run: always the first one that it may run on,
/// since the real one differs between executions. The node is always the first.
pub(crate) fn own_processor(processor: *mut u32, node: *mut u32) {
    let mut set = [0u64; 16];
    processors([0, 128, set.as_mut_ptr() as u64, 0, 0, 0]);
    let first = set.iter().position(|&word| word != 0);
    let first = first.map_or(0, |at| at as u32 * 64 + set[at].trailing_zeros());
    // SAFETY: the caller passes valid words or null.
    unsafe {
        if !processor.is_null() {
            processor.write(first);
        }
        if !node.is_null() {
            node.write(0);
        }
    }
}

fn own_process() -> i64 {
    // SAFETY: `getpid` takes no arguments and touches no memory.
    unsafe { raw::call!(libc::SYS_getpid) }
}

/// A signal to a task or to the process; signals to other processes are not supported.
fn kill(number: i64, args: [u64; 6], site: u64) -> i64 {
    let world = world();
    let own = own_process();
    let (to, signal) = match number {
        libc::SYS_tgkill => (args[1] as i32, args[2] as i32),
        _ => (args[0] as i32, args[1] as i32),
    };
    if number == libc::SYS_kill {
        return match i64::from(to) {
            to if to == own => {
                signal_delivery::send_to_process(signal, Information::BY_PROCESS, site)
            }
            _ if signal == 0 => pass(number, args),
            _ => outcome::unsupported("a signal sent to another process", site),
        };
    }
    if to <= 0 || number == libc::SYS_tgkill && args[0] as i32 <= 0 {
        return -i64::from(libc::EINVAL);
    }
    let of_others = number == libc::SYS_tgkill && i64::from(args[0] as i32) != own;
    match world.by_tid(to).filter(|_| !of_others) {
        Some(task) => signal_delivery::send_to_task(task, signal, Information::BY_TASK, site),
        None => -i64::from(libc::ESRCH),
    }
}
