//! System calls that the dispatch handler intercepted: each is modelled, passed to the kernel, or
//! ends the execution as unsupported.

use crate::detect::access;
use crate::kernel::alternate_stack::sigaltstack;
use crate::kernel::pass::{is_second_name, pass};
use crate::kernel::polling::{is_never_writable, without_writing};
use crate::kernel::private::is_private;
use crate::kernel::signal_calls::{last_moment, serve_action};
use crate::kernel::timer::descriptor;
use crate::kernel::{
    children, clients, descriptor_order, direct_calls, exit, file_lock, forks, ipc, messages,
    opening, output, random, readiness, signal_delivery, signal_descriptor, signal_read,
    signal_waits, socket_limits, splices, system_v, task_files, thread_list, time, transfer,
};
use crate::memory::kernel_changes;
use crate::primitives::attributes::{
    nice, number_meant, own_process, own_processor, processors, scheduling, set_attributes,
    set_nice, set_processors, set_timer_slack, shown_tid, task_meant, tell_nice,
};
use crate::primitives::{cancel, futex, robust_list, spare_threads, thread};
use crate::schedule;
use crate::schedule::interrupt;
use crate::schedule::scheduler::point;
use crate::schedule::stall;
use crate::state::outcome;
use crate::state::pending_signals::Information;
use crate::state::stacks;
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::dispatch::PR_SET_SYSCALL_USER_DISPATCH;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{LiveFrames, interpose, site};
use crate::sys::parent;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::c_long;
use traces::Operation;

/// Serves a system call made by a fiber at `site`. Returns as the kernel does.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    // The C library's streams read and write by functions that are cancellation points.
    let is_cancellable =
        matches!(number, libc::SYS_read | libc::SYS_write) && cancel::is_inner_point(site);
    if is_cancellable {
        cancel::begin();
    }
    signal_delivery::handle_signalled(site);
    world().task().served.set(site);
    world().task().call.set(number);
    yield_if_many(site);
    schedule::time::spend(|| false);
    direct_calls::observe(number, args, site);
    let order = descriptor_order::of(number, args);
    let mut path = [0; 256];
    let (own, about) = thread_list::with_own_path(number, args, &mut path);
    let room = clients::room(number, args);
    let answer = answer(number, own, site);
    clients::returned(number, args, room, answer, site);
    task_files::returned(number, args, answer, about, site);
    descriptor_order::apply(order, answer);
    if (-4095..0).contains(&answer) {
        // SAFETY: takes no arguments; the thread pointer is the running task's.
        access::writes_in_handler(unsafe { libc::__errno_location() } as u64);
    }
    signal_delivery::deliver_outside(site);
    if is_cancellable {
        cancel::end();
    }
    answer
}

/// After so many calls without a step, a task yields: another may have to end its loop.
const MOST_CALLS: u32 = 1000;

/// The calls of the running task since the last step, which this fingerprint identifies.
struct Calls {
    step: Cell<u64>,
    count: Cell<u32>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Calls {}
static CALLS: Calls = Calls { step: Cell::new(0), count: Cell::new(0) };

/// An execution begins. Executions that have steps in common also have their fingerprints in common,
/// so a count that outlived its execution would make a task of a later one yield at another place.
pub(crate) fn begin() {
    CALLS.count.set(0);
}

/// A loop of calls that are no steps would keep other tasks from running.
fn yield_if_many(site: u64) {
    let step = record::fingerprint();
    let count = if CALLS.step.replace(step) == step { CALLS.count.get() + 1 } else { 1 };
    CALLS.count.set(count % MOST_CALLS);
    if count == MOST_CALLS {
        interrupt::yield_at_call(site);
    }
}

/// Whether the call changes nothing where it would have to wait and may not, or no longer.
fn may_be_refused(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_msgsnd
            | libc::SYS_msgrcv
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_flock
            | libc::SYS_fcntl
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_mq_timedsend
            | libc::SYS_mq_timedreceive
    )
}

