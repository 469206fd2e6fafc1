//! Handing over to a search from a position, and looking at the tree of what it has been through.

use super::Walk;
use crate::command::explore;
use crate::{Error, Observer, SearchOptions, StrategyName};
use search::tree::Progress;
use search::{Tree, Visits};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Choice;
use traces::report::Report;

/// What a search is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    /// The choices up to where it begins.
    pub beginning: Vec<Choice>,
    /// By which strategy.
    pub strategy: StrategyName,
    /// The most preemptions (or delays) from there on.
    pub bound: Option<u32>,
    /// How many processes search at a time.
    pub workers: u32,
}

/// How a search stands to a way that an execution could go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It begins elsewhere.
    Outside,
    /// It takes more preemptions than the search may make.
    Beyond,
    /// Everything that begins so was run.
    Explored,
    /// Some of it was run.
    Partly,
    /// Nothing of it was run yet.
    Pending,
    /// Nothing of it was run, and nothing is to be: it would show what others showed.
    Pruned,
    /// So many executions went this way, of a search that keeps no tree of what is left.
    Met(u64),
    /// That is not known: it lies too far from where the search began.
    Unknown,
}

/// What is known of where a search has been.
#[derive(Debug, Clone, Copy)]
pub struct Been<'a> {
    /// What it has left, where it has a tree.
    pub tree: Option<&'a Tree>,
    /// How often it went which way, where that was counted.
    pub visits: Option<&'a Visits>,
    /// The bound that it has come to, where it goes by bounds.
    pub within: Option<u32>,
    /// Whether it has nothing left to do.
    pub done: bool,
}

pub(super) fn search(
    walk: &Walk,
    order: &HandOver,
    out: &Path,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let options = SearchOptions {
        strategy: order.strategy,
        prefix: order.beginning.clone(),
        bound: order.bound,
        max_executions: None,
        keep_going: true,
        visits: true,
        workers: order.workers,
        out: out.to_owned(),
        ..walk.options.clone()
    };
    explore(&walk.target, &options, interrupt, observer)
}

impl HandOver {
    /// How many steps lie before the search.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.beginning.iter().filter(|choice| matches!(choice, Choice::Task(_))).count()
    }

    /// How the search stands to executions that begin with `before` and then `next`, with so many
    /// preemptions since the search's beginning.
    #[must_use]
    pub fn way(
        &self,
        been: Been<'_>,
        (before, next): (&[Choice], Choice),
        preemptions: u32,
    ) -> Way {
        let Some(rest) = before.strip_prefix(self.beginning.as_slice()) else {
            return Way::Outside;
        };
        if been.within.or(self.bound).is_some_and(|bound| preemptions > bound) {
            return Way::Beyond;
        }
        let times = been.visits.map(|visits| visits.times(rest, next));
        let Some(tree) = been.tree else {
            return match times.flatten() {
                Some(0) if been.done => Way::Pruned,
                Some(times) => Way::Met(times),
                None => Way::Unknown,
            };
        };
        let mut rest = rest.to_vec();
        rest.push(next);
        match tree.progress(&rest) {
            Progress::Explored if times == Some(Some(0)) => Way::Pruned,
            Progress::Explored => Way::Explored,
            Progress::Partly => Way::Partly,
            Progress::Pending => Way::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use search::tree::Left;
    use traces::TaskId;

    #[test]
    fn ways_are_told_apart() {
        let task = |number| Choice::Task(TaskId(number));
        let order = HandOver {
            beginning: vec![task(0)],
            strategy: StrategyName::Dfs,
            bound: Some(2),
            workers: 1,
        };
        let tree = Tree {
            left: vec![Left {
                path: [0, 1, 1, 0].map(task).to_vec(),
                others: vec![(0, task(2)), (2, task(2))],
                fresh: false,
            }],
            gaps: false,
        };
        let schedule = [0, 0, 1, 1, 0].map(task);
        let way = |step: usize, next, preemptions| {
            let been = Been { tree: Some(&tree), visits: None, within: None, done: false };
            order.way(been, (&schedule[..step], task(next)), preemptions)
        };
        assert_eq!(order.behind(), 1);
        assert_eq!(way(0, 2, 0), Way::Outside);
        assert_eq!(
            [0, 1, 2].map(|next| way(1, next, 0)),
            [Way::Partly, Way::Explored, Way::Pending]
        );
        assert_eq!([0, 1].map(|next| way(2, next, 0)), [Way::Explored, Way::Partly]);
        assert_eq!([1, 2].map(|next| way(3, next, 2)), [Way::Explored, Way::Pending]);
        assert_eq!(way(3, 2, 3), Way::Beyond);
        let been = Been { tree: Some(&tree), visits: None, within: Some(0), done: false };
        assert_eq!(order.way(been, (&schedule[..3], task(2)), 1), Way::Beyond);
        // Without a tree it is counted; what a search that is done never went was left out.
        let visits = Visits::default();
        let been = Been { tree: None, visits: Some(&visits), within: None, done: false };
        let met = |been| order.way(been, (&schedule[..1], task(1)), 0);
        assert_eq!(met(been), Way::Met(0));
        assert_eq!(met(Been { done: true, ..been }), Way::Pruned);
        assert_eq!(met(Been { visits: None, ..been }), Way::Unknown);
    }
}
