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
    /// Which task: those that may be tried here, in the order in which they are tried, and the
    /// digest of the enabled set from which they were drawn.
    Task { candidates: Vec<TaskId>, taken: usize, digest: u32 },
    /// A data choice, tried from 0 up.
    Data { taken: u32, of: u32 },
}

/// What a bound counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Switches away from a task that could have gone on.
    Preemptions,
    /// How many tasks were passed over, each time, that would have come first by default.
    Delays,
}

/// Depth-first search, with at most `bound` preemptions in an execution if there is a bound.
#[derive(Debug, Clone)]
pub struct Dfs {
    measure: Measure,
    bound: Option<u32>,
    /// The choices of the execution that runs or ran last.
    /// invariant: below `depth` they are to be repeated; above, they are being found out.
    path: Vec<Node>,
    /// How far the execution that runs has come along `path`.
    depth: usize,
    /// What the execution that runs has cost so far.
    spent: u32,
    /// Whether anything was left out because of the bound.
    left_out: bool,
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

    /// A search from the start with a bound on something else.
    #[must_use]
    pub fn by(measure: Measure, bound: Option<u32>) -> Dfs {
        Dfs { measure, ..Dfs::new(bound) }
    }

    /// What the execution that runs has cost so far.
    #[must_use]
    pub fn spent(&self) -> u32 {
        self.spent
    }

