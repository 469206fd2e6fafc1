//! A search that was handed over to: what was asked, how far it has come, what it found.

use super::loaded::Loaded;
use replay_core::walk::{Been, Estimate, HandOver, Tree, Visits, Way};
use replay_core::{Progress, StrategyName};
use std::sync::Arc;
use traces::report::{Bug, Report};
use traces::{Choice, TaskId};

/// The strategies that can be handed over to, with what each does.
pub const STRATEGIES: [(StrategyName, &str); 12] = [
    (StrategyName::Auto, "several of these in turn"),
    (StrategyName::Icb, "all with no preemption, with one, with two, ..."),
    (StrategyName::Dfs, "every schedule, in order"),
    (StrategyName::Dpor, "one schedule for each order of dependent operations"),
    (StrategyName::Directed, "each order of two places in the code once"),
    (StrategyName::Delay, "with no delay, with one, with two, ..."),
    (StrategyName::Random, "a uniform random walk"),
    (StrategyName::Pct(3), "random priorities, with two changes"),
    (StrategyName::Pos, "random priorities, drawn anew at conflicts"),
    (StrategyName::Surw, "orders on a drawn object, equally likely"),
    (StrategyName::Feedback, "variations of what showed something new"),
    (StrategyName::Hapset(0), "orders of two places that were not seen"),
];

/// What is told of a search.
#[derive(Debug)]
pub enum News {
    /// How far it has come, what is left where it has a tree, and which ways it went.
    Progress(Progress, Option<Tree>, Option<Visits>),
    /// How many schedules there are, roughly.
    Estimate(Estimate),
    /// A failure that was not seen before.
    Found(Bug, Arc<Loaded>),
    /// Something worth a line.
    Note(String),
    /// It is over, or was stopped.
    Over(Box<Report>),
    /// It could not go on.
    Failed(String),
}

/// Whether it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It does.
    Running,
    /// It was told to stop and has not yet.
    Stopping,
    /// It ended: everything asked for was covered, or not.
    Ended {
        /// Whether nothing was left.
        complete: bool,
        /// In words.
        what: String,
    },
}

/// A search, as the explorer knows it.
#[derive(Debug)]
pub struct Handed {
    /// Tells its news from those of the one before.
    pub number: u64,
    /// What was asked.
    pub order: HandOver,
    /// Whether it goes on.
    pub state: State,
    /// How far it has come.
    pub progress: Progress,
    /// What is left, where it has a tree.
    pub tree: Option<Tree>,
    /// Which ways it went.
    pub visits: Option<Visits>,
    /// How many schedules there are.
    pub estimate: Option<Estimate>,
    /// What it found, in the order in which it did.
    pub found: Vec<(Bug, Arc<Loaded>)>,
    /// Which of these is or was shown last.
    pub shown: Option<usize>,
    /// Races, conflicts and the like that it reported, and what it had to say.
    pub remarks: Vec<String>,
}

impl Handed {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(number: u64, order: HandOver) -> Handed {
        Handed {
            number,
            order,
            state: State::Running,
            progress: Progress::default(),
            tree: None,
            visits: None,
            estimate: None,
            found: Vec::new(),
            shown: None,
            remarks: Vec::new(),
        }
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !matches!(self.state, State::Ended { .. })
    }

    /// Takes news in.
    pub fn take(&mut self, news: News) {
        match news {
            News::Progress(progress, tree, visits) => {
                self.progress = progress;
                self.tree = tree;
                self.visits = visits;
            }
            News::Estimate(estimate) => self.estimate = Some(estimate),
            News::Found(bug, loaded) => {
                let known = self.found.iter_mut().find(|one| one.0.signature == bug.signature);
                match known {
                    Some(known) => *known = (bug, loaded),
                    None => self.found.push((bug, loaded)),
                }
            }
            News::Note(text) => self.remarks.push(text),
            News::Over(report) => self.end(*report),
            News::Failed(what) => self.state = State::Ended { complete: false, what },
        }
    }

    fn end(&mut self, report: Report) {
        self.progress.executions = report.executions;
        self.progress.distinct = report.distinct;
        self.progress.failures = report.bugs.len() as u64;
        for bug in report.bugs {
            if let Some(known) = self.found.iter_mut().find(|one| one.0.signature == bug.signature)
            {
                known.0 = bug;
            }
        }
        for (what, lines) in
            [("race", report.races), ("conflict", report.conflicts), ("leak", report.leaks)]
        {
            self.remarks.extend(lines.into_iter().map(|line| format!("{what}: {line}")));
        }
        self.remarks.extend(report.notes);
        let covered = match report.bound {
            None => "every schedule from there was run".to_owned(),
            Some(0..) if report.complete => "everything within the bound was run".to_owned(),
            Some(bound @ 0..) => format!(
                "stopped; everything within {} was run",
                crate::views::text::count(bound as u64, "preemption")
            ),
            Some(_) => "stopped".to_owned(),
        };
        let what = match report.reason.is_empty() || report.complete {
            false => format!("{covered}: {}", report.reason),
            true => covered,
        };
        self.state = State::Ended { complete: report.complete, what };
    }

    /// How the search stands to an execution in which `task` moves at `step` of this one.
    #[must_use]
    pub fn way(&self, loaded: &Loaded, step: usize, task: TaskId) -> Way {
        let preemptions = loaded.preemptions_between(self.order.behind(), step)
            + u32::from(loaded.preempts(step, task));
        let next = (loaded.before(step), Choice::Task(task));
        let been = Been {
            tree: self.tree.as_ref(),
            visits: self.visits.as_ref(),
            within: self.progress.bound,
            done: matches!(self.state, State::Ended { complete: true, .. }),
        };
        self.order.way(been, next, preemptions)
    }
}
