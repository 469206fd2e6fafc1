//! Schedules like a given one, but for a piece of one task that comes earlier or later. Pure.

use std::collections::HashSet;
use traces::{Choice, Execution, TaskId};

/// Above so many steps pieces begin and end only where the scheduler switched.
const FINE: usize = 120;

/// A step with the choices that it made.
struct Moved {
    task: TaskId,
    choices: Vec<Choice>,
}

/// At most `limit` schedules, the nearest first, no two of which order the operations on any object
/// in the same way.
pub(super) fn neighbours(execution: &Execution, limit: usize) -> Vec<Vec<Choice>> {
    let mut steps: Vec<Moved> = Vec::new();
    for choice in execution.choices() {
        match (choice, steps.last_mut()) {
            (Choice::Task(task), _) => steps.push(Moved { task, choices: vec![choice] }),
            (Choice::Data { .. }, Some(step)) => step.choices.push(choice),
            (Choice::Data { .. }, None) => {}
        }
    }
    let schedule = |order: &[usize]| -> Vec<Choice> {
        order.iter().flat_map(|&at| steps[at].choices.iter().copied()).collect()
    };
    let conflicts = Conflicts::of(execution);
    let mut seen: HashSet<Vec<(u32, u32)>> = HashSet::new();
    let mut moved: Vec<(usize, Vec<usize>)> = Vec::new();
    for order in orders(&steps) {
        let reversed = conflicts.reversed(&order);
        if !reversed.is_empty() && seen.insert(reversed.clone()) {
            moved.push((reversed.len(), order));
        }
    }
    moved.sort_by_key(|&(reversed, _)| reversed);
    // Where what follows depends on what was moved, no order of the old steps says what will come:
    // another task goes on from a point, by default.
    let mut left: Vec<Vec<Choice>> = Vec::new();
    for at in (0..=steps.len()).rev().filter(|&at| may_cut(&steps, at)) {
        let beginning: Vec<usize> = (0..at).collect();
        for task in tasks(&steps) {
            if steps.get(at).map(|step| step.task) != Some(task) {
                let mut choices = schedule(&beginning);
                choices.push(Choice::Task(task));
                left.push(choices);
            }
        }
    }
    let mut found: Vec<Vec<Choice>> = Vec::new();
    let mut known: HashSet<Vec<Choice>> = HashSet::new();
    let mut moved = moved.into_iter().map(|(_, order)| schedule(&order));
    let mut left = left.into_iter();
    // By turns: which kind comes to a passing schedule sooner differs from bug to bug.
    while found.len() < limit {
        let two = [moved.next(), left.next()];
        if two.iter().all(Option::is_none) {
            break;
        }
        found.extend(two.into_iter().flatten().filter(|choices| known.insert(choices.clone())));
    }
    found.truncate(limit);
    found
}

