//! Virtual time: how late a step may be.
//!
//! Every task has a clock. A deadline counts from the clock of the task that sets it, and an expiry
//! (a sleep that ends, a time limit that passes, a timer that goes off) raises the clock of its task
//! to the deadline. Clocks join, by maximum, from an operation to the operations that depend on it,
//! from a task to those that it creates and wakes, and from a task that ends to the one that joins it.
//! So the clock of a step is a time before which the step cannot happen.
//!
//! The *base* of a state is the least time at which the next step of any task could have happened
//! ([`Clocks::ready`]). An expiry is enabled if its time is at most the base plus the *slack*: no step
//! is later than the slack. Nothing can delay an operation that does not wait, so its time is the clock
//! of its task; that of an acquisition is, too, unless others held the mutex for a while since. The clock
//! of what such a step finds would be of no use: it rises with each iteration of a loop that polls, and a
//! loop with a time limit would expire before a task that was never chosen. For the same reason a task
//! that waits for a mutex counts like one that can run, as long as the owner has it for a moment only. An
//! operation that waits can happen since what it waits for is there: neither another post of its semaphore, nor
//! another expiration of its timer, nor a handler that runs before it makes it later. So a periodic timer gets no
//! further ahead of a task that can run than the slack. Which of several timers an operation waits for is not known:
//! it counts since the latest of their first expirations after what it waits for was taken last, so that each of
//! them makes it later once at most.
//!
//! The base depends on the state only and not on the order in which independent steps led to it, so
//! that independent steps still commute. No step lowers the base, so a step enables expiries and
//! disables none; and the earliest expiry is enabled where nothing else is. The end of a handler is an exception: its
//! steps happen after the signal, and the step that it interrupted may have been possible before.
//!
//! A task that runs long without waiting takes time, too: every [`STEPS`] steps since its clock last
//! rose by an expiry add a second to it, and so do system calls and readings of clocks, of which each
//! counts as a step here: a loop that only makes these would otherwise wait for its time limit for very
//! long ([`seconds`]). The step with which a second is over is an expiry, too: a loop that polls with a time
//! limit waits for other tasks as a sleep does. Reading a clock takes a microsecond, which is counted separately ([`Moment`]), so
//! that it does not delay the task's other steps.

mod candidates;
mod clocks;
mod expirations;
mod moment;
mod objects;

pub use candidates::{Candidate, MutexWaiter, Slack, add_waiters, base, due};
pub use clocks::{Clocks, is_undelayed};
pub use moment::{LONGEST, Moment, READING, SECOND, STEPS, seconds};

/// The default of `--slack`.
pub const SLACK: Slack = Some(SECOND);
