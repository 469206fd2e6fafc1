//! Threads: create, join, detach, names, attributes.

use crate::detect::access;
use crate::fiber::switch;
use crate::memory::thread_block;
use crate::primitives::attributes;
use crate::primitives::{cancel, futex, misuse};
use crate::schedule::access_points;
use crate::schedule::interrupt;
use crate::schedule::scheduler::point;
use crate::schedule::step_limit;
use crate::state::cancellation;
use crate::state::clock;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::stack::Stack;
use crate::state::stacks;
use crate::state::task::{Gate, Lifecycle, Task};
use crate::state::upcalls;
use crate::state::world::{MAX_TASKS, on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use crate::sys::stops;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use traces::Operation;

/// Control blocks allocated before the first execution, so that small programs need no allocation
/// from the system.
const SPARE: usize = 8;

/// The size of a thread id in a control block, with the unused half of its word.
const TID_SIZE: u64 = 8;

struct Spares {
    blocks: [Cell<u64>; SPARE],
    len: Cell<usize>,
    /// The blocks of threads that were reaped, freed when the spare ones run out. Executions with
    /// few threads leave that to the reset.
    used: [Cell<u64>; SPARE],
    used_len: Cell<usize>,
    /// The stack size if attributes name none; 0 if it must be asked for.
    size: Cell<usize>,
    /// The size of the guard that goes with it.
    guard: Cell<usize>,
    /// Whether the program ever set default attributes.
    has_defaults: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Spares {}
static SPARES: Spares = Spares {
    blocks: [const { Cell::new(0) }; SPARE],
    len: Cell::new(0),
    used: [const { Cell::new(0) }; SPARE],
    used_len: Cell::new(0),
    size: Cell::new(0),
    guard: Cell::new(0),
    has_defaults: Cell::new(false),
};

/// Allocates the spare blocks and stacks.
pub(crate) fn prepare_spares() {
    for spare in &SPARES.blocks {
        let Some(block) = thread_block::allocate(0) else { return };
        spare.set(block);
        SPARES.len.set(SPARES.len.get() + 1);
    }
    let (size, guard) = default_sizes();
    stacks::prepare_alike(size, guard, SPARE);
}

/// The loader maps a library. It initialises thread-local variables that the library expects at a fixed
/// place of each thread in all threads of the C library's list, to which tasks and spare blocks do not
/// belong otherwise.
pub(crate) fn library_comes() {
    let world = world();
    for number in 1..world.created.get() {
        let task = &world.tasks[usize::from(number)];
        if matches!(task.life(), Lifecycle::Alive | Lifecycle::Ended) && !task.is_timer.get() {
            thread_block::link(task.block.get());
        }
    }
    SPARES.blocks[..SPARES.len.get()].iter().for_each(|spare| thread_block::link(spare.get()));
}

/// The number of spare thread control blocks.
pub(crate) fn spare_blocks() -> usize {
    SPARES.len.get()
}

/// Makes the first `len` blocks spare again, after a reset restored their memory.
pub(crate) fn restore_spares(len: usize) {
    SPARES.len.set(len);
    SPARES.used_len.set(0);
    SPARES.size.set(0);
}

/// The spare blocks and sizes in the middle of an execution.
pub(crate) struct Saved {
    len: usize,
    used: Vec<u64>,
    size: usize,
    guard: usize,
}

/// What is spare now.
pub(crate) fn save() -> Saved {
    let used = SPARES.used[..SPARES.used_len.get()].iter().map(Cell::get).collect();
    Saved { len: SPARES.len.get(), used, size: SPARES.size.get(), guard: SPARES.guard.get() }
}

/// An execution continues where [`save`] returned `saved`.
pub(crate) fn restore(saved: &Saved) {
    SPARES.len.set(saved.len);
    SPARES.used.iter().zip(&saved.used).for_each(|(block, &was)| block.set(was));
    SPARES.used_len.set(saved.used.len());
    SPARES.size.set(saved.size);
    SPARES.guard.set(saved.guard);
}

fn free_block(block: u64) {
    let used = SPARES.used_len.get();
    if used < SPARE {
        SPARES.used[used].set(block);
        SPARES.used_len.set(used + 1);
    } else {
        thread_block::free(block);
    }
}

/// The sizes of the stack and of its guard that a thread without attributes has.
fn default_sizes() -> (usize, usize) {
    let known = SPARES.size.get();
    if known > 0 {
        return (known, SPARES.guard.get());
    }
    let (mut size, mut guard) = (0usize, stacks::GUARD);
    // SAFETY: the functions fill in, read and destroy one attribute object, a local of 64 bytes
    // (the ABI's type has 56), and write the size to a local.
    let mut attributes = [0u64; 8];
    let attributes = attributes.as_mut_ptr().cast::<c_void>();
    if real!(pthread_getattr_default_np(attributes) as fn(*mut c_void) -> c_int) == 0 {
        real!(pthread_attr_getstacksize(attributes, &raw mut size)
            as fn(*mut c_void, *mut usize) -> c_int);
        real!(pthread_attr_getguardsize(attributes, &raw mut guard)
            as fn(*mut c_void, *mut usize) -> c_int);
        real!(pthread_attr_destroy(attributes) as fn(*mut c_void) -> c_int);
    }
    let size = if size == 0 { stacks::DEFAULT } else { size };
    SPARES.size.set(size);
    SPARES.guard.set(guard);
    (size, guard)
}

fn take_block(tid: i32) -> Option<u64> {
    let len = SPARES.len.get();
    if len > 0 {
        SPARES.len.set(len - 1);
        let block = SPARES.blocks[len - 1].get();
        thread_block::set_tid(block, tid);
        return Some(block);
    }
    for used in &SPARES.used[..SPARES.used_len.replace(0)] {
        thread_block::free(used.get());
    }
    thread_block::allocate(tid)
}

/// The stack that the attributes ask for.
///
/// # Safety
/// `attributes` is null or a valid `pthread_attr_t`.
unsafe fn stack_for(attributes: *const c_void) -> Option<Stack> {
    if attributes.is_null() {
        let (size, guard) = default_sizes();
        return stacks::allocate(size, guard);
    }
    let (mut size, mut guard, mut address) = (0usize, 0usize, 0u64);
    // SAFETY: the attributes are valid (the caller's contract), and the results go to locals.
    real!(pthread_attr_getguardsize(attributes, &raw mut guard)
        as fn(*const c_void, *mut usize) -> c_int);
    // Fails if no address was set.
    let foreign = real!(pthread_attr_getstack(attributes, &raw mut address, &raw mut size)
        as fn(*const c_void, *mut u64, *mut usize) -> c_int);
    if foreign == 0 && address != 0 && address.wrapping_add(size as u64) != 0 {
        let high = address.wrapping_add(size as u64);
        return Some(Stack { low: address, high, guard: 0, foreign: true });
    }
    real!(pthread_attr_getstacksize(attributes, &raw mut size)
        as fn(*const c_void, *mut usize) -> c_int);
    stacks::allocate(if size == 0 { default_sizes().0 } else { size }, guard)
}

/// Properties that the attributes may set, and that otherwise come from the creating thread.
#[derive(Default)]
struct Given {
    mask: Option<u64>,
    processors: Option<u128>,
}

impl Given {
    /// An error if the affinity set has no processor that exists.
    ///
    /// # Safety
    /// `attributes` is null or a valid `pthread_attr_t`.
    unsafe fn by(attributes: *const c_void) -> Result<Given, ()> {
        let mut given = Given::default();
        if attributes.is_null() {
            return Ok(given);
        }
        let mut set = [0u64; 16];
        // The set has 1,024 bits, of which the kernel uses 64.
        let masks = real!(pthread_attr_getsigmask_np(attributes, &raw mut set)
            as fn(*const c_void, *mut [u64; 16]) -> c_int);
        given.mask = (masks == 0).then_some(set[0]);
        // All bits are set if no affinity was given.
        let limits = real!(pthread_attr_getaffinity_np(attributes, 128, &raw mut set)
            as fn(*const c_void, usize, *mut [u64; 16]) -> c_int);
        if limits == 0 && set != [u64::MAX; 16] {
            given.processors = Some(attributes::granted(set.as_ptr() as u64, 128).ok_or(())?);
        }
        Ok(given)
    }
}

/// Whether the kernel could give a thread the policy and the priority that its attributes ask for.
///
/// # Safety
/// `attributes` is null or a valid `pthread_attr_t`.
unsafe fn is_schedulable(attributes: *const c_void) -> bool {
    const EXPLICIT: c_int = 1;
    let (mut how, mut policy, mut priority) = (0, 0, 0);
    if attributes.is_null() {
        return true;
    }
    real!(pthread_attr_getinheritsched(attributes, &raw mut how)
        as fn(*const c_void, *mut c_int) -> c_int);
    real!(pthread_attr_getschedpolicy(attributes, &raw mut policy)
        as fn(*const c_void, *mut c_int) -> c_int);
    real!(pthread_attr_getschedparam(attributes, &raw mut priority)
        as fn(*const c_void, *mut c_int) -> c_int);
    let may_be = match policy {
        libc::SCHED_FIFO | libc::SCHED_RR => 1..=99,
        _ => 0..=0,
    };
    how != EXPLICIT || may_be.contains(&priority)
}

/// Gives a new thread the scheduling policy and priority of its attributes, or of its creator. They
/// have no effect on scheduling here; the program can only read them back. Returns those of the attributes.
///
/// # Safety
/// `block` is the new thread's control block; `attributes` is null or a valid `pthread_attr_t`.
unsafe fn schedule(block: u64, attributes: *const c_void) -> Option<(c_int, c_int)> {
    const EXPLICIT: c_int = 1;
    let (mut how, mut policy, mut priority) = (0, libc::SCHED_OTHER, 0);
    let (to_policy, to_priority) = (&raw mut policy, &raw mut priority);
    if !attributes.is_null() {
        real!(pthread_attr_getinheritsched(attributes, &raw mut how)
            as fn(*const c_void, *mut c_int) -> c_int);
    }
    if how == EXPLICIT {
        real!(pthread_attr_getschedpolicy(attributes, to_policy)
            as fn(*const c_void, *mut c_int) -> c_int);
        real!(pthread_attr_getschedparam(attributes, to_priority)
            as fn(*const c_void, *mut c_int) -> c_int);
    } else if attributes::priorities_are_used() {
        let me = world().task().block.get();
        real!(pthread_getschedparam(me, to_policy, to_priority)
            as fn(u64, *mut c_int, *mut c_int) -> c_int);
    }
    if policy != libc::SCHED_OTHER {
        real!(pthread_setschedparam(block, policy, to_priority)
            as fn(u64, c_int, *mut c_int) -> c_int);
    }
    (how == EXPLICIT).then_some((policy, priority))
}

pub(crate) unsafe fn create(
    thread: *mut u64,
    attributes: *const c_void,
    start: u64,
    argument: u64,
    site: u64,
) -> c_int {
    let world = world();
    point(Operation::Create, u64::from(world.created.get()) + 1, site, Gate::Open);
    let number = world.created.get();
    if usize::from(number) >= MAX_TASKS {
        step_limit::too_many_tasks(root());
        outcome::unsupported("more than 4096 threads in one execution", site);
    }
    reap_detached();
    if !attributes.is_null() || !SPARES.has_defaults.get() {
        // SAFETY: what the program passed to `pthread_create`, which requires null or a valid object.
        return unsafe { create_by(thread, attributes, start, argument) };
    }
    let mut defaults = [0u64; 8];
    let defaults = defaults.as_mut_ptr().cast::<c_void>();
    let error = real!(pthread_getattr_default_np(defaults) as fn(*mut c_void) -> c_int);
    if error != 0 {
        return error;
    }
    // SAFETY: the function above filled in the attributes, a local that is destroyed below.
    let error = unsafe { create_by(thread, defaults, start, argument) };
    real!(pthread_attr_destroy(defaults) as fn(*mut c_void) -> c_int);
    error
}

/// Creates a thread as its attributes say. An error number, or 0.
///
/// # Safety
/// `thread` is a place for the id, and `attributes` is null or a valid `pthread_attr_t`.
unsafe fn create_by(
    thread: *mut u64,
    attributes: *const c_void,
    start: u64,
    argument: u64,
) -> c_int {
    let world = world();
    let number = world.created.get();
    // SAFETY: the caller's contract.
    let Ok(given) = (unsafe { Given::by(attributes) }) else { return libc::EINVAL };
    // SAFETY: as above.
    if !unsafe { is_schedulable(attributes) } {
        return libc::EINVAL;
    }
    // SAFETY: as above.
    let Some(stack) = (unsafe { stack_for(attributes) }) else { return libc::EAGAIN };
    let Some(block) = take_block(world.tid(number)) else { return libc::EAGAIN };
    let mut state = 0;
    // SAFETY: the attributes are valid as above, `thread` is the program's place for the id. The
    // stack and the control block were just allocated (or the program dedicated the stack to this
    // thread), so nothing else uses them.
    unsafe {
        if !attributes.is_null() {
            real!(pthread_attr_getdetachstate(attributes, &raw mut state)
                as fn(*const c_void, *mut c_int) -> c_int);
        }
        let task = &world.tasks[usize::from(number)];
        task.stack.set(stack);
        task.block.set(block);
        task.base.set(stack.high - 64);
        // The program does not see what a new stack begins with.
        let prepared = stops::unseen(|| switch::prepare(stack.high - 64, start, argument));
        task.sp.set(prepared);
        task.word.set(traces::enabled::word(traces::TaskId(number)));
        task.start.set(start);
        task.system_name.set(world.task().system_name.get());
        task.parent.set(u32::from(world.current.get()));
        task.detached.set(state == libc::PTHREAD_CREATE_DETACHED);
        task.mask.set(given.mask.unwrap_or(world.task().mask.get()));
        task.processors.set(given.processors.unwrap_or(world.task().processors.get()));
        task.scheduling.set(world.task().scheduling.get());
        task.nice.set(world.task().nice.get());
        let (_, slack) = world.task().timer_slack.get();
        task.timer_slack.set((slack, slack));
        task.operation.set(Operation::Start);
        task.object.set(u64::from(number) + 1);
        task.site.set(start);
        task.set_gate(Gate::Open);
        task.set_life(Lifecycle::Alive);
        if number == 1 {
            switch::on_manager(second_task, 0);
        }
        world.created.set(number + 1);
        clock::create(number);
        world.born(number);
        access::created(number);
        let scheduled = schedule(block, attributes);
        task.is_scheduled.set(scheduled.is_some());
        task.scheduling.set(scheduled.unwrap_or(task.scheduling.get()));
        thread.write(block);
    }
    0
}

/// The lowest address of main's stack under the limit of this moment, which the program may have
/// changed.
fn main_low(stack: Stack) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes only the local `limit`.
    unsafe { raw::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, 0, &raw mut limit) };
    let end = stacks::end_of_first();
    let lowest = end.saturating_sub(limit.rlim_cur).next_multiple_of(4096);
    lowest.clamp(stack.low, stack.high - 4096)
}

