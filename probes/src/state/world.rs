//! The state of the current execution.
//!
//! It is in the process's private memory: with fork reset each execution gets a copy of the state
//! before the first one, and nothing has to be restored. State that outlives executions is the
//! manager's ([`crate::state::root::Root`]), in the shared heap.

use crate::state::stack::Spare;
use crate::state::task::{Lifecycle, Task};
use search::allowance::Allowance;
use std::cell::Cell;
use traces::Operation;

/// The most tasks of one execution, including ended ones.
pub(crate) const MAX_TASKS: usize = 4096;

/// The kind of code that the process executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// There is no controller, or it has not taken control yet: interposers call the real
    /// functions.
    Before,
    /// A fiber runs.
    Fiber,
    /// The manager runs.
    Manager,
}

/// The thread ids of tasks other than main follow this number. No process has one of them, also no copy of this
/// process in which an execution runs: the kernel's are below 2^22. Futexes of threads' ids have 29 bits for them.
const TIDS: i32 = 1 << 23;

/// The state of the current execution, in cells.
pub(crate) struct World {
    pub(crate) stage: Cell<Stage>,
    /// The running task, or the one that parked last.
    pub(crate) current: Cell<u16>,
    /// How many entries of `tasks` are or were in use.
    pub(crate) created: Cell<u16>,
    pub(crate) tasks: [Task; MAX_TASKS],
    /// The tasks that have not ended, ascending.
    pub(crate) alive: [Cell<u16>; MAX_TASKS],
    pub(crate) alive_len: Cell<usize>,
    /// The number of steps so far.
    pub(crate) step: Cell<u64>,
    /// How many steps the execution may have.
    pub(crate) allowance: Allowance,
    /// The operation of the last step.
    pub(crate) last: Cell<Operation>,
    /// The code address of the last step.
    pub(crate) place: Cell<u64>,
    /// The task of the last step; none before the first.
    pub(crate) running: Cell<Option<u16>>,
    /// The task that may have closed a cycle of tasks that wait for each other, or [`World::ALL`],
    /// or [`World::NO_TASK`] for none.
    pub(crate) suspect: Cell<u16>,
    /// How many tasks wait for something that another process may provide.
    pub(crate) outside: Cell<u32>,
    /// Signals sent to the process that every task blocks in its mask.
    pub(crate) pending: Cell<u64>,
    /// The number of waits so far: gives waiters their order.
    pub(crate) waits: Cell<u64>,
    pub(crate) switches: Cell<u64>,
    /// The number of switches that preempted an enabled task.
    pub(crate) preemptions: Cell<u32>,
    /// The virtual clock, in nanoseconds: the latest time of any task.
    pub(crate) clock: Cell<u64>,
    /// The latest time that a read of a clock returned to any task.
    pub(crate) shown: Cell<u64>,
    /// Whether the order of steps may depend on time: a task had a deadline, or clocks differ.
    pub(crate) timed: Cell<bool>,
    /// The number of random numbers that the program received.
    pub(crate) randomness: Cell<u64>,
    /// The manager's thread control block.
    pub(crate) manager_block: Cell<u64>,
    /// Main's thread id; the other tasks have the numbers from [`TIDS`] on.
    pub(crate) first_tid: Cell<i32>,
    pub(crate) spare_stacks: Spare,
    /// The number of tasks whose next step creates a task.
    pub(crate) creators: Cell<u16>,
    /// Whether the exit handlers run.
    pub(crate) exiting: Cell<bool>,
    /// Whether the decisions are noted, to repeat them later
    /// ([`crate::schedule::prefix_steps`]).
    pub(crate) notes_prefix: Cell<bool>,
    /// The descriptors that refer to the files for output that the controller passed, one bit each.
    pub(crate) captured: Cell<u64>,
    /// Whether standard input is still the descriptor that the controller provided.
    pub(crate) input: Cell<bool>,
}

