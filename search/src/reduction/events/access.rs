//! How an operation accesses an object.

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
}

impl Access {
    /// Whether two accesses commute.
    #[must_use]
    pub fn commutes(self, other: Access) -> bool {
        let shares = |access| matches!(access, Access::Share | Access::Unshare);
        (self == Access::Read && other == Access::Read) || (shares(self) && shares(other))
    }
}
