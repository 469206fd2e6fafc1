//! Events: the operations of tasks, and which of them depend on each other.

use super::access::Access;
use super::accesses::Accesses;
use super::encoding::{ACCESSES, CONDITIONAL, EXITS, Encoded, USES_UP, WAITS, code};
use crate::reduction::pending::{Counting, Harness, PendingOperation};
use serde::{Deserialize, Serialize};
use traces::compact::Unreadable;
use traces::primitives::Dependence;
use traces::{Operation, TaskId};

/// The counter that numbers tasks, as an object: every creation of a task changes it.
const NUMBERS: u64 = 1;
/// All file descriptors, as one object.
const DESCRIPTORS: u64 = 2;
/// All signals between tasks, as one object.
pub(crate) const SIGNALS: u64 = 3;
/// What the conditions of predicates read, with the sites of the predicates, as one object.
const PREDICATES: u64 = 4;
/// The turn of a test harness, as one object: the harness's operations come after all others that could
/// come first, and before those that they enable.
const HARNESS: u64 = 1 << 61;
/// Combined with a task's number: the object that holds whether the task was cancelled.
const CANCELLED: u64 = 1 << 62;

/// An operation of a task, executed or pending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Encoded", try_from = "Encoded")]
pub struct Event {
    /// The task.
    pub task: TaskId,
    /// The number of the task's operations before this one.
    pub index: u32,
    /// The code location.
    pub site: u64,
    /// The operation.
    pub operation: Operation,
    /// The task that it creates or joins.
    pub other: Option<TaskId>,
    /// Whether the operation ends the process.
    pub exits: bool,
    /// Whether the operation changes no object here, but may change one if it runs at another
    /// point.
    pub conditional: bool,
    /// Whether the task waits until what other tasks do to the objects enables the operation. (Locks
    /// and semaphores have separate kinds of access, which show what enables them.)
    pub waits: bool,
    /// Whether the operation decrements a counter from 1.
    pub uses_up: bool,
    accesses: Accesses,
}

impl Event {
    /// The event for the pending operation of a task that has executed `index` operations.
    #[must_use]
    pub fn new(next: &PendingOperation, index: u32) -> Event {
        let mut event = Event {
            task: next.task,
            index,
            site: next.site,
            operation: next.operation,
            other: None,
            exits: false,
            conditional: false,
            waits: false,
            uses_up: next.counting == Counting::Lowers && next.value == 1,
            accesses: Accesses::NONE,
        };
        let object = next.object;
        // A task that already holds the lock.
        let is_nested = next.enabled && !next.writes;
        match next.operation.description().dependence {
            Dependence::Nothing => {}
            Dependence::Reads => event.touch(object, Access::Read),
            Dependence::Changes => event.touch(object, Access::Write),
            Dependence::Tries if !next.writes => {
                event.conditional = true;
                event.touch(object, Access::Read);
            }
            Dependence::Tries if next.counting != Counting::None => {
                event.touch(object, Access::of_count(next.counting, next.value));
            }
            // It could also run while the lock was held, so it is neither a `Lock` nor a `Share`.
            Dependence::Tries => event.touch(object, Access::Write),
            Dependence::Locks | Dependence::Shares if is_nested => {
                event.touch(object, Access::Read);
            }
            Dependence::Locks if next.prefers_writers => event.touch(object, Access::Write),
            Dependence::Locks => event.touch(object, Access::Lock),
            Dependence::Shares => event.touch(object, Access::Share),
            // An unlock after which the mutex is still held.
            Dependence::Unlocks if !next.writes => event.touch(object, Access::Read),
            Dependence::UnlocksOrUnshares if !next.writes => event.touch(object, Access::Unshare),
            Dependence::Unlocks | Dependence::UnlocksOrUnshares => {
                event.touch(object, Access::Unlock);
            }
            Dependence::Takes => event.touch(object, Access::Take),
            Dependence::Posts => event.touch(object, Access::Post(next.value == 0)),
            Dependence::Special => event.touch_specially(next),
        }
        if !next.further_objects.is_empty() {
            let reads = match next.operation {
                Operation::Ready | Operation::Transfer => !next.writes,
                other => other.description().dependence == Dependence::Reads,
            };
            for further in next.further_objects.iter() {
                event.touch(further, if reads { Access::Read } else { Access::Write });
            }
        }
        if next.message != 0 {
            let receives = next.operation == Operation::Ready;
            let access = if receives { Access::Take } else { Access::Post(true) };
            event.touch(next.message, access);
        }
        if next.taken != 0 {
            event.accesses.put(next.taken, Access::Write);
        }
        if next.finds_signals && event.accesses.to(DESCRIPTORS).is_none() {
            event.touch(DESCRIPTORS, Access::Read);
        }
        // The states between such operations are evaluated.
        if next.may_break {
            event.touch(PREDICATES, Access::Write);
        // Such operations commute with each other as far as predicates are concerned.
        } else if next.may_satisfy {
            event.touch(PREDICATES, Access::Read);
        }
        if next.cancellable {
            event.touch(CANCELLED | u64::from(next.task.0), Access::Read);
        }
        match next.harness {
            Harness::None => {}
            Harness::Test => event.touch(HARNESS, Access::Read),
            Harness::Main => event.touch(HARNESS, Access::Write),
        }
        event.accesses.sort();
        // Others may see such an object while the task has changed it.
        if !next.restored_objects.is_empty() {
            let own = event.accesses.own_first().next();
            for restored in next.restored_objects.iter() {
                match own {
                    Some((object, _)) if object == restored => {
                        event.accesses.set_own(Access::Write);
                    }
                    _ => event.touch(restored, Access::Write),
                }
            }
            event.accesses.sort();
        }
        if !next.awaited_objects.is_empty() {
            let known = event.accesses.clone();
            for awaited in next.awaited_objects.iter().filter(|&one| known.to(one).is_none()) {
                event.touch(awaited, Access::Read);
            }
            event.accesses.sort();
        }
        event
    }

