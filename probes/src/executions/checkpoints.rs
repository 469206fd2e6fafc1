//! Checkpoints within an execution, past the creation of threads.
//!
//! A depth-first search repeats the first steps of an execution in the next one. So while it repeats
//! them, the state is stored at a step or two, and executions that have that step in common are resumed
//! there: their first steps are neither run nor decided again. The checkpoints form a stack, since the
//! next execution leaves the path of the last one at some step, and those behind it are dropped.
//!
//! That needs a state which memory and the variables of the runtime listed in [`Checkpoint`] describe
//! completely. In any other state no checkpoint is made. The first executions that are resumed are
//! compared with the same ones from main in a fork; if one differs, the search continues without
//! checkpoints.
//!
//! Where to make them: after work that takes much longer than a checkpoint does, wherever it ends; at the
//! last of the steps that an execution has in common with the one before, since the next executions are
//! likely to share it, and halfway to it, for those that leave the path earlier; but only where it took
//! longer to get there than a checkpoint takes. So the speed of the machine decides which checkpoints
//! there are. What executions do does not depend on that.

use crate::detect::{access, checkpoint};
use crate::executions::checkpoint_cost::{Cost, SHORTEST};
use crate::executions::common_prefix::CommonPrefix;
use crate::executions::manager;
use crate::fiber::switch::{self, Parked};
use crate::instrument::binary::{file_changes, hot_probes};
use crate::kernel::{exit, pass, signal_descriptor, task_files, timer};
use crate::memory::kernel_changes;
use crate::memory::snapshot::{self, images};
use crate::primitives::{mutex_ceiling, named_semaphore, spare_threads, thread_keys};
use crate::schedule::program_predicates;
use crate::schedule::{interrupt, scheduler, stall};
use crate::state::end::End;
use crate::state::locks::holders;
use crate::state::pending_signals;
use crate::state::root::root;
use crate::state::world::{self, world};
use crate::steps::{declarations, record};
use crate::sys::channel::header;
use crate::sys::interpose::{PROGRAM_CALL, STORED};
use crate::sys::signals;
use search::time::Clocks;
use search::{Position, PrefixReplay};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

/// The most checkpoints at a time.
const MOST: usize = 16;
/// A checkpoint is worth as many times what it costs: not all executions that follow will share it.
const WORTH: u64 = 1;
/// Work that takes as many times what a checkpoint costs is worth one wherever it ends.
const LONG_WORK: u64 = 64;
/// The most checkpoints after long work. The others are for the steps that are left next.
const MOST_LONG: usize = MOST / 2;
/// How many executions that are resumed are compared with the same ones from main.
const COMPARED: u32 = 4;
/// No step.
const NEVER: u64 = u64::MAX;

/// The state before a step.
struct Checkpoint {
    step: u64,
    position: Position,
    image: images::Image,
    world: world::Saved,
    holders: holders::Saved,
    spares: spare_threads::Saved,
    keys: thread_keys::Saved,
    handlers: (u64, u64),
    named: u64,
    wanted: Vec<signals::Action>,
    call: (u64, u64, [u64; STORED]),
    record: record::Saved,
    stalls: stall::Saved,
    clocks: Clocks,
    names: (usize, usize),
    last_call: i64,
    output: u64,
    accesses: Option<checkpoint::Saved>,
    probes: hot_probes::Saved,
}

/// What executions have to have in common, so that one can be resumed in the middle of another: what is
/// observed, and which accesses are points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Circumstances {
    points: [usize; 4],
    stacks: bool,
}

impl Circumstances {
    fn now() -> Circumstances {
        let root = root();
        let learned = root.learned.borrow();
        let known = learned.known();
        Circumstances {
            points: [
                known.sites.len(),
                known.words.len(),
                learned.handled.len(),
                learned.watched.len(),
            ],
            stacks: root.stacks_touched.get(),
        }
    }
}

struct Checkpoints {
    /// From the first step to the last.
    all: RefCell<Vec<Checkpoint>>,
    /// The steps at which the running execution is to make the next ones.
    wanted: Cell<[u64; 2]>,
    /// The time at which the running execution began or made its last checkpoint, in cycles.
    since: Cell<u64>,
    cost: Cost,
    /// Whether the last execution from its beginning took so long that it has long work.
    is_long: Cell<bool>,
    /// The number of first steps of the execution that was begun that are likely to be shared by later
    /// ones; none if it makes no checkpoints.
    planned: Cell<Option<u64>>,
    /// The circumstances in which the last execution began, and those in which it ended, if the next one may have
    /// steps in common with it.
    began: Cell<Option<Circumstances>>,
    last: Cell<Option<Circumstances>>,
    compared: Cell<u32>,
}
// SAFETY: the controlled process has one kernel thread. `all` is borrowed only by the functions of this
// file, none of which runs the program or ends an execution during the borrow.
unsafe impl Sync for Checkpoints {}
static CHECKPOINTS: Checkpoints = Checkpoints {
    all: RefCell::new(Vec::new()),
    wanted: Cell::new([NEVER; 2]),
    since: Cell::new(0),
    cost: Cost::new(),
    is_long: Cell::new(false),
    planned: Cell::new(None),
    began: Cell::new(None),
    last: Cell::new(None),
    compared: Cell::new(0),
};

