//! System V queues and semaphores, POSIX message queues, and waits for child processes.
//!
//! Each call is made in its form that does not wait. Only the kernel knows what is in a queue, which
//! other processes may use, so the scheduler asks it whether the call could continue.

use crate::kernel::children;
use crate::kernel::park::{Blocking, NO_DESCRIPTOR, has_stepped};
use crate::kernel::pass::{pass, pass_as};
use crate::kernel::system_v;
use crate::state::clock;
use crate::state::open_words::{MESSAGE_QUEUES, SEMAPHORE_SETS, WordSet};
use crate::state::task::ExternalWait;
use crate::steps::record;
use crate::sys::open_flags::{may_wait_to_read, may_wait_to_write};
use crate::sys::raw;

const AGAIN: i64 = -(libc::EAGAIN as i64);

/// A call of the program, on its task's stack.
#[derive(Clone, Copy)]
struct Call {
    number: i64,
    args: [u64; 6],
}

impl Call {
    fn wait(&self, check: fn(u64) -> bool) -> ExternalWait {
        ExternalWait::new(check, std::ptr::from_ref(self) as u64)
    }

    /// The call at this address.
    ///
    /// # Safety
    /// The address is from [`Call::wait`], of a task that is parked in it.
    unsafe fn at(address: u64) -> Call {
        // SAFETY: the caller's promise.
        unsafe { *(address as *const Call) }
    }
}

/// Makes a call in its form that does not wait, until it does something else than refuse with this
/// error, and waits in between.
fn until_done(
    call: Call,
    now: [u64; 6],
    refused: i32,
    check: fn(u64) -> bool,
    mut blocking: Blocking,
) -> i64 {
    blocking.done = 0;
    loop {
        // SAFETY: the program's own call, in the form that does not wait.
        let answer = pass_as(call.number, call.args, || unsafe { raw::syscall(call.number, now) });
        if answer != -i64::from(refused) {
            return answer;
        }
        // A kernel that refuses a call which seems possible does not say what it waits for, as one without
        // `MSG_COPY`: the task tries again after any step of another task.
        let before = record::fingerprint();
        let wait = match check(&raw const call as u64) {
            true => ExternalWait::new(has_stepped, &raw const before as u64),
            false => call.wait(check).private_if(is_private),
        };
        if let Err(result) = blocking.wait_for(&wait) {
            return result;
        }
    }
}

/// `msgsnd` and `msgrcv`.
pub(crate) fn message(number: i64, args: [u64; 6], site: u64) -> i64 {
    let (flags, refused, check): (_, _, fn(u64) -> bool) = match number {
        libc::SYS_msgsnd => (3, libc::EAGAIN, has_room),
        _ => (4, libc::ENOMSG, has_message),
    };
    if args[flags] & libc::IPC_NOWAIT as u64 != 0 {
        return pass(number, args);
    }
    let mut now = args;
    now[flags] |= libc::IPC_NOWAIT as u64;
    let blocking = Blocking::new(NO_DESCRIPTOR, 0, site)
        .changing(WordSet::of(MESSAGE_QUEUES))
        .never_restarted()
        .in_one_step();
    until_done(Call { number, args }, now, refused, check, blocking)
}

/// Whether only this process uses the object of a parked task's call.
fn is_private(call: u64) -> bool {
    // SAFETY: as in `has_room`.
    let Call { number, args } = unsafe { Call::at(call) };
    system_v::is_private(number, args[0])
}

/// The state of a queue; none if it does not exist any more.
fn queue(id: u64) -> Option<libc::msqid_ds> {
    // SAFETY: `msqid_ds` is plain data, and the kernel writes only to it.
    unsafe {
        let mut state: libc::msqid_ds = std::mem::zeroed();
        (raw::call!(libc::SYS_msgctl, id, libc::IPC_STAT, &raw mut state) == 0).then_some(state)
    }
}

/// Whether a queue has room for the message that a parked task sends.
fn has_room(call: u64) -> bool {
    // SAFETY: the scheduler passes the address of a parked task's call.
    let Call { args, .. } = unsafe { Call::at(call) };
    queue(args[0]).is_none_or(|queue| {
        queue.__msg_cbytes.saturating_add(args[2]) <= queue.msg_qbytes
            && queue.msg_qnum < queue.msg_qbytes
    })
}

