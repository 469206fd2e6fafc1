//! Compares two executions of one program.
//!
//! An event is identified by its task, its number within the task, its operation and its site. So
//! it has at most one counterpart, and the best alignment is the longest sequence of pairs that
//! ascends in both executions. It is computed as a longest increasing subsequence in O(n log n).

use super::super::event_numbers::EventNumbers;
use super::{Cause, HappensBefore, Relation};
use std::collections::HashMap;
use traces::{Execution, Operation, Site, Step, TaskId};

/// One row of the alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aligned {
    /// The same event in both executions: its step in the first and in the second.
    Both(usize, usize),
    /// A step of the first execution. If its event occurs elsewhere in the second, the step there.
    First(usize, Option<usize>),
    /// A step of the second execution. If its event occurs elsewhere in the first, the step there.
    Second(usize, Option<usize>),
}

/// Two events on one object that occur in opposite orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reversed {
    /// The earlier and the later step in the first execution.
    pub first: (usize, usize),
    /// The same two events in the second execution, in the reverse order.
    pub second: (usize, usize),
    /// The object, as the first execution numbers it.
    pub object: u32,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The number of equal steps at the start.
    pub common: usize,
    /// All steps of both, aligned.
    pub rows: Vec<Aligned>,
    /// The direct causes of the first execution that are reversed in the second.
    pub reversed: Vec<Reversed>,
}

/// Identifies an event in another execution.
type Identity = (TaskId, u32, Operation, Site);

fn identities(execution: &Execution) -> Vec<Identity> {
    let mut numbers = EventNumbers::default();
    let identity = |step: &Step| {
        let (number, _) = numbers.next(step.task, step.operation, step.site);
        (step.task, number, step.operation, step.site)
    };
    execution.steps.iter().map(identity).collect()
}

/// Compares two executions of one program. Both must list the same modules in the same order.
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

/// Of the pairs (step, its partner in the other execution), the longest sequence in which both
/// steps increase.
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
    use crate::explain::fixtures::critical_sections;

    #[test]
    fn equal_executions_have_no_difference() {
        let one = critical_sections(&[1, 2, 1]);
        let same = compare(&one, &one);
        assert_eq!(same.common, 6);
        assert!(same.rows.iter().all(|row| matches!(row, Aligned::Both(a, b) if a == b)));
        assert_eq!(same.reversed, []);
    }

    #[test]
    fn a_moved_section_is_found_in_both_executions() {
        let (first, second) = (critical_sections(&[1, 2, 1]), critical_sections(&[1, 1, 2]));
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
        // T2's unlock precedes T1's second lock in the first execution and follows it in the
        // second.
        assert_eq!(found.reversed, [Reversed { first: (3, 4), second: (5, 2), object: 0 }]);
    }

    #[test]
    fn a_step_of_one_execution_has_no_counterpart() {
        let found = compare(&critical_sections(&[1]), &critical_sections(&[1, 3]));
        assert_eq!(found.rows[2..], [Aligned::Second(2, None), Aligned::Second(3, None)]);
        let empty = compare(&critical_sections(&[]), &critical_sections(&[]));
        assert_eq!((empty.common, empty.rows.len()), (0, 0));
    }
}