/// Drops the checkpoints that the execution that was begun does not have in common with the last one;
/// all of them unless `may_resume`. Whether any is left, to be restored.
pub(crate) fn find(may_resume: bool) -> bool {
    let here = &CHECKPOINTS;
    let now = Circumstances::now();
    // What an execution learns holds for its steps from the next execution on.
    let is_same = here.began.replace(Some(now)) == Some(now) && here.last.take() == Some(now);
    let limit = root().common.replace(usize::MAX);
    let strategy = root().strategy.borrow();
    let planned = strategy.planned_steps();
    let is_prepared = may_resume && (planned > 0 || here.is_long.get()) && checkpoint::prepare();
    here.planned.set(is_prepared.then_some(planned as u64));
    let usable = is_prepared && is_same;
    let common = if usable { strategy.common_steps().min(limit) as u64 } else { 0 };
    let mut all = here.all.borrow_mut();
    let holds =
        |one: &Checkpoint| usable && one.step <= common && hot_probes::are_those(&one.probes);
    while let Some(last) = all.last().filter(|last| !holds(last)) {
        last.image.drop();
        all.pop();
    }
    !all.is_empty()
}

/// Whether the checkpoints that [`find`] found can still be restored. A fork may have found since then that
/// tasks access other tasks' stacks. The probes are then placed anew, and a task that is parked at one would
/// continue at the old place of its copy.
pub(crate) fn hold() -> bool {
    CHECKPOINTS.began.get() == Some(Circumstances::now())
}

/// Whether the execution is to be compared with the same one from main: one of the first, or `each`.
pub(crate) fn is_compared(each: bool) -> bool {
    let compared = CHECKPOINTS.compared.get();
    CHECKPOINTS.compared.set(compared.saturating_add(1));
    each || compared < COMPARED
}

/// Restores the state at the last checkpoint, as far as [`execute`] does not.
pub(crate) fn restore() {
    if let Some(last) = CHECKPOINTS.all.borrow().last() {
        last.restore();
    }
}

/// Runs the execution that was begun, from the state that was restored. `resumes`: it is that of a
/// checkpoint.
pub(crate) fn execute(
    resumes: bool,
    prefix: Option<&CommonPrefix>,
) -> (End, Option<(Parked, bool)>) {
    let began = cycles();
    if let Some(planned) = CHECKPOINTS.planned.get() {
        want(world().step.get(), planned, began);
    }
    let ended = if resumes {
        hot_probes::keep();
        manager::begin_execution();
        if let Some(last) = CHECKPOINTS.all.borrow().last() {
            last.resume();
        }
        manager::resume()
    } else {
        prefix.map_or_else(manager::execute, CommonPrefix::execute_from_end)
    };
    switch::set_pick(scheduler::heddle_pick);
    CHECKPOINTS.wanted.set([NEVER; 2]);
    if !resumes {
        CHECKPOINTS.is_long.set(is_long_work(cycles().wrapping_sub(began)));
    }
    ended
}

/// An execution ended and was counted: later ones may have steps in common with it, unless it diverged.
pub(crate) fn settled() {
    let diverged = root().strategy.borrow().has_diverged();
    CHECKPOINTS.last.set((!diverged).then(Circumstances::now));
}

/// Decides where an execution that begins at step `from`, and shares the first `planned` steps with
/// others, makes checkpoints.
fn want(from: u64, planned: u64, now: u64) {
    let here = &CHECKPOINTS;
    here.since.set(now);
    here.wanted.set(match planned.saturating_sub(from) {
        0 => [NEVER; 2],
        1 => [planned, NEVER],
        again => [from + again / 2, planned],
    });
    if here.is_long.get() {
        switch::set_pick(pick_after_work);
    } else if planned > from {
        switch::set_pick(pick);
    }
}

/// Whether something that took so many cycles took much longer than a checkpoint does.
fn is_long_work(took: u64) -> bool {
    took / LONG_WORK >= CHECKPOINTS.cost.cycles().max(SHORTEST)
}

