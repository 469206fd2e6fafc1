//! The operation that a task is about to execute.

use super::objects::Objects;
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// Whether an atomic operation counts: adds to a number, of which the task observes little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Counting {
    /// No.
    #[default]
    None,
    /// It adds or subtracts any number, and the task does not observe the result.
    Adds,
    /// It adds 1, and the task observes at most whether the result is positive.
    Raises,
    /// It subtracts 1, and the task observes at most whether the result is positive.
    Lowers,
}

/// Whether a test harness runs in main, which then runs only when no other task can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Harness {
    /// No: main is a task like the others.
    #[default]
    None,
    /// Yes, and the operation is another task's.
    Test,
    /// Yes, and the operation is main's.
    Main,
}

/// The operation that a task, which has not ended, is about to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOperation {
    /// The task.
    pub task: TaskId,
    /// The operation.
    pub operation: Operation,
    /// The object: a number that identifies it in every execution with the same prefix; a task's
    /// object is its number plus one; 0 if there is no object.
    pub object: u64,
    /// The mutex of a wait on a condition variable, or 0.
    pub mutex: u64,
    /// Further objects of the operation: it reads them if it only reads `object`, and otherwise
    /// changes them.
    pub further_objects: Objects<1>,
    /// The message ([`super::stream`]) that the operation sends, or receives if it is a wait; or 0.
    pub message: u64,
    /// An object that the operation changes whatever it does to the others: the events of an epoll descriptor of which
    /// it takes some; or 0.
    pub taken: u64,
    /// The code location.
    pub site: u64,
    /// The current value of the semaphore or counter; for a counter, 0 stands for all values that are not positive.
    pub value: u64,
    /// Whether the operation counts.
    pub counting: Counting,
    /// Whether the task is enabled.
    pub enabled: bool,
    /// Whether only time keeps the task from its next step, an expiry ([`crate::time`]).
    pub not_due: bool,
    /// Whether a signal, a broadcast or a similar operation has ended the wait.
    pub woken: bool,
    /// Whether the task may time out instead of acquiring the object.
    pub has_timeout: bool,
    /// Whether the operation would change the object now. For a join: whether it may find that the
    /// task has ended. For a wait for a descriptor: whether the step also uses the descriptor. A compare-and-swap or `trylock` that
    /// would fail does not change it, nor does a nested lock of a recursive mutex. For the unlock
    /// of a read-write lock: whether a writer releases it. For the locks of a read-write lock:
    /// whether the task does not already hold it as a writer.
    pub writes: bool,
    /// Whether the lock blocks readers while a writer waits.
    pub prefers_writers: bool,
    /// Whether the operation is a cancellation point of the task.
    pub cancellable: bool,
    /// Whether signals and timers change what a read finds: it looks at descriptors that report them.
    pub finds_signals: bool,
    /// Whether a signal that the task is about to handle came when it was about to take a step that nothing delays.
    pub interrupts_step: bool,
    /// Whether the wait is for no data of a descriptor, so that waits whose objects are not known do not affect it.
    pub is_apart: bool,
    /// The objects whose change the task awaits in a spin loop ([`crate::spin`]).
    pub awaited_objects: Objects<3>,
    /// Further such objects, which the task changes itself in each iteration, and changes back.
    pub restored_objects: Objects<1>,
    /// Whether the task awaits changes of further, unknown objects.
    pub awaits_unknown: bool,
    /// Whether the operation may change what a condition of a predicate reads.
    pub may_satisfy: bool,
    /// Whether the operation may change a condition that is watched in every state, so that its order
    /// with all other such operations matters.
    pub may_break: bool,
    /// Whether the task is needed at a site of a predicate whose condition may hold now.
    pub is_needed: bool,
    /// Whether the task is at a site of a predicate.
    pub is_at_site: bool,
    /// Whether a predicate may hold with the task at its site.
    pub is_worth_holding: bool,
    /// Whether the operation writes to a variable that a predicate's condition reads.
    pub writes_condition: bool,
    /// Whether the operation belongs to a test harness.
    pub harness: Harness,
}

/// Applies the rule of a test harness in main to the tasks that have not ended, which are in ascending
/// order: main is not enabled while another task is.
pub fn put_main_last(tasks: &mut [PendingOperation]) {
    let others = tasks.iter().any(|next| next.enabled && next.task != TaskId::MAIN);
    for next in tasks {
        let is_main = next.task == TaskId::MAIN;
        next.enabled &= !is_main || !others;
        next.harness = if is_main { Harness::Main } else { Harness::Test };
    }
}

/// Divides the objects that a task awaits, each with whether its loop changes it for a while, into
/// those that it only reads and those that it changes.
#[must_use]
pub fn split_awaited(
    objects: impl Iterator<Item = (u64, bool)> + Clone,
) -> (Objects<3>, Objects<1>) {
    let of =
        |restored| move |(object, restores): (u64, bool)| (restores == restored).then_some(object);
    (objects.clone().filter_map(of(false)).collect(), objects.filter_map(of(true)).collect())
}

impl PendingOperation {
    /// An enabled task that is about to execute `operation` on `object`.
    #[must_use]
    pub fn new(task: TaskId, operation: Operation, object: u64, site: u64) -> PendingOperation {
        PendingOperation {
            task,
            operation,
            object,
            mutex: 0,
            further_objects: Objects::NONE,
            message: 0,
            taken: 0,
            site,
            value: 0,
            counting: Counting::None,
            enabled: true,
            not_due: false,
            woken: false,
            has_timeout: false,
            writes: operation.is_write(),
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
        }
    }

    /// Whether the effect of the operation depends on state that these fields do not contain: which
    /// readers a waiting writer blocks, what a spin loop waits for, how often a wait times out, or
    /// what a task executes after a signal handler. (Spurious wake-ups are counted and are a
    /// choice, so they hide nothing.)
    #[must_use]
    pub fn hides_something(&self) -> bool {
        // These waits with time limits are compared with all schedules (`simulation/timed.rs`); the
        // others are not.
        use Operation as O;
        let is_compared = matches!(
            self.operation,
            O::SpuriousWake
                | O::TimedLock
                | O::TimedWake
                | O::SemTimedWait
                | O::FutexWoken
                | O::Ready
                | O::SignalWait
        );
        let times_out = self.has_timeout && !is_compared;
        self.prefers_writers || self.awaits_unknown || times_out || self.may_run_handler()
    }

    /// Whether the operation may make a task execute the handler of a signal next.
    #[must_use]
    pub fn may_run_handler(&self) -> bool {
        match self.operation {
            Operation::Kill | Operation::Handler => true,
            // The timer sends a signal that a task handles.
            Operation::Timer => self.object != 0,
            _ => false,
        }
    }
}
