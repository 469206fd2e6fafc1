//! The loop over executions: begin, run, judge the outcome, reset.
//!
//! The manager runs on its own stack with its own thread control block. Its state ([`Root`]) is in
//! the shared heap, so that every kind of reset preserves it.

use crate::debugger::session;
use crate::executions::own_memory::{self, MANAGER_STACK};
use crate::fiber::switch::{self, Parked};
use crate::instrument::binary::{file_changes, open_files};
use crate::instrument::monitoring;
use crate::kernel::children;
use crate::kernel::clients::{self, Recorded};
use crate::kernel::left_files;
use crate::kernel::own_names;
use crate::kernel::panic_stack;
use crate::kernel::pass;
use crate::kernel::socket_limits;
use crate::kernel::syscalls;
use crate::kernel::system_v;
use crate::kernel::task_life;
use crate::memory::{arena, runtime_heap, thread_block};
use crate::schedule::interrupt;
use crate::schedule::memory_hash;
use crate::schedule::predicates;
use crate::schedule::program_predicates;
use crate::schedule::scheduler;
use crate::schedule::scope;
use crate::schedule::stall;
use crate::schedule::start_point;
use crate::schedule::time;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::overdue;
use crate::state::world::{Stage, world};
use crate::steps::declarations;
use crate::steps::objects;
use crate::steps::record;
use crate::sys::channel::{self, header};
use crate::sys::dispatch;
use crate::sys::parent;
use crate::sys::raw;
use search::{AnyStrategy, Divergence, Outcome, Reduction, Strategy};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::predicate::{Predicate, Purpose};
use traces::wire::{self, FoundFailure, Reset, state};

use crate::debugger::task_table;
use crate::executions::faults;
use crate::executions::job;
use crate::executions::learning;
use crate::executions::memory_loop;
use crate::executions::outbox;
use crate::executions::processes::{
    await_controller, cannot_fork, ended, exit_if_failed, ready, restore_files, set_up_process,
    unresponsive,
};
use crate::executions::upcalls;

use crate::state::root::root;