extern "C" fn second_task(_: u64) -> u64 {
    upcalls::get().second_task();
    0
}

/// Frees the stack and the control block of a task that has ended.
fn reap(task: &Task) {
    task.set_life(Lifecycle::Reaped);
    if task.stack.get().low != 0 && !std::ptr::eq(task, &raw const world().tasks[0]) {
        stacks::free(task.stack.get());
        free_block(task.block.get());
    }
}

/// Reaps detached tasks that have ended. They cannot free the stack on which they run, so the next
/// creation of a thread does it.
fn reap_detached() {
    let world = world();
    for number in 1..world.created.get() {
        let task = &world.tasks[usize::from(number)];
        if task.life() == Lifecycle::Ended && task.detached.get() {
            // The stack will be reused for other variables. The end of a detached task orders
            // nothing for others, so the earlier accesses must not count as conflicts with the new
            // ones.
            let stack = task.stack.get();
            access::fresh(stack.low, stack.high - stack.low);
            reap(task);
        }
    }
}

/// How long a join waits.
pub(crate) enum JoinWait {
    Endless,
    None,
    Until(c_int, u64),
}

impl JoinWait {
    /// Until the time at this address; without end for null, as in glibc.
    fn until(clock: c_int, deadline: u64) -> JoinWait {
        if deadline == 0 { JoinWait::Endless } else { JoinWait::Until(clock, deadline) }
    }
}

