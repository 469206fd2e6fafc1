//! Futexes, on which Rust's locks, C++'s `atomic::wait` and libc's own locks are built.

use crate::primitives::attributes::{number_meant, shown_tid};
use crate::primitives::cancel;
use crate::primitives::waiters::{Waiter, key, waits_on, wake};
use crate::schedule::access_points;
use crate::schedule::scheduler::{point, wakes_spuriously};
use crate::state::cancellation::{AT_POINT, is_at_point, is_due, set};
use crate::state::clock;
use crate::state::outcome;
use crate::state::task::Interrupted;
use crate::state::task::{Gate, Task};
use crate::state::world::world;
use crate::steps::record;
use crate::sys::interpose::PROGRAM_CALL;
use traces::Operation;

/// A futex system call, with the kernel's arguments and result.
pub(crate) fn serve(args: [u64; 6], site: u64) -> i64 {
    let [address, operation, value, timeout, second, last] = args;
    let (address, second) = (Futex::of(address, operation), Futex::of(second, operation));
    let realtime = operation as i32 & libc::FUTEX_CLOCK_REALTIME != 0;
    let command = operation as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let all = u64::from(u32::MAX);
    if let Err(code) = check(command, realtime, args) {
        return -i64::from(code);
    }
    match command {
        libc::FUTEX_WAIT => {
            let deadline = relative(timeout);
            wait(address, value, all, deadline, Ends::of_wait(deadline), site)
        }
        libc::FUTEX_WAIT_BITSET => {
            let deadline = absolute(timeout, realtime);
            wait(address, value, last, deadline, Ends::of_wait(deadline), site)
        }
        libc::FUTEX_WAKE => wake_some(address, value, all, site),
        libc::FUTEX_WAKE_BITSET => wake_some(address, value, last, site),
        libc::FUTEX_REQUEUE => requeue(address, value, timeout, second, None, site),
        libc::FUTEX_CMP_REQUEUE => requeue(address, value, timeout, second, Some(last), site),
        libc::FUTEX_WAKE_OP => wake_op(address, value, timeout, second, last, site),
        libc::FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => {
            let realtime = command == libc::FUTEX_LOCK_PI || realtime;
            lock_pi(address, absolute(timeout, realtime), site)
        }
        libc::FUTEX_TRYLOCK_PI => {
            point(Operation::FutexWait, address.at, site, Gate::Open);
            access_points::stored(address.at, WORD, site);
            match word(address.at) & libc::FUTEX_TID_MASK {
                _ if take_pi(address.at) => 0,
                owner if owner == me() => -i64::from(libc::EDEADLK),
                _ => -i64::from(libc::EAGAIN),
            }
        }
        libc::FUTEX_UNLOCK_PI => unlock_pi(address, site),
        libc::FUTEX_WAIT_REQUEUE_PI => {
            let ends = Ends { spuriously: false, by: Interrupted::UnlessRestarted };
            wait(address, value, all, absolute(timeout, realtime), ends, site)
        }
        libc::FUTEX_CMP_REQUEUE_PI => requeue_pi(address, value, timeout, second, last, site),
        _ => -i64::from(libc::ENOSYS),
    }
}

/// A futex word: its address, and what the tasks that wait on it are found by.
#[derive(Clone, Copy)]
struct Futex {
    at: u64,
    key: u64,
}

impl Futex {
    /// The word that a call with these flags refers to.
    fn of(address: u64, flags: u64) -> Futex {
        Futex { at: address, key: key(address, flags) }
    }
}

/// The kernel's checks of the arguments, which precede everything else.
fn check(command: i32, realtime: bool, args: [u64; 6]) -> Result<(), i32> {
    let [address, _, value, more, second, _] = args;
    let waits = matches!(
        command,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI
    );
    if realtime && (!waits || command == libc::FUTEX_LOCK_PI) {
        return Err(libc::ENOSYS);
    }
    let moves = matches!(
        command,
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE | libc::FUTEX_CMP_REQUEUE_PI
    );
    let two = moves || matches!(command, libc::FUTEX_WAKE_OP | libc::FUTEX_WAIT_REQUEUE_PI);
    let odd = address % 4 != 0 || two && second % 4 != 0;
    let negative = moves && ((value as i32) < 0 || (more as i32) < 0);
    if odd || negative || waits && more != 0 && !clock::is_span(more) {
        return Err(libc::EINVAL);
    }
    Ok(())
}

