//! What the kernel reads and writes where the catalogue of library functions does not describe it: for
//! system calls that the program makes itself, and for files that are mapped.

use crate::detect::access::{Access, forget_written, is_in_company, peek, settle_write};
use crate::instrument::binary::{self, calls, imports, libc_variables, open_files, parts};
use crate::kernel::{pass, task_files};
use crate::memory::shared_views;
use crate::schedule::access_points::{stored, visit};
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::open_flags::OpenFlags;
use crate::sys::raw;

/// A system call is about to be served.
pub(crate) fn observe(number: i64, args: [u64; 6], site: u64) {
    if !is_in_company() {
        return;
    }
    changes_mappings(number, args, site);
    if shared_views::are_any() {
        mapped(number, args, site);
    }
    if let Some((task, writes)) = task_files::transferred(number, args) {
        let task = &world().tasks[usize::from(task)];
        if task.life() == Lifecycle::Alive {
            // The kernel reads and writes a name as a whole.
            settle_write();
            let address = task.block.get();
            visit(Access {
                address,
                size: 8,
                writes,
                atomic: true,
                proven: true,
                site,
                in_parts: false,
            });
        }
    }
    if let Some(what) = unexplored(number, args) {
        calls::report_unexplored(what, "the kernel", site);
    }
    let is_own =
        binary::has_code(site) || imports::has_code(site) || libc_variables::is_in_syscall(site);
    if !is_own {
        return;
    }
    if matches!(
        number,
        libc::SYS_read
            | libc::SYS_pread64
            | libc::SYS_recvfrom
            | libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_sendto
    ) {
        let writes = number != libc::SYS_pread64;
        open_files::each_file(args[0], &mut |word, size| access(word, size, writes, site));
    }
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom => {
            access(args[1], args[2], true, site);
        }
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_sendto => {
            access(args[1], args[2], false, site);
        }
        libc::SYS_getrandom => access(args[0], args[1], true, site),
        libc::SYS_prctl if matches!(args[0] as i32, libc::PR_SET_NAME | libc::PR_GET_NAME) => {
            let writes = args[0] as i32 == libc::PR_SET_NAME;
            access(args[1], 16, !writes, site);
            access(world().task().block.get(), 8, writes, site);
        }
        _ if is_known(number) || pass::only_answers(number) => {}
        _ => calls::report_unexplored(&pass::name(number), "the kernel", site),
    }
}

fn access(address: u64, size: u64, writes: bool, site: u64) {
    if size > 0 {
        settle_write();
        let (atomic, proven) = (false, true);
        let access = Access { address, size, writes, atomic, proven, site, in_parts: false };
        visit(parts::of_system_call(access));
    }
}

/// What a call changes that no other call is known to depend on.
fn unexplored(number: i64, args: [u64; 6]) -> Option<&'static str> {
    // Calls about descriptors and locked memory depend on these limits by the catalogue.
    const KNOWN: [u32; 3] = [libc::RLIMIT_NOFILE, libc::RLIMIT_MEMLOCK, libc::RLIMIT_CORE];
    match number {
        libc::SYS_setrlimit if !KNOWN.contains(&(args[0] as u32)) => Some("setrlimit"),
        libc::SYS_prlimit64 if args[2] != 0 && !KNOWN.contains(&(args[1] as u32)) => {
            Some("setrlimit")
        }
        libc::SYS_dup2 | libc::SYS_dup3 if args[0] != args[1] && world().is_captured(args[1]) => {
            Some("a standard stream that another file replaces")
        }
        libc::SYS_close if world().is_captured(args[0]) => Some("a standard stream that is closed"),
        libc::SYS_open => of_process(args[0]),
        libc::SYS_openat => of_process(args[1]),
        _ => None,
    }
}

/// A file by which the kernel describes the process: much of what it says is here of the one kernel thread, and
/// depends on other calls.
fn of_process(path: u64) -> Option<&'static str> {
    let mut start = [0; 6];
    if !raw::read(path, &mut start) || start != *b"/proc/" {
        return None;
    }
    // SAFETY: the caller passes a path, whose beginning was just read.
    let path = unsafe { std::ffi::CStr::from_ptr(path as *const std::ffi::c_char) }.to_bytes();
    let below = path.strip_prefix(b"/proc/".as_slice())?;
    let at = below.iter().position(|&byte| byte == b'/')?;
    let (process, file) = (&below[..at], &below[at..]);
    let is_process = matches!(process, b"self" | b"thread-self")
        || process.iter().all(|byte| byte.is_ascii_digit());
    let is = |names: &[&str]| names.iter().any(|name| file.ends_with(name.as_bytes()));
    let is_of_state = is(&[
        "/status",
        "/stat",
        "/statm",
        "/limits",
        "/sched",
        "/maps",
        "/smaps",
        "/fd",
        "/environ",
        "/cmdline",
        "/io",
        "/children",
        "/timers",
    ]);
    (is_process && (is_of_state || file.starts_with(b"/fdinfo")))
        .then_some("the process's own state in /proc")
}