/// The state that [`World::restore`] restores.
pub(crate) struct Saved {
    tasks: Vec<Task>,
    alive: Vec<u16>,
    current: u16,
    suspect: u16,
    step: u64,
    allowance: Allowance,
    last: Operation,
    place: u64,
    running: Option<u16>,
    waits: u64,
    switches: u64,
    preemptions: u32,
    timed: bool,
    spare_stacks: Vec<crate::state::stack::Stack>,
    creators: u16,
    clock: u64,
    shown: u64,
    randomness: u64,
    captured: u64,
    input: bool,
}

/// The world, shared between all code of the one kernel thread.
struct Shared(World);
// SAFETY: the controlled process has one kernel thread, and every field is a `Cell` or made of
// cells, which hand out no references. Before the runtime takes control, interposers only read
// `stage`.
unsafe impl Sync for Shared {}

static WORLD: Shared = Shared(World {
    stage: Cell::new(Stage::Before),
    current: Cell::new(0),
    created: Cell::new(0),
    tasks: [Task::NONE; MAX_TASKS],
    alive: [const { Cell::new(0) }; MAX_TASKS],
    alive_len: Cell::new(0),
    step: Cell::new(0),
    allowance: Allowance::none(),
    last: Cell::new(Operation::Start),
    place: Cell::new(0),
    running: Cell::new(None),
    suspect: Cell::new(World::NO_TASK),
    outside: Cell::new(0),
    pending: Cell::new(0),
    waits: Cell::new(0),
    switches: Cell::new(0),
    preemptions: Cell::new(0),
    clock: Cell::new(0),
    shown: Cell::new(0),
    timed: Cell::new(false),
    randomness: Cell::new(0),
    manager_block: Cell::new(0),
    first_tid: Cell::new(0),
    spare_stacks: Spare::new(),
    creators: Cell::new(0),
    exiting: Cell::new(false),
    notes_prefix: Cell::new(false),
    captured: Cell::new(0b110),
    input: Cell::new(true),
});

/// The state of the current execution.
#[inline]
pub(crate) fn world() -> &'static World {
    &WORLD.0
}

/// Whether a fiber runs. Only then do interposers model their functions.
#[inline]
pub(crate) fn on_fiber() -> bool {
    world().stage.get() == Stage::Fiber
}

impl World {
    /// Whether output to a descriptor is captured: standard output and error, and duplicates of them.
    pub(crate) fn is_captured(&self, descriptor: u64) -> bool {
        descriptor < u64::from(u64::BITS) && self.captured.get() >> descriptor & 1 != 0
    }

    /// In [`World::suspect`]: no task.
    pub(crate) const NO_TASK: u16 = u16::MAX;
    /// In [`World::suspect`]: any task.
    pub(crate) const ALL: u16 = u16::MAX - 1;

    /// Saves the state, in which all tasks are parked: that in which executions begin, with main alone,
    /// or a later one.
    pub(crate) fn save(&self) -> Saved {
        Saved {
            tasks: self.tasks[..usize::from(self.created.get())].to_vec(),
            alive: self.alive().collect(),
            current: self.current.get(),
            suspect: self.suspect.get(),
            step: self.step.get(),
            allowance: self.allowance.clone(),
            last: self.last.get(),
            place: self.place.get(),
            running: self.running.get(),
            waits: self.waits.get(),
            switches: self.switches.get(),
            preemptions: self.preemptions.get(),
            timed: self.timed.get(),
            spare_stacks: self.spare_stacks.all(),
            creators: self.creators.get(),
            clock: self.clock.get(),
            shown: self.shown.get(),
            randomness: self.randomness.get(),
            captured: self.captured.get(),
            input: self.input.get(),
        }
    }

