//! What can go wrong in an execution.

use crate::{Frame, Site, TaskId};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Every way an execution can fail, and every finding that is reported beside failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[repr(u8)]
        pub enum FailureKind { $($(#[$doc])* $variant = $code,)* }

        impl FailureKind {
            /// All of them.
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
    /// Nobody can move, and not everybody is done.
    Deadlock = 1, "deadlock";
    /// Nobody can move, since a task waits for a lock that it holds itself.
    SelfDeadlock = 2, "self-deadlock";
    /// `assert` failed.
    Assertion = 3, "assertion";
    /// `abort` was called.
    Abort = 4, "abort";
    /// A C++ exception that nobody catches.
    UncaughtException = 5, "uncaught-exception";
    /// A Rust panic that nobody catches.
    Panic = 6, "panic";
    /// A fatal signal: a bad address, a division by zero.
    Crash = 7, "crash";
    /// A task ran off the end of its stack.
    StackOverflow = 8, "stack-overflow";
    /// The program ended with a status other than 0.
    Exit = 9, "exit";
    /// The tasks move for ever without getting anywhere.
    Livelock = 10, "livelock";
    /// A task runs for ever without reaching a scheduling point.
    Spin = 11, "spin";
    /// A heap block was used after it was freed.
    UseAfterFree = 12, "use-after-free";
    /// A heap block was freed twice, or freed without having been allocated.
    DoubleFree = 13, "double-free";
    /// A heap block was written past its end.
    Overflow = 14, "overflow";
    /// All misuses of locks and the like, in lists of kinds, and in traces of earlier versions, which
    /// did not tell them apart.
    LockMisuse = 15, "lock-misuse";
    /// The program did something that is not modelled, so that nothing can be said.
    Unsupported = 16, "unsupported";
    /// Two unordered accesses of which at least one is known not to be atomic.
    Race = 17, "race";
    /// Two unordered accesses of which nothing more is known.
    Conflict = 18, "conflict";
    /// A heap block that nobody freed.
    Leak = 19, "leak";
    /// A thread was joined or detached against the rules.
    ThreadMisuse = 20, "thread-misuse";
    /// A lock was unlocked by a task that does not hold it.
    UnlockNotHeld = 21, "unlock-not-held";
    /// A lock or the like was destroyed, or initialised again, while it was in use.
    ObjectInUse = 22, "object-in-use";
    /// A lock or the like was used after it was destroyed.
    UsedDestroyed = 23, "used-destroyed";
    /// A lock or the like was used that was never initialised, written over, or copied while locked.
    Uninitialised = 24, "uninitialised";
    /// A condition was waited for with a mutex that is not held, or with two at the same time.
    WaitMutex = 25, "wait-mutex";
    /// Nobody can move, since a barrier is for more tasks than are left to come.
    BarrierCount = 26, "barrier-count";
    /// A task that reads a lock waits to read it again, behind a writer that waits for it.
    ReadRecursion = 27, "read-recursion";
    /// A task ended with a lock held.
    LockLeftHeld = 28, "lock-left-held";
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

    /// Whether it counts as a failure unless the user says otherwise.
    #[must_use]
    pub fn fails_by_default(self) -> bool {
        !matches!(
            self,
            FailureKind::Race
                | FailureKind::Conflict
                | FailureKind::Leak
                | FailureKind::LockLeftHeld
                | FailureKind::Unsupported
        )
    }

    /// Whether tasks wait for each other, or for what nobody will do.
    #[must_use]
    pub fn is_deadlock(self) -> bool {
        use FailureKind::{BarrierCount, Deadlock, ReadRecursion, SelfDeadlock};
        matches!(self, Deadlock | SelfDeadlock | BarrierCount | ReadRecursion)
    }

    /// Whether a lock or the like was used against its rules, and it does not count as something else,
    /// too: what [`FailureKind::LockMisuse`] stands for.
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

/// What a task was doing when the execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskState {
    /// It was the one that moved last.
    Running,
    /// It could have moved.
    Runnable,
    /// It waited; the text says for what, as in `lock m, held by T2`.
    Blocked(String),
    /// It had ended.
    Exited,
}

/// One task's stack at the end of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskStack {
    /// Whose.
    pub task: TaskId,
    /// What it was doing.
    pub state: TaskState,
    /// Innermost first.
    pub frames: Vec<Frame>,
}

/// `task` waits for `object`, which `holder` has.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitEdge {
    /// Who waits.
    pub task: TaskId,
    /// For what: an index into [`crate::Execution::objects`].
    pub object: Option<u32>,
    /// Who would have to move first, where one task is known to.
    pub holder: Option<TaskId>,
    /// Where it waits.
    pub site: Option<Site>,
}

/// How an execution failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// The same for every execution that fails in the same way and place; stable over runs.
    pub signature: String,
    /// One line for a person.
    pub message: String,
    /// Whose step it was, where it was one task's.
    pub task: Option<TaskId>,
    /// Where.
    pub site: Option<Site>,
    /// The same for a person: `queue.c:41`.
    pub place: String,
    /// Who waits for whom; for a deadlock by locks, a cycle in order.
    pub waits: Vec<WaitEdge>,
    /// The stack of every task that was alive.
    pub stacks: Vec<TaskStack>,
    /// What happened before to the block of the heap that it is about; the two accesses of a race, the
    /// earlier first.
    #[serde(default)]
    pub past: Vec<Past>,
}

/// Something that happened earlier in an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Past {
    /// What: allocated, freed (a block), or an access to memory in words.
    pub what: String,
    /// Who did it.
    pub task: TaskId,
    /// How many steps there were before it.
    pub step: u64,
    /// The stack, innermost first.
    pub frames: Vec<Frame>,
    /// The locks that the task had, where it is an access that races.
    #[serde(default)]
    pub locks: Vec<u32>,
}

impl Past {
    /// What happened, as a verb and what it was done to.
    #[must_use]
    pub fn words(&self) -> String {
        if self.what.contains(' ') { self.what.clone() } else { format!("{} the block", self.what) }
    }
}
