//! What makes the difference between runs that fail and runs that pass: orders of events, and what they
//! have to do with each other. Plain data.

use traces::{Operation, Site, TaskId};

/// An operation of the failing execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Whose.
    pub task: TaskId,
    /// Its number within the task, from 1.
    pub number: u32,
    /// How often the task had done this here by then, this one included: how it is known again in
    /// another run, where the task may have gone round a loop more or less often before.
    pub occurrence: u32,
    /// What.
    pub operation: Operation,
    /// On what: an index into the failing execution's objects.
    pub object: Option<u32>,
    /// Where.
    pub site: Site,
    /// Its step; none for one that never came.
    pub step: Option<usize>,
}

/// One event came before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// The earlier.
    pub before: Event,
    /// The later, or one that never came.
    pub after: Event,
}

/// What the orders of a cause have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A stretch of one task came between two events of another.
    Between {
        /// The stretch, from its first to its last event; often they are one.
        inner: (Event, Event),
        /// After the first of these, and before the last.
        outer: (Event, Event),
    },
    /// Neither of two tasks was done with its stretch before the other began with its own.
    Overlap {
        /// From the first to the last event of one.
        one: (Event, Event),
        /// And of the other.
        other: (Event, Event),
    },
    /// Some events came before others.
    Before,
}

/// The orders that make the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// All of which hold where it fails.
    pub orders: Vec<Order>,
    /// What they have to do with each other.
    pub shape: Shape,
    /// Of a stretch that came in between: whether its task goes on to the end of it only where it
    /// began after the first event of the other task. What it came upon there decides.
    pub guarded: bool,
}

/// What orders have to do with each other.
pub(super) fn shape(orders: &[Order]) -> Shape {
    let [one, two] = orders else {
        // Of three or more, two may be the heart of it.
        let pairs = orders
            .iter()
            .enumerate()
            .flat_map(|(at, one)| orders[..at].iter().map(move |two| shape(&[*two, *one])));
        return pairs.into_iter().find(|shape| *shape != Shape::Before).unwrap_or(Shape::Before);
    };
    // X's `one.before` came before Y's `one.after`, and Y's `two.before` before X's `two.after`.
    for (one, two) in [(one, two), (two, one)] {
        let same_tasks = one.before.task == two.after.task && one.after.task == two.before.task;
        if !same_tasks || one.before.number >= two.after.number {
            continue;
        }
        let outer = (one.before, two.after);
        return if one.after.number <= two.before.number {
            Shape::Between { inner: (one.after, two.before), outer }
        } else {
            Shape::Overlap { one: outer, other: (two.before, one.after) }
        };
    }
    Shape::Before
}
