//! A schedule's beginning, then a strategy: how a search, a person or a shrinker goes on from a step in
//! the middle. The strategy sees nothing of the beginning, so that its bounds count from there.

use crate::explain::visits::{Counting, Visits};
use crate::prefix::{PrefixCheck, PrefixOutcome};
use crate::spin::timeout_fairness::TimeoutFairness;
use crate::{
    AnyStrategy, Coverage, Decision, Divergence, GiveUp, Outcome, PrefixReplay, Reduction,
    Strategy, View,
};
use traces::Choice;

/// Follows some choices, and leaves the rest to a strategy.
#[derive(Debug, Clone)]
pub struct Prefixed {
    prefix: Vec<Choice>,
    next: usize,
    /// How many steps the execution has taken.
    steps: u64,
    /// A difference that showed where no answer could say so.
    pending: Option<Divergence>,
    rest: AnyStrategy,
    fairness: TimeoutFairness,
    /// Whether the rest repeats what it means to repeat.
    prefix_check: PrefixCheck,
    /// Which ways it goes behind the beginning, where that is asked for.
    counting: Option<Box<Counting>>,
}

impl Prefixed {
    /// `rest` after `prefix`, which may be empty.
    #[must_use]
    pub fn new(prefix: Vec<Choice>, rest: AnyStrategy) -> Prefixed {
        Prefixed {
            prefix,
            next: 0,
            steps: 0,
            pending: None,
            rest,
            fairness: TimeoutFairness::default(),
            prefix_check: PrefixCheck::default(),
            counting: None,
        }
    }

    /// Has it count which ways it goes.
    pub fn count_visits(&mut self) {
        self.counting = Some(Box::default());
    }

    /// The ways it went since this was asked last, where it counts them.
    pub fn take_visits(&mut self) -> Option<Visits> {
        self.counting.as_mut().map(|counting| counting.take())
    }

    /// Another strategy after the beginning.
    pub fn set_rest(&mut self, rest: AnyStrategy) {
        self.rest = rest;
    }

    /// See [`AnyStrategy::suspend_cache_updates`].
    pub fn suspend_cache_updates(&mut self) {
        self.rest.suspend_cache_updates();
    }

    /// The strategy after the beginning.
    #[must_use]
    pub fn rest(&self) -> &AnyStrategy {
        &self.rest
    }

    /// Whether the execution that ended left its beginning: it is none of those that the search is made of.
    #[must_use]
    pub fn has_diverged(&self) -> bool {
        self.prefix_check.has_diverged()
    }

    /// Whether the next execution is to be the one before, once more.
    #[must_use]
    pub fn will_retry(&self) -> bool {
        self.prefix_check.will_retry()
    }

    /// What it left its beginning by, where that was left each time that it was tried, and is pruned.
    #[must_use]
    pub fn pruned(&self) -> Option<&Divergence> {
        self.prefix_check.pruned()
    }

    /// What was to be tried again is not: it is left out.
    pub fn abandon_retry(&mut self) {
        if self.prefix_check.abandon_retry() {
            self.rest.end(Outcome::GivenUp);
        }
    }

    fn follow(&mut self, view: &View<'_>) -> Decision {
        let what = match (self.pending.take(), self.prefix[self.next]) {
            (Some(divergence), _) => return Decision::GiveUp(GiveUp::Diverged(divergence)),
            (None, Choice::Task(task)) if view.enabled.binary_search(&task).is_ok() => {
                self.next += 1;
                return Decision::Task(task);
            }
            (None, Choice::Task(task)) => format!("{task} must run here, but is not enabled"),
            (None, Choice::Data { of, .. }) => {
                format!(
                    "the previous step must make a data choice among {of} outcomes, but made none"
                )
            }
        };
        Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
    }
}

