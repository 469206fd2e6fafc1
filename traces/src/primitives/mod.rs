//! The primitives: for each a file that describes its operations. Names and signs in reports, which
//! operations depend on each other, what they order, which of them lock and unlock follow from the
//! descriptions; the runtime's model (`probes/src/primitives`) is what an operation does.

mod barrier;
mod condition;
mod description;
mod descriptor;
mod futex;
mod memory;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod signal;
mod site;
mod spin_lock;
mod task;

pub use description::{Dependence, Description, Order, Value};

use crate::operation::Operation;
use description::{
    ACQUIRES_LOCK, CONDITION_WAKE, DESTROYS, RELEASES_LOCK, RETURNS, SHARED_LOCK, TIMES_OUT,
    WRITES, YIELDS,
};

/// The registry: one line for each primitive.
const PRIMITIVES: &[&[Description]] = &[
    task::OPERATIONS,
    mutex::OPERATIONS,
    condition::OPERATIONS,
    semaphore::OPERATIONS,
    futex::OPERATIONS,
    once::OPERATIONS,
    memory::OPERATIONS,
    descriptor::OPERATIONS,
    rwlock::OPERATIONS,
    barrier::OPERATIONS,
    spin_lock::OPERATIONS,
    signal::OPERATIONS,
    site::OPERATIONS,
];

/// The description of the operation with this code. The build fails unless exactly one primitive
/// describes it.
const fn find(code: u8) -> Description {
    let mut found = None;
    let mut primitive = 0;
    while primitive < PRIMITIVES.len() {
        let operations = PRIMITIVES[primitive];
        let mut index = 0;
        while index < operations.len() {
            if operations[index].operation as u8 == code {
                assert!(found.is_none(), "two primitives describe one operation");
                found = Some(operations[index]);
            }
            index += 1;
        }
        primitive += 1;
    }
    match found {
        Some(description) => description,
        None => panic!("no primitive describes an operation"),
    }
}

/// The index in [`DESCRIPTIONS`] of each operation, by its code.
const INDICES: [u8; 256] = {
    let mut indices = [u8::MAX; 256];
    let mut index = 0;
    while index < Operation::ALL.len() {
        indices[Operation::ALL[index] as usize] = index as u8;
        index += 1;
    }
    indices
};

static DESCRIPTIONS: [Description; Operation::ALL.len()] = {
    let mut all = [find(Operation::ALL[0] as u8); Operation::ALL.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = find(Operation::ALL[index] as u8);
        index += 1;
    }
    all
};

/// The flags of each operation, by its code: the scheduler asks for them in every step.
static FLAGS: [u16; 256] = {
    let mut flags = [0; 256];
    let mut index = 0;
    while index < Operation::ALL.len() {
        let operation = Operation::ALL[index];
        flags[operation as usize] = find(operation as u8).flags;
        index += 1;
    }
    flags
};

/// `ETIMEDOUT`, the value of a step that timed out.
const TIMED_OUT: u64 = 110;

impl Operation {
    /// Its description.
    #[must_use]
    #[inline]
    pub fn description(self) -> &'static Description {
        &DESCRIPTIONS[usize::from(INDICES[self as usize])]
    }

    #[inline]
    fn has(self, flag: u16) -> bool {
        FLAGS[self as usize] & flag != 0
    }

    /// A short name for the user: `lock`, `wait`, `create`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// Whether the operation changes its object, so that two of them on one object do not commute.
    #[must_use]
    #[inline]
    pub fn is_write(self) -> bool {
        self.has(WRITES)
    }

    /// Whether the task yields or begins to wait with this operation: a switch after it is not a
    /// preemption.
    #[must_use]
    #[inline]
    pub fn yields(self) -> bool {
        self.has(YIELDS)
    }

    /// Whether the step reads or changes a lock, a condition variable, a semaphore or a barrier in the
    /// program's memory. A task that waited for one no longer does when it returns: POSIX permits to
    /// destroy a condition variable as soon as all tasks were woken, and a barrier as soon as one has
    /// returned.
    #[must_use]
    pub fn uses_memory(self) -> bool {
        use crate::object::ObjectKind as Kind;
        let object = self.description().object;
        let is_memory = matches!(
            object,
            Kind::Mutex
                | Kind::RwLock
                | Kind::Condition
                | Kind::Semaphore
                | Kind::Barrier
                | Kind::SpinLock
        );
        is_memory && !self.has(RETURNS)
    }

    /// Whether this is the second half of a wait on a condition variable, which locks a mutex.
    #[must_use]
    pub fn is_condition_wake(self) -> bool {
        self.has(CONDITION_WAKE)
    }

    /// Whether a switch after the operation is no preemption, given the operation's value: the task
    /// yielded, or it timed out, so that it had waited and other tasks were enabled meanwhile.
    #[must_use]
    #[inline]
    pub fn yielded_or_timed_out(self, value: u64) -> bool {
        self.yields() || (value == TIMED_OUT && self.may_time_out())
    }

    /// Whether the operation's value may be `ETIMEDOUT`.
    #[must_use]
    #[inline]
    pub fn may_time_out(self) -> bool {
        self.has(TIMES_OUT)
    }

    /// Whether the task holds the lock that is the operation's object afterwards, if the operation
    /// succeeds. (A wait on a condition variable locks its mutex again; callers treat that
    /// separately.)
    #[must_use]
    pub fn acquires_lock(self) -> bool {
        self.has(ACQUIRES_LOCK)
    }

    /// Whether the operation takes a lock in shared (reader) mode.
    #[must_use]
    pub fn is_shared_lock(self) -> bool {
        self.has(SHARED_LOCK)
    }

    /// Whether the operation releases the lock that is its object.
    #[must_use]
    pub fn releases_lock(self) -> bool {
        self.has(RELEASES_LOCK)
    }

    /// Whether the operation destroys its object.
    #[must_use]
    pub fn destroys(self) -> bool {
        self.has(DESTROYS)
    }
}
