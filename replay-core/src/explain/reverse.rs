//! From a schedule to one in which the order of two of its steps is reversed.
//!
//! The earlier step's task is held, at first at that step, then at earlier ones, until it holds no lock
//! that the other task needs. Meanwhile the others run as before, or the later step's task alone.

use crate::Error;
use crate::control::runner::{RunOutcome, RunSchedules};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Execution, Operation, Site, TaskId, Trace};

/// The most steps at which the task is held, one after the other.
const PLACES: usize = 100;

/// A step, recognised in other executions: how often its task executed this operation at this site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepIdentity {
    task: TaskId,
    operation: Operation,
    site: Site,
    occurrence: usize,
}

impl StepIdentity {
    /// The identity of a step; none if the execution has no such step.
    #[must_use]
    pub fn of(execution: &Execution, step: usize) -> Option<StepIdentity> {
        let it = execution.steps.get(step)?;
        let (task, operation, site) = (it.task, it.operation, it.site);
        let same = execution.steps[..=step]
            .iter()
            .filter(|other| (other.task, other.operation, other.site) == (task, operation, site));
        Some(StepIdentity { task, operation, site, occurrence: same.count() })
    }

    /// The step in another execution, if it occurs there.
    #[must_use]
    pub fn find(&self, execution: &Execution) -> Option<usize> {
        let own = (self.task, self.operation, self.site);
        let same =
            |(_, step): &(usize, &traces::Step)| (step.task, step.operation, step.site) == own;
        let mut occurrences = execution.steps.iter().enumerate().filter(same);
        occurrences.nth(self.occurrence - 1).map(|(at, _)| at)
    }
}

/// A step is wished before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WishedOrder {
    /// The step that is to come first.
    pub first: StepIdentity,
    /// The step that is to come later, or not at all.
    pub second: StepIdentity,
}

impl WishedOrder {
    /// Whether the first step occurs, and before the second one.
    #[must_use]
    pub fn holds(&self, execution: &Execution) -> bool {
        let Some(first) = self.first.find(execution) else { return false };
        self.second.find(execution).is_none_or(|second| first < second)
    }
}

/// What was found.
#[derive(Debug)]
pub enum Reversed {
    /// A schedule in which all the wished orders hold.
    Found {
        /// The execution.
        trace: Box<Trace>,
        /// The step that comes first now.
        step: usize,
        /// Whether the other step still occurs.
        both: bool,
    },
    /// In none of these runs.
    Not {
        /// How many schedules were run.
        runs: usize,
    },
}

/// Runs schedules until one has every order in `wishes`. The last one is reversed in `execution`; the
/// others hold there, and are kept.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn reverse(
    program: &impl RunSchedules,
    execution: &Execution,
    wishes: &[WishedOrder],
    interrupt: &AtomicBool,
) -> Result<Reversed, Error> {
    let mut runs = 0;
    let mut without = None;
    let last = wishes.last();
    let steps =
        last.and_then(|wish| Some((wish.second.find(execution)?, wish.first.find(execution)?)));
    let (Some(wish), Some(steps)) = (last, steps) else { return Ok(Reversed::Not { runs }) };
    for choices in candidates(execution, steps) {
        if interrupt.load(Relaxed) {
            break;
        }
        runs += 1;
        let RunOutcome::Ran(now) = program.run(choices, interrupt)? else { continue };
        if !wishes.iter().all(|wish| wish.holds(&now.execution)) {
            continue;
        }
        let Some(step) = wish.first.find(&now.execution) else { continue };
        if wish.second.find(&now.execution).is_some() {
            return Ok(Reversed::Found { trace: now, step, both: true });
        }
        without.get_or_insert((now, step));
    }
    Ok(match without {
        Some((trace, step)) => Reversed::Found { trace, step, both: false },
        None => Reversed::Not { runs },
    })
}

/// Beginnings of schedules in which the task of the earlier step is held at one of its steps: the nearest
/// first.
fn candidates(
    execution: &Execution,
    (earlier, later): (usize, usize),
) -> impl Iterator<Item = Vec<Choice>> {
    let steps = &execution.steps;
    let (held, other) = (steps[earlier].task, steps[later].task);
    let mut outcomes: HashMap<u64, Vec<Choice>> = HashMap::new();
    for choice in &execution.data {
        let data = Choice::Data { taken: choice.taken, of: choice.of };
        outcomes.entry(choice.step).or_default().push(data);
    }
    let choices_of = move |at: usize| {
        let outcomes = outcomes.get(&(at as u64)).cloned().unwrap_or_default();
        std::iter::once(Choice::Task(steps[at].task)).chain(outcomes)
    };
    let places = (0..=earlier).rev().filter(move |&at| steps[at].task == held).take(PLACES);
    places.flat_map(move |place| {
        let before: Vec<Choice> = (0..place).flat_map(&choices_of).collect();
        let those = |keep: &dyn Fn(TaskId) -> bool| {
            let kept = (place..=later).filter(|&at| keep(steps[at].task)).flat_map(&choices_of);
            before.iter().copied().chain(kept).collect::<Vec<Choice>>()
        };
        [those(&|task| task != held), those(&|task| task == other)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::Step;

    fn execution(steps: &[(u16, u64)]) -> Execution {
        let step = |&(task, offset): &(u16, u64)| Step {
            task: TaskId(task),
            operation: Operation::Lock,
            object: None,
            site: Site { module: 0, offset },
            value: 0,
        };
        Execution { steps: steps.iter().map(step).collect(), ..Execution::default() }
    }

    #[test]
    fn a_step_is_recognised_by_its_occurrence() {
        let here = execution(&[(1, 7), (2, 7), (1, 7), (2, 8)]);
        let there = execution(&[(2, 7), (2, 8), (1, 7), (1, 7)]);
        let found = |step| StepIdentity::of(&here, step).and_then(|it| it.find(&there));
        assert_eq!([0, 1, 2, 3].map(found), [Some(2), Some(0), Some(3), Some(1)]);
        assert_eq!(StepIdentity::of(&here, 4), None);
        let wish = WishedOrder {
            first: StepIdentity::of(&here, 3).expect("a step"),
            second: StepIdentity::of(&here, 2).expect("a step"),
        };
        assert!(wish.holds(&there) && !wish.holds(&here));
        // It holds as well where the second step does not occur, not where the first one does not.
        assert!(wish.holds(&execution(&[(2, 8), (1, 7)])));
        assert!(!wish.holds(&execution(&[(1, 7), (1, 7)])));
    }

    #[test]
    fn the_task_of_the_earlier_step_is_held_at_nearer_steps_first() {
        let execution = execution(&[(1, 1), (1, 2), (3, 9), (2, 1), (2, 2)]);
        let tried: Vec<String> = candidates(&execution, (1, 4))
            .map(|choices| {
                let task = |choice: &Choice| match choice {
                    Choice::Task(task) => task.0.to_string(),
                    Choice::Data { .. } => "?".into(),
                };
                choices.iter().map(task).collect()
            })
            .collect();
        assert_eq!(tried, ["1322", "122", "322", "22"]);
    }
}