/// Reports a join or detach of a thread that no longer exists.
fn gone(thread: u64, what: &str, site: u64) {
    let world = world();
    let number = (0..world.created.get())
        .rev()
        .find(|&number| world.tasks[usize::from(number)].block.get() == thread);
    match number {
        Some(number) => {
            let rule = format!("a thread that no longer exists is {what}");
            let object = u64::from(number) + 1;
            let joined = misuse::last("joined", object, |operation| operation == Operation::Join);
            misuse::thread(rule, site, &[joined.or_else(|| detached(object))]);
        }
        None => misuse::thread(format!("the thread id that is {what} names no thread"), site, &[]),
    }
}

/// The step that detached a task.
fn detached(object: u64) -> Option<misuse::RelatedSite> {
    misuse::last("detached", object, |operation| operation == Operation::Detach)
        .or_else(|| misuse::last("created", object, |operation| operation == Operation::Create))
}

pub(crate) unsafe fn join(thread: u64, result: *mut u64, wait: JoinWait, site: u64) -> c_int {
    let world = world();
    let Some(number) = world.by_block(thread) else {
        gone(thread, "joined", site);
        return libc::ESRCH;
    };
    let me = world.current.get();
    let task = &world.tasks[usize::from(number)];
    let object = u64::from(number) + 1;
    let only_tries = matches!(wait, JoinWait::None);
    if task.detached.get() {
        misuse::thread("a detached thread is joined", site, &[detached(object)]);
        return libc::EINVAL;
    }
    if task.joiner.get() != 0 {
        let other = &world.tasks[usize::from(task.joiner.get() - 1)];
        let place = Some(("joined", other.site.get()));
        misuse::thread("a thread is joined by two threads", site, &[place]);
        return libc::EINVAL;
    }
    if number == me && !only_tries {
        misuse::thread("a thread joins itself", site, &[]);
        return libc::EDEADLK;
    }
    // A task that is cancelled while it waits for this one gives up its join.
    if world.task().joiner.get() == number + 1 && !only_tries && !cancellation::is_due_for(task) {
        let place = Some(("joined", task.site.get()));
        misuse::thread("two threads join each other", site, &[place]);
        return libc::EDEADLK;
    }
    let has_ended = || task.life() == Lifecycle::Ended;
    match wait {
        JoinWait::Endless => {
            task.joiner.set(me + 1);
            if !has_ended() {
                world.suspect.set(me);
            }
            cancel::point(Operation::Join, object, site, Gate::Ended(u64::from(number)));
            if cancellation::is_due() {
                task.joiner.set(0);
                cancel::act();
            }
        }
        JoinWait::None => {
            let ended = access::are_on() && find_ended(task, site);
            let gate = if ended { Gate::Ended(u64::from(number)) } else { Gate::Open };
            point(Operation::Join, object, site, gate);
            if !ended && (access::are_on() || !has_ended()) {
                record::value(libc::EBUSY as u64);
                return libc::EBUSY;
            }
        }
        JoinWait::Until(clock, deadline) => {
            if !clock::is_waitable(clock)
                || (!has_ended() && !clock::is_valid(deadline) && !clock::is_past(deadline))
            {
                return libc::EINVAL;
            }
            task.joiner.set(me + 1);
            let gate = if access::are_on() {
                if !wait_for_end(task, (clock, deadline), site) {
                    task.joiner.set(0);
                    cancel::act_if_due();
                    return libc::ETIMEDOUT;
                }
                Gate::Ended(u64::from(number))
            } else {
                clock::limit(clock, deadline);
                Gate::Open
            };
            cancel::point(Operation::Join, object, site, gate);
            if cancellation::is_due() {
                task.joiner.set(0);
                cancel::act();
            }
            if !has_ended() {
                task.joiner.set(0);
                clock::reach(clock, deadline);
                record::value(libc::ETIMEDOUT as u64);
                return libc::ETIMEDOUT;
            }
        }
    }
    if !result.is_null() {
        // SAFETY: the caller of `pthread_join` passes a valid pointer for the result.
        unsafe { result.write(task.result.get()) };
    }
    access::joined(number);
    reap(task);
    0
}

