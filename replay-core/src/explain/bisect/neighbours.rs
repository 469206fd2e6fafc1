//! Schedules that differ from a given one in the position of a stretch of one task. Pure.

use super::conflicts::{Conflicts, Move};
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use traces::{Choice, Execution, TaskId};

/// In executions with more steps, stretches begin and end only near switches.
const FINE: usize = 120;
/// The approximate number of positions where a moved piece can begin and end.
const MOST_CUTS: usize = 24;

/// A step with its choices.
struct StepChoices {
    task: TaskId,
    choices: Vec<Choice>,
}

/// Schedules near a given one.
pub(super) struct Neighbours {
    steps: Vec<StepChoices>,
    plans: Vec<Plan>,
}

/// How a schedule differs.
#[derive(Debug, Clone, Copy)]
enum Plan {
    /// The task's steps within a range move before all others there, or after.
    Moved(Move),
    /// From a step on, another task runs and the default schedule follows.
    Diverted { at: usize, task: TaskId },
}

impl Neighbours {
    /// The choices of each schedule, the nearest first.
    pub(super) fn choices(&self) -> impl Iterator<Item = Vec<Choice>> + '_ {
        self.plans.iter().map(|&plan| choices(&self.steps, plan))
    }
}

fn choices(steps: &[StepChoices], plan: Plan) -> Vec<Choice> {
    let schedule = |order: &mut dyn Iterator<Item = usize>| -> Vec<Choice> {
        order.flat_map(|at| steps[at].choices.iter().copied()).collect()
    };
    match plan {
        Plan::Moved(plan) => schedule(&mut order(steps, plan).into_iter()),
        Plan::Diverted { at, task } => {
            let mut choices = schedule(&mut (0..at));
            choices.push(Choice::Task(task));
            choices
        }
    }
}

/// The order of the steps in a schedule that moves some of them.
fn order(steps: &[StepChoices], Move { from, to, task, first }: Move) -> Vec<usize> {
    let (own, others): (Vec<usize>, Vec<usize>) =
        (from..to).partition(|&at| steps[at].task == task);
    let parts = if first { [own, others] } else { [others, own] };
    (0..from).chain(parts.into_iter().flatten()).chain(to..steps.len()).collect()
}

/// At most `limit` schedules, the nearest first, no two of which have the same order of operations
/// on each object. Of a long execution, only the steps in `interest` are compared.
pub(super) fn neighbours(execution: &Execution, interest: &[usize], limit: usize) -> Neighbours {
    let mut steps: Vec<StepChoices> = Vec::new();
    for choice in execution.choices() {
        match (choice, steps.last_mut()) {
            (Choice::Task(task), _) => steps.push(StepChoices { task, choices: vec![choice] }),
            (Choice::Data { .. }, Some(step)) => step.choices.push(choice),
            (Choice::Data { .. }, None) => {}
        }
    }
    let cuts = cuts(&steps);
    let conflicts = Conflicts::of(execution, interest, &cuts);
    let mut seen: HashSet<Vec<(u32, u32)>> = HashSet::new();
    let mut moved: Vec<(usize, Move)> = Vec::new();
    for plan in moves(&steps, &cuts) {
        let reversed = conflicts.reversed(plan);
        let count = reversed.len();
        if count > 0 && seen.insert(reversed) {
            moved.push((count, plan));
        }
    }
    moved.sort_by_key(|&(reversed, _)| reversed);
    // If later steps depend on what was moved, no permutation of the recorded steps predicts them.
    // So schedules in which another task continues from some step, by default, are tried too.
    let all = tasks(&steps);
    let left = cuts.iter().rev().flat_map(|&at| {
        let next = steps.get(at).map(|step| step.task);
        all.iter()
            .filter(move |&&task| Some(task) != next)
            .map(move |&task| Plan::Diverted { at, task })
    });
    let mut plans: Vec<Plan> = Vec::new();
    let mut known: HashSet<u64> = HashSet::new();
    let mut moved = moved.into_iter().map(|(_, plan)| Plan::Moved(plan));
    let mut left = left.into_iter();
    // Alternate between the two kinds: which one reaches a passing schedule sooner depends on the
    // bug.
    while plans.len() < limit {
        let two = [moved.next(), left.next()];
        if two.iter().all(Option::is_none) {
            break;
        }
        plans.extend(two.into_iter().flatten().filter(|&plan| {
            let mut hasher = DefaultHasher::new();
            choices(&steps, plan).hash(&mut hasher);
            known.insert(hasher.finish())
        }));
    }
    plans.truncate(limit);
    Neighbours { steps, plans }
}

