//! The loop over executions: begin, run, judge, go back to the start.
//!
//! It runs on a stack and a control block of its own. Its state ([`Root`]) lies in the shared heap,
//! so that it is the same before and after any kind of reset.

use crate::arena;
use crate::block;
use crate::changes::Changes;
use crate::channel::{self, header};
use crate::debugger;
use crate::dispatch;
use crate::failure::{self, End};
use crate::fiber::{self, Parked};
use crate::models::readiness;
use crate::objects;
use crate::points;
use crate::raw;
use crate::record;
use crate::scope;
use crate::signals;
use crate::stall;
use crate::syscalls;
use crate::task::Life;
use crate::told;
use crate::world::{Stage, world};
use search::stall::Stalls;
use search::{Any, Coverage, Divergence, Outcome, Prefixed, Strategy};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::points::{Granularity, Lesson, Spot};
use traces::wire::{
    self, Found, Job, NO_TASK, Probing, Reset, TaskInfo, Tracking, state, task_state,
};

mod learning;
pub(crate) mod memory;
mod memory_loop;
mod outbox;
mod portion;

/// What outlives executions.
pub(crate) struct Root {
    pub(crate) strategy: Prefixed,
    /// Whether the strategy looks at what every task would do.
    pub(crate) detailed: bool,
    /// Whether it tells places apart by the frames around them.
    pub(crate) frames: bool,
    /// Who goes round in a loop, in the execution that runs.
    pub(crate) stalls: Stalls,
    /// Whether tasks may not be preempted everywhere.
    pub(crate) scoped: bool,
    scope: traces::points::Scope,
    pub(crate) max_steps: u64,
    /// The most steps of all executions together.
    all_steps: u64,
    pub(crate) full: bool,
    /// The most bytes of the program's heap.
    pub(crate) memory: u64,
    /// How many waits of each task may come back with nobody waking it.
    pub(crate) spurious: u32,
    /// The block whose past is kept.
    watch: Option<u64>,
    /// What memory is changed on the way.
    pub(crate) changes: Changes,
    pub(crate) fail_on: Vec<u8>,
    /// Points in executions that ended.
    pub(crate) beats: u64,
    /// Objects described in the execution that runs.
    pub(crate) objects: BTreeMap<(u64, u64, u32), u64>,
    /// A bit for each (hashed) site that was called, and how many there are.
    sites: [u64; 1024],
    sites_len: u64,
    reset: Reset,
    /// Whether an execution changed what a descriptor leads to that is not its own: others see that,
    /// unless the program is started again for each.
    pub(crate) moved: bool,
    tracking: Tracking,
    pub(crate) probing: Probing,
    stop_at_first: bool,
    park: bool,
    shared: bool,
    /// How many executions are still to be compared with a fork's.
    checks: u32,
    /// The piece of work that is being done, where the search is shared.
    portion: Option<portion::Portion>,
    /// How many there were before it.
    portions: u64,
    /// How long it is waited for what other processes may give.
    pub(crate) patience: readiness::Patience,
    /// Whether the next execution was begun in the strategy.
    begun: bool,
    next: u64,
    last: u64,
    /// What a child that runs an execution for comparison has to say.
    compared: memory_loop::Compared,
    /// The sizes and guards of the stacks that its tasks had.
    stacks: Vec<(u64, u64)>,
    /// What the program's accesses to memory are known to be.
    pub(crate) learned: points::learned::Growing,
    /// Whether that may grow.
    pub(crate) learns: bool,
    /// What learning came to at another time, to be taken over if it is found to hold.
    lesson: Option<Lesson>,
    /// Whether a task was seen to touch another's stack.
    pub(crate) stacks_touched: bool,
    /// The same before the round of learning that runs.
    stacks_seen: bool,
    /// Pairs of sites that were told of as races.
    pub(crate) raced: BTreeSet<(u64, u64)>,
    /// Whether it is looked for what delayed stores could lead to; the pairs of a store and a load that
    /// were told of.
    pub(crate) store_buffers: bool,
    pub(crate) delayed: BTreeSet<(u64, u64)>,
    /// What is told of beside the failures, of the execution that runs, and was not told of before.
    pub(crate) beside: Vec<Found>,
    /// Pairs of sites that were told of as conflicts, and those that are to be told of.
    pub(crate) conflicted: BTreeSet<(u64, u64)>,
    pub(crate) conflicts: Vec<Found>,
    /// The one race that is a failure, where not all of them are.
    pub(crate) race: Option<(Spot, Spot)>,
    /// Learning, until it is over.
    learning: Option<learning::Learning>,
    points: Granularity,
    /// Whether no other worker has learned what there is to be learned first.
    pioneer: bool,
    /// The search's plan, to begin again when points are added.
    plan: wire::Plan,
    prefix: Vec<traces::Choice>,
    /// A bit for each (hashed) site of an access that was seen, and how many there are.
    compiled: [u64; 1024],
    compiled_len: u64,
}

