//! Why a task is blocked.

use std::fmt;
use traces::{Execution, TaskId};

/// Why a task is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedBy {
    /// Another task has held the lock since this step.
    Held {
        /// An index into [`Execution::objects`].
        object: u32,
        /// The holder.
        holder: TaskId,
        /// The step of the acquisition, from 0.
        since: usize,
    },
    /// The task joins a task that has not ended.
    NotEnded(TaskId),
    /// It waits for a wake-up from a condition variable or a futex.
    NotWoken(u32),
    /// The semaphore's value is 0.
    Empty(u32),
    /// Not all tasks have reached the barrier.
    NotAllArrived(u32),
    /// A writer waits for a read-write lock that prefers writers.
    Writer {
        /// An index into [`Execution::objects`].
        object: u32,
        /// The waiting writer.
        writer: TaskId,
    },
    /// The runtime's description at the end of the execution.
    Said(String),
    /// The reason is unknown.
    Unknown,
}

/// Displays the reason, with names from the execution.
#[derive(Debug, Clone, Copy)]
pub struct BlockedText<'a>(pub &'a BlockedBy, pub &'a Execution);

impl fmt::Display for BlockedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |object: u32| match self.1.objects.get(object as usize) {
            Some(object) => object.name.as_str(),
            None => "something",
        };
        match self.0 {
            BlockedBy::Held { object, holder, since } => {
                write!(f, "{} is held by {holder} since step {}", name(*object), since + 1)
            }
            BlockedBy::NotEnded(task) => write!(f, "{task} has not ended"),
            BlockedBy::NotWoken(object) => {
                write!(f, "it has not been woken from {}", name(*object))
            }
            BlockedBy::Empty(object) => write!(f, "{} is at 0", name(*object)),
            BlockedBy::NotAllArrived(object) => {
                write!(f, "not all tasks have reached {}", name(*object))
            }
            BlockedBy::Writer { object, writer } => {
                write!(f, "{writer} waits to write {}, and writers have priority", name(*object))
            }
            BlockedBy::Said(what) => write!(f, "waits: {what}"),
            BlockedBy::Unknown => f.write_str("it waits for something that was not recorded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_a_sentence() {
        use traces::{Object, ObjectKind, ObjectLocation, Site};
        let place = ObjectLocation::Static(Site { module: 0, offset: 0x4000 });
        let object = Object { kind: ObjectKind::Mutex, place, name: "gate".to_owned() };
        let execution = Execution { objects: vec![object], ..Execution::default() };
        let text = |why: BlockedBy| BlockedText(&why, &execution).to_string();
        let task = TaskId(2);
        for (why, expected) in [
            (
                BlockedBy::Held { object: 0, holder: task, since: 3 },
                "gate is held by T2 since step 4",
            ),
            (BlockedBy::NotEnded(task), "T2 has not ended"),
            (BlockedBy::NotWoken(0), "it has not been woken from gate"),
            (BlockedBy::Empty(0), "gate is at 0"),
            (BlockedBy::NotAllArrived(0), "not all tasks have reached gate"),
            (
                BlockedBy::Writer { object: 0, writer: task },
                "T2 waits to write gate, and writers have priority",
            ),
            (BlockedBy::Said("a semaphore".to_owned()), "waits: a semaphore"),
            (BlockedBy::Unknown, "it waits for something that was not recorded"),
        ] {
            assert_eq!(text(why), expected);
        }
    }
}