fn tasks(steps: &[Moved]) -> Vec<TaskId> {
    let mut tasks: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

/// Whether a piece may begin or end before this step.
fn may_cut(steps: &[Moved], at: usize) -> bool {
    let edge = at == 0 || at == steps.len();
    edge || steps.len() <= FINE || steps[at - 1].task != steps[at].task
}

/// Every order in which a piece of one task comes earlier or later. A piece is some of its steps in
/// a row, whatever others do in between.
fn orders(steps: &[Moved]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let cuts: Vec<usize> = (0..=steps.len()).filter(|&at| may_cut(steps, at)).collect();
    for &from in &cuts {
        for &to in cuts.iter().filter(|&&to| to > from) {
            for task in tasks(&steps[from..to]) {
                let (own, others): (Vec<usize>, Vec<usize>) =
                    (from..to).partition(|&at| steps[at].task == task);
                if others.is_empty() {
                    continue;
                }
                let whole = |first: &[usize], second: &[usize]| -> Vec<usize> {
                    let tail = to..steps.len();
                    let parts = [first, second];
                    (0..from).chain(parts.into_iter().flatten().copied()).chain(tail).collect()
                };
                found.push(whole(&own, &others));
                found.push(whole(&others, &own));
            }
        }
    }
    found
}

/// The pairs of steps whose order matters, and those that cannot be turned round.
struct Conflicts {
    pairs: Vec<(u32, u32)>,
    /// Pairs of lock and unlock of one task between which nobody else can have the lock.
    sections: Vec<(usize, usize)>,
    /// Creations and first steps, last steps and joins.
    fixed: Vec<(usize, usize)>,
    locks: Vec<Option<u32>>,
}

impl Conflicts {
    fn of(execution: &Execution) -> Conflicts {
        use traces::Operation as O;
        let steps = &execution.steps;
        let task_object = |at: usize| traces::order::created_by(execution, &steps[at]);
        let mut conflicts = Conflicts {
            pairs: Vec::new(),
            sections: Vec::new(),
            fixed: Vec::new(),
            locks: steps
                .iter()
                .map(|step| match step.operation {
                    O::Lock => step.object,
                    _ => None,
                })
                .collect(),
        };
        for (at, step) in steps.iter().enumerate() {
            if let Some(child) = task_object(at)
                && let Some(first) = (at..steps.len()).find(|&j| steps[j].task.index() == child)
            {
                conflicts.fixed.push((at, first));
            }
            if let Some(ended) = traces::order::joined(execution, step)
                && let Some(last) = (0..at).rev().find(|&j| steps[j].task.index() == ended)
            {
                conflicts.fixed.push((last, at));
            }
            if step.operation == O::Lock
                && let Some(end) = (at + 1..steps.len()).find(|&j| {
                    steps[j].task == step.task
                        && steps[j].object == step.object
                        && steps[j].operation == O::Unlock
                })
            {
                conflicts.sections.push((at, end));
            }
            let Some(object) = step.object else { continue };
            for (later, other) in steps.iter().enumerate().skip(at + 1) {
                let dependent = other.object == Some(object)
                    && other.task != step.task
                    && (other.operation.is_write() || step.operation.is_write());
                if dependent {
                    conflicts.pairs.push((at as u32, later as u32));
                }
            }
        }
        conflicts
    }

    /// The pairs that an order turns round; none for one that cannot be run.
    fn reversed(&self, order: &[usize]) -> Vec<(u32, u32)> {
        let mut at = vec![0; order.len()];
        for (position, &step) in order.iter().enumerate() {
            at[step] = position;
        }
        let impossible = self.fixed.iter().any(|&(first, second)| at[first] > at[second])
            || self.sections.iter().any(|&(lock, unlock)| {
                let mut within = order[at[lock] + 1..at[unlock]].iter();
                within.any(|&step| self.locks[step] == self.locks[lock])
            });
        if impossible {
            return Vec::new();
        }
        let turned = |&(a, b): &(u32, u32)| at[a as usize] > at[b as usize];
        self.pairs.iter().copied().filter(turned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Object, ObjectKind, Operation, Place, Site, Step};

    /// Locked sections by these tasks, in this order.
    fn sections(order: &[u16]) -> Execution {
        let step = |task: u16, operation, offset| Step {
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

    fn told(found: &[Vec<Choice>]) -> Vec<String> {
        let task = |choice: &Choice| match choice {
            Choice::Task(task) => task.0.to_string(),
            Choice::Data { .. } => "?".into(),
        };
        found.iter().map(|choices| choices.iter().map(task).collect()).collect()
    }

    #[test]
    fn whole_sections_change_places_and_no_section_is_split() {
        let found = told(&neighbours(&sections(&[1, 2, 1]), 100));
        for expected in ["112211", "221111", "111122"] {
            let reversed = expected != "112211";
            assert_eq!(found.contains(&expected.to_owned()), reversed, "{expected}: {found:?}");
        }
        assert!(!found.contains(&"121211".to_owned()), "{found:?}");
        // Another task goes on from a point, too.
        assert!(found.contains(&"1121".to_owned()), "{found:?}");
    }

    #[test]
    fn there_are_no_more_than_asked_for_and_none_twice() {
        let found = neighbours(&sections(&[1, 2, 1, 2, 1, 2]), 20);
        assert_eq!(found.len(), 20);
        let different: HashSet<&Vec<Choice>> = found.iter().collect();
        assert_eq!(different.len(), 20);
    }
}