/// Takes control of the calling thread, which becomes main's fiber: from here on the manager
/// decides which task runs. Returns once in each execution.
pub(crate) fn begin() {
    let world = world();
    let stack = raw::map(0, MANAGER_STACK, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    parent::begin();
    let ready = job::find_root().and_then(|()| {
        arena::begin(root().memory);
        if root().full {
            arena::note_stacks();
        }
        arena::watch(root().watch);
        let block = thread_block::allocate(0).ok_or("no memory for the manager's control block")?;
        world.manager_block.set(block);
        stack.ok_or_else(|| "no memory for the manager's stack".to_owned())
    });
    if channel::header().heap_root.load(Relaxed) != 0 {
        runtime_heap::in_private(crate::steps::identity::prepare);
        runtime_heap::in_private(memory_hash::prepare);
        runtime_heap::in_private(|| predicates::prepare(&root().predicates));
        learning::prepare();
        runtime_heap::in_private(|| scope::prepare(&root().scope));
    }
    let stack = match ready {
        Ok(stack) => {
            own_memory::set_manager_stack(stack as u64);
            (stack + MANAGER_STACK) as u64
        }
        Err(message) => channel::fail(&message),
    };
    upcalls::register();
    switch::set_callbacks(&switch::Callbacks {
        pick: scheduler::heddle_pick,
        task_started: task_life::heddle_task_started,
        task_returned: task_life::heddle_task_returned,
    });
    let main = world.task();
    // SAFETY: the stack was mapped above and nothing uses it yet; the slot for the stack pointer is
    // main's own, and main runs.
    unsafe { switch::heddle_take_main(main.sp.as_ptr(), stack - 64, manage) }
}

extern "C" fn manage() -> ! {
    let world = world();
    world.stage.set(Stage::Manager);
    // SAFETY: `begin` allocated this thread control block before it switched here.
    unsafe { switch::set_thread_pointer(world.manager_block.get()) };
    channel::set_state(state::RUNNING);
    if root().reset.get() != Reset::Exec {
        memory_loop::check_shared_mappings();
    }
    match root().reset.get() {
        Reset::Fork => fork_loop(),
        Reset::Memory => memory_loop::run(),
        Reset::Exec => {
            let status = header().died.swap(0, Relaxed);
            if status != 0 && root().begun.get() {
                died(root().next.get(), status as i32 - 1, unresponsive());
            }
            let over = !ready() || one();
            channel::set_state(if over { state::DONE } else { state::AGAIN });
            raw::exit_process(0)
        }
    }
}

/// Runs each execution in a child process.
pub(crate) fn fork_loop() -> ! {
    // Children inherit the handlers, which recognise signals that another process sends.
    if let Err(message) = faults::install() {
        channel::fail(&message);
    }
    children::adopt();
    scheduler::forget_pending();
    loop {
        if !ready() {
            channel::set_state(state::DONE);
            raw::exit_process(0);
        }
        restore_files();
        monitoring::refresh();
        let before = ended();
        let number = root().next.get();
        // SAFETY: `getpid` takes no arguments and touches no memory.
        let copied = unsafe { raw::call!(libc::SYS_getpid) };
        // SAFETY: a `clone` without flags copies the process like `fork`, and the child continues
        // here. glibc's `fork` is not used because it would reclaim the fibers' stacks.
        let child = unsafe { raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child < 0 {
            channel::fail(&cannot_fork(child));
        }
        if child == 0 {
            parent::is_copy_of(copied);
            let over = one();
            if over {
                channel::set_state(state::DONE);
            }
            raw::exit_process(0);
        }
        let mut status = 0i32;
        // SAFETY: `wait4` writes the child's status to a local variable.
        while unsafe { raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) } == -4 {}
        children::end_all();
        exit_if_failed();
        // SAFETY: this process holds no borrow, and the child ended, perhaps during one.
        unsafe { root().end_borrows() };
        if header().state.load(Acquire) == state::DONE {
            raw::exit_process(0);
        }
        if ended() == before {
            let unresponsive = unresponsive();
            if wire::was_ended_from_outside(status) && !unresponsive {
                channel::disturbed(status);
            }
            died(number, status, unresponsive);
        }
        if root().moved.get() {
            memory_loop::start_anew();
        }
        memory_loop::prepare_if_due();
    }
}

/// The child ended before it could report an outcome: the program ended its own process.
fn died(number: u64, status: i32, unresponsive: bool) {
    record::adopt();
    let signal = wire::ending_signal(status);
    let (kind, what) = match signal {
        _ if unresponsive => (
            traces::FailureKind::Spin,
            "the process did not react to the signal that ends a spinning task".to_owned(),
        ),
        0 => (
            traces::FailureKind::Crash,
            "the process ended without reporting an outcome".to_owned(),
        ),
        _ => (traces::FailureKind::Crash, format!("the process was killed by signal {signal}")),
    };
    let mut found = outcome::found(kind, 0, what);
    found.task = u16::try_from(header().running.load(Relaxed)).ok();
    found.number = signal;
    found.key = outcome::key(kind, &[1, signal as u64]);
    let over = settle(number, End::Failed(Box::new(found)));
    if over {
        channel::set_state(state::DONE);
        raw::exit_process(0);
    }
}

/// Runs one execution and settles it; true if it was the last.
fn one() -> bool {
    let number = root().next.get();
    // Those from before main are those of any program.
    pass::take_traces();
    let (end, registers) = execute();
    if root().park {
        header().leaves_traces.store(u32::from(pass::has_left_traces()), Relaxed);
        task_table::describe_tasks(registers);
    }
    memory_loop::compare_repeated(&end);
    left_files::end(&end);
    system_v::end();
    settle(number, end)
}

/// Runs the execution that was begun.
pub(crate) fn execute() -> (End, Option<(Parked, bool)>) {
    begin_execution();
    if root().reset.get() != Reset::Memory {
        set_up_process();
    }
    if crate::sys::stops::is_there() {
        session::begin();
    }
    let main = &world().tasks[0];
    enter_program();
    // SAFETY: main is parked at the stack pointer that `heddle_take_main` stored in `begin`.
    unsafe { switch::heddle_enter(main.sp.get()) };
    children::end();
    outcome::take()
}

/// Continues the execution with a decision, while all tasks are parked.
pub(crate) fn resume() -> (End, Option<(Parked, bool)>) {
    enter_program();
    // SAFETY: all tasks are parked, and the scheduler returns the stack pointer of one of them, whose
    // thread control block it set if that is not main's.
    unsafe { switch::heddle_resume() };
    children::end();
    outcome::take()
}

/// From here on main's code runs, and the program's system calls are intercepted.
fn enter_program() {
    let world = world();
    header().in_task.store(1, Release);
    world.stage.set(Stage::Fiber);
    dispatch::block();
    // SAFETY: the task that runs, or that parked last, has a thread control block that glibc made.
    unsafe { switch::set_thread_pointer(world.task().block.get()) };
}

/// Resets what the runtime stores about one execution.
pub(crate) fn begin_execution() {
    let root = root();
    if !root.is_learning() {
        header().execution.store(root.next.get(), Relaxed);
    }
    header().output_len.store(0, Relaxed);
    header().running.store(0, Relaxed);
    start_point::begin();
    record::begin();
    objects::begin();
    overdue::begin();
    interrupt::begin();
    monitoring::begin();
    predicates::begin();
    program_predicates::begin();
    declarations::begin();
    stall::begin();
    time::begin();
    pass::begin();
    panic_stack::begin();
    syscalls::begin();
    open_files::begin();
    file_changes::release_all();
    left_files::begin();
    socket_limits::begin();
    system_v::begin();
    own_names::begin();
    clients::begin();
}

/// Adds to a counter that has no other writer, without the locked instruction of an atomic addition
/// (each execution needs several of these).
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}