/// The positions where stretches may begin and end, ascending: all positions of a short execution,
/// those near the switches of a long one.
fn cuts(steps: &[StepChoices]) -> Vec<usize> {
    let all = 0..=steps.len();
    if steps.len() <= FINE {
        return all.collect();
    }
    let switch = |&at: &usize| {
        let edge = at == 0 || at == steps.len();
        edge || steps[at - 1].task != steps[at].task
    };
    let switches: Vec<usize> = all.filter(switch).collect();
    let around = MOST_CUTS / switches.len().max(1) / 2;
    let mut cuts: Vec<usize> = switches
        .iter()
        .flat_map(|&at| at.saturating_sub(around)..=(at + around).min(steps.len()))
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    // The decisive step is usually nearer to the failure than to the start.
    cuts.drain(..cuts.len().saturating_sub(MOST_CUTS * 2));
    cuts
}

fn tasks(steps: &[StepChoices]) -> Vec<TaskId> {
    let mut tasks: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

/// Every way to move a stretch of one task earlier or later. A stretch is some consecutive steps of
/// the task, regardless of other tasks' steps in between.
fn moves(steps: &[StepChoices], cuts: &[usize]) -> Vec<Move> {
    let between: Vec<Vec<TaskId>> =
        cuts.windows(2).map(|ends| tasks(&steps[ends[0]..ends[1]])).collect();
    let mut found = Vec::new();
    for (at, &from) in cuts.iter().enumerate() {
        let mut tasks: BTreeSet<TaskId> = BTreeSet::new();
        for (own, &to) in between[at.min(between.len())..].iter().zip(&cuts[at + 1..]) {
            tasks.extend(own);
            if tasks.len() > 1 {
                found.extend(
                    tasks.iter().flat_map(|&task| {
                        [true, false].map(|first| Move { from, to, task, first })
                    }),
                );
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::fixtures::critical_sections;

    fn neighbour_choices(execution: &Execution, limit: usize) -> Vec<Vec<Choice>> {
        let interest: Vec<usize> = (0..execution.steps.len()).collect();
        neighbours(execution, &interest, limit).choices().collect()
    }

    fn as_text(found: &[Vec<Choice>]) -> Vec<String> {
        let task = |choice: &Choice| match choice {
            Choice::Task(task) => task.0.to_string(),
            Choice::Data { .. } => "?".into(),
        };
        found.iter().map(|choices| choices.iter().map(task).collect()).collect()
    }

    #[test]
    fn sections_are_reordered_but_not_interleaved() {
        let found = as_text(&neighbour_choices(&critical_sections(&[1, 2, 1]), 100));
        for expected in ["112211", "221111", "111122"] {
            let reversed = expected != "112211";
            assert_eq!(found.contains(&expected.to_owned()), reversed, "{expected}: {found:?}");
        }
        assert!(!found.contains(&"121211".to_owned()), "{found:?}");
        // Schedules in which another task continues from a step are included.
        assert!(found.contains(&"1121".to_owned()), "{found:?}");
    }

    #[test]
    fn long_executions_are_cut_near_their_switches() {
        let mut order = vec![0; 300];
        order.extend([1, 2, 1, 2]);
        order.extend([0; 300]);
        let execution = critical_sections(&order);
        let interest = crate::explain::bisect::orders::interest(&execution);
        assert!(interest.len() <= 700 && interest.is_sorted(), "{interest:?}");
        let near = neighbours(&execution, &interest, 50);
        assert!((20..=50).contains(&near.choices().count()));
        assert!(near.choices().all(|choices| choices.len() <= execution.steps.len() + 1));
    }

    #[test]
    fn the_number_is_limited_and_schedules_are_distinct() {
        let found = neighbour_choices(&critical_sections(&[1, 2, 1, 2, 1, 2]), 20);
        assert_eq!(found.len(), 20);
        let different: HashSet<&Vec<Choice>> = found.iter().collect();
        assert_eq!(different.len(), 20);
    }
}
