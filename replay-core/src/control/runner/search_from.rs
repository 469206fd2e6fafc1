//! A search that starts at a step of a schedule, and the state of the branches of its tree.

use super::program::Runner;
use crate::control::command::explore;
use crate::predicates;
use crate::{Error, Observer, SearchOptions, StrategyChoice};
use search::explain::tree::Progress;
use search::{Tree, Visits};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use traces::Choice;
use traces::report::Report;

/// A search to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFrom {
    /// The prefix of every schedule of the search.
    pub beginning: Vec<Choice>,
    /// The strategy.
    pub strategy: StrategyChoice,
    /// The most preemptions (or delays) after the prefix.
    pub bound: Option<u32>,
    /// The number of worker processes.
    pub workers: u32,
    /// When the search ends before it is complete.
    pub limits: SearchLimits,
    /// Predicates that a schedule is to satisfy; the search then is for such a schedule, and has no
    /// prefix.
    pub wishes: Vec<String>,
    /// Whether to continue the search with this order that was stopped.
    pub resume: bool,
}

/// When a search ends before it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SearchLimits {
    /// After this many executions; none for no limit.
    pub executions: Option<u64>,
    /// After this time; none for no limit.
    pub time: Option<Duration>,
    /// At the first failure.
    pub first_failure: bool,
}

/// How far a search has explored a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchState {
    /// The branch does not have the search's prefix.
    Outside,
    /// The branch takes more preemptions than the search's bound.
    Beyond,
    /// Every schedule of the branch was run.
    Explored,
    /// Some schedules of the branch were run.
    Partly,
    /// No schedule of the branch was run yet.
    Pending,
    /// No schedule of the branch needs to be run: the reduction proves it redundant.
    Pruned,
    /// This many executions took the branch, in a search without a tree of remaining work.
    Met(u64),
    /// Unknown: too far below the start of the search.
    Unknown,
}

/// What is known about the progress of a search.
#[derive(Debug, Clone, Copy)]
pub struct Searched<'a> {
    /// The remaining work, if the strategy has a tree.
    pub tree: Option<&'a Tree>,
    /// How often each branch was taken, if that was counted.
    pub visits: Option<&'a Visits>,
    /// The current bound, if the strategy raises one.
    pub within: Option<u32>,
    /// Whether the search is complete.
    pub done: bool,
}

impl Runner {
    /// Runs the search until it is complete or `interrupt` is set. A search that was stopped leaves
    /// its state in `out`, from where it is continued if the order has `resume`.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn search(
        &self,
        order: &SearchFrom,
        out: &Path,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Report, Error> {
        search(self, order, out, interrupt, observer)
    }
}

fn search(
    runner: &Runner,
    order: &SearchFrom,
    out: &Path,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let options = SearchOptions {
        strategy: order.strategy,
        prefix: order.beginning.clone(),
        bound: order.bound,
        max_executions: order.limits.executions,
        max_time: order.limits.time,
        keep_going: !order.limits.first_failure,
        visits: true,
        workers: order.workers,
        out: out.to_owned(),
        resume: order.resume,
        ..runner.options.clone()
    };
    if order.wishes.is_empty() {
        return explore(&runner.target, &options, interrupt, observer);
    }
    let wanted = SearchOptions { when: order.wishes.clone(), ..options };
    let options = predicates::compile(&runner.target, &wanted, interrupt)?;
    explore(&runner.target, &options, interrupt, observer)
}

impl SearchFrom {
    /// The number of steps in the prefix.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.beginning.iter().filter(|choice| matches!(choice, Choice::Task(_))).count()
    }

    /// The state of the branch that starts with `before` and then `next` and has this many
    /// preemptions after the prefix.
    #[must_use]
    pub fn branch_state(
        &self,
        been: Searched<'_>,
        (before, next): (&[Choice], Choice),
        preemptions: u32,
    ) -> BranchState {
        let Some(rest) = before.strip_prefix(self.beginning.as_slice()) else {
            return BranchState::Outside;
        };
        if been.within.or(self.bound).is_some_and(|bound| preemptions > bound) {
            return BranchState::Beyond;
        }
        let times = been.visits.map(|visits| visits.times(rest, next));
        let Some(tree) = been.tree else {
            return match times.flatten() {
                Some(0) if been.done => BranchState::Pruned,
                Some(times) => BranchState::Met(times),
                None => BranchState::Unknown,
            };
        };
        let mut rest = rest.to_vec();
        rest.push(next);
        match tree.progress(&rest) {
            Progress::Explored if times == Some(Some(0)) => BranchState::Pruned,
            Progress::Explored => BranchState::Explored,
            Progress::Partly => BranchState::Partly,
            Progress::Pending => BranchState::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use search::explain::tree::OpenBranches;
    use traces::TaskId;

    #[test]
    fn branch_states_are_distinguished() {
        let task = |number| Choice::Task(TaskId(number));
        let order = SearchFrom {
            beginning: vec![task(0)],
            strategy: StrategyChoice::DFS,
            bound: Some(2),
            workers: 1,
            limits: SearchLimits::default(),
            wishes: Vec::new(),
            resume: false,
        };
        let tree = Tree {
            left: vec![OpenBranches {
                path: [0, 1, 1, 0].map(task).to_vec(),
                others: vec![(0, task(2)), (2, task(2))],
                fresh: false,
            }],
            gaps: false,
        };
        let schedule = [0, 0, 1, 1, 0].map(task);
        let way = |step: usize, next, preemptions| {
            let been = Searched { tree: Some(&tree), visits: None, within: None, done: false };
            order.branch_state(been, (&schedule[..step], task(next)), preemptions)
        };
        assert_eq!(order.behind(), 1);
        assert_eq!(way(0, 2, 0), BranchState::Outside);
        assert_eq!(
            [0, 1, 2].map(|next| way(1, next, 0)),
            [BranchState::Partly, BranchState::Explored, BranchState::Pending]
        );
        assert_eq!(
            [0, 1].map(|next| way(2, next, 0)),
            [BranchState::Explored, BranchState::Partly]
        );
        assert_eq!(
            [1, 2].map(|next| way(3, next, 2)),
            [BranchState::Explored, BranchState::Pending]
        );
        assert_eq!(way(3, 2, 3), BranchState::Beyond);
        let been = Searched { tree: Some(&tree), visits: None, within: Some(0), done: false };
        assert_eq!(order.branch_state(been, (&schedule[..3], task(2)), 1), BranchState::Beyond);
        // Without a tree, visits are counted; a branch that a complete search never took was
        // pruned.
        let visits = Visits::default();
        let been = Searched { tree: None, visits: Some(&visits), within: None, done: false };
        let met = |been| order.branch_state(been, (&schedule[..1], task(1)), 0);
        assert_eq!(met(been), BranchState::Met(0));
        assert_eq!(met(Searched { done: true, ..been }), BranchState::Pruned);
        assert_eq!(met(Searched { visits: None, ..been }), BranchState::Unknown);
    }
}
