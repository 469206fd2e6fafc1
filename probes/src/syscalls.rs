//! What becomes of a system call that the net caught: modelled, allowed, or the end of the
//! execution.

use crate::begin;
use crate::debugger;
use crate::dispatch::PR_SET_SYSCALL_USER_DISPATCH;
use crate::failure;
use crate::ledger;
use crate::manager::{memory, root};
use crate::models::pending::{self, Information};
use crate::models::timer::descriptor;
use crate::models::{
    captured, delivery, exit, file_lock, futex, output, random, readiness, thread, time,
};
use crate::points;
use crate::raw;
use crate::scheduler::point;
use crate::signals;
use crate::stall;
use crate::task::{Gate, Task};
use crate::world::world;
use std::cell::Cell;
use traces::Operation;

/// Serves a system call made by a fiber at `site`; the kernel's way of answering.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let error = |code: i32| -i64::from(code);
    if !matches!(
        number,
        libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_gettid
    ) {
        stall::gets_on();
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
            // SAFETY: the program's set.
            unsafe { *(args[0] as *mut u64) = delivery::pending() };
            0
        }
        libc::SYS_sched_setscheduler if args[2] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setparam | libc::SYS_sched_getparam if args[1] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setscheduler | libc::SYS_sched_setparam
            if task_meant(args[0]).is_some() =>
        {
            set_priority(number, args)
        }
        // All tasks are of the one policy and priority.
        libc::SYS_sched_getscheduler if task_meant(args[0]).is_some() => 0,
        libc::SYS_sched_getparam if task_meant(args[0]).is_some() => {
            // SAFETY: the program's.
            unsafe { *(args[1] as *mut i32) = 0 };
            0
        }
        libc::SYS_sched_setaffinity => set_processors(args),
        libc::SYS_sched_getaffinity => processors(args),
        libc::SYS_getcpu => {
            own_processor(args[0] as *mut u32, args[1] as *mut u32);
            0
        }
        libc::SYS_pause => delivery::suspend(world().task().mask.get(), site),
        // SAFETY: the program's set.
        libc::SYS_rt_sigsuspend => delivery::suspend(unsafe { *(args[0] as *const u64) }, site),
        libc::SYS_rt_sigtimedwait => {
            // SAFETY: the program's set.
            delivery::wait_for(unsafe { *(args[0] as *const u64) }, args[1], args[2], site)
        }
        libc::SYS_rt_sigqueueinfo if args[0] as i64 == own_process() => {
            // SAFETY: the program's `siginfo_t`; the value lies behind the sender's ids.
            let value = unsafe { *((args[2] + 24) as *const u64) };
            delivery::send_to_process(args[1] as i32, Information::queued(value), site)
        }
        libc::SYS_sigaltstack => sigaltstack(args),
        libc::SYS_rt_sigaction => sigaction(args),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => kill(number, args, site),
        libc::SYS_write | libc::SYS_writev if captured::is_captured(args[0]) => {
            output::write(number == libc::SYS_writev, args)
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl
            if is_second_name(number, args) && descriptor::is_one(args[0]) =>
        {
            failure::unsupported("a second descriptor for a timer", site)
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
        libc::SYS_mmap if ledger::is_too_much(number, args) => error(libc::ENOMEM),
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
            Some(name) => failure::unsupported(name, site),
            None => pass(number, args),
        },
    }
}