/// A part of a file that a call reads or writes.
struct Part {
    file: Option<shared_views::File>,
    offset: u64,
    len: u64,
    writes: bool,
}

/// The parts of files that a call reads or writes.
fn parts(number: i64, args: [u64; 6]) -> [Option<Part>; 2] {
    let part = |descriptor, offset, len, writes| {
        let file = shared_views::identity(descriptor);
        Some(Part { file, offset, len, writes })
    };
    let whole = |descriptor, writes| part(descriptor, 0, u64::MAX, writes);
    // At the position of the open file.
    let next = |descriptor, len, writes| match position(descriptor) {
        Some(offset) => part(descriptor, offset, len, writes),
        None => whole(descriptor, writes),
    };
    // At the offset that a pointer leads to, unless it is null.
    let at = |descriptor, offset, len, writes| match offset {
        0 => next(descriptor, len, writes),
        offset => part(descriptor, peek(offset, 8), len, writes),
    };
    let by_path = |directory, path, writes| {
        let file = shared_views::identity_of_path(directory, path);
        Some(Part { file, offset: 0, len: u64::MAX, writes })
    };
    let emptied = |directory, path| by_path(directory, path, true);
    let here = libc::AT_FDCWD as u64;
    let empties = |flags: u64| flags & libc::O_TRUNC as u64 != 0;
    match number {
        libc::SYS_pread64 => [part(args[0], args[3], args[2], false), None],
        libc::SYS_pwrite64 => [part(args[0], args[3], args[2], true), None],
        libc::SYS_read => [next(args[0], args[2], false), None],
        libc::SYS_write => [next(args[0], args[2], true), None],
        // A store to a mapping changes the file's times.
        libc::SYS_fstat => [whole(args[0], false), None],
        libc::SYS_stat | libc::SYS_lstat => [by_path(here, args[0], false), None],
        libc::SYS_newfstatat if args[3] as i32 & libc::AT_EMPTY_PATH != 0 => {
            [whole(args[0], false), None]
        }
        libc::SYS_statx if args[2] as i32 & libc::AT_EMPTY_PATH != 0 => {
            [whole(args[0], false), None]
        }
        libc::SYS_newfstatat | libc::SYS_statx => [by_path(args[0], args[1], false), None],
        libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => [whole(args[0], false), None],
        libc::SYS_writev
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
        | libc::SYS_ftruncate
        | libc::SYS_fallocate => [whole(args[0], true), None],
        libc::SYS_sendfile => [at(args[1], args[2], args[3], false), next(args[0], args[3], true)],
        libc::SYS_copy_file_range | libc::SYS_splice => {
            [at(args[0], args[1], args[4], false), at(args[2], args[3], args[4], true)]
        }
        libc::SYS_truncate | libc::SYS_creat => [emptied(here, args[0]), None],
        libc::SYS_open if empties(args[1]) => [emptied(here, args[0]), None],
        libc::SYS_openat if empties(args[2]) => [emptied(args[0], args[1]), None],
        _ => [None, None],
    }
}

/// A file is read or written: an access to the memory in which it is mapped.
fn mapped(number: i64, args: [u64; 6], site: u64) {
    for part in parts(number, args).into_iter().flatten() {
        let Some(file) = part.file else { continue };
        let range = (part.offset, part.len);
        let mut mapping = 0;
        while let Some((address, size)) = shared_views::of_file(file, range, false, mapping) {
            access(address, size, part.writes, site);
            mapping += 1;
        }
        // What is in a private mapping is not in the file.
        let mut mapping = 0;
        while part.writes
            && let Some((address, size)) = shared_views::of_file(file, range, true, mapping)
        {
            // The program may have written to these pages, which the file does not change then: no race.
            stored(address, size, site);
            mapping += 1;
        }
        if part.writes {
            // A file that is cut off leaves its mappings without memory.
            forget_written();
        }
    }
}

/// A file is mapped or a mapping of it ends, and with it what the program sees of the file.
fn changes_mappings(number: i64, args: [u64; 6], site: u64) {
    match number {
        libc::SYS_mmap if args[3] as i32 & libc::MAP_ANONYMOUS == 0 => {
            open_files::each_file(args[4], &mut |word, size| access(word, size, false, site));
        }
        libc::SYS_munmap | libc::SYS_mremap => {
            let mut mapping = 0;
            while let Some(file) = shared_views::shown(args[0], args[1], mapping) {
                if let Some(word) = open_files::open_as(file) {
                    access(word, 8, false, site);
                }
                mapping += 1;
            }
        }
        _ => {}
    }
}

/// Where the next byte of an open file is read or written; none if it may be at the end.
fn position(descriptor: u64) -> Option<u64> {
    // SAFETY: the call passes no pointer.
    let position = unsafe { raw::call!(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR) };
    let appends = OpenFlags::of(descriptor).is_some_and(OpenFlags::appends);
    u64::try_from(position).ok().filter(|_| !appends)
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
            | libc::SYS_set_robust_list
            | libc::SYS_mmap
            | libc::SYS_getrusage
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_clone
            | libc::SYS_clone3
            | libc::SYS_execve
            | libc::SYS_execveat
    )
}