    /// The accesses of an operation with separate rules.
    fn touch_specially(&mut self, next: &PendingOperation) {
        use Operation as O;
        let object = next.object;
        match next.operation {
            O::ExitNow => self.exits = true,
            O::Create => {
                self.other = Some(TaskId(object.saturating_sub(1) as u16));
                self.touch(NUMBERS, Access::Write);
            }
            O::Join if next.writes => self.other = Some(TaskId(object.saturating_sub(1) as u16)),
            // It is known to find that the task has not ended.
            O::Join => {}
            O::Wait => {
                self.touch(object, Access::Write);
                self.touch(next.mutex, Access::Unlock);
            }
            O::Wake => self.touch(next.mutex, Access::Lock),
            O::TimedWake | O::SpuriousWake => {
                self.touch(object, Access::Write);
                self.touch(next.mutex, Access::Lock);
            }
            O::FutexWoken if !next.has_timeout => {}
            O::Site | O::Depart => self.touch(PREDICATES, Access::Write),
            // Signals and timers change what some descriptors report.
            O::Ready if object == 0 && next.message == 0 => {
                let access = if next.writes { Access::Write } else { Access::Read };
                self.touch(DESCRIPTORS, access);
            }
            O::Ready => {
                self.waits = !next.has_timeout;
                if object != 0 {
                    self.touch(object, if next.writes { Access::Write } else { Access::Read });
                }
                if !next.is_apart {
                    self.touch(DESCRIPTORS, Access::Read);
                }
            }
            // The result of a writer's timed lock depends on which readers may enter.
            O::WriteWake if next.has_timeout => self.touch(object, Access::Write),
            O::WriteWake => self.touch(object, Access::Lock),
            O::Cancel => self.touch(CANCELLED | object.saturating_sub(1), Access::Write),
            // A signal to the process may be delivered to any task.
            // A descriptor may report it (`signalfd`).
            O::Kill | O::Handler | O::SignalWait => {
                self.waits = next.operation == O::SignalWait && !next.has_timeout;
                self.touch(SIGNALS, Access::Write);
                self.touch(DESCRIPTORS, Access::Write);
            }
            // The object may be a descriptor that reports the timer.
            O::Timer | O::TimerSet => {
                self.touch(SIGNALS, Access::Write);
                self.touch(DESCRIPTORS, Access::Write);
            }
            _ => self.touch(object, Access::Write),
        }
    }

