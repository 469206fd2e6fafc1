//! Scheduling policies, priorities and processors of tasks. They have no effect here; the program
//! can only read them back.

use crate::memory::snapshot;
use crate::primitives::mutex_ceiling;
use crate::state::task::Task;
use crate::state::world::world;
use crate::sys::{channel, raw};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// The thread id of a task that system calls return. That of main is the id of the process: a copy of the
/// process, in which an execution runs, has another one than the C library stored.
pub(crate) fn shown_tid(number: u16) -> i64 {
    match number {
        0 => own_process(),
        _ => i64::from(world().tid(number)),
    }
}

/// The number of the task with a thread id; 0 is the caller.
pub(crate) fn number_meant(tid: u64) -> Option<u16> {
    let world = world();
    if tid == 0 {
        return Some(world.current.get());
    }
    if i64::from(tid as i32) == own_process() {
        return Some(0);
    }
    world.by_tid(tid as i32)
}

/// The task with a thread id; 0 is the caller.
pub(crate) fn task_meant(tid: u64) -> Option<&'static Task> {
    number_meant(tid).map(|number| &world().tasks[usize::from(number)])
}

/// Whether a process or a thread with this id exists; 0 is the caller.
pub(crate) fn process_exists(id: i32) -> bool {
    let ours = task_meant(id as u64).is_some() || i64::from(id) == own_process();
    // SAFETY: signal 0 only checks whether the process exists.
    ours || unsafe { raw::call!(libc::SYS_kill, id, 0) == 0 }
}

/// The calls that set or read a task's scheduling policy and priority.
pub(crate) fn scheduling(task: u16, number: i64, args: [u64; 6]) -> i64 {
    let own = task;
    let task = &world().tasks[usize::from(own)];
    let (policy, priority) = task.scheduling.get();
    match number {
        libc::SYS_sched_getscheduler => i64::from(policy),
        libc::SYS_sched_getparam => {
            let priority = mutex_ceiling::raised(own, policy, priority);
            // SAFETY: the caller of `sched_getparam` passes a valid `sched_param`; null was handled in `serve`.
            unsafe { *(args[1] as *mut i32) = priority };
            0
        }
        _ => set_priority(task, number, args),
    }
}

/// Accepts a policy and a priority that the kernel could accept; they have no effect, and can be read back.
fn set_priority(task: &Task, number: i64, args: [u64; 6]) -> i64 {
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
    if number == libc::SYS_sched_setscheduler {
        task.scheduling.set((args[1] as i32, priority));
    } else {
        task.scheduling.set((task.scheduling.get().0, priority));
    }
    0
}

/// `sched_setattr`: accepts what the kernel could accept; it has no effect, and can be read back.
pub(crate) fn set_attributes(task: &Task, attributes: u64) -> i64 {
    let mut words = [0u32; 6];
    let mut bytes = [0u8; 24];
    if !raw::read(attributes, &mut bytes) {
        return -i64::from(if attributes == 0 { libc::EINVAL } else { libc::EFAULT });
    }
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [_, policy, _, _, _, priority] = words;
    let may_be = match policy as i32 {
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => 0..=0,
        libc::SCHED_FIFO | libc::SCHED_RR => 1..=99,
        libc::SCHED_DEADLINE => return -i64::from(libc::EPERM),
        _ => return -i64::from(libc::EINVAL),
    };
    if !may_be.contains(&priority) {
        return -i64::from(libc::EINVAL);
    }
    PRIORITIES.0.set(true);
    task.scheduling.set((policy as i32, priority as i32));
    0
}

/// `setpriority` for a task: the value can only be read back.
pub(crate) fn set_nice(task: &Task, value: i32) -> i64 {
    let value = value.clamp(-20, 19) as i8;
    if value < nice(task) && !may_have_nice(value) {
        return -i64::from(libc::EACCES);
    }
    task.nice.set(Some(value));
    0
}

/// Whether the kernel lets the process have a nice value below its present one: that depends on its privileges and
/// on `RLIMIT_NICE`.
fn may_have_nice(value: i8) -> bool {
    // The system call returns 20 minus the value. The present one can always be set again.
    //
    // SAFETY: the calls pass no pointers.
    unsafe {
        let present = 20 - raw::call!(libc::SYS_getpriority, libc::PRIO_PROCESS, 0);
        let answer = raw::call!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, i64::from(value));
        raw::call!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, present);
        answer == 0
    }
}

/// The nice value of a task.
pub(crate) fn nice(task: &Task) -> i8 {
    // Not what the kernel says: a search in the background has another priority than a replay.
    task.nice.get().unwrap_or_else(|| channel::header().nice.load(Relaxed) as i8)
}

/// `prctl` with `PR_SET_TIMERSLACK`: the value can only be read back. 0 stands for that at the task's creation.
pub(crate) fn set_timer_slack(value: u64) -> i64 {
    let slack = &world().task().timer_slack;
    let (first, _) = slack.get();
    slack.set((first, if value == 0 { first } else { value }));
    0
}

/// Writes the nice value of a task into what `sched_getattr` wrote at this address.
pub(crate) fn tell_nice(task: &Task, attributes: u64) {
    const OFFSET: u64 = 16;
    // SAFETY: the kernel has written the whole structure there, which has 48 bytes at least.
    unsafe { ((attributes + OFFSET) as *mut i32).write_unaligned(i32::from(nice(task))) };
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
pub(crate) fn set_processors(args: [u64; 6]) -> i64 {
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

/// `sched_getaffinity`: the processors of the task's own set.
pub(crate) fn processors(args: [u64; 6]) -> i64 {
    let Some(task) = task_meant(args[0]) else { return -i64::from(libc::ESRCH) };
    // SAFETY: the kernel checks the program's buffer; the call asks about the process's one kernel
    // thread.
    let ask = || unsafe { raw::call!(libc::SYS_sched_getaffinity, 0, args[1], args[2]) };
    let mut answer = ask();
    if answer == -i64::from(libc::EFAULT) {
        // The kernel may have tried to write to a page that memory tracking has write-protected.
        snapshot::allow_all();
        answer = ask();
    }
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

/// The id of the process.
pub(crate) fn own_process() -> i64 {
    // SAFETY: `getpid` takes no arguments and touches no memory.
    unsafe { raw::call!(libc::SYS_getpid) }
}
