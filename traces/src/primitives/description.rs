//! The properties of an operation except for its effect, which is the runtime's model.

use crate::object::ObjectKind;
use crate::operation::Operation;

/// How an operation depends on those of other tasks. `search::reduction::events` derives which
/// operations commute from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// It commutes with every operation of another task.
    Nothing,
    /// It reads its object.
    Reads,
    /// It changes its object.
    Changes,
    /// It changes its object if it succeeds, and otherwise reads it.
    Tries,
    /// It locks its object, and waits until that is free. It reads the object if its task holds it
    /// already.
    Locks,
    /// It locks its object in shared mode, which commutes with others that do so.
    Shares,
    /// It unlocks its object. It reads the object if that stays locked.
    Unlocks,
    /// It unlocks its object, which other tasks may hold in shared mode.
    UnlocksOrUnshares,
    /// It takes one from a count, and waits until there is one.
    Takes,
    /// It adds one to a count.
    Posts,
    /// It has separate rules in `search::reduction::events`.
    Special,
}

/// What an operation orders: which earlier operations happen before the ones that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Nothing, or its order is noted elsewhere (as that of creating a task).
    Nothing,
    /// If it succeeds, it acquires what was released at its object.
    Acquires,
    /// The same, and it acquires what readers released there.
    AcquiresFromAll,
    /// It acquires what was released at its object and at its mutex.
    AcquiresWithMutex,
    /// It releases at its object.
    Releases,
    /// It releases at its object, as a writer or as a reader.
    ReleasesOne,
    /// It releases at its mutex.
    ReleasesMutex,
    /// All operations with this order on one object are ordered. The safe choice.
    Both,
}

/// What the value of a step means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// An error number, 0 for none.
    Error,
    /// The contents of memory.
    Memory,
    /// How many tasks it woke.
    Woken,
    /// How many tasks it woke or moved.
    WokenOrMoved,
    /// Not 0 for the last task to arrive.
    Last,
    /// The number of a signal.
    Signal,
    /// The exit status.
    Status,
}

pub(crate) const WRITES: u16 = 1;
pub(crate) const YIELDS: u16 = 1 << 1;
pub(crate) const TIMES_OUT: u16 = 1 << 2;
pub(crate) const ACQUIRES_LOCK: u16 = 1 << 3;
pub(crate) const SHARED_LOCK: u16 = 1 << 4;
pub(crate) const RELEASES_LOCK: u16 = 1 << 5;
pub(crate) const DESTROYS: u16 = 1 << 6;
pub(crate) const CONDITION_WAKE: u16 = 1 << 7;
pub(crate) const RETURNS: u16 = 1 << 8;

/// One operation of a primitive. By default it has an error number as its value, changes its object
/// (in the sense of [`Dependence::Changes`]) and orders all operations on that.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    pub(super) operation: Operation,
    /// A short name for the user: `lock`, `wait`, `create`.
    pub name: &'static str,
    /// The kind of object on which it acts.
    pub object: ObjectKind,
    /// The sign in reports; none for the sign of a task that begins to wait.
    pub sign: Option<&'static str>,
    /// What the value of its step means.
    pub value: Value,
    /// How it depends on the operations of other tasks.
    pub dependence: Dependence,
    /// What it orders.
    pub order: Order,
    pub(super) flags: u16,
}

impl Description {
    pub(super) const fn new(
        operation: Operation,
        name: &'static str,
        object: ObjectKind,
    ) -> Description {
        let (value, dependence, order) = (Value::Error, Dependence::Changes, Order::Both);
        Description { operation, name, object, sign: None, value, dependence, order, flags: 0 }
    }

    const fn with(mut self, flag: u16) -> Description {
        self.flags |= flag;
        self
    }

    /// Sets the sign in reports.
    pub(super) const fn sign(mut self, sign: &'static str) -> Description {
        self.sign = Some(sign);
        self
    }

    /// Two of it on one object do not commute. (A reduction asks [`Description::dependence`]; this
    /// is for strategies that see no more than the operation and the object.)
    pub(super) const fn writes(self) -> Description {
        self.with(WRITES)
    }

    /// The task yields or begins to wait with it: a switch after it is no preemption.
    pub(super) const fn yields(self) -> Description {
        self.with(YIELDS)
    }

    /// The task returns with it from a wait, when the object may be destroyed already.
    pub(super) const fn returns(self) -> Description {
        self.with(RETURNS)
    }

    /// Its value may be `ETIMEDOUT`.
    pub(super) const fn may_time_out(self) -> Description {
        self.with(TIMES_OUT)
    }

    /// If it succeeds, its task holds its object afterwards.
    pub(super) const fn acquires_lock(self) -> Description {
        self.with(ACQUIRES_LOCK)
    }

    /// The same, in shared mode.
    pub(super) const fn shares_lock(self) -> Description {
        self.with(ACQUIRES_LOCK | SHARED_LOCK)
    }

    /// Its task releases its object.
    pub(super) const fn releases_lock(self) -> Description {
        self.with(RELEASES_LOCK)
    }

    /// It destroys its object.
    pub(super) const fn destroys(self) -> Description {
        self.with(DESTROYS)
    }

    /// It is the second half of a wait on a condition variable, which locks a mutex.
    pub(super) const fn wakes_and_locks(self) -> Description {
        self.with(CONDITION_WAKE).returns()
    }

    /// Sets the meaning of its value.
    pub(super) const fn value(mut self, value: Value) -> Description {
        self.value = value;
        self
    }

    /// Sets how it depends on the operations of other tasks.
    pub(super) const fn depends(mut self, dependence: Dependence) -> Description {
        self.dependence = dependence;
        self
    }

    /// Sets what it orders.
    pub(super) const fn orders(mut self, order: Order) -> Description {
        self.order = order;
        self
    }
}
