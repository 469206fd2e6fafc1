//! What an operation does to an object.

/// What an operation does to an object, as far as other operations on it can observe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads without a change.
    Read,
    /// Changes the object, or does something else that does not commute.
    Write,
    /// Locks a mutex, and waits for it if necessary.
    Lock,
    /// Releases a mutex.
    Unlock,
    /// Decrements a semaphore, and waits if necessary.
    Take,
    /// Increments a semaphore; whether its value was 0, so that this may enable a task.
    Post(bool),
    /// Takes a lock in shared mode, and waits if necessary.
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
