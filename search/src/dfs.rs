//! Depth first over every choice, systematically.
//!
//! As in CHESS (Musuvathi et al., "Finding and Reproducing Heisenbugs in Concurrent Programs",
//! 2008) a search is nothing but a sequence of schedules: each execution repeats a prefix of the one
//! before it, takes the next alternative at the last place that has one, and goes on by default
//! from there. The whole state is the path, so a search can be taken up again from the last
//! schedule alone.

use crate::{Coverage, Decision, Divergence, GiveUp, Outcome, Strategy, View};
use traces::{Choice, TaskId};

/// A place on the path where something was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// Which task: those that may be tried here, in the order in which they are tried.
    Task { candidates: Vec<TaskId>, taken: usize },
    /// A data choice, tried from 0 up.
    Data { taken: u32, of: u32 },
}

/// Depth-first search, with at most `bound` preemptions in an execution if there is a bound.
#[derive(Debug, Clone)]
pub struct Dfs {
    bound: Option<u32>,
    /// The choices of the execution that runs or ran last.
    /// invariant: below `depth` they are to be repeated; above, they are being found out.
    path: Vec<Node>,
    /// How far the execution that runs has come along `path`.
    depth: usize,
    /// Preemptions in the execution that runs, so far.
    preemptions: u32,
    /// Choices to follow first, from an earlier search that was interrupted.
    resume: Vec<Choice>,
    started: bool,
    exhausted: bool,
    /// Whether an execution was cut or given up, so that not everything was seen.
    holes: bool,
}

impl Dfs {
    /// A search from the start.
    #[must_use]
    pub fn new(bound: Option<u32>) -> Dfs {
        Dfs::after(bound, Vec::new())
    }

    /// A search that goes on after an execution with these choices. That execution's prefix is
    /// found again by repeating it once, so it is run a second time.
    #[must_use]
    pub fn after(bound: Option<u32>, choices: Vec<Choice>) -> Dfs {
        Dfs {
            bound,
            path: Vec::new(),
            depth: 0,
            preemptions: 0,
            resume: choices,
            started: false,
            exhausted: false,
            holes: false,
        }
    }

    /// Takes the next alternative at the last place that has one.
    fn advance(&mut self) -> bool {
        while let Some(node) = self.path.last_mut() {
            let more = match node {
                Node::Task { candidates, taken } => {
                    *taken += 1;
                    *taken < candidates.len()
                }
                Node::Data { taken, of } => {
                    *taken += 1;
                    *taken < *of
                }
            };
            if more {
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn candidates(&self, view: &View<'_>) -> Vec<TaskId> {
        let out_of_preemptions = self.bound.is_some_and(|bound| self.preemptions >= bound);
        view.by_default_order()
            .filter(|&task| !(out_of_preemptions && view.preempts(task)))
            .collect()
    }

    fn diverged(view: &View<'_>, what: String) -> Decision {
        Decision::GiveUp(GiveUp::Diverged(Divergence { step: view.step, what }))
    }
}

impl Strategy for Dfs {
    fn begin(&mut self, _: u64) -> bool {
        if self.exhausted {
            return false;
        }
        if self.started && !self.advance() {
            self.exhausted = true;
            return false;
        }
        self.started = true;
        self.depth = 0;
        self.preemptions = 0;
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if self.depth == self.path.len() {
            let candidates = self.candidates(view);
            let taken = match self.resume.get(self.depth) {
                Some(&Choice::Task(task)) => candidates.iter().position(|&c| c == task),
                Some(Choice::Data { .. }) => None,
                None => Some(0),
            };
            let Some(taken) = taken else {
                self.holes = true;
                return Dfs::diverged(view, "the schedule to go on from does not fit".into());
            };
            self.path.push(Node::Task { candidates, taken });
        }
        let Some(Node::Task { candidates, taken }) = self.path.get(self.depth) else {
            self.holes = true;
            return Dfs::diverged(view, "a task is to be chosen where data was before".into());
        };
        let task = candidates[*taken];
        if view.enabled.binary_search(&task).is_err() {
            self.holes = true;
            return Dfs::diverged(view, format!("{task} could move here before, and now cannot"));
        }
        self.depth += 1;
        self.preemptions += u32::from(view.preempts(task));
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        if self.depth == self.path.len() {
            let taken = match self.resume.get(self.depth) {
                Some(&Choice::Data { taken, .. }) => taken.min(of - 1),
                _ => 0,
            };
            self.path.push(Node::Data { taken, of });
        }
        let taken = match self.path.get(self.depth) {
            Some(&Node::Data { taken, of: before }) if before == of => taken,
            _ => {
                self.holes = true;
                0
            }
        };
        self.depth += 1;
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        self.resume.clear();
        self.holes |= matches!(outcome, Outcome::Cut | Outcome::GivenUp);
        // An execution that ended before its prefix did leaves nothing to repeat below.
        self.path.truncate(self.depth);
    }

    fn coverage(&self) -> Coverage {
        if self.exhausted && !self.holes {
            Coverage::Complete { bound: self.bound }
        } else {
            Coverage::Open
        }
    }
}
