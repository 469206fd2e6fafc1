//! The loop over executions: begin, run, judge, go back to the start.
//!
//! It runs on a stack and a control block of its own. Its state ([`Root`]) lies in the shared heap,
//! so that it is the same before and after any kind of reset.

use crate::arena;
use crate::block;
use crate::channel::{self, header};
use crate::debugger;
use crate::dispatch;
use crate::failure::{self, End};
use crate::fiber::{self, Parked};
use crate::objects;
use crate::points;
use crate::raw;
use crate::record;
use crate::scope;
use crate::signals;
use crate::stall;
use crate::syscalls;
use crate::told;
use crate::world::{Stage, world};
use search::{Any, Coverage, Divergence, Outcome, Strategy};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::wire::{self, Found, Reset, state};

mod learning;
pub(crate) mod memory;
mod memory_loop;
mod outbox;
mod portion;
mod root;
mod tasks;

pub(crate) use root::{Root, root};
pub(crate) use tasks::tell_tasks;

/// The size of the manager's stack, and where it lies.
const STACK: usize = 1 << 20;
static MANAGER_STACK: AtomicU64 = AtomicU64::new(0);

/// Ranges that belong to the runtime, besides what a snapshot keeps.
fn own_ranges() -> Vec<(u64, u64)> {
    let manager = MANAGER_STACK.load(Relaxed);
    let mut own =
        vec![crate::entry::own_data(), signals::stack(), (manager, manager + STACK as u64)];
    own.push(crate::arena::names_range());
    own.extend(crate::points::ranges());
    own
}

/// The program's memory without its heap and the tasks' stacks.
pub(crate) fn program_memory() -> Vec<(u64, u64)> {
    memory::of_program(&own_ranges())
}

