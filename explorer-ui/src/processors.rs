//! The processors of this machine.

/// How many of them this process may use; 1 if that is unknown.
#[must_use]
pub fn count() -> u32 {
    std::thread::available_parallelism().map_or(1, |number| number.get() as u32)
}
