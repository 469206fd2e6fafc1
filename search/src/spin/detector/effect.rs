//! The effects of steps on what other tasks may wait for.

/// The effect of a step on the objects that it accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The step changed nothing and read nothing.
    None,
    /// The step read the objects, and did not change them.
    Read,
    /// The step tried to acquire the lock, and did not.
    Tried(u64),
    /// The step acquired the lock. `tried`: it would not have waited for it.
    Acquired {
        /// The lock.
        lock: u64,
        /// Whether the step would have failed if the lock had been held.
        tried: bool,
    },
    /// The step released the lock.
    Released(u64),
    /// The step changed the object.
    Replaced {
        /// The object.
        object: u64,
        /// A hash of its content before the step.
        before: u64,
        /// A hash of its content after the step.
        after: u64,
    },
    /// The objects may have changed.
    Changed,
}
