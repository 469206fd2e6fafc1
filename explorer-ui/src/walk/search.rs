//! A search started from the explorer: what was requested, its progress, its findings.

use super::loaded_trace::LoadedTrace;
use replay_core::descriptor::Descriptor;
use replay_core::runner::{BranchState, Estimate, SearchFrom, Searched, Tree, Visits};
use replay_core::{Progress, registry};
use std::sync::Arc;
use traces::report::{Bug, Report};
use traces::{Choice, TaskId};

/// The strategies of the dialog, in its order.
#[must_use]
pub fn strategies() -> Vec<&'static Descriptor> {
    registry::listed().collect()
}

/// An update of a running search.
#[derive(Debug)]
pub enum SearchUpdate {
    /// Progress, the unexplored branches for exhaustive strategies, and for random ones how often
    /// each choice was made.
    Progress(Progress, Option<Tree>, Option<Visits>),
    /// The estimated number of schedules.
    Estimate(Estimate),
    /// A failure: a new one, or a simpler schedule of a known one.
    Found(Bug, Arc<LoadedTrace>),
    /// A remark.
    Note(String),
    /// The search ended or was stopped.
    Ended(Box<Report>),
    /// The search was aborted by an error.
    Failed(String),
}

/// Whether a search is running.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStatus {
    /// It is running.
    Running,
    /// It was asked to stop and is still running.
    Stopping,
    /// It has ended.
    Ended {
        /// Whether everything that was requested is covered.
        complete: bool,
        /// The coverage, and the reason why it ended.
        what: String,
    },
}

/// The state of a search.
#[derive(Debug)]
pub struct SearchState {
    /// The search's number. Updates of earlier searches are dropped.
    pub number: u64,
    /// The requested strategy, bound and starting position.
    pub order: SearchFrom,
    /// Whether the search is running.
    pub status: SearchStatus,
    /// Its progress.
    pub progress: Progress,
    /// The unexplored branches, for exhaustive strategies.
    pub tree: Option<Tree>,
    /// How often each choice was made, for random strategies.
    pub visits: Option<Visits>,
    /// The estimated number of schedules.
    pub estimate: Option<Estimate>,
    /// The failures it found, in the order of their first execution.
    pub found: Vec<(Bug, Arc<LoadedTrace>)>,
    /// The index in `found` of the failure that was displayed last.
    pub shown: Option<usize>,
    /// Races, conflicts, leaks and remarks.
    pub remarks: Vec<String>,
}

impl SearchState {
    /// The state of a search that has just started.
    #[must_use]
    pub fn new(number: u64, order: SearchFrom) -> SearchState {
        SearchState {
            number,
            order,
            status: SearchStatus::Running,
            progress: Progress::default(),
            tree: None,
            visits: None,
            estimate: None,
            found: Vec::new(),
            shown: None,
            remarks: Vec::new(),
        }
    }

    /// Whether the search has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !matches!(self.status, SearchStatus::Ended { .. })
    }

    /// Marks a search that was stopped as running again, and returns the order that continues it;
    /// none if it is complete. Failures that it found stay; remarks are repeated at its end.
    pub fn resume(&mut self) -> Option<SearchFrom> {
        if !matches!(self.status, SearchStatus::Ended { complete: false, .. }) {
            return None;
        }
        self.number += 1;
        self.status = SearchStatus::Running;
        self.remarks.clear();
        Some(SearchFrom { resume: true, ..self.order.clone() })
    }

    /// Applies an update.
    pub fn apply(&mut self, update: SearchUpdate) {
        match update {
            SearchUpdate::Progress(progress, tree, visits) => {
                self.progress = progress;
                self.tree = tree;
                self.visits = visits;
            }
            SearchUpdate::Estimate(estimate) => self.estimate = Some(estimate),
            SearchUpdate::Found(bug, loaded) => {
                let known = self.found.iter_mut().find(|one| one.0.signature == bug.signature);
                match known {
                    Some(known) => *known = (bug, loaded),
                    None => self.found.push((bug, loaded)),
                }
            }
            SearchUpdate::Note(text) => self.remarks.push(text),
            SearchUpdate::Ended(report) => self.end(*report),
            SearchUpdate::Failed(what) => {
                self.status = SearchStatus::Ended { complete: false, what };
            }
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
        let covered = covered(report.bound, report.complete);
        let what = match report.reason.is_empty() || report.complete {
            false => format!("{covered}: {}", report.reason),
            true => covered,
        };
        self.status = SearchStatus::Ended { complete: report.complete, what };
    }

    /// What the search knows about executions in which `task` runs at `step` of this one.
    #[must_use]
    pub fn way(&self, loaded: &LoadedTrace, step: usize, task: TaskId) -> BranchState {
        let preemptions = loaded.preemptions_between(self.order.behind(), step)
            + u32::from(loaded.preempts(step, task));
        let next = (loaded.before(step), Choice::Task(task));
        let been = Searched {
            tree: self.tree.as_ref(),
            visits: self.visits.as_ref(),
            within: self.progress.bound,
            done: matches!(self.status, SearchStatus::Ended { complete: true, .. }),
        };
        self.order.branch_state(been, next, preemptions)
    }
}

/// What a search from a step covered.
fn covered(bound: Option<i64>, complete: bool) -> String {
    match bound {
        None => "every schedule from there was run".to_owned(),
        Some(0..) if complete => "everything within the bound was run".to_owned(),
        Some(bound @ 0..) => format!(
            "stopped; everything within {} was run",
            crate::report::text::count(bound as u64, "preemption")
        ),
        Some(_) => "stopped".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn a_search_says_what_it_covered() {
        assert_eq!(covered(None, true), "every schedule from there was run");
        assert_eq!(covered(Some(2), true), "everything within the bound was run");
        assert_eq!(covered(Some(1), false), "stopped; everything within 1 preemption was run");
        assert_eq!(covered(Some(-1), false), "stopped");
    }
}
