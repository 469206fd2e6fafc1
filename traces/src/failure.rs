//! The kinds of failure of an execution.

use crate::{Frame, Site, TaskId};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Every way in which an execution can fail, and every finding that is reported besides
        /// failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[repr(u8)]
        pub enum FailureKind { $($(#[$doc])* $variant = $code,)* }

        impl FailureKind {
            /// All kinds of failures.
            pub const ALL: &'static [FailureKind] = &[$(FailureKind::$variant,)*];

            /// The name in the command line, in reports and in files.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(FailureKind::$variant => $name,)* }
            }

            /// The kind with this code.
            #[must_use]
            pub fn from_code(code: u8) -> Option<FailureKind> {
                match code { $($code => Some(FailureKind::$variant),)* _ => None }
            }
        }
    };
}

kinds! {
    /// No task is enabled, and not all tasks have ended.
    Deadlock = 1, "deadlock";
    /// No task is enabled, because a task waits for a lock that it holds itself.
    SelfDeadlock = 2, "self-deadlock";
    /// `assert` failed.
    Assertion = 3, "assertion";
    /// `abort` was called.
    Abort = 4, "abort";
    /// A C++ exception that no handler catches.
    UncaughtException = 5, "uncaught-exception";
    /// A Rust panic that is not caught.
    Panic = 6, "panic";
    /// A fatal signal: an invalid address, a division by zero.
    Crash = 7, "crash";
    /// A task ran off the end of its stack.
    StackOverflow = 8, "stack-overflow";
    /// The program ended with a status other than 0.
    Exit = 9, "exit";
    /// Livelock: tasks run forever without progress.
    Livelock = 10, "livelock";
    /// A task runs forever without reaching a scheduling point.
    Spin = 11, "spin";
    /// A heap block was used after it was freed.
    UseAfterFree = 12, "use-after-free";
    /// A heap block was freed twice, or freed without having been allocated.
    DoubleFree = 13, "double-free";
    /// A heap block was written past its end.
    Overflow = 14, "overflow";
    /// All kinds of lock misuse together: in lists of kinds, and in traces of earlier versions,
    /// which did not distinguish them.
    LockMisuse = 15, "lock-misuse";
    /// The program did something that Heddle does not model, so that no result is possible.
    Unsupported = 16, "unsupported";
    /// A data race: two unordered accesses, at least one of which is known not to be atomic.
    Race = 17, "race";
    /// Two unordered accesses that may be atomic or not.
    Conflict = 18, "conflict";
    /// A heap block that the program never freed.
    Leak = 19, "leak";
    /// A thread was joined or detached twice, or in another way that POSIX forbids.
    ThreadMisuse = 20, "thread-misuse";
    /// A lock was unlocked by a task that does not hold it.
    UnlockNotHeld = 21, "unlock-not-held";
    /// A synchronisation object was destroyed, or initialised again, while it was in use.
    ObjectInUse = 22, "object-in-use";
    /// A synchronisation object was used after it was destroyed.
    UsedDestroyed = 23, "used-destroyed";
    /// A synchronisation object was used that was never initialised, was overwritten, or was copied
    /// while locked.
    Uninitialised = 24, "uninitialised";
    /// A task waited on a condition variable with a mutex that it does not hold, or tasks waited
    /// with two different mutexes at the same time.
    WaitMutex = 25, "wait-mutex";
    /// No task is enabled, because a barrier needs more tasks than can still arrive.
    BarrierCount = 26, "barrier-count";
    /// A task that holds a read lock waits for it a second time, behind a waiting writer.
    ReadRecursion = 27, "read-recursion";
    /// A task ended while it held a lock.
    LockLeftHeld = 28, "lock-left-held";
    /// No failure of the program: the tasks are where a predicate (`--when`) wants them, and its
    /// condition holds.
    Satisfied = 29, "satisfied";
    /// A condition that the user watches (`--always`, `--never`) was broken.
    BrokenCondition = 30, "broken-condition";
    /// A signal handler interrupts a library function that is not async-signal-safe and calls another one
    /// on the same hidden state.
    SignalUnsafe = 31, "signal-unsafe";
}

impl FailureKind {
    /// The code used in records.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<FailureKind> {
        FailureKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether the kind counts as a failure by default.
    #[must_use]
    pub fn fails_by_default(self) -> bool {
        !matches!(
            self,
            FailureKind::Race
                | FailureKind::Conflict
                | FailureKind::Leak
                | FailureKind::LockLeftHeld
                | FailureKind::Unsupported
                | FailureKind::Satisfied
        )
    }

