//! Two executions of one program side by side.
//!
//! An event is known again by its task, its number within the task, and what it does where: so it
//! has one counterpart at most, and the best alignment is the longest sequence of pairs that ascends
//! in both (found as a longest increasing subsequence, in n log n steps).

use super::{Cause, HappensBefore, Relation};
use std::collections::HashMap;
use traces::{Execution, Operation, Site, TaskId};

/// What stands at one place of the alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aligned {
    /// The same event in both: its step in the first and in the second.
    Both(usize, usize),
    /// A step of the first; where its event is elsewhere in the second, the step there.
    First(usize, Option<usize>),
    /// A step of the second; where its event is elsewhere in the first, the step there.
    Second(usize, Option<usize>),
}

/// Two events that act on one object and came the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reversed {
    /// The earlier and the later step in the first execution.
    pub first: (usize, usize),
    /// The same two events in the second, where the order is the other one.
    pub second: (usize, usize),
    /// The object, as the first execution numbers it.
    pub object: u32,
}

/// What two executions have in common, and where they part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// How many steps are the same from the start.
    pub common: usize,
    /// All steps of both, aligned.
    pub rows: Vec<Aligned>,
    /// The orders that differ: direct causes of the first that are turned round in the second.
    pub reversed: Vec<Reversed>,
}

/// How an event is known again.
type Identity = (TaskId, u32, Operation, Site);

fn identities(execution: &Execution) -> Vec<Identity> {
    let mut counts: HashMap<TaskId, u32> = HashMap::new();
    execution
        .steps
        .iter()
        .map(|step| {
            let number = counts.entry(step.task).or_default();
            *number += 1;
            (step.task, *number, step.operation, step.site)
        })
        .collect()
}

/// Compares two executions. Their modules must be the same files in the same order, as they are in
/// two executions of one program.
#[must_use]
pub fn compare(first: &Execution, second: &Execution) -> Comparison {
    let (ours, theirs) = (identities(first), identities(second));
    let at: HashMap<Identity, usize> =
        theirs.iter().enumerate().map(|(step, &identity)| (identity, step)).collect();
    let partner: Vec<Option<usize>> =
        ours.iter().map(|identity| at.get(identity).copied()).collect();
    let mut back: Vec<Option<usize>> = vec![None; theirs.len()];
    for (step, other) in partner.iter().enumerate() {
        if let Some(other) = other {
            back[*other] = Some(step);
        }
    }
    let common = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let mut rows = Vec::new();
    let (mut i, mut j) = (0, 0);
    let tail = [(ours.len(), theirs.len())];
    for (a, b) in ascending(&partner).into_iter().chain(tail) {
        rows.extend((i..a).map(|step| Aligned::First(step, partner[step])));
        rows.extend((j..b).map(|step| Aligned::Second(step, back[step])));
        if (a, b) != tail[0] {
            rows.push(Aligned::Both(a, b));
        }
        (i, j) = (a + 1, b + 1);
    }
    Comparison { common, rows, reversed: reversed(first, second, &partner) }
}

/// The longest sequence of pairs that ascends on both sides.
fn ascending(partner: &[Option<usize>]) -> Vec<(usize, usize)> {
    // `ends[k]` is the step with the smallest partner at which a sequence of k + 1 pairs can end.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; partner.len()];
    for (step, other) in partner.iter().enumerate() {
        let Some(other) = *other else { continue };
        let length = ends.partition_point(|&(_, end)| end < other);
        before[step] = length.checked_sub(1).map(|last| ends[last].0);
        match ends.get_mut(length) {
            Some(end) => *end = (step, other),
            None => ends.push((step, other)),
        }
    }
    let mut found = Vec::new();
    let mut at = ends.last().map(|&(step, _)| step);
    while let Some(step) = at {
        if let Some(other) = partner[step] {
            found.push((step, other));
        }
        at = before[step];
    }
    found.reverse();
    found
}

fn reversed(first: &Execution, second: &Execution, partner: &[Option<usize>]) -> Vec<Reversed> {
    let (ours, theirs) = (HappensBefore::of(first), HappensBefore::of(second));
    let mut found = Vec::new();
    for later in 0..ours.len() {
        for link in ours.causes(later) {
            let Cause::Object(object) = link.cause else { continue };
            if let (Some(a), Some(b)) = (partner[link.step], partner[later])
                && theirs.relation(a, b) == Relation::After
            {
                found.push(Reversed { first: (link.step, later), second: (a, b), object });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Object, ObjectKind, Place, Step};

    /// An execution of locked sections by these tasks, in this order.
    fn sections(order: &[u16]) -> Execution {
        let step = |task: u16, operation: Operation, offset: u64| Step {
            task: TaskId(task),
            operation,
            object: Some(0),
            site: Site { module: 0, offset },
            value: 0,
        };
        Execution {
            objects: vec![Object {
                kind: ObjectKind::Mutex,
                place: Place::Other(0),
                name: "m".into(),
            }],
            steps: order
                .iter()
                .flat_map(|&t| [step(t, Operation::Lock, 1), step(t, Operation::Unlock, 2)])
                .collect(),
            ..Default::default()
        }
    }

    #[test]
    fn the_same_twice_has_no_difference() {
        let one = sections(&[1, 2, 1]);
        let same = compare(&one, &one);
        assert_eq!(same.common, 6);
        assert!(same.rows.iter().all(|row| matches!(row, Aligned::Both(a, b) if a == b)));
        assert_eq!(same.reversed, []);
    }

    #[test]
    fn a_section_that_moved_is_found_on_both_sides_and_named() {
        let (first, second) = (sections(&[1, 2, 1]), sections(&[1, 1, 2]));
        let found = compare(&first, &second);
        assert_eq!(found.common, 2);
        use Aligned::{Both, First, Second};
        assert_eq!(
            found.rows,
            [
                Both(0, 0),
                Both(1, 1),
                First(2, Some(4)),
                First(3, Some(5)),
                Both(4, 2),
                Both(5, 3),
                Second(4, Some(2)),
                Second(5, Some(3)),
            ]
        );
        // T2's unlock came before T1's second lock, and then after it.
        assert_eq!(found.reversed, [Reversed { first: (3, 4), second: (5, 2), object: 0 }]);
    }

    #[test]
    fn what_only_one_has_stands_alone() {
        let found = compare(&sections(&[1]), &sections(&[1, 3]));
        assert_eq!(found.rows[2..], [Aligned::Second(2, None), Aligned::Second(3, None)]);
        let empty = compare(&sections(&[]), &sections(&[]));
        assert_eq!((empty.common, empty.rows.len()), (0, 0));
    }
}