    #[inline]
    fn touch(&mut self, object: u64, access: Access) {
        self.accesses.push(object, access);
    }

    /// Identifies the statement. Two operations at one site, such as the two halves of a wait, are
    /// two statements.
    #[must_use]
    pub fn statement(&self) -> u64 {
        self.site ^ u64::from(self.operation.code()) << 56
    }

    /// The objects that the event accesses, with the kind of each access.
    #[must_use]
    pub fn accesses(&self) -> &[(u64, Access)] {
        self.accesses.all()
    }

    /// The same without the object that stands for the states which predicates watch: the program has none of it.
    pub fn observable_accesses(&self) -> impl Iterator<Item = &(u64, Access)> {
        self.accesses.all().iter().filter(|(object, _)| *object != PREDICATES)
    }

    /// The operation's own object, with the kind of the access to it.
    pub(crate) fn own_object(&self) -> Option<(u64, Access)> {
        self.accesses.own_first().next()
    }

    /// The kind of the event's access to this object.
    #[must_use]
    pub fn access(&self, object: u64) -> Option<Access> {
        self.accesses.to(object)
    }

    /// The same event, with every access a write.
    #[must_use]
    pub fn as_write(&self) -> Event {
        let mut event = self.clone();
        if self.conditional && self.operation == Operation::Transfer {
            event.accesses.set_all(Access::Write);
        } else if self.conditional {
            event.accesses.set_own(Access::Write);
        }
        event
    }

    /// If the event updates a counter: the same event where it comes before `other`, with which it races, and
    /// before all that depends on that.
    ///
    /// A decrement from 1 leaves 1 if it comes before another one. In other cases the value there is known
    /// only where it cannot be lower than it was here. (No increment is among what depends on `other` and came
    /// before this event: it would race with the event itself.)
    #[must_use]
    pub fn ahead_of(&self, other: &Event) -> Option<Event> {
        let (object, own) = self.own_object()?;
        let there = match (own, other.access(object)?) {
            (Access::Write, Access::Lower(_)) if self.uses_up => Access::Lower(false),
            (Access::Lower(true), Access::Raise) => Access::Lower(false),
            (Access::Add, _)
            | (Access::Raise, Access::Lower(_))
            | (Access::Raise | Access::Lower(_), Access::Read) => own,
            (Access::Raise | Access::Lower(_), _) => Access::Write,
            _ => return None,
        };
        let mut event = self.clone();
        event.uses_up = false;
        event.accesses.set_own(there);
        Some(event)
    }

    /// The same event where its time limit has not passed, so that it waits: none if its operation
    /// does not wait for its object, or has no limit.
    #[must_use]
    pub fn as_waiting(&self) -> Option<Event> {
        let own = match self.operation {
            Operation::TimedLock | Operation::TimedWriteLock => Access::Lock,
            Operation::TimedReadLock => Access::Share,
            Operation::SemTimedWait => Access::Take,
            Operation::Ready | Operation::SignalWait if !self.waits => {
                return Some(Event { waits: true, ..self.clone() });
            }
            _ => return None,
        };
        let mut event = self.clone();
        event.accesses.set_own(own);
        Some(event)
    }

    /// The same event, with only the accesses for which it may block.
    #[must_use]
    pub fn only_what_blocks(mut self) -> Event {
        if self.waits {
            return self;
        }
        let all = std::mem::replace(&mut self.accesses, Accesses::NONE);
        for &(object, access) in all.all() {
            if matches!(access, Access::Lock | Access::Take | Access::Share) {
                self.touch(object, access);
            }
        }
        self.accesses.sort();
        self
    }