impl Strategy for Prefixed {
    fn begin(&mut self, number: u64) -> bool {
        self.next = 0;
        self.steps = 0;
        self.pending = None;
        self.fairness.begin();
        let begins = if self.prefix_check.begin() {
            self.rest.restart();
            true
        } else {
            self.rest.begin(number)
        };
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
        if matches!(self.rest, AnyStrategy::Follow(_) | AnyStrategy::CheckingWalk(_)) {
            return self.rest.choose(view);
        }
        if self.prefix_check.has_diverged() {
            return Decision::Task(view.default_task());
        }
        let decision = match self.fairness.restrict(view) {
            Some(restricted) => self.rest.choose(&restricted),
            None => self.rest.choose(view),
        };
        if let Decision::GiveUp(GiveUp::Diverged(divergence)) = decision {
            self.prefix_check.diverge(divergence);
            return Decision::Task(view.default_task());
        }
        if let Decision::Task(task) = decision {
            self.steps = view.step + 1;
            self.fairness.chosen(view, task);
            if let Some(counting) = &mut self.counting {
                counting.chose(Choice::Task(task), view.enabled.len());
            }
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        match self.prefix.get(self.next) {
            None if self.prefix_check.has_diverged() => 0,
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
                    what: format!(
                        "a data choice among {of} outcomes that the prefix does not have"
                    ),
                });
                0
            }
        }
    }

    fn end(&mut self, outcome: Outcome) {
        let outcome = if self.fairness.left_out() { Outcome::Cut } else { outcome };
        let ended = matches!(outcome, Outcome::Passed | Outcome::Failed);
        if ended && !self.prefix_check.has_diverged() && self.rest.failed_to_repeat() {
            let what = "the execution ended here, but the prefix continues".to_owned();
            self.prefix_check.diverge(Divergence { step: self.steps, what });
        }
        match self.prefix_check.end() {
            PrefixOutcome::Repeated => self.rest.end(outcome),
            PrefixOutcome::Retry => {}
            PrefixOutcome::Pruned => self.rest.end(Outcome::GivenUp),
        }
    }

    fn active_part(&self) -> &'static str {
        self.rest.active_part()
    }

    fn coverage(&self) -> Coverage {
        self.rest.coverage()
    }
}

impl PrefixReplay for Prefixed {
    fn expected_digest(&self) -> Option<u32> {
        let repeats = self.next >= self.prefix.len() && !self.prefix_check.has_diverged();
        repeats.then(|| self.rest.expected_digest()).flatten()
    }
}

impl Reduction for Prefixed {
    fn needs_caller_sites(&self) -> bool {
        self.rest.needs_caller_sites()
    }

    fn needs_pending(&self) -> bool {
        self.rest.needs_pending()
    }

    fn needs_pending_now(&self) -> bool {
        self.next >= self.prefix.len() && self.rest.needs_pending_now()
    }

    fn pending_at_end(&mut self, tasks: &[crate::PendingOperation]) {
        if !self.prefix_check.has_diverged() {
            self.rest.pending_at_end(tasks);
        }
    }

    fn equivalence_class(&self) -> Option<u64> {
        if self.prefix_check.has_diverged() { None } else { self.rest.equivalence_class() }
    }
}