/// Takes control of the thread that calls this, which becomes main's fiber: from here on the manager
/// decides who runs. Returns in each execution.
pub(crate) fn begin() {
    let world = world();
    let stack = raw::map(0, STACK, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    let ready = root::find_root().and_then(|()| {
        arena::begin(root().memory);
        arena::watch(root().watch);
        let block = block::allocate(0).ok_or("no memory for the manager's control block")?;
        world.manager_block.set(block);
        stack.ok_or_else(|| "no memory for the manager's stack".to_owned())
    });
    if channel::header().heap_root.load(Relaxed) != 0 {
        crate::identity::prepare();
        learning::prepare();
        let wanted = root().scope.clone();
        scope::prepare(&wanted);
    }
    let stack = match ready {
        Ok(stack) => {
            MANAGER_STACK.store(stack as u64, Relaxed);
            (stack + STACK) as u64
        }
        Err(message) => channel::fail(&message),
    };
    let main = world.task();
    // SAFETY: the stack is new, and main's slot is its own.
    unsafe { fiber::heddle_take_main(main.sp.as_ptr(), stack - 64, manage) }
}

extern "C" fn manage() -> ! {
    let world = world();
    world.stage.set(Stage::Manager);
    // SAFETY: made in `begin`.
    unsafe { fiber::set_thread_pointer(world.manager_block.get()) };
    channel::set_state(state::RUNNING);
    match root().reset {
        Reset::Fork => fork_loop(),
        Reset::Memory => memory_loop::run(),
        Reset::Exec => {
            let status = header().died.swap(0, Relaxed);
            if status != 0 && root().begun {
                died(root().next, status as i32 - 1);
            }
            let over = !ready() || one();
            channel::set_state(if over { state::DONE } else { state::AGAIN });
            raw::exit_process(0)
        }
    }
}

/// Runs each execution in a child of its own.
fn fork_loop() -> ! {
    loop {
        if !ready() {
            channel::set_state(state::DONE);
            raw::exit_process(0);
        }
        points::refresh();
        let before = ended();
        let number = root().next;
        // SAFETY: asks for the process id.
        let parent = unsafe { raw::call!(libc::SYS_getpid) };
        // SAFETY: a bare fork: glibc's would reclaim the fibers' stacks. The child goes on here.
        let child = unsafe { raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child < 0 {
            channel::fail(&format!("no process can be made for an execution (error {})", -child));
        }
        if child == 0 {
            die_with_parent(parent);
            let over = one();
            if over {
                channel::set_state(state::DONE);
            }
            raw::exit_process(0);
        }
        let mut status = 0i32;
        // SAFETY: waits for the child; the status is ours.
        while unsafe { raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) } == -4 {}
        exit_if_failed();
        if header().state.load(Acquire) == state::DONE {
            raw::exit_process(0);
        }
        if ended() == before {
            died(number, status);
        }
        if root().moved {
            memory_loop::start_anew();
        }
    }
}

/// Ends the process where a child of it gave up: that has told the controller why.
fn exit_if_failed() {
    if header().state.load(Acquire) == state::FAILED {
        raw::exit_process(70);
    }
}

/// Executions that came to their end, of whatever kind.
fn ended() -> u64 {
    header().executions.load(Relaxed) + header().learning.load(Relaxed)
}

/// If the worker is killed its child goes with it.
fn die_with_parent(parent: i64) {
    // SAFETY: asks for a signal at the parent's death.
    unsafe {
        raw::call!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may be gone already, and somebody else be the parent now.
        if raw::call!(libc::SYS_getppid) != parent {
            raw::exit_process(0);
        }
    }
}

/// The child ended before it could say how: the program took its own process with it.
fn died(number: u64, status: i32) {
    record::adopt();
    let signal = status & 0x7f;
    let mut found = failure::found(
        traces::FailureKind::Crash,
        0,
        if signal == 0 {
            "the process ended in a way that could not be followed".to_owned()
        } else {
            format!("the process was killed by signal {signal}")
        },
    );
    found.task = u16::try_from(header().running.load(Relaxed)).ok();
    found.number = signal;
    found.key = failure::key(traces::FailureKind::Crash, &[1, signal as u64]);
    let over = settle(number, End::Failed(Box::new(found)));
    if over {
        channel::set_state(state::DONE);
        raw::exit_process(0);
    }
}

/// Runs one execution and settles it; true if it was the last.
fn one() -> bool {
    let number = root().next;
    let (end, registers) = execute();
    if root().park {
        tasks::describe_tasks(registers);
    }
    settle(number, end)
}

/// Begins the next execution, if that was not done; false if there is none to run.
fn ready() -> bool {
    let root = root();
    if root.begun {
        return true;
    }
    if root.shared && !root.is_learning() {
        root.begun = portion::ready(root);
        return root.begun;
    }
    if header().stop.load(Acquire) != 0 || root.next > root.last {
        return false;
    }
    if !root.strategy.begin(root.number()) {
        let coverage = root.strategy.coverage();
        let complete = matches!(coverage, Coverage::Complete { .. } | Coverage::AsAsked);
        header().complete.store(u32::from(complete), Release);
        return false;
    }
    root.begun = true;
    true
}

/// Runs the execution that was begun.
fn execute() -> (End, Option<(Parked, bool)>) {
    let root = root();
    if !root.is_learning() {
        header().execution.store(root.next, Relaxed);
    }
    header().output_len.store(0, Relaxed);
    header().running.store(0, Relaxed);
    record::begin();
    objects::begin();
    signals::begin();
    points::begin();
    told::begin();
    stall::begin();
    syscalls::begin();
    let world = world();
    let main = &world.tasks[0];
    if root.reset != Reset::Memory {
        set_up_process();
    }
    if debugger::is_there() {
        debugger::begin();
    }
    header().in_task.store(1, Release);
    world.stage.set(Stage::Fiber);
    dispatch::block();
    // SAFETY: main is parked in `begin`; both have blocks of the C library's.
    unsafe {
        fiber::set_thread_pointer(main.block.get());
        fiber::heddle_enter(main.sp.get());
    }
    failure::take()
}

/// Tells the watchdog that something moves, though it came to no scheduling point.
pub(crate) fn beat() {
    header().heartbeat.store(beats() + 1, Relaxed);
}

/// What the watchdog was told last: how often something moved.
pub(crate) fn beats() -> u64 {
    header().heartbeat.load(Relaxed)
}

/// Tells the watchdog whom to look at.
fn note_process() {
    // SAFETY: asks for the process id.
    header().execution_pid.store(unsafe { raw::call!(libc::SYS_getpid) } as i32, Relaxed);
}

/// What a process needs before it runs an execution.
fn set_up_process() {
    note_process();
    if let Err(message) = signals::install().and_then(|()| dispatch::enable()) {
        channel::fail(&message);
    }
}

/// Adds to a counter that nobody else writes: without the bus lock of an atomic addition, of which
/// there would be several in each execution.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

/// Counts and reports an execution that ended; true if it was the last.
fn settle(number: u64, end: End) -> bool {
    let root = root();
    let world = world();
    let header = header();
    let steps = world.step.get();
    header.racy_sites.store(root.learned.known().sites.len() as u64, Relaxed);
    header.compiled_sites.store(root.compiled.len, Relaxed);
    if root.is_learning() {
        root.begun = false;
        let spun = matches!(&end, End::Failed(found) if found.kind == traces::FailureKind::Spin);
        if let End::Failed(found) = end
            && failure::counts(found.kind)
            // A loop may be one that yields as soon as it is known what it waits for.
            && found.kind != traces::FailureKind::Spin
            && root.prefix.is_empty()
        {
            let learned = Box::new(root.learned.known().clone());
            outbox::early(Found { execution: 0, part: "learning".into(), learned, ..*found });
        }
        for conflict in std::mem::take(&mut root.conflicts) {
            outbox::early(Found { part: "learning".into(), ..conflict });
        }
        root.settle_learning(steps, spun);
        return false;
    }
    // A replay whose program ends early never asks for the steps that are missing.
    let shortfall = match (&end, root.strategy.rest()) {
        (End::Passed | End::Failed(_), Any::Follow(follow)) => follow.shortfall(steps),
        _ => None,
    };
    let end = shortfall.map_or(end, End::Diverged);
    let outcome = match &end {
        End::Passed => Outcome::Passed,
        End::Failed(found) if failure::counts(found.kind) => Outcome::Failed,
        End::Failed(_) => Outcome::Passed,
        End::Cut => Outcome::Cut,
        End::GivenUp | End::Diverged(_) => Outcome::GivenUp,
    };
    // A process that died without a word left nothing to look at.
    if steps > 0 {
        let waits = matches!(&end, End::Failed(found)
            if found.kind.is_deadlock() || found.kind == traces::FailureKind::Livelock);
        crate::scheduler::tell_left(waits);
    }
    // Where a task was kept back that would have got on, not everything was seen.
    let seen = if root.stalls.was_wrong() { Outcome::Cut } else { outcome };
    root.strategy.end(seen);
    // None of those that the search is made of; and yet it may have failed.
    let strayed = root.strategy.strayed();
    if let Some(divergence) = root.strategy.pruned() {
        let what = format!("{}, three times; {}", divergence.what, syscalls::last_call());
        add(&header.diverged, 1);
        outbox::diverged(number, Divergence { step: divergence.step, what });
    }
    root.beats += steps + 1;
    root.next = number + 1;
    root.begun = false;
    let number = match &mut root.portion {
        Some(portion) => {
            let redundant = matches!(end, End::GivenUp) || strayed && outcome != Outcome::Failed;
            portion.count(redundant, root.strategy.class(), record::fingerprint())
        }
        None => number,
    };
    let raise = |most: &AtomicU64, to: u64| {
        if to > most.load(Relaxed) {
            most.store(to, Relaxed);
        }
    };
    add(&header.steps, steps);
    add(&header.switches, world.switches.get());
    raise(&header.max_steps, steps);
    raise(&header.max_tasks, u64::from(world.created.get()));
    header.api_sites.store(root.sites.len, Relaxed);
    let mut stop = number >= root.last || header.steps.load(Relaxed) >= root.all_steps;
    let piece = root.portion.as_ref().map_or(0, |portion| portion.serial);
    for found in points::delays::settle() {
        outbox::early(found);
    }
    for found in std::mem::take(&mut root.beside) {
        let learned = Box::new(root.learned.known().clone());
        outbox::report(Found { execution: number, learned, ..found }, piece);
    }
    match end {
        End::Failed(found) if outcome == Outcome::Failed => {
            add(&header.failing, 1);
            let part = root.strategy.part().to_owned();
            let learned = Box::new(root.learned.known().clone());
            outbox::report(Found { execution: number, part, learned, ..*found }, piece);
            match &mut root.portion {
                Some(portion) => portion.failed |= root.stop_at_first,
                None => stop |= root.stop_at_first,
            }
        }
        End::Cut => add(&header.cut, 1),
        End::Diverged(divergence) => {
            add(&header.diverged, 1);
            outbox::diverged(number, divergence);
        }
        _ => {}
    }
    root.settle_points();
    header.executions.store(header.executions.load(Relaxed) + 1, Release);
    if root.park {
        park();
    }
    stop
}

/// Waits until the controller has looked at the process.
fn park() {
    let header = header();
    header.resume.store(0, Release);
    channel::set_state(state::PARKED);
    while header.resume.load(Acquire) == 0 {
        raw::futex_wait(&header.resume, 0, 1000);
    }
    header.state.store(state::RUNNING, Release);
}

/// The counter of a failure's key.
fn count(key: u64) -> Option<&'static wire::KeyCount> {
    let counts = &header().counts;
    let start = key as usize % counts.len();
    (0..counts.len()).map(|i| &counts[(start + i) % counts.len()]).find(|entry| {
        let known = entry.key.load(Relaxed);
        if known == 0 {
            entry.key.store(key, Relaxed);
        }
        known == 0 || known == key
    })
}