/// Whether the task has ended. Where its end matters, looking is a step: a read of the thread id, which the
/// kernel clears when the thread ends (set_tid_address(2)).
fn find_ended(task: &Task, site: u64) -> bool {
    let address = thread_block::tid_address(task.block.get());
    access_points::loaded(address, TID_SIZE, site);
    task.life() == Lifecycle::Ended
}

/// Waits until the task has ended, the time at `deadline` has come, or the running task is to be cancelled. As
/// the C library does, it waits on the thread id as a futex, which the kernel wakes when it has cleared it.
/// Whether the task has ended.
fn wait_for_end(task: &Task, (clock, deadline): (c_int, u64), site: u64) -> bool {
    let block = task.block.get();
    let until = (clock, clock::since_start(clock, clock::nanoseconds(deadline)));
    while !find_ended(task, site) {
        let (address, tid) = (thread_block::tid_address(block), thread_block::tid(block));
        if !futex::wait_until(address, tid as u32, until, site) || cancellation::is_due() {
            return false;
        }
    }
    true
}

/// The running task ends: the kernel clears its thread id, and wakes the tasks that wait for it. Nothing observes
/// the end of a detached thread.
pub(crate) fn clear_tid(site: u64) {
    let task = world().task();
    if !access::are_on() || task.detached.get() {
        return;
    }
    let block = task.block.get();
    let address = thread_block::tid_address(block);
    access_points::stored(address, TID_SIZE, site);
    thread_block::set_tid(block, 0);
    futex::wake_all(address);
}