    /// Restores the saved state. Stacks that were mapped since then are unmapped.
    pub(crate) fn restore(&self, saved: &Saved) {
        let created = usize::from(self.created.get());
        let is_saved = |stack: &crate::state::stack::Stack| {
            saved.spare_stacks.contains(stack)
                || saved.tasks.iter().any(|task| task.stack.get() == *stack)
        };
        for task in &self.tasks[saved.tasks.len()..created.max(saved.tasks.len())] {
            let stack = task.stack.get();
            if !stack.foreign && stack.low != 0 && !is_saved(&stack) {
                crate::state::stack::unmap(stack);
            }
            let none = Task::NONE;
            task.set(&none);
        }
        self.tasks.iter().zip(&saved.tasks).for_each(|(task, was)| task.set(was));
        self.spare_stacks.set(&saved.spare_stacks);
        self.creators.set(saved.creators);
        self.created.set(saved.tasks.len() as u16);
        self.current.set(saved.current);
        self.alive.iter().zip(&saved.alive).for_each(|(task, &was)| task.set(was));
        self.alive_len.set(saved.alive.len());
        self.step.set(saved.step);
        self.allowance.set(&saved.allowance);
        self.last.set(saved.last);
        self.place.set(saved.place);
        self.running.set(saved.running);
        self.suspect.set(saved.suspect);
        self.outside.set(0);
        self.pending.set(0);
        self.waits.set(saved.waits);
        self.switches.set(saved.switches);
        self.preemptions.set(saved.preemptions);
        self.clock.set(saved.clock);
        self.shown.set(saved.shown);
        self.timed.set(saved.timed);
        self.randomness.set(saved.randomness);
        self.exiting.set(false);
        self.captured.set(saved.captured);
        self.input.set(saved.input);
    }

    /// The sizes and guards of the stacks of all tasks but main, in order.
    pub(crate) fn stacks(&self) -> Vec<(u64, u64)> {
        let tasks = &self.tasks[1..usize::from(self.created.get()).max(1)];
        let stacks = tasks.iter().map(|task| task.stack.get());
        stacks.filter(|stack| !stack.foreign).map(|s| (s.high - s.low, s.guard)).collect()
    }

    /// The running task.
    #[inline]
    pub(crate) fn task(&self) -> &Task {
        &self.tasks[usize::from(self.current.get())]
    }

    /// The tasks that have not ended.
    #[inline]
    pub(crate) fn alive(&self) -> impl Iterator<Item = u16> + '_ {
        self.alive[..self.alive_len.get()].iter().map(Cell::get)
    }

    /// Adds the next task to the living ones. Its number is the largest.
    pub(crate) fn born(&self, task: u16) {
        let len = self.alive_len.get();
        self.alive[len].set(task);
        self.alive_len.set(len + 1);
        if self.creators.get() > 0 {
            self.renumber_creations();
        }
    }

    /// The object of a step that creates a task now: the number of the next task, plus 1.
    pub(crate) fn next_task(&self) -> u64 {
        u64::from(self.created.get()) + 1
    }

    /// The other tasks that are about to create a task create one with another number.
    #[cold]
    fn renumber_creations(&self) {
        let others = self.alive().filter(|&task| task != self.current.get());
        let tasks = others.map(|task| &self.tasks[usize::from(task)]);
        for task in tasks.filter(|task| task.operation.get() == Operation::Create) {
            task.object.set(self.next_task());
        }
    }

    /// Removes a task from the living ones.
    pub(crate) fn died(&self, task: u16) {
        let len = self.alive_len.get();
        if let Some(at) = (0..len).find(|&at| self.alive[at].get() == task) {
            for at in at..len - 1 {
                self.alive[at].set(self.alive[at + 1].get());
            }
            self.alive_len.set(len - 1);
        }
    }

    /// The task that the program knows by this `pthread_t`.
    pub(crate) fn by_block(&self, block: u64) -> Option<u16> {
        (0..self.created.get()).rev().find(|&task| {
            let task = &self.tasks[usize::from(task)];
            task.block.get() == block && matches!(task.life(), Lifecycle::Alive | Lifecycle::Ended)
        })
    }

    /// The thread id of a task that the C library has, and stores as the owner of locks.
    pub(crate) fn tid(&self, task: u16) -> i32 {
        match task {
            0 => self.first_tid.get(),
            _ => TIDS + i32::from(task),
        }
    }

    /// The task with such a thread id.
    pub(crate) fn by_tid(&self, tid: i32) -> Option<u16> {
        if tid == self.first_tid.get() {
            return Some(0);
        }
        let task = u16::try_from(tid.wrapping_sub(TIDS)).ok()?;
        (1..self.created.get()).contains(&task).then_some(task)
    }
}