/// A deadline as (clock, nanoseconds), if there is one.
type Deadline = Option<(i32, u64)>;

fn relative(timeout: u64) -> Deadline {
    (timeout != 0)
        .then(|| (libc::CLOCK_MONOTONIC, clock::now().saturating_add(clock::nanoseconds(timeout))))
}

fn absolute(timeout: u64, realtime: bool) -> Deadline {
    (timeout != 0).then(|| {
        let clock = if realtime { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        (clock, clock::since_start(clock, clock::nanoseconds(timeout)))
    })
}

fn word(address: u64) -> u32 {
    // SAFETY: the program passed the address of a futex word. If it is not mapped this faults as
    // the program's crash, where the kernel would return `EFAULT`.
    unsafe { std::ptr::read_volatile(address as *const u32) }
}

/// The flags of a call that is not for words of this process only.
const SHARED: u64 = 0;

/// The size of a futex.
const WORD: u64 = 4;

fn set_word(address: u64, value: u32) {
    // SAFETY: as in `word`.
    unsafe { std::ptr::write_volatile(address as *mut u32, value) };
}

/// What may end a wait beside a wakeup and its deadline.
#[derive(Clone, Copy)]
struct Ends {
    spuriously: bool,
    /// The handlers that end it.
    by: Interrupted,
}

impl Ends {
    /// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET`: the kernel restarts them only if they have no time limit.
    fn of_wait(deadline: Deadline) -> Ends {
        let by = match deadline {
            None => Interrupted::UnlessRestarted,
            Some(_) => Interrupted::Always,
        };
        Ends { spuriously: true, by }
    }
}

fn wait(futex: Futex, expected: u64, bits: u64, deadline: Deadline, ends: Ends, site: u64) -> i64 {
    if bits as u32 == 0 {
        return -i64::from(libc::EINVAL);
    }
    // The end of the wait belongs to the same call of the program.
    PROGRAM_CALL.keep_during(|| point(Operation::FutexWait, futex.at, site, Gate::Open));
    if word(futex.at) != expected as u32 {
        record::value(libc::EAGAIN as u64);
        return -i64::from(libc::EAGAIN);
    }
    let task = world().task();
    // Of the waits in a function that is a cancellation point, only the one on a word of its stack can be
    // cancelled: the others are those for the C library's locks.
    let is_inner = is_at_point(task);
    let is_cancellable = is_inner && is_on_stack(task, futex.at);
    if is_cancellable {
        cancel::act_if_due();
    }
    set(task, AT_POINT, is_cancellable);
    task.interrupts.set(ends.by);
    let woken = sleep(futex, bits as u32, deadline, ends.spuriously, site);
    task.interrupts.set(Interrupted::Never);
    set(task, AT_POINT, is_inner);
    if is_cancellable {
        cancel::act_if_due();
    }
    let error = match (woken, task.interrupted.replace(false)) {
        (true, _) => return 0,
        (false, true) => libc::EINTR,
        (false, false) => libc::ETIMEDOUT,
    };
    record::value(error as u64);
    -i64::from(error)
}

/// Waits while the word is `expected`, until it is woken or the deadline passes. Whether the deadline has not
/// passed. For calls of the C library that may be cancelled while they wait, which the caller does.
pub(crate) fn wait_until(address: u64, expected: u32, deadline: (i32, u64), site: u64) -> bool {
    let task = world().task();
    let was = is_at_point(task);
    set(task, AT_POINT, true);
    // The end of the wait belongs to the same call of the program.
    PROGRAM_CALL.keep_during(|| point(Operation::FutexWait, address, site, Gate::Open));
    let in_time = word(address) != expected
        || is_due()
        || sleep(Futex::of(address, SHARED), u32::MAX, Some(deadline), false, site);
    set(task, AT_POINT, was);
    if !in_time {
        record::value(libc::ETIMEDOUT as u64);
    }
    in_time
}

/// Wakes all tasks that wait on the word, in the running task's step.
pub(crate) fn wake_all(address: u64) {
    wake(key(address, SHARED), u32::MAX, |_| true);
}

/// Whether an address is on a task's stack.
fn is_on_stack(task: &Task, address: u64) -> bool {
    let stack = task.stack.get();
    (stack.low..stack.high).contains(&address)
}

/// Waits until the task is woken (true), or its deadline passes (false). A wait in which a lock is
/// handed over has no spurious wakeups.
fn sleep(futex: Futex, bits: u32, deadline: Deadline, may_be_spurious: bool, site: u64) -> bool {
    sleep_on(futex, futex.key, bits, deadline, may_be_spurious, site)
}

/// Sleeps on a word, where `waits_on` is the word, or the array of a wait on several words.
fn sleep_on(
    futex: Futex,
    waits_on: u64,
    bits: u32,
    deadline: Deadline,
    may_be_spurious: bool,
    site: u64,
) -> bool {
    let world = world();
    let task = world.task();
    task.waits_on.set(waits_on);
    task.wait_bits.set(bits);
    task.woken.set(false);
    task.wait_order.set(world.waits.replace(world.waits.get() + 1));
    let is_spurious = may_be_spurious && wakes_spuriously();
    let gate = if is_spurious || deadline.is_some() { Gate::Open } else { Gate::Woken };
    if let Some((_, when)) = deadline.filter(|_| !is_spurious) {
        clock::limit_monotonic(when);
    }
    point(Operation::FutexWoken, futex.at, site, gate);
    task.waits_on.set(0);
    if task.woken.get() || (is_spurious && !task.interrupted.get()) {
        return true;
    }
    if let Some((_, when)) = deadline.filter(|_| !task.interrupted.get()) {
        clock::reach_monotonic(when);
    }
    false
}

/// `FUTEX_LOCK_PI2`, whose deadline is monotonic unless a flag says otherwise.
const FUTEX_LOCK_PI2: i32 = 13;

fn me() -> u32 {
    shown_tid(world().current.get()) as u32
}

/// Acquires a priority-inheritance futex (its word holds the owner's thread id), if it has no
/// owner.
fn take_pi(address: u64) -> bool {
    let value = word(address);
    let free = value & libc::FUTEX_TID_MASK == 0;
    if free {
        set_word(address, value | me());
    }
    free
}

/// Locks a priority-inheritance futex (futex(2)). All tasks have the same priority here.
fn lock_pi(futex: Futex, deadline: Deadline, site: u64) -> i64 {
    point(Operation::FutexWait, futex.at, site, Gate::Open);
    if take_pi(futex.at) {
        return 0;
    }
    let owner = word(futex.at) & libc::FUTEX_TID_MASK;
    if owner == me() {
        return -i64::from(libc::EDEADLK);
    }
    if number_meant(u64::from(owner)).is_none() {
        return -i64::from(libc::ESRCH);
    }
    set_word(futex.at, word(futex.at) | libc::FUTEX_WAITERS);
    if sleep(futex, u32::MAX, deadline, false, site) { 0 } else { -i64::from(libc::ETIMEDOUT) }
}

/// Unlocks a priority-inheritance futex: passes it to a waiter, if there is one.
fn unlock_pi(futex: Futex, site: u64) -> i64 {
    point(Operation::FutexWake, futex.at, site, Gate::Open);
    if word(futex.at) & libc::FUTEX_TID_MASK != me() {
        return -i64::from(libc::EPERM);
    }
    let world = world();
    let waits = |number: &u16| {
        let task = &world.tasks[usize::from(*number)];
        task.waits_on.get() == futex.key && !task.woken.get()
    };
    let waiting = world.alive().filter(waits).count();
    let woken = wake(futex.key, 1, |_| true);
    let next = world.alive().find(|&number| {
        let task = &world.tasks[usize::from(number)];
        task.waits_on.get() == futex.key && task.woken.get() && task.wait_order.get() != u64::MAX
    });
    let value = match next {
        Some(next) if woken > 0 => {
            world.tasks[usize::from(next)].wait_order.set(u64::MAX);
            let more = if waiting > 1 { libc::FUTEX_WAITERS } else { 0 };
            shown_tid(next) as u32 | more
        }
        _ => 0,
    };
    set_word(futex.at, value);
    record::value(u64::from(woken));
    0
}

fn wake_some(futex: Futex, most: u64, bits: u64, site: u64) -> i64 {
    // The end of a `once`: its flag is set, so tasks that come later do not wait.
    if world().task().once.get() == futex.at && longest_waiting(futex.key).is_none() {
        return 0;
    }
    if bits as u32 == 0 {
        return -i64::from(libc::EINVAL);
    }
    point(Operation::FutexWake, futex.at, site, Gate::Open);
    // The kernel wakes one task before it compares the count.
    let most = (most as i32).max(1) as u32;
    let woken = wake(futex.key, most, |task| task.wait_bits.get() & bits as u32 != 0);
    record::value(u64::from(woken));
    i64::from(woken)
}

/// The owner of a futex ends that is in a robust list (`handle_futex_death` in the kernel): its word shows that, and a
/// waiter is woken. `pending`: the owner was about to lock or unlock it.
pub(crate) fn owner_ends(address: u64, has_priority: bool, pending: bool, site: u64) {
    point(Operation::FutexWake, address, site, Gate::Open);
    access_points::stored(address, WORD, site);
    let found = word(address);
    let is_mine = found & libc::FUTEX_TID_MASK == me();
    if is_mine {
        set_word(address, found & libc::FUTEX_WAITERS | libc::FUTEX_OWNER_DIED);
    }
    let has_waiters = is_mine && found & libc::FUTEX_WAITERS != 0;
    if has_waiters && has_priority {
        // The kernel passes it to one of them.
        outcome::unsupported("the end of a thread that others wait for to unlock a PI futex", site);
    }
    if !has_priority && (has_waiters || pending && found == 0) {
        let woken = wake(Futex::of(address, SHARED).key, 1, |_| true);
        record::value(u64::from(woken));
    }
}

/// The task that has waited longest on a word and was not woken.
fn longest_waiting(key: u64) -> Option<u16> {
    let world = world();
    let waits = |&number: &u16| {
        let task = &world.tasks[usize::from(number)];
        waits_on(task, key) && !task.woken.get()
    };
    let order = |&number: &u16| world.tasks[usize::from(number)].wait_order.get();
    world.alive().filter(waits).min_by_key(order)
}

/// A point before a call that accesses two words.
fn point_on_two(operation: Operation, address: u64, second: u64, site: u64) {
    let task = world().task();
    task.second.set(second);
    point(operation, address, site, Gate::Open);
    task.second.set(0);
}

/// Moves a waiting task to another word.
fn move_to(task: &Task, second: Futex) {
    task.waits_on.set(second.key);
    if task.operation.get() == Operation::FutexWoken {
        task.object.set(second.at);
    }
}

fn requeue(
    futex: Futex,
    to_wake: u64,
    to_move: u64,
    second: Futex,
    expected: Option<u64>,
    site: u64,
) -> i64 {
    point_on_two(Operation::FutexRequeue, futex.at, second.at, site);
    if expected.is_some_and(|expected| word(futex.at) != expected as u32) {
        return -i64::from(libc::EAGAIN);
    }
    let woken = wake(futex.key, to_wake as u32, |_| true);
    let world = world();
    let mut moved = 0;
    while moved < to_move as u32 {
        let Some(number) = longest_waiting(futex.key) else { break };
        move_to(&world.tasks[usize::from(number)], second);
        moved += 1;
    }
    record::value(u64::from(woken + moved));
    i64::from(woken + moved)
}

/// `FUTEX_CMP_REQUEUE_PI`: the longest waiter acquires the second futex if that has no owner, and
/// up to `to_move` others are moved to it.
fn requeue_pi(
    futex: Futex,
    to_wake: u64,
    to_move: u64,
    second: Futex,
    expected: u64,
    site: u64,
) -> i64 {
    point_on_two(Operation::FutexRequeue, futex.at, second.at, site);
    if to_wake as u32 != 1 || futex.key == second.key {
        return -i64::from(libc::EINVAL);
    }
    if word(futex.at) != expected as u32 {
        return -i64::from(libc::EAGAIN);
    }
    let world = world();
    let mut served = 0;
    while served <= to_move as u32 {
        let Some(number) = longest_waiting(futex.key) else { break };
        let task = &world.tasks[usize::from(number)];
        if word(second.at) & libc::FUTEX_TID_MASK == 0 {
            set_word(second.at, word(second.at) | shown_tid(number) as u32);
            task.woken.set(true);
            clock::enable(number);
        } else {
            set_word(second.at, word(second.at) | libc::FUTEX_WAITERS);
            move_to(task, second);
        }
        served += 1;
    }
    record::value(u64::from(served));
    i64::from(served)
}

impl Waiter {
    fn futex(&self) -> Futex {
        Futex { at: self.address, key: self.key() }
    }
}

/// The most words of one wait (`FUTEX_WAITV_MAX`).
const MOST_WORDS: u64 = 128;

/// `futex_waitv`: a wait on one or several words, with a deadline by a given clock. Returns the
/// index of the word that was woken.
pub(crate) fn wait_vector(args: [u64; 6], site: u64) -> i64 {
    const SIZE_U32: u32 = 2;
    let [waiters, count, flags, timeout, clock, _] = args;
    if count == 0 || count > MOST_WORDS || flags != 0 || waiters == 0 {
        return -i64::from(libc::EINVAL);
    }
    // SAFETY: the caller passes an array of `count` elements; an invalid one faults here as the
    // program's crash, where the kernel would return `EFAULT`.
    let all = unsafe { std::slice::from_raw_parts(waiters as *const Waiter, count as usize) };
    let private = libc::FUTEX_PRIVATE_FLAG as u32;
    let clock = clock as i32;
    let unfit = |one: &Waiter| one.flags & !private != SIZE_U32 || one.reserved != 0;
    if all.iter().any(unfit) || !clock::is_waitable(clock) {
        return -i64::from(libc::EINVAL);
    }
    let deadline = absolute(timeout, clock == libc::CLOCK_REALTIME);
    if let [one] = all {
        // Unlike the other waits, this one is restarted although it has a time limit.
        let ends = Ends { spuriously: true, by: Interrupted::UnlessRestarted };
        return wait(one.futex(), one.value, u64::from(u32::MAX), deadline, ends, site);
    }
    let task = world().task();
    task.second.set(all[1].address);
    task.several.set((waiters, count));
    let answer = wait_for_any(all, deadline, site);
    task.second.set(0);
    task.several.set((0, 0));
    if answer < 0 {
        record::value(-answer as u64);
    }
    answer
}

fn wait_for_any(all: &[Waiter], deadline: Deadline, site: u64) -> i64 {
    let task = world().task();
    point(Operation::FutexWait, all[0].address, site, Gate::Open);
    if all.iter().any(|one| word(one.address) != one.value as u32) {
        return -i64::from(libc::EAGAIN);
    }
    task.interrupts.set(Interrupted::UnlessRestarted);
    task.woken_by.set(0);
    // No spurious wakeups: the call could not return the index of a woken word.
    let woken = sleep_on(all[0].futex(), all.as_ptr() as u64, u32::MAX, deadline, false, site);
    task.interrupts.set(Interrupted::Never);
    match (woken, task.interrupted.replace(false)) {
        (true, _) => {
            let by = all.iter().position(|one| one.key() == task.woken_by.get());
            by.unwrap_or(0) as i64
        }
        (false, true) => -i64::from(libc::EINTR),
        (false, false) => -i64::from(libc::ETIMEDOUT),
    }
}

/// `FUTEX_WAKE_OP`: modifies the second word, wakes waiters of the first, and those of the second
/// if a comparison with its old value is true (futex(2)).
fn wake_op(futex: Futex, most: u64, most2: u64, second: Futex, code: u64, site: u64) -> i64 {
    point_on_two(Operation::FutexWake, futex.at, second.at, site);
    access_points::stored(second.at, WORD, site);
    let code = code as u32;
    let (op, cmp) = (code >> 28 & 7, code >> 24 & 15);
    let sign = |field: u32| (field << 20) as i32 >> 20;
    let (mut operand, compared) = (sign(code >> 12 & 0xfff), sign(code & 0xfff));
    if code >> 31 != 0 {
        operand = 1 << (operand & 31);
    }
    let old = word(second.at) as i32;
    let new = match op {
        0 => operand,
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        4 => old ^ operand,
        _ => return -i64::from(libc::ENOSYS),
    };
    set_word(second.at, new as u32);
    let mut woken = wake(futex.key, most as u32, |_| true);
    let holds = match cmp {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return -i64::from(libc::ENOSYS),
    };
    if holds {
        woken += wake(second.key, most2 as u32, |_| true);
    }
    record::value(u64::from(woken));
    i64::from(woken)
}