pub(crate) fn detach(thread: u64, site: u64) -> c_int {
    let world = world();
    let Some(number) = world.by_block(thread) else {
        gone(thread, "detached", site);
        return libc::ESRCH;
    };
    let object = u64::from(number) + 1;
    let before = detached(object);
    point(Operation::Detach, object, site, Gate::Open);
    let task = &world.tasks[usize::from(number)];
    if task.detached.replace(true) {
        misuse::thread("a detached thread is detached again", site, &[before]);
        record::value(libc::EINVAL as u64);
        return libc::EINVAL;
    }
    0
}

/// Runs a `once` routine, with a scheduling point before it. `real` calls the C library with the routine that it
/// is passed.
///
/// A `once` that is done already needs no point. Whether it is depends on the end of the routine, so that looking at
/// the flag is a read, and the end a write.
pub(crate) fn once<T>(flag: *mut i32, routine: u64, site: u64, real: impl FnOnce(u64) -> T) -> T {
    const DONE: i32 = 2;
    if !on_fiber() {
        return real(routine);
    }
    access_points::loaded(flag as u64, FLAG_SIZE, site);
    // SAFETY: the caller of `pthread_once` passes a valid flag; an invalid one faults here as it
    // would in the C library.
    if unsafe { *flag } == DONE {
        let answer = real(routine);
        access::acquire(flag as u64);
        return answer;
    }
    point(Operation::Once, flag as u64, site, Gate::Open);
    let task = world().task();
    let outer = (task.once.replace(flag as u64), task.once_routine.replace((routine, site)));
    let answer = real(run_once as *const () as u64);
    task.once.set(outer.0);
    task.once_routine.set(outer.1);
    access::acquire(flag as u64);
    access::release(flag as u64);
    answer
}

