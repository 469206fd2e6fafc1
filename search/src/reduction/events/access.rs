//! How an operation accesses an object.

use crate::reduction::pending::Counting;

/// How an operation accesses an object, as far as other operations on the object can observe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads the object without changing it.
    Read,
    /// Changes the object, or does something else that does not commute.
    Write,
    /// Locks a mutex; may block.
    Lock,
    /// Releases a mutex.
    Unlock,
    /// Decrements a semaphore; may block.
    Take,
    /// Increments a semaphore. The flag says whether the value was 0, so that the increment may
    /// enable a task.
    Post(bool),
    /// Takes a lock in shared mode; may block.
    Share,
    /// Releases a lock in shared mode.
    Unshare,
    /// Adds to a number that the task does not observe.
    Add,
    /// Increments a positive counter, whose value the task does not observe.
    Raise,
    /// Decrements a counter that is positive afterwards, which is all that the task observes. The flag
    /// says whether it stays positive if another task decrements it, too.
    Lower(bool),
}

/// Accesses of one group commute with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Reads.
    Reads,
    /// Acquisitions and releases in shared mode.
    Shared,
    /// Additions to a number.
    Adds,
    /// Increments of a positive counter.
    Raises,
    /// Decrements of a counter that stays positive.
    Lowers,
}

impl Group {
    /// The number of groups.
    pub const COUNT: usize = 5;
}

impl Access {
    /// How an operation that counts accesses a counter of this value, or any other update a number.
    #[must_use]
    pub fn of_count(counting: Counting, value: u64) -> Access {
        match (counting, value) {
            (Counting::Adds, _) => Access::Add,
            (Counting::Raises, 1..) => Access::Raise,
            (Counting::Lowers, 2..) => Access::Lower(value > 2),
            _ => Access::Write,
        }
    }

    /// The group that the access belongs to; none if it commutes with no other.
    #[must_use]
    pub fn group(self) -> Option<Group> {
        match self {
            Access::Read => Some(Group::Reads),
            Access::Share | Access::Unshare => Some(Group::Shared),
            Access::Add => Some(Group::Adds),
            Access::Raise => Some(Group::Raises),
            Access::Lower(_) => Some(Group::Lowers),
            Access::Write | Access::Lock | Access::Unlock | Access::Take | Access::Post(_) => None,
        }
    }

    /// Whether two accesses, both executed in one execution, commute in it. Of several decrements after
    /// which the counter was positive, all orders have the same effect; the one after which it was not is a
    /// [`Access::Write`]. (So the order of an execution is the same for all that are equivalent to it, as
    /// "Optimal Dynamic Partial Order Reduction" requires, although it depends on values.)
    #[must_use]
    pub fn commuted(self, other: Access) -> bool {
        self.group().is_some_and(|group| other.group() == Some(group))
    }

    /// Whether an access that is pending commutes with one that another task executes now.
    #[must_use]
    pub fn commutes(self, other: Access) -> bool {
        match (self, other) {
            (Access::Lower(one), Access::Lower(another)) => one && another,
            _ => self.commuted(other),
        }
    }

    /// Whether a pending access commutes with any number of such accesses of other tasks.
    #[must_use]
    pub fn commutes_with_many(self, other: Access) -> bool {
        !matches!(self, Access::Lower(_)) && self.commuted(other)
    }
}