/// Whether a call gives a descriptor another name.
fn is_second_name(number: i64, args: [u64; 6]) -> bool {
    number != libc::SYS_fcntl || matches!(args[1] as i32, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// Whether the program did something in the kernel that putting its memory back does not undo: one
/// more than the number of the first such call, or 0.
struct Traces(Cell<i64>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Traces {}
static TRACES: Traces = Traces(Cell::new(0));

/// What is left in the kernel is not always a call's.
const NO_CALL: i64 = i64::MAX;

/// What was left in the kernel first since the last call of this; 0 for nothing.
pub(crate) fn take_traces() -> i64 {
    TRACES.0.replace(0)
}

/// The same, for people.
pub(crate) fn describe_trace(trace: i64) -> String {
    match trace {
        NO_CALL => "it uses more stack than is kept".to_owned(),
        one_more => format!("it calls {}", name(one_more - 1)),
    }
}

/// Notes that something was left, by no call.
pub(crate) fn leave_trace() {
    leave(NO_CALL);
}

fn leave(what: i64) {
    if TRACES.0.get() == 0 {
        TRACES.0.set(what);
    }
}

/// The last call of the execution that asked the system for more than it always answers alike.
struct Last(Cell<i64>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Last {}
static LAST: Last = Last(Cell::new(-1));

/// An execution begins.
pub(crate) fn begin() {
    LAST.0.set(-1);
}

/// What an execution that went another way may have gone by.
pub(crate) fn last_call() -> String {
    match LAST.0.get() {
        -1 => {
            "it called nothing before whose answer may differ: something else in the process does"
                .to_owned()
        }
        number => format!(
            "the last call before whose answer may differ is {}: if only the first executions differ, \
             begin with some (--prime N)",
            name(number)
        ),
    }
}

/// The name of a call that leaves traces.
fn name(number: i64) -> String {
    const NAMES: [(i64, &str); 38] = [
        (libc::SYS_write, "write"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_pwrite64, "pwrite"),
        (libc::SYS_read, "read"),
        (libc::SYS_open, "open, to write"),
        (libc::SYS_openat, "openat, to write"),
        (libc::SYS_close, "close, on a file that it did not open"),
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
        (libc::SYS_mmap, "mmap, shared or fixed"),
        (libc::SYS_munmap, "munmap, of what was mapped before main"),
        (libc::SYS_mprotect, "mprotect, of what was mapped before main"),
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

/// Whether a call changes what a descriptor leads to: its position, what a pipe holds.
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

/// Makes a call that the program makes, on its behalf.
fn pass(number: i64, args: [u64; 6]) -> i64 {
    if let Some(answer) = captured::as_a_pipe(number, args) {
        return answer;
    }
    let harmless = is_harmless(number, args);
    if !harmless {
        ledger::tell_actions();
    }
    if moves_descriptor(number) {
        debugger::outside();
        if begin::was_open(args[0]) {
            root().moved = true;
        }
    }
    if !harmless {
        points::note_call(number, args);
    }
    LAST.0.set(number);
    let watched = debugger::watched();
    // SAFETY: the program's own call.
    let mut answer = unsafe { raw::syscall(number, args) };
    if answer == -i64::from(libc::EFAULT) {
        // Perhaps it was to write to a page that waits for its first write.
        memory::allow_all();
        // SAFETY: as above.
        answer = unsafe { raw::syscall(number, args) };
    }
    if number != libc::SYS_fcntl || is_second_name(number, args) {
        captured::note(number, args, answer);
    }
    if answer == 0 && captured::asks(number, args) {
        captured::describe(number, args);
    }
    if !harmless && !ledger::note(number, args, answer) {
        leave(number + 1);
    }
    debugger::look(watched);
    answer
}

/// A lock on a file was taken by a call that is not passed on as it is.
pub(crate) fn locked(number: i64, descriptor: u64) {
    debugger::outside();
    if begin::was_open(descriptor) {
        // It is the open file's, which all executions would share.
        root().moved = true;
    }
    LAST.0.set(number);
    leave(number + 1);
}

/// Whether a call only asks.
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

/// The name of a call that cannot be let through: it would start something that runs by itself,
/// block the one kernel thread, or take the net away.
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

/// The mask is kept for each task and shown to it. The kernel's stays empty, since the runtime's
/// signals must arrive.
fn sigprocmask(args: [u64; 6]) -> i64 {
    let task = world().task();
    let old = task.mask.get();
    // SAFETY: the program's pointers, or null.
    unsafe {
        if args[1] != 0 {
            let set = *(args[1] as *const u64);
            let new = match args[0] as i32 {
                libc::SIG_BLOCK => old | set,
                libc::SIG_UNBLOCK => old & !set,
                libc::SIG_SETMASK => set,
                _ => return -i64::from(libc::EINVAL),
            };
            // These two nobody masks.
            task.mask.set(new & !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1)));
        }
        if args[2] != 0 {
            *(args[2] as *mut u64) = old;
        }
    }
    delivery::mask_changed();
    0
}

/// The runtime's handlers have a stack of their own, and the program is told so: what would make one
/// for each thread if there were none (Rust's standard library) makes none. A request for another is
/// granted and not used.
fn sigaltstack(args: [u64; 6]) -> i64 {
    if args[1] != 0 {
        let (low, high) = signals::stack();
        let there = libc::stack_t {
            ss_sp: low as *mut libc::c_void,
            ss_flags: 0,
            ss_size: (high - low) as usize,
        };
        // SAFETY: the program's pointer.
        unsafe { (args[1] as *mut libc::stack_t).write(there) };
    }
    0
}

/// `rt_sigaction`. What is pending of a signal that is ignored from here on is gone (POSIX 2.4.3).
fn sigaction(args: [u64; 6]) -> i64 {
    let signal = args[0] as i32;
    let answer = match signals::is_reserved(signal) {
        true => reserved_action(args),
        false => ledger::serve_action(args),
    };
    // SAFETY: the program's action.
    if answer == 0 && args[1] != 0 && delivery::ignores(signal, unsafe { *(args[1] as *const u64) })
    {
        pending::forget(signal);
    }
    answer
}

/// Sets the action for a signal.
pub(crate) fn set_action(signal: i32, action: signals::Action) {
    sigaction([signal as u64, &raw const action as u64, 0, 8, 0, 0]);
}

fn reserved_action(args: [u64; 6]) -> i64 {
    // SAFETY: the program's pointers, or null.
    unsafe {
        let new = (args[1] != 0).then(|| *(args[1] as *const signals::Action));
        let old = signals::want(args[0] as i32, new);
        if args[2] != 0 {
            *(args[2] as *mut signals::Action) = old;
        }
    }
    0
}

/// The task that a call means by a thread id, where 0 is the caller.
fn task_meant(tid: u64) -> Option<&'static Task> {
    let world = world();
    if tid == 0 {
        return Some(world.task());
    }
    world.by_tid(tid as i32).map(|number| &world.tasks[usize::from(number)])
}

/// Whether there is a process or a thread by this number; 0 is oneself.
pub(crate) fn is_somebody(id: i32) -> bool {
    let ours = task_meant(id as u64).is_some() || i64::from(id) == own_process();
    // SAFETY: asks whether it could get a signal.
    ours || unsafe { raw::call!(libc::SYS_kill, id, 0) == 0 }
}

/// A policy and a priority are granted where they could be, and change nothing.
fn set_priority(number: i64, args: [u64; 6]) -> i64 {
    let (policy, priority) = match number {
        libc::SYS_sched_setscheduler => (args[1] as i32 & !libc::SCHED_RESET_ON_FORK, args[2]),
        _ => (libc::SCHED_OTHER, args[1]),
    };
    // SAFETY: the program's.
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

/// Whether any task was ever given a policy or a priority.
struct Priorities(Cell<bool>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Priorities {}
static PRIORITIES: Priorities = Priorities(Cell::new(false));

/// Whether tasks may have others than the usual one: only then need anybody ask.
pub(crate) fn priorities_are_used() -> bool {
    PRIORITIES.0.get()
}

/// The words of a set of processors that are kept.
fn set_of(address: u64, len: u64) -> u128 {
    let mut set = [0u8; 16];
    let len = len.min(16) as usize;
    // SAFETY: the program's set, of at least that length.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, set.as_mut_ptr(), len) };
    u128::from_le_bytes(set)
}

/// `sched_setaffinity`: granted where the kernel would grant it, and remembered.
fn set_processors(args: [u64; 6]) -> i64 {
    let Some(task) = task_meant(args[0]) else { return -i64::from(libc::ESRCH) };
    let Some(granted) = granted(args[2], args[1]) else { return -i64::from(libc::EINVAL) };
    task.processors.set(granted);
    0
}

/// The processors of the set of so many bytes at this address that the process may run on; none where
/// there is none of these.
pub(crate) fn granted(address: u64, len: u64) -> Option<u128> {
    let mut there = [0u64; 16];
    // SAFETY: asks for the process's own set.
    unsafe { raw::call!(libc::SYS_sched_getaffinity, 0, 128, there.as_mut_ptr()) };
    let both = set_of(address, len) & set_of(there.as_ptr() as u64, 16);
    (both != 0).then_some(both)
}

fn processors(args: [u64; 6]) -> i64 {
    let Some(task) = task_meant(args[0]) else { return -i64::from(libc::ESRCH) };
    // SAFETY: the program's own call, for the one kernel thread that there is.
    let answer = unsafe { raw::call!(libc::SYS_sched_getaffinity, 0, args[1], args[2]) };
    let asked = task.processors.get();
    if asked != 0 && answer > 0 {
        // SAFETY: the kernel wrote as many bytes there.
        unsafe {
            let set = args[2] as *mut u8;
            set.write_bytes(0, answer as usize);
            let len = (answer as usize).min(16);
            std::ptr::copy_nonoverlapping(asked.to_le_bytes().as_ptr(), set, len);
        }
    }
    answer
}

/// The processor that the running task is told it runs on: always the first that it may run on, since
/// the real one is another in each execution. Of the node, that it is the first.
pub(crate) fn own_processor(processor: *mut u32, node: *mut u32) {
    let mut set = [0u64; 16];
    processors([0, 128, set.as_mut_ptr() as u64, 0, 0, 0]);
    let first = set.iter().position(|&word| word != 0);
    let first = first.map_or(0, |at| at as u32 * 64 + set[at].trailing_zeros());
    // SAFETY: the program's words, or null.
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
    // SAFETY: asks for the id.
    unsafe { raw::call!(libc::SYS_getpid) }
}

/// A signal to a task or to the process; another process is none of ours.
fn kill(number: i64, args: [u64; 6], site: u64) -> i64 {
    let world = world();
    let own = own_process();
    let (to, signal) = match number {
        libc::SYS_tgkill => (args[1] as i32, args[2] as i32),
        _ => (args[0] as i32, args[1] as i32),
    };
    if number == libc::SYS_kill {
        return match i64::from(to) {
            to if to == own => delivery::send_to_process(signal, Information::BY_PROCESS, site),
            _ if signal == 0 => pass(number, args),
            _ => failure::unsupported("a signal sent to another process", site),
        };
    }
    if to <= 0 || number == libc::SYS_tgkill && args[0] as i32 <= 0 {
        return -i64::from(libc::EINVAL);
    }
    let of_others = number == libc::SYS_tgkill && i64::from(args[0] as i32) != own;
    match world.by_tid(to).filter(|_| !of_others) {
        Some(task) => delivery::send_to_task(task, signal, Information::BY_TASK, site),
        None => -i64::from(libc::ESRCH),
    }
}