/// The size of a `pthread_once_t`.
const FLAG_SIZE: u64 = 4;

/// Runs the routine of the innermost `once` of the running task, which is about to be done then.
extern "C-unwind" fn run_once() {
    let task = world().task();
    let (flag, (routine, site)) = (task.once.get(), task.once_routine.get());
    // SAFETY: the routine that the program passed to `pthread_once` or `call_once`, which takes no arguments.
    let routine: extern "C-unwind" fn() = unsafe { std::mem::transmute(routine) };
    routine();
    access_points::stored(flag, FLAG_SIZE, site);
}

interpose! {
    fn pthread_create(thread: *mut u64, attributes: *const c_void, start: u64, argument: u64)
        -> c_int {
        unsafe {
            if !on_fiber() {
                if crate::sys::channel::attached() {
                    crate::sys::channel::fail(crate::state::start::early_thread());
                }
                return real!(pthread_create(thread, attributes, start, argument)
                    as fn(*mut u64, *const c_void, u64, u64) -> c_int);
            }
            create(thread, attributes, start, argument, site())
        }
    }

    fn pthread_join(thread: u64, result: *mut u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_join(thread, result) as fn(u64, *mut u64) -> c_int);
            }
            join(thread, result, JoinWait::Endless, site())
        }
    }

    fn pthread_tryjoin_np(thread: u64, result: *mut u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_tryjoin_np(thread, result) as fn(u64, *mut u64) -> c_int);
            }
            join(thread, result, JoinWait::None, site())
        }
    }

    fn pthread_timedjoin_np(thread: u64, result: *mut u64, deadline: *const libc::timespec)
        -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_timedjoin_np(thread, result, deadline)
                    as fn(u64, *mut u64, *const libc::timespec) -> c_int);
            }
            join(thread, result, JoinWait::until(libc::CLOCK_REALTIME, deadline as u64), site())
        }
    }

    fn pthread_clockjoin_np(thread: u64, result: *mut u64, clock: c_int,
                            deadline: *const libc::timespec) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_clockjoin_np(thread, result, clock, deadline)
                    as fn(u64, *mut u64, c_int, *const libc::timespec) -> c_int);
            }
            if !clock::is_waitable(clock) {
                return libc::EINVAL;
            }
            join(thread, result, JoinWait::until(clock, deadline as u64), site())
        }
    }

    fn pthread_detach(thread: u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_detach(thread) as fn(u64) -> c_int);
            }
        }
        detach(thread, site())
    }

    fn pthread_setname_np(thread: u64, name: *const c_char) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_setname_np(thread, name)
                    as fn(u64, *const c_char) -> c_int);
            }
            let bytes = CStr::from_ptr(name).to_bytes();
            if bytes.len() > 15 {
                return libc::ERANGE;
            }
            let Some(number) = world().by_block(thread) else { return libc::ESRCH };
            world().tasks[usize::from(number)].set_name(bytes);
            0
        }
    }

    fn pthread_getname_np(thread: u64, to: *mut c_char, len: usize) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_getname_np(thread, to, len)
                    as fn(u64, *mut c_char, usize) -> c_int);
            }
            if len < 16 {
                return libc::ERANGE;
            }
            let Some(number) = world().by_block(thread) else { return libc::ESRCH };
            let name = world().tasks[usize::from(number)].system_name.get();
            std::ptr::copy_nonoverlapping(name.as_ptr(), to.cast(), 16);
            0
        }
    }

    fn pthread_getattr_np(thread: u64, attributes: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_getattr_np(thread, attributes)
                    as fn(u64, *mut c_void) -> c_int);
            }
            let Some(number) = world().by_block(thread) else { return libc::ESRCH };
            let task = &world().tasks[usize::from(number)];
            let stack = task.stack.get();
            let low = if number == 0 { main_low(stack) } else { stack.low + stack.guard };
            real!(pthread_attr_init(attributes) as fn(*mut c_void) -> c_int);
            real!(pthread_attr_setstack(attributes, low, stack.high - low)
                as fn(*mut c_void, u64, u64) -> c_int);
            real!(pthread_attr_setguardsize(attributes, stack.guard)
                as fn(*mut c_void, u64) -> c_int);
            // Of a task that asked for processors, those; else all that the process may run on.
            let mut set = [0u64; 16];
            let asked = task.processors.get();
            if asked != 0 {
                set[..2].copy_from_slice(&[asked as u64, (asked >> 64) as u64]);
            } else {
                raw::call!(libc::SYS_sched_getaffinity, 0, 128, set.as_mut_ptr());
            }
            real!(pthread_attr_setaffinity_np(attributes, 128usize, set.as_ptr())
                as fn(*mut c_void, usize, *const u64) -> c_int);
            if attributes::priorities_are_used() {
                let (mut policy, mut priority) = (0, 0);
                real!(pthread_getschedparam(thread, &raw mut policy, &raw mut priority)
                    as fn(u64, *mut c_int, *mut c_int) -> c_int);
                real!(pthread_attr_setschedpolicy(attributes, policy)
                    as fn(*mut c_void, c_int) -> c_int);
                real!(pthread_attr_setschedparam(attributes, &raw const priority)
                    as fn(*mut c_void, *const c_int) -> c_int);
            }
            real!(pthread_attr_setinheritsched(attributes, c_int::from(task.is_scheduled.get()))
                as fn(*mut c_void, c_int) -> c_int);
            real!(pthread_attr_setdetachstate(attributes, c_int::from(task.detached.get()))
                as fn(*mut c_void, c_int) -> c_int)
        }
    }

    fn pthread_once(flag: *mut i32, function: u64) -> c_int {
        // The real function; its waits come back to the runtime as futex calls.
        once(flag, function, site(), |routine| unsafe {
            real!(pthread_once(flag, routine) as fn(*mut i32, u64) -> c_int)
        })
    }

    fn pthread_setattr_default_np(attributes: *const c_void) -> c_int {
        SPARES.size.set(0);
        SPARES.has_defaults.set(true);
        unsafe {
            real!(pthread_setattr_default_np(attributes) as fn(*const c_void) -> c_int)
        }
    }

    fn gettid() -> i32 {
        if !on_fiber() {
            return unsafe { real!(gettid() as fn() -> i32) };
        }
        interrupt::call_without_step(site());
        world().tid(world().current.get())
    }
}

unsafe extern "C" {
    static program_invocation_short_name: *const c_char;
}

/// Names main after the program; its threads inherit the name.
pub(crate) fn name_main() {
    let main = &world().tasks[0];
    // SAFETY: the C library sets this variable to a valid string before `main`.
    main.set_name(unsafe { CStr::from_ptr(program_invocation_short_name).to_bytes() });
    main.name.set([0; 16]);
}

/// `prctl` with `PR_SET_NAME`.
pub(crate) fn set_own_name(name: u64) -> i64 {
    // SAFETY: the caller of `prctl` passes a C string.
    world().task().set_name(unsafe { CStr::from_ptr(name as *const c_char).to_bytes() });
    0
}

/// `prctl` with `PR_GET_NAME`.
pub(crate) fn get_own_name(to: u64) -> i64 {
    // SAFETY: the caller of `prctl` passes a buffer of 16 bytes.
    unsafe { (to as *mut [u8; 16]).write(world().task().system_name.get()) };
    0
}
