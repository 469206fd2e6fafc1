//! A schedule's beginning, then a strategy: how a search, a person or a shrinker goes on from a step in
//! the middle. The strategy sees nothing of the beginning, so that its bounds count from there.

use crate::patience::Patience;
use crate::visits::{Counting, Visits};
use crate::{Any, Coverage, Decision, Divergence, GiveUp, Outcome, Strategy, View};
use traces::Choice;

/// Follows some choices, and leaves the rest to a strategy.
#[derive(Debug, Clone)]
pub struct Prefixed {
    prefix: Vec<Choice>,
    next: usize,
    /// A difference that showed where no answer could say so.
    pending: Option<Divergence>,
    rest: Any,
    patience: Patience,
    /// Which ways it goes behind the beginning, where that is asked for.
    counting: Option<Box<Counting>>,
}

impl Prefixed {
    /// `rest` after `prefix`, which may be empty.
    #[must_use]
    pub fn new(prefix: Vec<Choice>, rest: Any) -> Prefixed {
        Prefixed {
            prefix,
            next: 0,
            pending: None,
            rest,
            patience: Patience::default(),
            counting: None,
        }
    }

    /// Has it count which ways it goes.
    pub fn count_ways(&mut self) {
        self.counting = Some(Box::default());
    }

    /// The ways it went since this was asked last, where it counts them.
    pub fn take_visits(&mut self) -> Option<Visits> {
        self.counting.as_mut().map(|counting| counting.take())
    }

    /// Another strategy after the beginning.
    pub fn set_rest(&mut self, rest: Any) {
        self.rest = rest;
    }

    /// See [`Any::only_look`].
    pub fn only_look(&mut self) {
        self.rest.only_look();
    }

    /// The strategy after the beginning.
    #[must_use]
    pub fn rest(&self) -> &Any {
        &self.rest
    }

    fn follow(&mut self, view: &View<'_>) -> Decision {
        let what = match (self.pending.take(), self.prefix[self.next]) {
            (Some(divergence), _) => return Decision::GiveUp(GiveUp::Diverged(divergence)),
            (None, Choice::Task(task)) if view.enabled.binary_search(&task).is_ok() => {
                self.next += 1;
                return Decision::Task(task);
            }
            (None, Choice::Task(task)) => format!("{task} is to move here, and cannot"),
            (None, Choice::Data { of, .. }) => {
                format!("the step before is to choose one of {of}, and chose nothing")
            }
        };
        Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
    }
}

impl Strategy for Prefixed {
    fn begin(&mut self, number: u64) -> bool {
        self.next = 0;
        self.pending = None;
        self.patience.begin();
        let begins = self.rest.begin(number);
        if let (true, Some(counting)) = (begins, &mut self.counting) {
            counting.begin();
        }
        begins
    }

    #[inline]
    fn choose(&mut self, view: &View<'_>) -> Decision {
        if self.next < self.prefix.len() {
            return self.follow(view);
        }
        // They follow a schedule, or check by walking freely what others claim.
        if matches!(self.rest, Any::Follow(_) | Any::Walk(_)) {
            return self.rest.choose(view);
        }
        let decision = match self.patience.restrict(view) {
            Some(restricted) => self.rest.choose(&restricted),
            None => self.rest.choose(view),
        };
        if let Decision::Task(task) = decision {
            self.patience.chosen(view, task);
            if let Some(counting) = &mut self.counting {
                counting.chose(Choice::Task(task), view.enabled.len());
            }
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        match self.prefix.get(self.next) {
            None => {
                let taken = self.rest.choose_data(of);
                if let Some(counting) = &mut self.counting {
                    counting.chose(Choice::Data { taken, of }, of as usize);
                }
                taken
            }
            Some(&Choice::Data { taken, of: before }) if before == of => {
                self.next += 1;
                taken
            }
            Some(_) => {
                let steps = self.prefix[..self.next].iter();
                let steps = steps.filter(|choice| matches!(choice, Choice::Task(_))).count();
                self.pending = Some(Divergence {
                    step: steps.saturating_sub(1) as u64,
                    what: format!("a choice of {of} that the beginning does not have"),
                });
                0
            }
        }
    }

    fn end(&mut self, outcome: Outcome) {
        let outcome = if self.patience.left_out() { Outcome::Cut } else { outcome };
        self.rest.end(outcome);
    }

    fn wants_frames(&self) -> bool {
        self.rest.wants_frames()
    }

    fn detailed(&self) -> bool {
        self.rest.detailed()
    }

    fn looks(&self) -> bool {
        self.next >= self.prefix.len() && self.rest.looks()
    }

    fn left(&mut self, tasks: &[crate::Next]) {
        self.rest.left(tasks);
    }

    fn is_full(&self) -> bool {
        self.rest.is_full()
    }

    fn class(&self) -> Option<u64> {
        self.rest.class()
    }

    fn part(&self) -> &'static str {
        self.rest.part()
    }