/// Whether a queue has a message of the type that a parked task receives.
fn has_message(call: u64) -> bool {
    // SAFETY: as in `has_room`.
    let Call { args, .. } = unsafe { Call::at(call) };
    let (wanted, flags) = (args[3] as i64, args[4] as i32);
    let Some(queue) = queue(args[0]) else { return true };
    let copies = libc::MSG_NOERROR | libc::MSG_COPY | libc::IPC_NOWAIT;
    (0..queue.msg_qnum).any(|index| {
        let mut kind = 0i64;
        // SAFETY: copies no text of the message, and only its type, to the local.
        let answer =
            unsafe { raw::call!(libc::SYS_msgrcv, args[0], &raw mut kind, 0, index, copies) };
        match wanted {
            // A kernel without this form of the call.
            _ if answer < 0 => true,
            0 => true,
            ..0 => kind <= wanted.saturating_neg(),
            _ if flags & libc::MSG_EXCEPT != 0 => kind != wanted,
            _ => kind == wanted,
        }
    })
}

/// The most operations of one `semop` (the kernel's default limit, `SEMOPM`).
const OPERATIONS: usize = 500;

/// `semop` and `semtimedop`.
pub(crate) fn semaphore(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [_, operations, count, limit, ..] = args;
    let limit = if number == libc::SYS_semtimedop { limit } else { 0 };
    if limit != 0 && !clock::is_span(limit) {
        return -i64::from(libc::EINVAL);
    }
    let (mut now, mut own) = (args, [NO_OPERATION; OPERATIONS]);
    let Some(own) = own.get_mut(..count as usize) else { return pass(number, args) };
    // SAFETY: `sembuf` is plain data, and `read` writes only that many bytes.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(own.as_mut_ptr().cast::<u8>(), size_of_val(own)) };
    if own.is_empty() || !raw::read(operations, bytes) {
        return pass(number, args);
    }
    // Only an operation that may wait decides: one with IPC_NOWAIT ends the call with EAGAIN.
    for operation in own.iter_mut() {
        operation.sem_flg |= libc::IPC_NOWAIT as i16;
    }
    (now[1], now[3]) = (own.as_ptr() as u64, 0);
    let call = Call { number, args };
    let mut blocking = Blocking::new(NO_DESCRIPTOR, 0, site)
        .changing(WordSet::of(SEMAPHORE_SETS))
        .never_restarted()
        .in_one_step();
    if limit != 0 {
        blocking = blocking.until(clock::nanoseconds(limit));
    }
    loop {
        // SAFETY: the program's own call, in the form that does not wait.
        let answer = pass_as(number, args, || unsafe { raw::syscall(number, now) });
        if answer != AGAIN || !waits(&call) {
            return answer;
        }
        let wait = call.wait(|call| {
            // SAFETY: as in `has_room`.
            is_possible(&unsafe { Call::at(call) }).is_none_or(|(possible, _)| possible)
        });
        if let Err(result) = blocking.wait_for(&wait.private_if(is_private)) {
            return result;
        }
    }
}

const NO_OPERATION: libc::sembuf = libc::sembuf { sem_num: 0, sem_op: 0, sem_flg: 0 };

/// Whether the program's own flags let the call wait where it cannot continue.
fn waits(call: &Call) -> bool {
    is_possible(call).is_none_or(|(possible, waits)| possible || waits)
}

/// Whether all operations can be done; and if not, whether the first that cannot may wait. None if the
/// semaphores do not exist.
fn is_possible(call: &Call) -> Option<(bool, bool)> {
    let [id, operations, count, ..] = call.args;
    let all = |index: u64| {
        // SAFETY: the program's array, which the first attempt has read.
        unsafe { *((operations as *const libc::sembuf).add(index as usize)) }
    };
    for index in 0..count {
        let one = all(index);
        // SAFETY: passes no pointer.
        let value = unsafe { raw::call!(libc::SYS_semctl, id, one.sem_num, libc::GETVAL, 0) };
        if value < 0 {
            return None;
        }
        let before = (0..index).map(all).filter(|other| other.sem_num == one.sem_num);
        let value = value + before.map(|other| i64::from(other.sem_op)).sum::<i64>();
        let is_possible = match one.sem_op {
            0 => value == 0,
            change => value + i64::from(change) >= 0,
        };
        if !is_possible {
            return Some((false, i32::from(one.sem_flg) & libc::IPC_NOWAIT == 0));
        }
    }
    Some((true, true))
}