impl Root {
    /// Remembers that a site was called.
    #[inline]
    pub(crate) fn note_site(&mut self, site: u64) {
        let hash = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let word = &mut self.sites[(hash >> 6) as usize];
        let bit = 1 << (hash & 63);
        // Without a store for a site that is known: the next step would wait for it.
        if *word & bit == 0 {
            self.sites_len += 1;
            *word |= bit;
        }
    }
}

impl Root {
    /// Whether there is but one execution, of a schedule that is given and short enough that breakpoints
    /// take no longer than to find where jumps can be.
    pub(crate) fn repeats(&self) -> bool {
        const SHORT: usize = 5000;
        let given =
            matches!(&self.plan, wire::Plan::Replay { choices, .. } if choices.len() < SHORT);
        given && self.last == 1 && self.points == Granularity::Racy
    }

    /// Remembers the site of an access that the compiler put in.
    #[inline]
    pub(crate) fn note_compiled(&mut self, site: u64) {
        let hash = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let word = &mut self.compiled[(hash >> 6) as usize];
        let bit = 1 << (hash & 63);
        self.compiled_len += u64::from(*word & bit == 0);
        *word |= bit;
    }
}

struct Pointer(Cell<*mut Root>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Pointer {}
static ROOT: Pointer = Pointer(Cell::new(std::ptr::null_mut()));

/// The root.
#[inline]
pub(crate) fn root() -> &'static mut Root {
    // SAFETY: set before the first execution; there is one kernel thread, and no caller keeps the
    // reference across a call that takes it again for the same field.
    unsafe { &mut *ROOT.0.get() }
}

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

fn find_root() -> Result<(), String> {
    let header = header();
    let at = header.heap_root.load(Relaxed);
    if at != 0 {
        ROOT.0.set((channel::address(header.heap) as u64 + at) as *mut Root);
        return Ok(());
    }
    // SAFETY: the controller wrote the job before it started the process.
    let bytes = unsafe {
        std::slice::from_raw_parts(
            channel::address(header.job) as *const u8,
            header.job.len as usize,
        )
    };
    let job: Job = rmp_serde::from_slice(bytes).map_err(|error| format!("a bad job: {error}"))?;
    let mut strategy = Prefixed::new(job.prefix.clone(), Any::new(job.plan.clone()));
    if job.visits {
        strategy.count_ways();
    }
    let root = Box::into_raw(Box::new(Root {
        detailed: strategy.detailed(),
        frames: strategy.wants_frames(),
        strategy,
        stalls: Stalls::default(),
        scoped: false,
        scope: job.scope,
        max_steps: job.max_steps,
        all_steps: job.all_steps,
        full: job.full,
        memory: job.memory,
        spurious: job.spurious,
        watch: job.watch,
        changes: Changes::new(job.changes),
        fail_on: job.fail_on,
        beats: 0,
        objects: BTreeMap::new(),
        sites: [0; 1024],
        sites_len: 0,
        reset: job.reset,
        moved: false,
        tracking: job.tracking,
        probing: job.probing,
        stop_at_first: job.stop_at_first,
        park: job.park,
        shared: job.shared,
        checks: job.checks,
        portion: None,
        portions: 0,
        patience: readiness::Patience::default(),
        begun: false,
        next: job.first,
        last: job.last,
        compared: memory_loop::Compared::default(),
        stacks: Vec::new(),
        learned: points::learned::Growing::new(job.learned),
        learns: job.learn,
        lesson: job.lesson,
        stacks_touched: false,
        stacks_seen: false,
        raced: BTreeSet::new(),
        store_buffers: job.store_buffers,
        delayed: BTreeSet::new(),
        beside: Vec::new(),
        conflicted: BTreeSet::new(),
        conflicts: Vec::new(),
        race: job.race,
        learning: None,
        points: job.points,
        pioneer: job.pioneer,
        plan: job.plan,
        prefix: job.prefix,
        compiled: [0; 1024],
        compiled_len: 0,
    }));
    ROOT.0.set(root);
    header.heap_root.store(root as u64 - channel::address(header.heap) as u64, Relaxed);
    Ok(())
}

