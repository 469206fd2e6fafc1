//! What each task is about to do.

use crate::detect::atoms;
use crate::detect::counters;
use crate::schedule::gates::enabled;
use crate::schedule::predicates;
use crate::schedule::stall;
use crate::state::cancellation;
use crate::state::locks::{self, mutex, rwlock, semaphore};
use crate::state::pipes;
use crate::state::root::root;
use crate::state::task::{ALERT_BEFORE_STEP, Gate, Task};
use crate::state::upcalls;
use crate::state::world::{MAX_TASKS, World};
use crate::steps::identity;
use search::PendingOperation;
use search::reduction::objects::Objects;
use search::reduction::pending::{Counting, Harness, put_main_last};
use traces::{Operation, TaskId};

/// The next operations of all tasks at a decision.
pub(crate) struct PendingTasks {
    tasks: [PendingOperation; MAX_TASKS],
    /// How many entries were filled at the last decision.
    filled: usize,
}

impl PendingTasks {
    pub(crate) const fn new() -> PendingTasks {
        PendingTasks { tasks: [const { NO_TASK }; MAX_TASKS], filled: 0 }
    }

    /// [`next`] for every task that has not ended.
    pub(crate) fn collect(&mut self, world: &World) -> &mut [PendingOperation] {
        let mut count = 0;
        for number in world.alive() {
            self.tasks[count] = next(world, number);
            count += 1;
        }
        // Their lists are in the shared heap: a process that ends would leave them there.
        let unused = self.tasks.iter_mut().take(self.filled).skip(count);
        unused.for_each(|unused| *unused = NO_TASK);
        self.filled = count;
        if root().scope.main_last {
            put_main_last(&mut self.tasks[..count]);
        }
        &mut self.tasks[..count]
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.tasks[..self.filled].fill(NO_TASK);
        self.filled = 0;
    }
}

/// An unused entry of [`PendingTasks`].
const NO_TASK: PendingOperation = PendingOperation {
    task: TaskId(0),
    operation: Operation::Start,
    object: 0,
    mutex: 0,
    message: 0,
    taken: 0,
    further_objects: Objects::NONE,
    site: 0,
    value: 0,
    counting: Counting::None,
    enabled: false,
    not_due: false,
    woken: false,
    has_timeout: false,
    writes: false,
    prefers_writers: false,
    cancellable: false,
    finds_signals: false,
    interrupts_step: false,
    is_apart: false,
    awaited_objects: Objects::NONE,
    restored_objects: Objects::NONE,
    awaits_unknown: false,
    may_satisfy: false,
    may_break: false,
    is_needed: false,
    is_at_site: false,
    is_worth_holding: false,
    writes_condition: false,
    harness: Harness::None,
};