fn answer(number: i64, args: [u64; 6], site: u64) -> i64 {
    let answer = answer_of(number, args, site);
    if !may_be_refused(number) {
        return answer;
    }
    // A call that was refused, or whose time passed, has changed nothing, and so will the next one be until a
    // step of another task changes that, or another process.
    let events = match number {
        libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_mq_timedsend => libc::POLLOUT,
        _ => libc::POLLIN,
    };
    let is_refused =
        [libc::EAGAIN, libc::ETIMEDOUT].iter().any(|&error| answer == -i64::from(error));
    match number {
        libc::SYS_rt_sigtimedwait if is_refused => {}
        libc::SYS_flock | libc::SYS_fcntl if file_lock::is_refused(number, args, answer) => {}
        libc::SYS_flock | libc::SYS_fcntl => stall::makes_progress(),
        libc::SYS_msgsnd | libc::SYS_msgrcv | libc::SYS_semop | libc::SYS_semtimedop => {
            let is_refused = is_refused || answer == -i64::from(libc::ENOMSG);
            if !is_refused || !system_v::is_private(number, args[0]) {
                stall::makes_progress();
            }
        }
        _ if is_refused && is_private(args[0]) => {}
        _ if is_refused => stall::looks_outside(args[0], events),
        _ => stall::makes_progress(),
    }
    answer
}