/// The processor's time stamp.
fn cycles() -> u64 {
    // SAFETY: every processor has the instruction, and a program that disables it changes state in the
    // kernel, after which no execution is reset in its process.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Decides as the scheduler does, and makes checkpoints before that.
extern "C" fn pick() -> u64 {
    if make_if_wanted() == NEVER {
        switch::set_pick(scheduler::heddle_pick);
    }
    scheduler::heddle_pick()
}

/// The same in an execution with long work, after which it makes checkpoints as well.
extern "C" fn pick_after_work() -> u64 {
    make_if_wanted();
    if is_long_work(cycles().wrapping_sub(CHECKPOINTS.since.get()))
        && CHECKPOINTS.all.borrow().len() < MOST_LONG
        && !record::is_muted()
    {
        make();
    }
    scheduler::heddle_pick()
}

/// Makes a checkpoint if the running execution has reached the next step that is wanted. Returns the step
/// that is wanted from here on.
#[inline(always)]
fn make_if_wanted() -> u64 {
    let [step, next] = CHECKPOINTS.wanted.get();
    let now = world().step.get();
    if now < step {
        return step;
    }
    if now == step && !record::is_muted() {
        make();
    }
    CHECKPOINTS.wanted.set([next, NEVER]);
    next
}

/// Makes a checkpoint, if it is worth that and the present state can be restored.
#[cold]
fn make() {
    let (here, now) = (&CHECKPOINTS, cycles());
    let mut all = here.all.borrow_mut();
    let is_worth = now.wrapping_sub(here.since.get()) >= here.cost.cycles() * WORTH;
    if all.len() == MOST {
        return;
    }
    if !is_worth {
        here.cost.prevented_one();
        return;
    }
    access::settle_write();
    if !is_restorable() {
        return;
    }
    // SAFETY: the running task has just parked, and the runtime does no floating-point arithmetic.
    unsafe { switch::store_control_words(world().task().sp.get()) };
    all.extend(Checkpoint::save());
    let end = cycles();
    here.cost.took(end.wrapping_sub(now));
    here.since.set(end);
}

/// Whether a [`Checkpoint`] describes the present state completely.
fn is_restorable() -> bool {
    let world = world();
    world.outside.get() == 0
        && world.pending.get() == 0
        && !world.exiting.get()
        && timer::is_clear()
        && signal_descriptor::is_clear()
        && task_files::is_clear()
        && file_changes::holds_none()
        && mutex_ceiling::is_clear()
        && pending_signals::is_clear()
        && interrupt::is_clear()
        && kernel_changes::is_clear()
        && kernel_changes::are_actions_first()
        && !pass::has_left_traces()
        && program_predicates::is_clear()
        && root().beside.borrow().is_empty()
        && are_stacks_known()
}

/// Whether the stacks of all tasks are in the snapshot.
fn are_stacks_known() -> bool {
    let world = world();
    let tasks = world.tasks[1..usize::from(world.created.get())].iter();
    let stacks = tasks.map(|task| task.stack.get()).filter(|stack| !stack.foreign);
    let mut stacks = stacks.chain(world.spare_stacks.each()).filter(|stack| stack.low != 0);
    stacks.all(|stack| snapshot::covers(stack.low + stack.guard, stack.high))
}

impl Checkpoint {
    fn save() -> Option<Checkpoint> {
        let world = world();
        let position = root().strategy.borrow().position()?;
        let accesses = checkpoint::save(usize::from(world.created.get()))?;
        let (holders, names) = (holders::save()?, declarations::save()?);
        Some(Checkpoint {
            step: world.step.get(),
            position,
            world: world.save(),
            holders,
            spares: spare_threads::save(),
            keys: thread_keys::save(),
            handlers: exit::save(),
            named: named_semaphore::save(),
            wanted: signals::save(),
            call: PROGRAM_CALL.save(),
            record: record::save(),
            stalls: stall::save(),
            clocks: root().time.borrow().clocks.clone(),
            names,
            last_call: pass::save(),
            output: header().output_len.load(Relaxed),
            accesses,
            probes: hot_probes::save(),
            // The last, since it has to be dropped.
            image: images::save()?,
        })
    }

    /// Restores the state as [`crate::executions::memory_loop`] restores that of the beginning.
    fn restore(&self) {
        checkpoint::abandon();
        world().restore(&self.world);
        holders::restore(&self.holders);
        timer::clear();
        signal_descriptor::clear();
        task_files::clear();
        file_changes::release_all();
        mutex_ceiling::clear();
        pending_signals::clear();
        spare_threads::restore(&self.spares);
        thread_keys::restore(&self.keys);
        exit::restore(self.handlers);
        named_semaphore::restore(self.named);
        signals::restore(&self.wanted);
        kernel_changes::restore();
        self.image.restore(checkpoint::clear_page);
    }

    /// Restores what the beginning of an execution has reset.
    fn resume(&self) {
        record::restore(&self.record);
        stall::restore(&self.stalls);
        declarations::restore(self.names);
        pass::restore(self.last_call);
        root().time.borrow().clocks.clone_from(&self.clocks);
        header().output_len.store(self.output, Relaxed);
        header().running.store(u32::from(world().current.get()), Relaxed);
        PROGRAM_CALL.restore(&self.call);
        checkpoint::restore(self.accesses.as_ref(), usize::from(world().created.get()));
        hot_probes::restore(&self.probes);
        root().strategy.borrow().resume(&self.position);
    }
}
