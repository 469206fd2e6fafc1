//! Candidate schedules with one switch fewer than a given schedule. Pure.
//!
//! A schedule is divided into stretches of one task each. Two stretches of a task are joined by
//! moving the later one forward or the earlier one back; or everything after a stretch is left to
//! the default scheduler.

use traces::{Choice, Execution, TaskId};

/// Consecutive steps of one task, with their choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) task: TaskId,
    pub(super) choices: Vec<Choice>,
}

pub(super) fn stretches(execution: &Execution) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for choice in execution.choices() {
        match (choice, stretches.last_mut()) {
            (Choice::Task(task), Some(last)) if last.task == task => last.choices.push(choice),
            (Choice::Task(task), _) => stretches.push(Stretch { task, choices: vec![choice] }),
            (Choice::Data { .. }, Some(last)) => last.choices.push(choice),
            (Choice::Data { .. }, None) => {}
        }
    }
    stretches
}

/// The candidates, the largest reduction first.
pub(super) fn candidates(execution: &Execution) -> Vec<Vec<Choice>> {
    let stretches = stretches(execution);
    let count = stretches.len();
    let mut found: Vec<Vec<Choice>> = Vec::new();
    let joined = |order: &[usize]| -> Vec<Choice> {
        order.iter().flat_map(|&at| stretches[at].choices.iter().copied()).collect()
    };
    // Only a prefix of the schedule: the default scheduler preempts no task.
    for kept in 0..count {
        let order: Vec<usize> = (0..kept).collect();
        found.push(joined(&order));
    }
    for at in 0..count {
        let same = |&other: &usize| stretches[other].task == stretches[at].task;
        let Some(next) = (at + 1..count).find(same) else { continue };
        if next == at + 1 {
            continue;
        }
        // Forward: the later stretch directly follows the earlier one.
        let mut order: Vec<usize> = (0..count).filter(|&one| one != next).collect();
        order.insert(at + 1, next);
        found.push(joined(&order));
        found.push(joined(&order[..at + 2]));
        // Back: the earlier stretch directly precedes the later one.
        let mut order: Vec<usize> = (0..count).filter(|&one| one != at).collect();
        order.insert(next - 1, at);
        found.push(joined(&order));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use traces::{Operation, Site, Step};

    fn execution(order: &[u16]) -> Execution {
        let steps = order.iter().map(|&task| Step {
            task: TaskId(task),
            operation: Operation::Lock,
            object: None,
            site: Site { module: 0, offset: 0 },
            value: 0,
        });
        Execution { steps: steps.collect(), ..Default::default() }
    }

    fn orders(order: &[u16]) -> HashSet<String> {
        candidates(&execution(order))
            .into_iter()
            .map(|choices| {
                let task = |choice: &Choice| match choice {
                    Choice::Task(task) => task.0.to_string(),
                    Choice::Data { .. } => "?".into(),
                };
                choices.iter().map(task).collect::<String>()
            })
            .collect()
    }

    #[test]
    fn two_stretches_of_a_task_are_joined_in_both_directions() {
        let found = orders(&[0, 1, 1, 0, 2]);
        for expected in ["00112", "00", "11002", "", "0", "011", "0110"] {
            assert!(found.contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn every_candidate_has_fewer_switches_or_is_shorter() {
        let order = [0, 1, 0, 2, 1, 2, 0];
        let switches = |text: &str| text.as_bytes().windows(2).filter(|w| w[0] != w[1]).count();
        for found in orders(&order) {
            assert!(found.len() < order.len() || switches(&found) < 6, "{found}");
        }
    }
}
