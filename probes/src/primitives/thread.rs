//! Threads: create, names, attributes.

use crate::detect::access;
use crate::fiber::switch;
use crate::primitives::attributes;
use crate::primitives::spare_threads;
use crate::schedule::interrupt;
use crate::schedule::scheduler::point;
use crate::schedule::step_limit;
use crate::state::clock;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::stack::Stack;
use crate::state::stacks;
use crate::state::task::{Gate, Lifecycle, Task};
use crate::state::upcalls;
use crate::state::world::{MAX_TASKS, on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use crate::sys::stops;
use std::ffi::{CStr, c_char, c_int, c_void};
use traces::Operation;

/// The stack that the attributes ask for.
///
/// # Safety
/// `attributes` is null or a valid `pthread_attr_t`.
unsafe fn stack_for(attributes: *const c_void) -> Option<Stack> {
    if attributes.is_null() {
        let (size, guard) = spare_threads::default_sizes();
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
    stacks::allocate(if size == 0 { spare_threads::default_sizes().0 } else { size }, guard)
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
    world.creators.set(world.creators.get() + 1);
    point(Operation::Create, world.next_task(), site, Gate::Open);
    world.creators.set(world.creators.get() - 1);
    let number = world.created.get();
    if usize::from(number) >= MAX_TASKS {
        step_limit::too_many_tasks(root());
        outcome::unsupported("more than 4096 threads in one execution", site);
    }
    reap_detached();
    if !attributes.is_null() || !spare_threads::has_defaults() {
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
    let Some(block) = spare_threads::take_block(world.tid(number)) else { return libc::EAGAIN };
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
pub(super) fn reap(task: &Task) {
    task.set_life(Lifecycle::Reaped);
    if task.stack.get().low != 0 && !std::ptr::eq(task, &raw const world().tasks[0]) {
        stacks::free(task.stack.get());
        spare_threads::free_block(task.block.get());
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

    fn pthread_setattr_default_np(attributes: *const c_void) -> c_int {
        spare_threads::defaults_changed();
        unsafe {
            real!(pthread_setattr_default_np(attributes) as fn(*const c_void) -> c_int)
        }
    }

    fn gettid() -> i32 {
        if !on_fiber() {
            return unsafe { real!(gettid() as fn() -> i32) };
        }
        interrupt::call_without_step(site());
        attributes::shown_tid(world().current.get()) as i32
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