    /// Whether the failure is a kind of deadlock: tasks wait for each other, or for an event that
    /// no task can cause.
    #[must_use]
    pub fn is_deadlock(self) -> bool {
        use FailureKind::{BarrierCount, Deadlock, ReadRecursion, SelfDeadlock};
        matches!(self, Deadlock | SelfDeadlock | BarrierCount | ReadRecursion)
    }

    /// Whether the failure is misuse of a synchronisation object and of no other kind: the kinds
    /// that [`FailureKind::LockMisuse`] stands for.
    #[must_use]
    pub fn is_lock_misuse(self) -> bool {
        use FailureKind::{
            LockMisuse, ObjectInUse, Uninitialised, UnlockNotHeld, UsedDestroyed, WaitMutex,
        };
        matches!(
            self,
            LockMisuse | UnlockNotHeld | ObjectInUse | UsedDestroyed | Uninitialised | WaitMutex
        )
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The state of a task at the end of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskState {
    /// The task executed the last step.
    Running,
    /// The task was enabled.
    Runnable,
    /// The task was blocked. The text says on what, as in `lock m, held by T2`.
    Blocked(String),
    /// The task had ended.
    Exited,
}

/// One task's stack at the end of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskStack {
    /// The task.
    pub task: TaskId,
    /// Its state.
    pub state: TaskState,
    /// The backtrace, innermost frame first.
    pub frames: Vec<Frame>,
}

/// `task` waits for `object`, which `holder` holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitEdge {
    /// The task that waits.
    pub task: TaskId,
    /// The object: an index into [`crate::Execution::objects`].
    pub object: Option<u32>,
    /// The task that would have to run first, if one is known.
    pub holder: Option<TaskId>,
    /// The code location of the wait.
    pub site: Option<Site>,
}

/// How an execution failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// Identifies the failure: equal for all executions that fail in the same way at the same
    /// place, also in later searches.
    pub signature: String,
    /// A message of one line.
    pub message: String,
    /// The task that failed, if the failure belongs to one.
    pub task: Option<TaskId>,
    /// The code location of the failure.
    pub site: Option<Site>,
    /// The same location as text: `queue.c:41`.
    pub place: String,
    /// Which task waits for which; for a deadlock by locks, the cycle in order.
    pub waits: Vec<WaitEdge>,
    /// The backtrace of every task that had not ended.
    pub stacks: Vec<TaskStack>,
    /// Earlier events: the allocation and the free of the heap block in question, or the two
    /// accesses of a race, the earlier first.
    #[serde(default)]
    pub past: Vec<HistoryEvent>,
}

impl Failure {
    /// The text of a finding that is reported beside failures. That of a race has its places.
    #[must_use]
    pub fn as_warning(&self) -> String {
        match self.kind {
            FailureKind::Race => self.message.clone(),
            _ => format!("{} at {}", self.message, self.place),
        }
    }

    /// The panic that ended the execution later, if that is the failure.
    #[must_use]
    pub fn panicked(&self) -> Option<&HistoryEvent> {
        self.past.iter().find(|event| event.what == PANICKED)
    }

    /// The stack of the task that failed, or of the panic that ended the execution later: from the frame at
    /// the failure's place, if it is known. Functions with their places.
    #[must_use]
    pub fn own_stack(&self) -> Vec<String> {
        let raised = self.panicked();
        let own = self.stacks.iter().find(|stack| Some(stack.task) == self.task);
        let frames = raised.map(|event| &event.frames).or(own.map(|stack| &stack.frames));
        let frames = frames.map_or(&[][..], Vec::as_slice);
        let from = frames.iter().position(|frame| frame.place() == self.place);
        frames[from.unwrap_or(0)..].iter().map(Frame::in_words).collect()
    }
}

/// What a task did that raised the panic which ended the execution later.
pub const PANICKED: &str = "panicked";

/// Something that happened earlier in an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// What happened: `allocated` or `freed` (a block), [`PANICKED`], or a description of a memory access.
    pub what: String,
    /// The task that did it.
    pub task: TaskId,
    /// The number of steps before it.
    pub step: u64,
    /// The backtrace, innermost frame first.
    pub frames: Vec<Frame>,
    /// The locks that the task held, if this is an access of a race.
    #[serde(default)]
    pub locks: Vec<u32>,
}

impl HistoryEvent {
    /// What happened, as a verb with its object.
    #[must_use]
    pub fn words(&self) -> String {
        match self.what.as_str() {
            what if what == PANICKED || what.contains(' ') => what.to_owned(),
            what => format!("{what} the block"),
        }
    }
}
