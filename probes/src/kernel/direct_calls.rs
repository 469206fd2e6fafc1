//! What the kernel reads and writes where the catalogue of library functions does not describe it: for
//! system calls that the program makes itself, and for files that are mapped.

use crate::detect::access::{Access, is_in_company, settle_write};
use crate::instrument::binary::{self, calls, imports};
use crate::kernel::pass;
use crate::memory::shared_views;
use crate::schedule::access_points::visit;

/// A system call is about to be served.
pub(crate) fn observe(number: i64, args: [u64; 6], site: u64) {
    if !is_in_company() {
        return;
    }
    if let Some((address, size)) = mapped(number, args) {
        access(address, size, true, site);
    }
    if !binary::has_code(site) && !imports::has_code(site) {
        return;
    }
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom => {
            access(args[1], args[2], true, site);
        }
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => {
            access(args[1], args[2], false, site);
        }
        libc::SYS_getrandom | libc::SYS_getcwd => access(args[0], args[1], true, site),
        _ if is_known(number) || pass::only_answers(number) => {}
        _ => calls::report_unexplored(&pass::name(number), "the kernel", site),
    }
}

fn access(address: u64, size: u64, writes: bool, site: u64) {
    if size > 0 {
        settle_write();
        visit(Access { address, size, writes, atomic: false, proven: true, site });
    }
}

/// The memory that changes when a file is written to which is mapped.
fn mapped(number: i64, args: [u64; 6]) -> Option<(u64, u64)> {
    if !shared_views::are_any() {
        return None;
    }
    match number {
        libc::SYS_pwrite64 => shared_views::of_file(args[0], args[3], args[2]),
        // Where the file's position is, is not known.
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_ftruncate => {
            shared_views::of_file(args[0], 0, u64::MAX)
        }
        _ => None,
    }
}

/// Calls that access no memory which tasks share, or that are modelled. (The others that access none
/// are in [`pass::only_answers`].)
fn is_known(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_futex
            | libc::SYS_futex_waitv
            | libc::SYS_sched_yield
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_clock_gettime
            | libc::SYS_gettimeofday
            | libc::SYS_time
            | libc::SYS_gettid
            | libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigaction
            | libc::SYS_rt_sigprocmask
            | libc::SYS_rt_sigpending
            | libc::SYS_rt_sigsuspend
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_pause
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_sigaltstack
            | libc::SYS_exit_group
            | libc::SYS_membarrier
            | libc::SYS_getcpu
            | libc::SYS_sched_getaffinity
            | libc::SYS_sched_setaffinity
            | libc::SYS_sched_getscheduler
            | libc::SYS_sched_setscheduler
            | libc::SYS_set_robust_list
            | libc::SYS_prctl
            | libc::SYS_close
            | libc::SYS_eventfd2
            | libc::SYS_memfd_create
            | libc::SYS_mmap
            | libc::SYS_brk
            | libc::SYS_timerfd_create
            | libc::SYS_timerfd_settime
            | libc::SYS_timerfd_gettime
            | libc::SYS_epoll_create1
            | libc::SYS_epoll_ctl
            | libc::SYS_getrusage
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_clone
            | libc::SYS_clone3
            | libc::SYS_execve
            | libc::SYS_execveat
    )
}
