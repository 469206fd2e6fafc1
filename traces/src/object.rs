//! What operations act on: locks, condition variables, semaphores, words, tasks.

use crate::{Site, TaskId};
use serde::{Deserialize, Serialize};

/// What kind of thing an object is to the operations that touch it.
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
    /// The word a person reads.
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

/// Where an object lies, in terms that are the same in every execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// It is a task.
    Task(TaskId),
    /// It is a descriptor.
    Descriptor(i32),
    /// A variable with static storage: module and offset.
    Static(Site),
    /// In a heap block: the ordinal of its allocation in the execution, and the offset in it.
    Heap {
        /// How many allocations the program made before this one.
        ordinal: u64,
        /// The offset from the start of the block.
        offset: u64,
        /// The size that was asked for.
        size: u64,
        /// Where the block was allocated.
        site: Option<Site>,
    },
    /// On a task's stack, so many bytes below its top.
    Stack {
        /// Whose stack.
        task: TaskId,
        /// The distance from the stack's highest address.
        below: u64,
    },
    /// Elsewhere (a mapping of the program's own): numbered in the order of first use.
    Other(u32),
}

/// One object of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Where it is.
    pub place: Place,
    /// What a person calls it: a symbol, or where it was allocated. Never empty.
    pub name: String,
}