    fn coverage(&self) -> Coverage {
        self.rest.coverage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dfs::Dfs;
    use crate::follow::NonPreemptive;
    use traces::{Operation, TaskId, enabled};

    /// Two tasks of so many steps each, under a strategy: who moved, or where it was given up.
    fn execution(
        strategy: &mut Prefixed,
        number: u64,
        steps: usize,
    ) -> Option<Result<String, u64>> {
        if !strategy.begin(number) {
            return None;
        }
        let mut left = [steps; 2];
        let mut moved = String::new();
        let mut running = None;
        for step in 0..2 * steps as u64 {
            let able: Vec<TaskId> =
                (0..2).filter(|&task| left[task] > 0).map(|task| TaskId(task as u16)).collect();
            let operations = vec![Operation::Lock; able.len()];
            let view = View {
                step,
                running,
                yielded: false,
                place: 0,
                enabled: &able,
                operations: &operations,
                digest: enabled::digest(able.iter().copied()),
                tasks: &[],
            };
            match strategy.choose(&view) {
                Decision::Task(task) => {
                    left[task.index()] -= 1;
                    moved.push_str(&task.0.to_string());
                    running = Some(task);
                }
                Decision::GiveUp(_) => {
                    strategy.end(Outcome::GivenUp);
                    return Some(Err(step));
                }
            }
        }
        strategy.end(Outcome::Passed);
        Some(Ok(moved))
    }

    fn tasks(order: &[u16]) -> Vec<Choice> {
        order.iter().map(|&task| Choice::Task(TaskId(task))).collect()
    }

    #[test]
    fn the_default_goes_on_after_the_beginning() {
        let mut strategy = Prefixed::new(tasks(&[1, 0]), Any::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 3), Some(Ok("100011".into())));
    }

    #[test]
    fn a_search_covers_what_is_left_and_counts_preemptions_from_there() {
        let all = |bound| {
            let mut strategy = Prefixed::new(tasks(&[1, 0]), Any::Dfs(Dfs::new(bound)));
            let mut found = Vec::new();
            while let Some(execution) = execution(&mut strategy, found.len() as u64 + 1, 2) {
                found.push(execution.expect("nothing differs"));
            }
            (found, strategy.coverage())
        };
        let complete = |bound| Coverage::Complete { bound };
        assert_eq!(all(Some(0)), (vec!["1001".into()], complete(Some(0))));
        assert_eq!(all(None), (vec!["1001".into(), "1010".into()], complete(None)));
    }

    #[test]
    fn a_beginning_that_does_not_fit_is_given_up_and_nothing_is_covered() {
        let mut strategy = Prefixed::new(tasks(&[1, 1, 1]), Any::Dfs(Dfs::new(None)));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(2)));
        assert_eq!(execution(&mut strategy, 2, 2), None);
        assert_eq!(strategy.coverage(), Coverage::Open);
        let data = vec![Choice::Data { taken: 0, of: 2 }];
        let mut strategy = Prefixed::new(data, Any::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(0)));
    }
}
