//! A prefix of a schedule followed by a strategy: a search, a user or a shrinker continues from a
//! step in the middle of a schedule. The strategy does not see the prefix, so its bounds count from
//! the end of the prefix.

use crate::explain::visits::{Counting, Visits};
use crate::prefix::{Position, PrefixCheck, PrefixOutcome, TrailChoice};
use crate::spin::timeout_fairness::TimeoutFairness;
use crate::{
    AnyStrategy, Coverage, Decision, Divergence, GiveUp, Outcome, PrefixReplay, Reduction,
    Strategy, View,
};
use traces::Choice;

/// Follows a list of choices, and then a strategy.
#[derive(Debug, Clone)]
pub struct Prefixed {
    prefix: Vec<Choice>,
    next: usize,
    /// The number of steps that the execution has taken.
    steps: u64,
    /// A divergence found by a function that cannot return one; the next `choose` reports it.
    pending: Option<Divergence>,
    rest: AnyStrategy,
    fairness: TimeoutFairness,
    /// Detects that the strategy diverges from the prefix that it repeats.
    prefix_check: PrefixCheck,
    /// Counts the branches taken after the prefix, if requested.
    counting: Option<Box<Counting>>,
}

impl Prefixed {
    /// A strategy that follows `prefix`, which may be empty, and then `rest`.
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

    /// Starts counting the branches that executions take.
    pub fn count_visits(&mut self) {
        self.counting = Some(Box::default());
    }

    /// The branch counts since the last call; none if branches are not counted.
    pub fn take_visits(&mut self) -> Option<Visits> {
        self.counting.as_mut().map(|counting| counting.take())
    }

    /// Replaces the strategy after the prefix.
    pub fn set_rest(&mut self, rest: AnyStrategy) {
        self.rest = rest;
    }

    /// Replaces the strategy after the prefix by another search of the same program. `trail` returns the
    /// choices of the last execution. Returns the number of steps at which the next execution may be
    /// resumed at most, as if both were executions of one search ([`PrefixReplay::adopt`]).
    pub fn continue_with(
        &mut self,
        rest: AnyStrategy,
        trail: impl FnOnce() -> Vec<TrailChoice>,
    ) -> usize {
        let resumable = self.is_resumable();
        let mut before = std::mem::replace(&mut self.rest, rest);
        if resumable { self.rest.take_over(&mut before, &trail()) } else { 0 }
    }

    /// See [`AnyStrategy::suspend_cache_updates`].
    pub fn suspend_cache_updates(&mut self) {
        self.rest.suspend_cache_updates();
    }

    /// See [`AnyStrategy::continue_cache_updates`].
    pub fn continue_cache_updates(&mut self) {
        self.rest.continue_cache_updates();
    }

    /// The strategy after the prefix.
    #[must_use]
    pub fn rest(&self) -> &AnyStrategy {
        &self.rest
    }

    /// Whether the execution that ended left its prefix. Such an execution is not part of the
    /// searched tree.
    #[must_use]
    pub fn has_diverged(&self) -> bool {
        self.prefix_check.has_diverged()
    }

    /// Whether the next execution retries the prefix of the last one.
    #[must_use]
    pub fn will_retry(&self) -> bool {
        self.prefix_check.will_retry()
    }

    /// The divergence of the prefix that was pruned with the last execution; none if no prefix was
    /// pruned.
    #[must_use]
    pub fn pruned(&self) -> Option<&Divergence> {
        self.prefix_check.pruned()
    }

    /// Cancels a pending retry: the prefix is pruned at once.
    pub fn abandon_retry(&mut self) {
        if self.prefix_check.abandon_retry() {
            self.rest.end(Outcome::GivenUp);
        }
    }