/// `mq_timedsend` and `mq_timedreceive`. A queue is a descriptor that can be polled.
pub(crate) fn queue_call(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [descriptor, .., limit, _] = args;
    let (events, may_wait) = match number {
        libc::SYS_mq_timedsend => (libc::POLLOUT, may_wait_to_write(descriptor)),
        _ => (libc::POLLIN, may_wait_to_read(descriptor)),
    };
    if !may_wait || limit != 0 && !clock::is_span(limit) {
        return pass(number, args);
    }
    let past = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let mut now = args;
    now[4] = &raw const past as u64;
    let mut blocking = Blocking::new(descriptor, events, site).in_one_step();
    if limit != 0 {
        blocking = blocking.until_time(libc::CLOCK_REALTIME, limit);
    }
    loop {
        // SAFETY: the program's own call, with a time limit that has passed.
        let answer = pass_as(number, args, || unsafe { raw::syscall(number, now) });
        if answer != -i64::from(libc::ETIMEDOUT) {
            return answer;
        }
        if let Err(result) = blocking.wait() {
            return if result == AGAIN { -i64::from(libc::ETIMEDOUT) } else { result };
        }
    }
}

/// `wait4` and `waitid`.
pub(crate) fn child(number: i64, args: [u64; 6], site: u64) -> i64 {
    let flags = if number == libc::SYS_wait4 { 2 } else { 3 };
    if args[flags] & libc::WNOHANG as u64 != 0 {
        return pass(number, args);
    }
    let mut now = args;
    now[flags] |= libc::WNOHANG as u64;
    let mut info = [0u64; 16];
    if number == libc::SYS_waitid && args[2] == 0 {
        now[2] = info.as_mut_ptr() as u64;
    }
    let call = Call { number, args };
    let blocking = Blocking::new(NO_DESCRIPTOR, 0, site);
    loop {
        // Whether the other process was faster decides nothing.
        children::give_time(|| has_child(std::ptr::from_ref(&call) as u64));
        // SAFETY: the program's own call, in the form that does not wait.
        let answer = pass_as(number, args, || unsafe { raw::syscall(number, now) });
        // `waitid` reports by a process number of 0 that no child has changed.
        let none = match number {
            libc::SYS_wait4 => answer == 0,
            // SAFETY: the kernel wrote a `siginfo_t` there; the number is at offset 16.
            _ => answer == 0 && unsafe { *((now[2] + 16) as *const i32) } == 0,
        };
        if !none {
            return answer;
        }
        if let Err(result) = blocking.wait_for(&call.wait(has_child)) {
            return result;
        }
    }
}

/// Whether a child that a parked task waits for has changed.
fn has_child(call: u64) -> bool {
    // SAFETY: as in `has_room`.
    let Call { number, args } = unsafe { Call::at(call) };
    let (kind, id, flags) = match (number, args[0] as i32) {
        (libc::SYS_waitid, _) => (args[0] as u32, args[1], args[3] as i32),
        (_, -1) => (libc::P_ALL, 0, args[2] as i32 | libc::WEXITED),
        (_, 0) => (libc::P_PGID, 0, args[2] as i32 | libc::WEXITED),
        (_, group @ ..0) => {
            (libc::P_PGID, group.unsigned_abs().into(), args[2] as i32 | libc::WEXITED)
        }
        (_, id) => (libc::P_PID, id as u64, args[2] as i32 | libc::WEXITED),
    };
    let mut info = [0u64; 16];
    let flags = flags | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes only to `info`, which has room for a `siginfo_t`.
    let answer = unsafe { raw::call!(libc::SYS_waitid, kind, id, info.as_mut_ptr(), flags, 0) };
    answer < 0 || info[2] as i32 != 0
}