fn answer_of(number: i64, args: [u64; 6], site: u64) -> i64 {
    let error = |code: i32| -i64::from(code);
    if !may_be_refused(number)
        && !matches!(
            number,
            libc::SYS_sched_yield
                | libc::SYS_nanosleep
                | libc::SYS_clock_nanosleep
                | libc::SYS_gettid
                | libc::SYS_futex
                | libc::SYS_poll
                | libc::SYS_ppoll
                | libc::SYS_select
                | libc::SYS_pselect6
                | libc::SYS_epoll_wait
                | libc::SYS_epoll_pwait
                | libc::SYS_epoll_pwait2
        )
    {
        stall::makes_progress();
    }
    match number {
        libc::SYS_futex => futex::serve(args, site),
        libc::SYS_futex_waitv => futex::wait_vector(args, site),
        libc::SYS_prctl if args[0] as i32 == libc::PR_SET_NAME => thread::set_own_name(args[1]),
        libc::SYS_prctl if args[0] as i32 == libc::PR_GET_NAME => thread::get_own_name(args[1]),
        libc::SYS_prctl if args[0] as i32 == libc::PR_SET_TIMERSLACK => set_timer_slack(args[1]),
        libc::SYS_prctl
            if args[0] as i32 == libc::PR_GET_TIMERSLACK
                && world().task().timer_slack.get().1 != 0 =>
        {
            world().task().timer_slack.get().1 as i64
        }
        libc::SYS_sched_yield => {
            point(Operation::Yield, 0, site, Gate::Open);
            0
        }
        libc::SYS_nanosleep => time::sleep(args[0], args[1], None, site),
        libc::SYS_clock_nanosleep => time::sleep(args[2], args[3], Some((args[0], args[1])), site),
        libc::SYS_clock_gettime => time::clock_gettime(args[0], args[1], None),
        libc::SYS_gettimeofday => time::gettimeofday(args[0], None),
        libc::SYS_time => time::time(args[0], None),
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
        libc::SYS_exit_group => exit::now(args[0] as i32, site, LiveFrames::of_call()),
        libc::SYS_gettid => shown_tid(world().current.get()),
        libc::SYS_getppid => parent::of_program(),
        // The kernel would clear that word, instead of the one for which a join waits.
        libc::SYS_set_tid_address => outcome::unsupported("set_tid_address", site),
        libc::SYS_set_robust_list => robust_list::set(args[0], args[1]),
        libc::SYS_get_robust_list
            if number_meant(args[0]) == Some(world().current.get()) && robust_list::is_own() =>
        {
            robust_list::get(args[1], args[2])
        }
        libc::SYS_rseq => error(libc::ENOSYS),
        libc::SYS_rt_sigprocmask => sigprocmask(args, site),
        libc::SYS_rt_sigpending => {
            // SAFETY: the caller of `rt_sigpending` passes a valid signal set.
            unsafe { *(args[0] as *mut u64) = signal_delivery::pending() };
            0
        }
        libc::SYS_sched_setscheduler if args[2] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setparam | libc::SYS_sched_getparam if args[1] == 0 => error(libc::EINVAL),
        libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_getscheduler
        | libc::SYS_sched_getparam
            if let Some(task) = number_meant(args[0]) =>
        {
            scheduling(task, number, args)
        }
        libc::SYS_sched_setattr if let Some(task) = task_meant(args[0]) => {
            set_attributes(task, args[1])
        }
        libc::SYS_sched_getattr if let Some(task) = task_meant(args[0]) => {
            let answer = pass(number, [0, args[1], args[2], args[3], 0, 0]);
            if answer == 0 {
                tell_nice(task, args[1]);
            }
            answer
        }
        libc::SYS_sched_rr_get_interval | libc::SYS_get_robust_list
            if args[0] != 0 && task_meant(args[0]).is_some() =>
        {
            pass(number, [0, args[1], args[2], args[3], 0, 0])
        }
        libc::SYS_getpriority | libc::SYS_setpriority if args[0] as u32 == libc::PRIO_PROCESS => {
            match task_meant(args[1]) {
                Some(task) if number == libc::SYS_getpriority => 20 - i64::from(nice(task)),
                Some(task) => set_nice(task, args[2] as i32),
                None => pass(number, args),
            }
        }
        // 1 is `IOPRIO_WHO_PROCESS`.
        libc::SYS_ioprio_get | libc::SYS_ioprio_set
            if args[0] == 1 && task_meant(args[1]).is_some() =>
        {
            pass(number, [1, 0, args[2], 0, 0, 0])
        }
        libc::SYS_sched_setaffinity => set_processors(args),
        libc::SYS_sched_getaffinity => processors(args),
        libc::SYS_getcpu => {
            own_processor(args[0] as *mut u32, args[1] as *mut u32);
            0
        }
        libc::SYS_pause => signal_waits::suspend(world().task().mask.get(), site),
        libc::SYS_rt_sigsuspend => {
            // SAFETY: the caller of `rt_sigsuspend` passes a valid signal set.
            signal_waits::suspend(unsafe { *(args[0] as *const u64) }, site)
        }
        libc::SYS_rt_sigtimedwait => {
            // SAFETY: the caller of `rt_sigtimedwait` passes a valid signal set.
            signal_waits::wait_for(unsafe { *(args[0] as *const u64) }, args[1], args[2], site)
        }
        libc::SYS_rt_sigqueueinfo if args[0] as i64 == own_process() => {
            // SAFETY: the caller passes a valid `siginfo_t`; the value is at offset 24, behind the
            // sender's ids.
            let value = unsafe { *((args[2] + 24) as *const u64) };
            signal_delivery::send_to_process(args[1] as i32, Information::queued(value), site)
        }
        libc::SYS_sigaltstack => sigaltstack(args),
        libc::SYS_rt_sigaction => serve_action(args, site),
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_tgkill => kill(number, args, site),
        _ if let Some((task, writes)) = task_files::transferred(number, args) => {
            task_files::transfer(task, writes, number, args)
        }
        _ if task_files::is_copied(number, args) => {
            outcome::unsupported("a copy by the kernel of a file about a thread in /proc", site)
        }
        libc::SYS_write | libc::SYS_writev if world().is_captured(args[0]) => {
            output::write(number == libc::SYS_writev, args)
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl
            if is_second_name(number, args) && descriptor::is_one(args[0]) =>
        {
            outcome::unsupported("a second descriptor for a timer", site)
        }
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl
            if is_second_name(number, args) && signal_descriptor::is_one(args[0]) =>
        {
            outcome::unsupported("a second descriptor for a signalfd", site)
        }
        libc::SYS_close | libc::SYS_dup2 | libc::SYS_dup3 => {
            let closed = args[usize::from(number != libc::SYS_close)];
            descriptor::closed(closed, site);
            signal_descriptor::closed(closed);
            pass(number, args)
        }
        libc::SYS_getdents64 if thread_list::is_one(args[0]) => thread_list::list(args),
        _ if let Some(answer) = thread_list::link(number, args) => answer,
        libc::SYS_signalfd | libc::SYS_signalfd4 => signal_descriptor::create(number, args, site),
        libc::SYS_read if signal_descriptor::is_one(args[0]) => signal_read::read(args, site),
        libc::SYS_readv | libc::SYS_preadv2 if signal_descriptor::is_one(args[0]) => {
            outcome::unsupported("readv of a signalfd", site)
        }
        libc::SYS_timerfd_create => descriptor::create(args[0], args[1]),
        libc::SYS_timerfd_settime => descriptor::set_time(args, site),
        libc::SYS_timerfd_gettime => descriptor::get_time(args, site),
        libc::SYS_read | libc::SYS_readv => transfer::read(number, args, site),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_accept | libc::SYS_accept4 => {
            transfer::receive(number, args, site)
        }
        // At the position of the file, which pipes and sockets do not have.
        libc::SYS_preadv2 if args[3] == u64::MAX && args[5] == 0 => {
            transfer::receive(libc::SYS_readv, [args[0], args[1], args[2], 0, 0, 0], site)
        }
        libc::SYS_pwritev2 if args[3] == u64::MAX && args[5] == 0 => {
            transfer::send(libc::SYS_writev, [args[0], args[1], args[2], 0, 0, 0], site)
        }
        libc::SYS_recvmmsg => messages::receive(args, site),
        libc::SYS_sendmmsg => messages::send(args, site),
        libc::SYS_sendfile => splices::sendfile(args, site),
        libc::SYS_splice | libc::SYS_tee | libc::SYS_vmsplice => {
            splices::splice(number, args, site)
        }
        libc::SYS_open | libc::SYS_openat => {
            let answer = opening::open(number, args, site);
            if answer >= 0 {
                random::opened(answer as u64);
            }
            answer
        }
        libc::SYS_connect => clients::connect(args, site),
        libc::SYS_bind => clients::bind(args),
        libc::SYS_setsockopt => {
            let answer = pass(number, args);
            if answer == 0 {
                socket_limits::set(args);
            }
            answer
        }
        libc::SYS_msgsnd | libc::SYS_msgrcv => ipc::message(number, args, site),
        libc::SYS_semop | libc::SYS_semtimedop => ipc::semaphore(number, args, site),
        libc::SYS_mq_timedsend | libc::SYS_mq_timedreceive => ipc::queue_call(number, args, site),
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => {
            forks::serve(number, args, site)
        }
        libc::SYS_execve | libc::SYS_execveat => forks::execute(number, args, site),
        libc::SYS_wait4 | libc::SYS_waitid => ipc::child(number, args, site),
        libc::SYS_write | libc::SYS_writev if is_never_writable(args[0]) => error(libc::EINVAL),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => {
            transfer::send(number, args, site)
        }
        libc::SYS_epoll_ctl if args[3] != 0 && is_never_writable(args[2]) => {
            let event = without_writing(args[3]);
            pass(number, [args[0], args[1], args[2], &raw const event as u64, 0, 0])
        }
        libc::SYS_mmap if kernel_changes::is_too_much(number, args) => error(libc::ENOMEM),
        // Only the loader uses this flag, which has no effect otherwise.
        libc::SYS_mmap if args[3] as i32 & libc::MAP_DENYWRITE != 0 => {
            spare_threads::library_comes();
            pass(number, args)
        }
        // Only the loader makes a stack executable in this way, for a library that needs it.
        libc::SYS_mprotect
            if args[2] as i32 & libc::PROT_EXEC != 0
                && args[2] as i32 & libc::PROT_GROWSDOWN != 0 =>
        {
            let answer = pass(number, args);
            if answer == 0 {
                stacks::make_executable();
            }
            answer
        }
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

/// The name of a call that cannot be passed to the kernel: it would start something that runs
/// concurrently, block the one kernel thread, or disable system call dispatch.
fn refused(number: i64, args: [u64; 6]) -> Option<&'static str> {
    let has_others = || world().alive().nth(1).is_some();
    Some(match number {
        libc::SYS_prctl => match args[0] as i32 {
            libc::PR_SET_SECCOMP => "prctl(PR_SET_SECCOMP)",
            PR_SET_SYSCALL_USER_DISPATCH => "prctl(PR_SET_SYSCALL_USER_DISPATCH)",
            option if sets_rights(option) && has_others() => "rights of one thread only (by prctl)",
            _ => return None,
        },
        libc::SYS_capset if has_others() => "rights of one thread only (by capset)",
        // -1 asks for the present one.
        libc::SYS_setfsuid | libc::SYS_setfsgid if args[0] as i32 != -1 && has_others() => {
            "a user or group of one thread only (by setfsuid or setfsgid)"
        }
        libc::SYS_personality if args[0] as i32 != -1 && has_others() => {
            "a personality of one thread only (by personality)"
        }
        libc::SYS_exit => "the exit system call of one thread",
        libc::SYS_ptrace => "ptrace",
        libc::SYS_seccomp => "seccomp",
        libc::SYS_setns => "setns",
        libc::SYS_unshare => "unshare",
        libc::SYS_timer_create => "timer_create",
        libc::SYS_setitimer => "setitimer",
        libc::SYS_alarm => "alarm",
        libc::SYS_io_uring_setup | libc::SYS_io_uring_enter => {
            "io_uring: make the program use epoll, or read and write (UV_USE_IO_URING=0 with libuv)"
        }
        libc::SYS_io_getevents => "io_getevents: make the program use pread and pwrite in threads",
        libc::SYS_userfaultfd => "userfaultfd",
        libc::SYS_modify_ldt => "modify_ldt",
        libc::SYS_arch_prctl => "arch_prctl",
        _ => return None,
    })
}

/// Whether `prctl` changes what the calling thread may do, and no other.
fn sets_rights(option: i32) -> bool {
    matches!(
        option,
        libc::PR_SET_KEEPCAPS
            | libc::PR_SET_NO_NEW_PRIVS
            | libc::PR_SET_SECUREBITS
            | libc::PR_CAPBSET_DROP
            | libc::PR_CAP_AMBIENT
    )
}

/// `rt_sigprocmask`: each task's mask is stored with the task. The kernel's mask stays empty, since
/// the runtime's signals must arrive.
fn sigprocmask(args: [u64; 6], site: u64) -> i64 {
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
            if new & !old != 0 {
                last_moment(site);
            }
            // SIGKILL and SIGSTOP cannot be masked.
            task.mask.set(new & !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1)));
        }
        if args[2] != 0 {
            *(args[2] as *mut u64) = old;
        }
    }
    signal_delivery::mask_changed();
    0
}