/// The next operation of a task that has not ended, with everything that a reduction asks about it.
pub(crate) fn next(world: &World, number: u16) -> PendingOperation {
    let task = &world.tasks[usize::from(number)];
    let operation = task.operation.get();
    let gate = task.gate();
    let (object, site) = (task.object.get(), task.site.get());
    let (of, has_further) = atoms::identity_of(task, number == world.current.get());
    let mutex = gate.mutex();
    let stalls = root().stalls.borrow();
    let mut awaits_unknown = false;
    let (mut awaited_objects, mut restored_objects) = (Objects::NONE, Objects::NONE);
    if stalls.is_active() {
        match stalls.awaited_objects(TaskId(number)) {
            Some(objects) => {
                let identities = objects.map(|(object, restores)| (identity::of(object), restores));
                (awaited_objects, restored_objects) =
                    search::reduction::pending::split_awaited(identities);
            }
            None => awaits_unknown = true,
        }
    }
    let counting =
        if operation == Operation::Update { task.counting.get() } else { Counting::None };
    let value = match operation {
        Operation::SemWait | Operation::SemPost => u64::from(semaphore::value(object)),
        Operation::Update => counters::value(counting, object, task.size.get()),
        _ => 0,
    };
    let of = match operation {
        // What the handler leads to shows in no object.
        Operation::Timer if upcalls::get().runs_handler(number) => u64::from(number) + 1,
        _ => of,
    };
    let is_at_site = predicates::is_at_site(operation, task);
    let timed = match operation {
        Operation::TimedWake
        | Operation::SpuriousWake
        | Operation::TimedLock
        | Operation::SemTimedWait => true,
        Operation::FutexWoken | Operation::WriteWake | Operation::Ready | Operation::SignalWait => {
            gate == Gate::Open
        }
        Operation::Join => gate == Gate::Open && !stall::joins_in_vain(task),
        _ => false,
    };
    let writes = match operation {
        Operation::Lock if gate.is_of_word() => locks::word::is_free(object),
        Operation::Lock => mutex::is_free(object),
        Operation::Unlock if gate.is_of_word() => true,
        Operation::Unlock => mutex::would_release(object, world.tid(number)),
        Operation::ReadLock | Operation::WriteLock => {
            !rwlock::is_written_by(object, world.tid(number))
        }
        Operation::TimedWriteLock => rwlock::is_writable(object) || rwlock::prefers_writers(object),
        Operation::RwUnlock => rwlock::is_written(object),
        Operation::Ready => task.open_files.get().is_none_or(|awaited| awaited.changes),
        Operation::Transfer => task.is_over(),
        Operation::Join => !stall::joins_in_vain(task),
        other => locks::would_succeed(other, object, gate.is_of_word()).unwrap_or(other.is_write()),
    };
    PendingOperation {
        mutex: identity::of(mutex),
        writes,
        value,
        counting,
        has_timeout: timed,
        enabled: enabled(world, task)
            && !stall::is_stalled(&stalls, number, task)
            && !task.not_due.get(),
        not_due: task.not_due.get(),
        awaited_objects,
        restored_objects,
        further_objects: if has_further { further_objects(task, timed) } else { Objects::NONE },
        message: message(task),
        taken: atoms::taken(task),
        // No reduction knows all the objects of a wait on more than two futexes.
        awaits_unknown: awaits_unknown || task.several.get().1 > 2,
        woken: task.woken.get(),
        cancellable: cancellation::is_at_point(task),
        finds_signals: task.open_files.get().is_some_and(|awaited| awaited.signals),
        interrupts_step: task.alerts.get() & ALERT_BEFORE_STEP != 0,
        is_apart: task.open_files.get().is_some_and(|awaited| awaited.is_apart()),
        may_satisfy: predicates::may_satisfy(operation),
        may_break: predicates::may_break(operation, task),
        is_needed: predicates::is_needed(number),
        is_at_site,
        is_worth_holding: is_at_site && predicates::is_worth_holding(task),
        writes_condition: predicates::writes_condition(operation, task),
        prefers_writers: operation == Operation::WriteLock && rwlock::prefers_writers(object),
        ..PendingOperation::new(
            TaskId(number),
            operation,
            of,
            identity::of_code(site) ^ task.frames.get(),
        )
    }
}

/// The message of a pipe that a task's pending operation sends or receives, as an object; 0 if there is none.
fn message(task: &Task) -> u64 {
    match (task.operation.get(), task.open_files.get()) {
        (Operation::Ready, Some(awaited)) => {
            awaited.read.map_or(0, |read| read.message(task.is_over()))
        }
        (Operation::Write, Some(awaited)) => pipes::sent(awaited.words.iter()),
        (Operation::Write, None) => pipes::sent(std::iter::once(task.object.get())),
        _ => 0,
    }
}

/// The objects of a task's pending operation but the first. `timed`: it may continue without being
/// woken.
#[cold]
fn further_objects(task: &Task, timed: bool) -> Objects<1> {
    let mut all = Vec::new();
    if timed || task.operation.get() != Operation::FutexWoken {
        atoms::each_object(task, |object| all.push(object.identity()));
    }
    all.into_iter().skip(1).collect()
}