    /// Whether the whole state of an execution is the position of the strategy.
    fn is_resumable(&self) -> bool {
        self.prefix.is_empty() && self.counting.is_none() && !self.has_diverged()
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

    /// Whether a task of the execution timed out so often in a row that it had to let others run, so that
    /// schedules were left out.
    #[must_use]
    pub fn has_cut_time_outs(&self) -> bool {
        self.fairness.left_out()
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
        // These strategies follow a fixed schedule, or walk at random to check another strategy;
        // their executions are not branches of a search.
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

    fn may_be_longer(&self) -> bool {
        self.rest.may_be_longer()
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

    fn common_steps(&self) -> usize {
        if self.is_resumable() { self.rest.common_steps() } else { 0 }
    }

    fn planned_steps(&self) -> usize {
        if self.is_resumable() { self.rest.planned_steps() } else { 0 }
    }

    fn position(&self) -> Option<Position> {
        let resumable = self.is_resumable() && !self.fairness.left_out();
        let position = resumable.then(|| self.rest.position()).flatten()?;
        let steps = self.steps as usize;
        Some(Position { steps, fairness: self.fairness.clone(), ..position })
    }

    fn resume(&mut self, position: &Position) {
        self.rest.resume(position);
        self.steps = position.steps as u64;
        self.fairness.clone_from(&position.fairness);
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

    /// Runs an execution of two tasks with the given numbers of steps: which task ran at each step,
    /// or the divergence with which the strategy gave it up.
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
        failing_execution(strategy, number, steps, usize::MAX)
    }

    /// The same for a program that fails after at most so many steps.
    fn failing_execution(
        strategy: &mut Prefixed,
        number: u64,
        steps: [usize; 3],
        most: usize,
    ) -> Option<Result<String, u64>> {
        if !strategy.begin(number) {
            return None;
        }
        let mut left = steps;
        let mut moved = String::new();
        let mut running = None;
        for step in 0..steps.iter().sum::<usize>().min(most) as u64 {
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
                expiries: &[],
                gave_way: false,
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
    fn the_default_continues_after_the_prefix() {
        let mut strategy = Prefixed::new(tasks(&[1, 0]), AnyStrategy::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 3), Some(Ok("100011".into())));
    }

    /// The divergence of the first execution that begins with these choices, of two tasks that each
    /// execute one step with `outcomes` outcomes.
    fn divergence(prefix: Vec<Choice>, outcomes: Option<u32>) -> Option<(u64, String)> {
        let mut strategy = Prefixed::new(prefix, AnyStrategy::Default(NonPreemptive));
        assert!(strategy.begin(1));
        let enabled = [TaskId(0), TaskId(1)];
        for step in 0..2 {
            let view = View {
                step,
                running: None,
                yielded: false,
                site: 0,
                enabled: &enabled,
                operations: &[Operation::Signal; 2],
                digest: enabled::digest(enabled),
                expiries: &[],
                gave_way: false,
                tasks: &[],
            };
            if let Decision::GiveUp(GiveUp::Diverged(Divergence { step, what })) =
                strategy.choose(&view)
            {
                return Some((step, what));
            }
            if let Some(outcomes) = outcomes {
                strategy.choose_data(outcomes);
            }
        }
        None
    }

    #[test]
    fn a_prefix_that_does_not_fit_says_why() {
        let two = Choice::Data { taken: 1, of: 2 };
        let of = |prefix: &[Choice], outcomes| divergence(prefix.to_vec(), outcomes);
        let task = |task| Choice::Task(TaskId(task));
        let at = |step, what: &str| Some((step, what.to_owned()));
        assert_eq!(of(&[task(0), two, task(1)], Some(2)), None);
        assert_eq!(of(&[task(7)], None), at(0, "T7 must run here, but is not enabled"));
        assert_eq!(
            of(&[task(0), two], None),
            at(1, "the previous step must make a data choice among 2 outcomes, but made none")
        );
        assert_eq!(
            of(&[task(0), task(1)], Some(3)),
            at(0, "a data choice among 3 outcomes that the prefix does not have")
        );
    }

    #[test]
    fn a_search_covers_the_rest_and_counts_preemptions_from_there() {
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

    /// In some executions the prefix diverges. It is retried, and pruned if it diverges each time.
    /// The search sees the same executions as without divergences, or does not claim to be
    /// complete.
    #[test]
    fn a_prefix_that_diverges_is_retried_and_then_pruned() {
        let all = |differs: &dyn Fn(usize) -> bool| {
            let mut strategy = Prefixed::new(Vec::new(), AnyStrategy::Dfs(Dfs::new(None)));
            let (mut found, mut pruned, mut ran) = (Vec::new(), 0, 0);
            loop {
                // In this execution the program has one more task.
                let steps = if differs(ran) { [2, 2, 1] } else { [2, 2, 0] };
                let Some(execution) = execution_of(&mut strategy, ran as u64 + 1, steps) else {
                    break;
                };
                ran += 1;
                assert!(ran < 5000, "it ends");
                let moved = execution.expect("a diverged execution runs to its end");
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
        // Divergences in two consecutive executions are within the limit. (The first execution
        // repeats no prefix, so it must not be disturbed.)
        for disturbed in [&[1][..], &[1, 2], &[2, 4], &[3, 4, 6, 7], &[1, 3, 5, 7, 9]] {
            let (found, pruned, coverage, ran) = all(&|at| disturbed.contains(&at));
            let what = format!("{disturbed:?}");
            assert_eq!((&found, pruned), (&calm, 0), "{what}");
            assert_eq!(coverage, Coverage::Complete { bound: None }, "{what}");
            assert!(ran > calm.len(), "{what}");
        }
        // After the program changes, its new behaviour is searched, and no coverage is claimed.
        for changes in 1..5 {
            let (found, pruned, coverage, _) = all(&|at| at < changes);
            assert!(calm.iter().all(|schedule| found.contains(schedule)), "{changes}: {found:?}");
            assert!((1..=2).contains(&pruned), "{changes}: {pruned} pruned");
            assert_eq!(coverage, Coverage::Open, "{changes}");
        }
        // The search of a program that never repeats its behaviour ends.
        let (_, pruned, coverage, ran) = all(&|at| (at / 4) % 2 == 1);
        assert!(pruned > 0, "{pruned} pruned of {ran}");
        assert_eq!(coverage, Coverage::Open);
    }

    #[test]
    fn an_execution_that_ends_within_the_prefix_diverges() {
        let mut strategy = Prefixed::new(Vec::new(), AnyStrategy::Dfs(Dfs::new(None)));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Ok("0011".into())));
        let mut number = 1;
        let pruned = loop {
            number += 1;
            assert!(number < 10, "a divergence is not retried forever");
            let ended = failing_execution(&mut strategy, number, [2, 2, 0], 1);
            assert_eq!(ended, Some(Ok("0".into())));
            if let Some(pruned) = strategy.pruned() {
                break pruned;
            }
        };
        assert_eq!(pruned.step, 1);
        assert_eq!(pruned.what, "the execution ended here, but the prefix continues");
    }

    #[test]
    fn a_prefix_that_cannot_be_followed_gives_up_and_covers_nothing() {
        let mut strategy = Prefixed::new(tasks(&[1, 1, 1]), AnyStrategy::Dfs(Dfs::new(None)));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(2)));
        assert_eq!(execution(&mut strategy, 2, 2), None);
        assert_eq!(strategy.coverage(), Coverage::Open);
        let data = vec![Choice::Data { taken: 0, of: 2 }];
        let mut strategy = Prefixed::new(data, AnyStrategy::Default(NonPreemptive));
        assert_eq!(execution(&mut strategy, 1, 2), Some(Err(0)));
    }
}