/// The C library's own signal (`SIGSETXID`), which programs cannot send by its functions.
const CHANGE_USER: i32 = 33;

/// A signal to a task, to the process or to its children; signals to other processes are not supported.
fn kill(number: i64, args: [u64; 6], site: u64) -> i64 {
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
            _ if signal == 0 || children::has(to) => pass(number, args),
            _ => outcome::unsupported("a signal sent to another process", site),
        };
    }
    if to <= 0 || number == libc::SYS_tgkill && args[0] as i32 <= 0 {
        return -i64::from(libc::EINVAL);
    }
    if number == libc::SYS_tgkill && signal == CHANGE_USER {
        // The C library changes the user or the groups of all threads of its list by this signal. The
        // tasks have the one kernel thread that makes the call.
        return -i64::from(libc::ESRCH);
    }
    let of_others = number == libc::SYS_tgkill && i64::from(args[0] as i32) != own;
    match number_meant(to as u64).filter(|_| !of_others) {
        Some(task) => signal_delivery::send_to_task(task, signal, Information::BY_TASK, site),
        None => -i64::from(libc::ESRCH),
    }
}

/// Whether a system call changes the user or the groups of its thread. (The C library's functions of
/// these names change all threads.)
fn changes_credentials(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_setuid
            | libc::SYS_setgid
            | libc::SYS_setreuid
            | libc::SYS_setregid
            | libc::SYS_setresuid
            | libc::SYS_setresgid
            | libc::SYS_setgroups
            | libc::SYS_setfsuid
            | libc::SYS_setfsgid
    )
}

interpose! {
    fn syscall(number: c_long, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> c_long {
        if !on_fiber() {
            unsafe {
                return real!(syscall(number, a, b, c, d, e, f)
                    as fn(c_long, u64, u64, u64, u64, u64, u64) -> c_long);
            }
        }
        if changes_credentials(number) && world().alive().nth(1).is_some() {
            outcome::unsupported("a user or groups of one thread only (by syscall)", site());
        }
        let answer = serve(number, [a, b, c, d, e, f], site());
        if (-4095..0).contains(&answer) {
            set_errno(-answer as i32);
            return -1;
        }
        answer
    }
}