/// Raises a counter that has no other writer to at least a value.
fn raise(most: &AtomicU64, to: u64) {
    if to > most.load(Relaxed) {
        most.store(to, Relaxed);
    }
}

/// Counts and reports an execution that ended; true if it was the last.
pub(crate) fn settle(number: u64, end: End) -> bool {
    let root = root();
    let world = world();
    let header = header();
    let steps = world.step.get();
    header.racy_sites.store(root.learned.borrow().known().sites.len() as u64, Relaxed);
    header.compiled_sites.store(root.compiled.len(), Relaxed);
    raise(&header.max_steps, steps);
    raise(&header.max_tasks, u64::from(world.created.get()));
    let recorded = (!root.live.is_empty()).then(|| {
        let stuck = matches!(&end, End::Failed(found) if found.kind.is_deadlock());
        Recorded::take(matches!(end, End::Passed | End::GivenUp), stuck)
    });
    let with_clients = |found| match &recorded {
        Some(recorded) => recorded.add_to(found),
        None => found,
    };
    if root.is_learning() {
        root.begun.set(false);
        scheduler::forget_pending();
        let spun = matches!(&end, End::Failed(found) if found.kind == traces::FailureKind::Spin)
            || header.waits_in_vain.load(Relaxed) > 0;
        let with_stops = root.learned.borrow().take_stops();
        if let End::Failed(found) = end
            && outcome::counts(found.kind)
            // After its read sites are learned, the spin loop may yield, and then is no failure.
            && found.kind != traces::FailureKind::Spin
            && !predicates::broke_condition()
            && root.prefix.is_empty()
        {
            let has_stops = with_stops.is_some();
            let known = || root.learned.borrow().known().clone();
            let learned = Box::new(with_stops.unwrap_or_else(known));
            // The search describes the failure better: with these points, or led by the predicates.
            let leads = |one: &Predicate| one.purpose != Purpose::Start;
            let unsettled = root.predicates.iter().any(leads)
                || has_stops
                || root.learned.borrow().is_unsettled()
                || root.stacks_seen.get() != root.stacks_touched.get();
            if !unsettled && root.stop_at_first {
                root.fail_early();
            }
            add(&header.failing, 1);
            let found = with_clients(FoundFailure {
                execution: header.learning.load(Relaxed) + 1,
                part: "learning".into(),
                learned,
                unsettled,
                ..*found
            });
            if has_stops {
                root.postpone(outbox::with_schedule(found.clone()));
            }
            outbox::report_early(found);
        }
        for conflict in root.conflicts.take() {
            outbox::early(FoundFailure { part: "learning".into(), ..conflict });
        }
        root.settle_learning(steps, spun);
        return false;
    }
    // A replay whose program ends early never asks for the missing steps.
    let shortfall = match (&end, root.strategy.borrow().rest()) {
        (End::Passed | End::Failed(_), AnyStrategy::Follow(follow)) => {
            follow.divergence_at_end(steps)
        }
        _ => None,
    };
    let end = shortfall.map_or(end, End::Diverged);
    let outcome = match &end {
        End::Passed => Outcome::Passed,
        End::Failed(found) if outcome::counts(found.kind) => Outcome::Failed,
        End::Failed(_) => Outcome::Passed,
        End::Cut | End::Outside => Outcome::Cut,
        End::GivenUp | End::Diverged(_) => Outcome::GivenUp,
    };
    // A failure of a kind that does not count says nothing about how the execution would have ended.
    let has_result = match &end {
        End::Failed(_) => outcome == Outcome::Failed,
        _ => outcome == Outcome::Passed,
    };
    if matches!(end, End::Failed(_)) && steps > 0 {
        predicates::fails();
    }
    if let Some(reached) = predicates::reached()
        && has_result
    {
        let failed = usize::from(outcome == Outcome::Failed);
        add(&header.through[2 * usize::from(!reached.is_empty()) + failed], 1);
        for predicate in reached.each() {
            add(&header.noted[predicate][failed], 1);
        }
    }
    // A process that died left no tasks to report.
    if steps > 0 {
        let waits = matches!(&end, End::Failed(found)
            if found.kind.is_deadlock() || found.kind == traces::FailureKind::Livelock);
        scheduler::report_pending(waits);
    }
    // If a task was held back as waiting although it would have made progress, the search is not
    // complete.
    let seen = if root.stalls.borrow().blocked_wrongly() { Outcome::Cut } else { outcome };
    // A loop with a time limit: its iterations may be recognised if every write is observed.
    if root.strategy.borrow().has_cut_time_outs() {
        root.learned.borrow().find_lock_poll();
    }
    root.strategy.borrow().end(seen);
    // An execution that left the search's path belongs to no class of the search; it may still have
    // failed.
    let strayed = root.strategy.borrow().has_diverged();
    if let Some(divergence) = root.strategy.borrow().pruned() {
        let what = format!("{} (three times); {}", divergence.what, pass::last_call());
        add(&header.diverged, 1);
        outbox::diverged(number, Divergence { step: divergence.step, what });
    }
    root.beats.set(root.beats.get() + steps + 1);
    root.next.set(number + 1);
    root.begun.set(false);
    let number = match &mut *root.portion.borrow() {
        Some(portion) => {
            let redundant = matches!(end, End::GivenUp) || strayed && outcome != Outcome::Failed;
            portion.count(
                redundant,
                root.strategy.borrow().equivalence_class(),
                record::fingerprint(),
            )
        }
        None => number,
    };
    add(&header.steps, steps);
    add(&header.switches, world.switches.get());
    raise(&header.step_limit, world.allowance.limit());
    header.api_sites.store(root.sites.len(), Relaxed);
    let mut stop =
        (!root.shared && number >= root.last) || header.steps.load(Relaxed) >= root.all_steps;
    let piece = root.portion.borrow().as_ref().map_or(0, |portion| portion.serial);
    for found in crate::detect::delayed_stores::settle() {
        outbox::early(found);
    }
    for found in root.beside.take() {
        let learned = Box::new(root.learned.borrow().known().clone());
        outbox::report(with_clients(FoundFailure { execution: number, learned, ..found }), piece);
    }
    let regular = matches!(end, End::Passed | End::GivenUp);
    match end {
        End::Failed(found) if outcome == Outcome::Failed => {
            add(&header.failing, 1);
            let part = root.strategy.borrow().active_part().to_owned();
            let learned = Box::new(root.learned.borrow().known().clone());
            let found = FoundFailure { execution: number, part, learned, ..*found };
            outbox::report(with_clients(found), piece);
            match &mut *root.portion.borrow() {
                Some(portion) => portion.failed |= root.stop_at_first,
                None => stop |= root.stop_at_first,
            }
        }
        End::Cut => add(&header.cut, 1),
        End::Outside => {
            add(&header.cut, 1);
            add(&header.outside, 1);
        }
        End::Diverged(divergence) => {
            add(&header.diverged, 1);
            outbox::diverged(number, divergence);
        }
        _ => {}
    }
    root.settle_points(regular);
    header.executions.store(header.executions.load(Relaxed) + 1, Release);
    if let Some(recorded) = recorded.filter(|_| !root.together) {
        outbox::recorded(recorded.clients);
    }
    if root.park {
        park();
    }
    stop
}

/// Waits until the controller has inspected the process.
fn park() {
    await_controller(state::PARKED);
}