    /// Whether this event may be what enables the later one: then the two cannot be reversed.
    #[must_use]
    pub fn lets(&self, later: &Event) -> bool {
        self.accesses().iter().any(|&(object, access)| {
            matches!(
                (access, later.access(object)),
                (Access::Unlock, Some(Access::Lock | Access::Share))
                    | (Access::Unshare, Some(Access::Lock))
                    | (Access::Post(true), Some(Access::Take))
            )
        })
    }

    /// Whether no other task can observe when this event happens.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        let ends = self.exits || self.operation == Operation::Exit;
        let is_harness = |&(object, access)| (object, access) == (HARNESS, Access::Read);
        self.accesses().iter().all(is_harness) && self.other.is_none() && !ends
    }

    /// If the process ended with this event because it failed: the same event where it does not fail.
    #[must_use]
    pub fn as_passing(&self) -> Option<Event> {
        let fails = self.exits && self.operation != Operation::ExitNow;
        fails.then(|| Event { exits: false, ..self.clone() })
    }

    /// Whether it is an operation of a test harness in main: it runs only when no other task can, so it
    /// cannot come before an operation that was executed earlier.
    #[must_use]
    pub fn is_of_harness(&self) -> bool {
        self.access(HARNESS) == Some(Access::Write)
    }

    /// Whether this is an attempt to take the object, as opposed to a read of its memory or a step of a
    /// loop that waits for the object to change.
    pub fn tries(&self, object: u64) -> bool {
        use Operation as O;
        let own = self.accesses.own_first().next();
        own.is_some_and(|(own, _)| own == object)
            && !matches!(self.operation, O::Yield | O::Sleep | O::Read | O::Await)
    }

    /// Whether another task, or the two tasks themselves, can observe the order of the two events, one of which is
    /// pending where the other is executed.
    #[must_use]
    pub fn depends(&self, other: &Event) -> bool {
        self.depends_unless(other, Access::commutes)
    }

    /// The same for two events of one execution.
    #[must_use]
    pub fn depended(&self, other: &Event) -> bool {
        self.depends_unless(other, Access::commuted)
    }

    /// Whether a pending event depends on any number of events like `other`.
    #[must_use]
    pub fn depends_on_many(&self, other: &Event) -> bool {
        self.depends_unless(other, Access::commutes_with_many)
    }

    fn depends_unless(&self, other: &Event, commute: impl Fn(Access, Access) -> bool) -> bool {
        if self.task == other.task || self.exits || other.exits {
            return true;
        }
        self.accesses().iter().any(|&(object, access)| {
            other.access(object).is_some_and(|theirs| !commute(access, theirs))
        })
    }
}

impl From<Event> for Encoded {
    fn from(event: Event) -> Encoded {
        let accesses = event.accesses.own_first().map(|(object, access)| (object, code(access)));
        let is_true = (u8::from(event.exits) * EXITS) | (u8::from(event.conditional) * CONDITIONAL);
        let is_true = is_true | (u8::from(event.waits) * WAITS);
        let is_true = is_true | (u8::from(event.uses_up) * USES_UP);
        let Event { task, index, site, operation, other, .. } = event;
        Encoded(task.0, index, site, operation.code(), other, is_true, accesses.collect())
    }
}

impl TryFrom<Encoded> for Event {
    type Error = Unreadable;

    fn try_from(written: Encoded) -> Result<Event, Unreadable> {
        let Encoded(task, index, site, operation, other, is_true, accesses) = written;
        let mut event = Event {
            task: TaskId(task),
            index,
            site,
            operation: Operation::from_code(operation).ok_or(Unreadable)?,
            other,
            exits: is_true & EXITS != 0,
            conditional: is_true & CONDITIONAL != 0,
            waits: is_true & WAITS != 0,
            uses_up: is_true & USES_UP != 0,
            accesses: Accesses::NONE,
        };
        for (object, access) in accesses {
            event.touch(object, *ACCESSES.get(usize::from(access)).ok_or(Unreadable)?);
        }
        event.accesses.sort();
        Ok(event)
    }
}