    /// Whether the next choice is one that no execution came to before.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.depth == self.path.len()
    }

    /// Whether anything was left out because of the bound.
    #[must_use]
    pub fn left_out(&self) -> bool {
        self.left_out
    }

    /// What choosing the task costs, which would be the `position`-th by default.
    fn cost(&self, view: &View<'_>, task: TaskId, position: usize) -> u32 {
        match self.measure {
            Measure::Preemptions => u32::from(view.preempts(task)),
            Measure::Delays => position as u32,
        }
    }

    /// A search that goes on after an execution with these choices. That execution's prefix is
    /// found again by repeating it once, so it is run a second time.
    #[must_use]
    pub fn after(bound: Option<u32>, choices: Vec<Choice>) -> Dfs {
        Dfs {
            measure: Measure::Preemptions,
            bound,
            path: Vec::new(),
            depth: 0,
            spent: 0,
            left_out: false,
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
                Node::Task { candidates, taken, .. } => {
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

    fn candidates(&mut self, view: &View<'_>) -> Vec<TaskId> {
        let mut candidates: Vec<TaskId> = view.by_default_order().collect();
        if let Some(bound) = self.bound {
            let mut position = 0;
            let all = candidates.len();
            candidates.retain(|&task| {
                position += 1;
                self.spent + self.cost(view, task, position - 1) <= bound
            });
            self.left_out |= candidates.len() < all;
        }
        candidates
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
        self.spent = 0;
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
            self.path.push(Node::Task { candidates, taken, digest: view.digest });
        }
        let Some(Node::Task { candidates, taken, digest }) = self.path.get(self.depth) else {
            self.holes = true;
            return Dfs::diverged(view, "a task is to be chosen where data was before".into());
        };
        let task = candidates[*taken];
        if view.enabled.binary_search(&task).is_err() {
            self.holes = true;
            return Dfs::diverged(view, format!("{task} could move here before, and now cannot"));
        }
        if *digest != view.digest {
            // The alternatives at this place are not those that were noted.
            self.holes = true;
            return Dfs::diverged(view, "other tasks could move here before than now".into());
        }
        self.depth += 1;
        let position = match self.measure {
            Measure::Preemptions => 0,
            Measure::Delays => view.by_default_order().position(|other| other == task).unwrap_or(0),
        };
        self.spent += self.cost(view, task, position);
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        if self.depth == self.path.len() {
            let taken = match self.resume.get(self.depth) {
                Some(&Choice::Data { taken, of: before }) if before == of => taken,
                None => 0,
                Some(_) => {
                    self.holes = true;
                    0
                }
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
        self.holes |= matches!(outcome, Outcome::Cut | Outcome::GivenUp);
        // An execution that ended before its prefix did leaves nothing to repeat below; what was
        // still to be tried there is lost.
        self.holes |= self.depth < self.path.len().max(self.resume.len());
        self.path.truncate(self.depth);
        self.resume.clear();
    }

    fn coverage(&self) -> Coverage {
        if self.exhausted && !self.holes {
            Coverage::Complete { bound: self.bound }
        } else {
            Coverage::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Operation, enabled};

    /// Runs one execution of tasks with so many steps each, none of which ever blocks; `data` says
    /// how many ways the task's steps can go. None: the search is over.
    fn run(dfs: &mut Dfs, lengths: &[u32], data: &[u32]) -> Option<Result<Vec<Choice>, String>> {
        if !dfs.begin(0) {
            return None;
        }
        let mut left = lengths.to_vec();
        let mut choices = Vec::new();
        let mut running = None;
        for step in 0..u64::from(lengths.iter().sum::<u32>()) {
            let enabled: Vec<TaskId> = (0..left.len())
                .filter(|&task| left[task] > 0)
                .map(|task| TaskId(task as u16))
                .collect();
            let operations = vec![Operation::Lock; enabled.len()];
            let digest = enabled::digest(enabled.iter().copied());
            let view = View {
                step,
                running,
                yielded: false,
                enabled: &enabled,
                operations: &operations,
                digest,
                tasks: &[],
            };
            match dfs.choose(&view) {
                Decision::Task(task) => {
                    choices.push(Choice::Task(task));
                    left[task.index()] -= 1;
                    running = Some(task);
                    let of = data.get(task.index()).copied().unwrap_or(1);
                    if of > 1 {
                        choices.push(Choice::Data { taken: dfs.choose_data(of), of });
                    }
                }
                Decision::GiveUp(GiveUp::Diverged(divergence)) => {
                    dfs.end(Outcome::GivenUp);
                    return Some(Err(divergence.what));
                }
                Decision::GiveUp(other) => panic!("{other:?}"),
            }
        }
        dfs.end(Outcome::Passed);
        Some(Ok(choices))
    }

    fn count(bound: Option<u32>, lengths: &[u32], data: &[u32]) -> usize {
        let mut dfs = Dfs::new(bound);
        let mut seen = Vec::new();
        while let Some(choices) = run(&mut dfs, lengths, data) {
            let choices = choices.expect("nothing differs between executions");
            assert!(!seen.contains(&choices), "{choices:?} ran twice");
            seen.push(choices);
        }
        assert_eq!(dfs.coverage(), Coverage::Complete { bound });
        seen.len()
    }

    #[test]
    fn every_schedule_runs_once() {
        assert_eq!(count(None, &[2, 2, 1], &[]), 30);
        assert_eq!(count(None, &[4, 4], &[]), 70);
        // Each of the two steps of the first task goes three ways.
        assert_eq!(count(None, &[2, 1], &[3]), 3 * 9);
    }

    #[test]
    fn a_bound_counts_preemptions() {
        // Blocks of steps: a task cut into parts is left that often while it could go on.
        assert_eq!(count(Some(0), &[2, 2, 1], &[]), 6);
        assert_eq!(count(Some(0), &[1, 2], &[]), 2);
        assert_eq!(count(Some(1), &[1, 2], &[]), 3);
        // 01 01: leaving 0, then 1 is left only if it has a step left.
        assert_eq!(count(Some(1), &[2, 2], &[]), 4);
        assert_eq!(count(Some(2), &[2, 2], &[]), 6);
    }

    #[test]
    fn an_execution_that_ends_early_is_a_hole() {
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert_eq!(
            run(&mut dfs, &[1, 0], &[]),
            Some(Err("other tasks could move here before than now".into()))
        );
        // The first execution's prefix is T0, T0, T1, T1: one that stops after T0 shows nothing.
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert!(dfs.begin(0));
        dfs.end(Outcome::Passed);
        while run(&mut dfs, &[2, 2], &[]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);
    }

    #[test]
    fn another_enabled_set_or_data_choice_is_noticed() {
        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[2, 2], &[]);
        assert!(matches!(run(&mut dfs, &[2, 2, 1], &[]), Some(Err(_))));
        while run(&mut dfs, &[2, 2], &[]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);

        let mut dfs = Dfs::new(None);
        run(&mut dfs, &[1, 1], &[2]);
        run(&mut dfs, &[1, 1], &[3]);
        while run(&mut dfs, &[1, 1], &[2]).is_some() {}
        assert_eq!(dfs.coverage(), Coverage::Open);
    }

    #[test]
    fn going_on_from_a_schedule_that_does_not_fit_is_not_complete() {
        let task = |task| Choice::Task(TaskId(task));
        let data = |taken, of| Choice::Data { taken, of };
        for resume in [
            vec![task(7)],
            vec![data(0, 2)],
            vec![task(0), data(1, 3), task(1)],
            vec![task(0), task(1)],
            vec![task(0), data(1, 2), task(1), task(1)],
        ] {
            let mut dfs = Dfs::after(None, resume.clone());
            while run(&mut dfs, &[1, 1], &[2]).is_some() {}
            assert_eq!(dfs.coverage(), Coverage::Open, "{resume:?}");
        }
        let mut dfs = Dfs::after(None, vec![task(0), data(1, 2), task(1)]);
        let mut rest = 0;
        while run(&mut dfs, &[1, 1], &[2]).is_some() {
            rest += 1;
        }
        // Of four, all but the first.
        assert_eq!((rest, dfs.coverage()), (3, Coverage::Complete { bound: None }));
    }
}
