//! The difference between failing and passing runs: orders of events and their relation. Plain
//! data.

use traces::{Operation, Site, TaskId};

/// An operation of the failing execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// The task.
    pub task: TaskId,
    /// The number of the operation within the task, from 1.
    pub number: u32,
    /// How often the task had executed this operation at this site, including this time. It
    /// identifies the event in another run, in which the task may have executed a loop more or less
    /// often before.
    pub occurrence: u32,
    /// The operation.
    pub operation: Operation,
    /// The object: an index into the failing execution's objects.
    pub object: Option<u32>,
    /// The site.
    pub site: Site,
    /// The step; none if the event did not occur.
    pub step: Option<usize>,
}

/// One event precedes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// The earlier.
    pub before: Event,
    /// The later event, which may not occur at all.
    pub after: Event,
}

/// How the orders of a cause are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A stretch of one task runs between two events of another task.
    Between {
        /// The first and last event of the stretch; often the same event.
        inner: (Event, Event),
        /// The stretch runs after the first of these and before the last.
        outer: (Event, Event),
    },
    /// Two stretches of different tasks overlap.
    Overlap {
        /// The first and last event of one stretch.
        one: (Event, Event),
        /// The first and last event of the other stretch.
        other: (Event, Event),
    },
    /// Some events precede others, without a stretch.
    Before,
}

/// The orders that distinguish failing from passing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// All of them hold in every run that fails.
    pub orders: Vec<Order>,
    /// How the orders are related.
    pub shape: Shape,
    /// For a stretch in between: whether its task reaches the last event only if the stretch began
    /// after the other task's first event. Then what the stretch finds decides whether it
    /// continues.
    pub guarded: bool,
}

/// Determines how orders are related.
pub(super) fn shape(orders: &[Order]) -> Shape {
    let [one, two] = orders else {
        // Among three or more orders, any two may form a stretch.
        let pairs = orders
            .iter()
            .enumerate()
            .flat_map(|(at, one)| orders[..at].iter().map(move |two| shape(&[*two, *one])));
        return pairs.into_iter().find(|shape| *shape != Shape::Before).unwrap_or(Shape::Before);
    };
    // X's `one.before` precedes Y's `one.after`, and Y's `two.before` precedes X's `two.after`.
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