impl Prefixed {
    /// See [`Shareable::must_share`](crate::Shareable::must_share).
    #[must_use]
    pub fn must_share(&self) -> bool {
        self.rest.must_share()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::dfs::Dfs;
    use crate::strategy::follow::NonPreemptive;
    use traces::{Operation, TaskId, enabled};

    /// Two tasks of so many steps each, under a strategy: who moved, or where it was given up.
    fn execution(
        strategy: &mut Prefixed,
        number: u64,
        steps: usize,
    ) -> Option<Result<String, u64>> {
        execution_of(strategy, number, [steps, steps, 0])
    }

    fn execution_of(
        strategy: &mut Prefixed,
        number: u64,
        steps: [usize; 3],
    ) -> Option<Result<String, u64>> {
        if !strategy.begin(number) {
            return None;
        }
        let mut left = steps;
        let mut moved = String::new();
        let mut running = None;
        for step in 0..steps.iter().sum::<usize>() as u64 {
            let able: Vec<TaskId> =
                (0..3).filter(|&task| left[task] > 0).map(|task| TaskId(task as u16)).collect();
            let operations = vec![Operation::Lock; able.len()];
            let view = View {
                step,
                running,
                yielded: false,
                site: 0,
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
        let mut strategy = Prefixed::new(tasks(&[1, 0]), AnyStrategy::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 3), Some(Ok("100011".into())));
    }

    #[test]
    fn a_search_covers_what_is_left_and_counts_preemptions_from_there() {
        let all = |bound| {
            let mut strategy = Prefixed::new(tasks(&[1, 0]), AnyStrategy::Dfs(Dfs::new(bound)));
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

    /// Each beginning comes otherwise in some executions: what is left is tried again, and what is left
    /// each time is pruned; what was seen is the same as if nothing had happened, or not called complete.
    #[test]
    fn a_beginning_that_is_left_is_tried_again_and_then_pruned() {
        let all = |differs: &dyn Fn(usize) -> bool| {
            let mut strategy = Prefixed::new(Vec::new(), AnyStrategy::Dfs(Dfs::new(None)));
            let (mut found, mut pruned, mut ran) = (Vec::new(), 0, 0);
            loop {
                // This time there is another task.
                let steps = if differs(ran) { [2, 2, 1] } else { [2, 2, 0] };
                let Some(execution) = execution_of(&mut strategy, ran as u64 + 1, steps) else {
                    break;
                };
                ran += 1;
                assert!(ran < 5000, "it ends");
                let moved = execution.expect("it runs to its end, whatever it does");
                pruned += usize::from(strategy.pruned().is_some());
                if !strategy.has_diverged() {
                    found.push(moved);
                }
            }
            found.sort();
            (found, pruned, strategy.coverage(), ran)
        };
        let (calm, _, coverage, ran) = all(&|_| false);
        assert_eq!((calm.len(), ran, coverage), (6, 6, Coverage::Complete { bound: None }));
        // Twice in a row is not too often. (The first execution repeats nothing: it has to be calm.)
        for disturbed in [&[1][..], &[1, 2], &[2, 4], &[3, 4, 6, 7], &[1, 3, 5, 7, 9]] {
            let (found, pruned, coverage, ran) = all(&|at| disturbed.contains(&at));
            let what = format!("{disturbed:?}");
            assert_eq!((&found, pruned), (&calm, 0), "{what}");
            assert_eq!(coverage, Coverage::Complete { bound: None }, "{what}");
            assert!(ran > calm.len(), "{what}");
        }
        // What it does in the end is searched, and nothing is claimed.
        for changes in 1..5 {
            let (found, pruned, coverage, _) = all(&|at| at < changes);
            assert!(calm.iter().all(|schedule| found.contains(schedule)), "{changes}: {found:?}");
            assert!((1..=2).contains(&pruned), "{changes}: {pruned} pruned");
            assert_eq!(coverage, Coverage::Open, "{changes}");
        }
        // One that never does the same twice comes to an end.
        let (_, pruned, coverage, ran) = all(&|at| (at / 4) % 2 == 1);
        assert!(pruned > 0, "{pruned} pruned of {ran}");
        assert_eq!(coverage, Coverage::Open);
    }

    #[test]
    fn a_beginning_that_does_not_fit_is_given_up_and_nothing_is_covered() {
        let mut strategy = Prefixed::new(tasks(&[1, 1, 1]), AnyStrategy::Dfs(Dfs::new(None)));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(2)));
        assert_eq!(execution(&mut strategy, 2, 2), None);
        assert_eq!(strategy.coverage(), Coverage::Open);
        let data = vec![Choice::Data { taken: 0, of: 2 }];
        let mut strategy = Prefixed::new(data, AnyStrategy::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(0)));
    }
}