/// Takes control of the thread that calls this, which becomes main's fiber: from here on the manager
/// decides who runs. Returns in each execution.
pub(crate) fn begin() {
    let world = world();
    let stack = raw::map(0, STACK, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    let ready = find_root().and_then(|()| {
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
        describe_tasks(registers);
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
    header.compiled_sites.store(root.compiled_len, Relaxed);
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
    header.api_sites.store(root.sites_len, Relaxed);
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

/// Fills in the table of tasks for the controller.
fn describe_tasks(running: Option<(Parked, bool)>) {
    tell_tasks(running, objects::index);
}

/// Fills in the table of tasks; `index` finds an object's place in the table of objects.
pub(crate) fn tell_tasks(
    running: Option<(Parked, bool)>,
    index: fn(traces::Operation, u64) -> u64,
) {
    let world = world();
    let header = header();
    let capacity = header.tasks.len as usize / size_of::<TaskInfo>();
    let created = usize::from(world.created.get()).min(capacity);
    for number in 0..created {
        let task = &world.tasks[number];
        let is_current = number == usize::from(world.current.get());
        let alive = task.life() == Life::Alive;
        let state = match () {
            () if !alive => task_state::EXITED,
            () if is_current && running.is_some() => task_state::RUNNING,
            () if stall::waits(number as u16) => task_state::BLOCKED,
            () if crate::scheduler::enabled(world, task) => task_state::RUNNABLE,
            () => task_state::BLOCKED,
        };
        let live = running.filter(|_| is_current);
        let (registers, exact) = match live {
            Some((registers, exact)) => (registers, exact),
            // SAFETY: alive and not running, so parked.
            None if alive => (unsafe { fiber::parked(task.sp.get()) }, false),
            None => {
                (Parked { rip: 0, rsp: 0, rbp: 0, rbx: 0, r12: 0, r13: 0, r14: 0, r15: 0 }, false)
            }
        };
        let stack = task.stack.get();
        let info = TaskInfo {
            state,
            operation: u32::from(task.operation.get().code()),
            object: index(task.operation.get(), task.object.get()) as u32,
            object_address: task.object.get(),
            holder: failure::holder(number as u16).map_or(NO_TASK, u32::from),
            parent: task.parent.get(),
            exact: u32::from(exact),
            site: task.site.get(),
            start: task.start.get(),
            stack_low: stack.low,
            stack_high: stack.high,
            stack_base: task.base.get(),
            thread_pointer: task.block.get(),
            rip: registers.rip,
            rsp: registers.rsp,
            rbp: registers.rbp,
            rbx: registers.rbx,
            r12: registers.r12,
            r13: registers.r13,
            r14: registers.r14,
            r15: registers.r15,
            name: task.name.get(),
        };
        // SAFETY: below the region's capacity.
        unsafe { (channel::address(header.tasks) as *mut TaskInfo).add(number).write(info) };
    }
    header.tasks_len.store(created as u64, Relaxed);
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
