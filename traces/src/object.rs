//! What operations act on: locks, condition variables, semaphores, memory words, tasks.

use crate::{Site, TaskId};
use serde::{Deserialize, Serialize};

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A task, as in create, join and detach.
    Task,
    /// A mutex.
    Mutex,
    /// A condition variable.
    Condition,
    /// A semaphore.
    Semaphore,
    /// A word used through the futex call.
    Futex,
    /// A once flag.
    Once,
    /// A file descriptor.
    Descriptor,
    /// Plain memory.
    Memory,
    /// A read-write lock.
    RwLock,
    /// A barrier.
    Barrier,
    /// A spin lock.
    SpinLock,
}

impl ObjectKind {
    /// The name for the user.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Task => "task",
            ObjectKind::Mutex => "mutex",
            ObjectKind::Condition => "condition",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Futex => "futex",
            ObjectKind::Once => "once",
            ObjectKind::Descriptor => "descriptor",
            ObjectKind::Memory => "memory",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::Barrier => "barrier",
            ObjectKind::SpinLock => "spin lock",
        }
    }
}

/// Where an object is, in terms that are equal in every execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectLocation {
    /// It is a task.
    Task(TaskId),
    /// A file descriptor.
    Descriptor(i32),
    /// A variable with static storage: module and offset.
    Static(Site),
    /// In a heap block: the ordinal of its allocation in the execution, and the offset in it.
    Heap {
        /// How many allocations the program made before this one.
        ordinal: u64,
        /// The offset from the start of the block.
        offset: u64,
        /// The size that the program requested.
        size: u64,
        /// The code location of the allocation.
        site: Option<Site>,
    },
    /// On a task's stack, at this distance below its highest address.
    Stack {
        /// The task that owns the stack.
        task: TaskId,
        /// The distance from the stack's highest address.
        below: u64,
    },
    /// Elsewhere (such as a mapping that the program created): numbered in the order of first use.
    Other(u32),
}

/// One object of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its location.
    pub place: ObjectLocation,
    /// Its name for the user: a symbol, or the code location of the allocation. Never empty.
    pub name: String,
}

/// The name of the word in which the kernel clears a thread's id when the thread ends. Its address may be used for
/// one thread after another.
pub const THREAD_END: &str = "thread end";
