//! Local search: looks for a failing schedule with fewer preemptions by changing a known one.
//!
//! A schedule is a list of turns, each a number of steps of one task. An execution tries a changed
//! list: a turn becomes longer and a later one of its task shorter, two turns are swapped, one is
//! removed, or everything after one is. A task that blocks loses the rest of its turn, and after
//! the last turn the default schedule continues. The next changes start from a failing schedule
//! that is not larger than the current one, so that the search also moves among schedules of equal
//! size (sideways steps; Aarts and Lenstra, "Local Search in Combinatorial Optimization", 1997). It
//! proves nothing. If a failure needs so many preemptions that not all schedules with fewer can be
//! run, this finds smaller schedules than removing one switch after the other.

use crate::rng::Rng;
use crate::{Decision, GiveUp, Outcome, PrefixReplay, Reduction, Shareable, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::{Choice, TaskId};

/// A number of consecutive steps of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    task: TaskId,
    steps: u32,
}

/// A list of turns, the data choices in their order, and the size of the execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Schedule {
    turns: Vec<Turn>,
    data: Vec<u32>,
    preemptions: u32,
    steps: u32,
}

impl Schedule {
    fn step(&mut self, task: TaskId, preempts: bool) {
        self.steps += 1;
        self.preemptions += u32::from(preempts);
        match self.turns.last_mut() {
            Some(turn) if turn.task == task => turn.steps += 1,
            _ => self.turns.push(Turn { task, steps: 1 }),
        }
    }

    fn size(&self) -> (u32, usize, u32) {
        (self.preemptions, self.turns.len(), self.steps)
    }
}

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalSearch {
    seed: u64,
    rng: Rng,
    /// The smallest failing schedule so far.
    best: Schedule,
    /// The schedule that the current one was derived from: the smallest, or one that is a little
    /// larger.
    from: Schedule,
    /// The turns to try; executed steps are subtracted.
    tried: Vec<Turn>,
    turn: usize,
    done: u32,
    /// The schedule of the running execution.
    executed: Schedule,
    /// Whether the initial schedule was run.
    started: bool,
    /// Executions since a smaller schedule was found.
    barren: u32,
}

/// After this many executions without a smaller schedule, the search continues from the smallest
/// one.
const BARREN: u32 = 5_000;
/// It then accepts schedules with up to this many more preemptions, in turn.
const UPHILL: u32 = 3;

impl LocalSearch {
    /// A search that starts from these choices.
    #[must_use]
    pub fn new(choices: &[Choice], seed: u64) -> LocalSearch {
        let mut best = Schedule { preemptions: u32::MAX, ..Schedule::default() };
        for &choice in choices {
            match choice {
                Choice::Task(task) => {
                    best.step(task, false);
                }
                Choice::Data { taken, .. } => best.data.push(taken),
            }
        }
        LocalSearch {
            seed,
            rng: Rng::new(seed, 0),
            from: best.clone(),
            tried: Vec::new(),
            turn: 0,
            done: 0,
            executed: Schedule::default(),
            best,
            started: false,
            barren: 0,
        }
    }

    /// A random number below `below`; small numbers are more likely if `below` is large.
    fn near_end(&mut self, below: usize) -> usize {
        let below = below.max(1) as u32;
        let among = if self.rng.below(2) == 0 { below.min(3) } else { below };
        self.rng.below(among) as usize
    }

    /// Makes one random change.
    fn change(&mut self) {
        let turns = &self.tried;
        if turns.is_empty() {
            return;
        }
        let at = self.rng.below(turns.len() as u32) as usize;
        let task = turns[at].task;
        let later = (at + 1..turns.len()).find(|&later| turns[later].task == task);
        match (self.rng.below(8), later) {
            // The turn takes over all or some steps of the task's later turn.
            (0 | 1, Some(later)) => {
                self.tried[at].steps += self.tried[later].steps;
                self.tried.remove(later);
            }
            (2, Some(later)) => {
                let moved = 1 + self.near_end(self.tried[later].steps as usize) as u32;
                let moved = moved.min(self.tried[later].steps);
                self.tried[at].steps += moved;
                self.tried[later].steps -= moved;
            }
            // Some steps of the turn move to the later turn.
            (3, Some(later)) => {
                let moved = 1 + self.near_end(self.tried[at].steps as usize) as u32;
                let moved = moved.min(self.tried[at].steps);
                self.tried[at].steps -= moved;
                self.tried[later].steps += moved;
            }
            (4, Some(later)) => {
                self.tried[later].steps += self.tried[at].steps;
                self.tried.remove(at);
            }
            (5, _) if at + 1 < self.tried.len() => self.tried.swap(at, at + 1),
            (6, _) => {
                self.tried.remove(at);
            }
            (7, _) if at > 0 && self.rng.below(4) == 0 => self.tried.truncate(at),
            // Another task's turn is inserted in the middle.
            (7, _) if self.tried[at].steps > 1 => {
                let whose = self.rng.below(self.tried.len() as u32) as usize;
                let other = self.tried[whose].task;
                let split = 1 + self.rng.below(self.tried[at].steps - 1);
                let rest = self.tried[at].steps - split;
                self.tried[at].steps = split;
                let steps = 1 + self.near_end(8) as u32;
                self.tried.insert(at + 1, Turn { task: other, steps });
                self.tried.insert(at + 2, Turn { task, steps: rest });
            }
            _ => {}
        }
        self.tried.retain(|turn| turn.steps > 0);
    }

    /// The most preemptions that a schedule may have to become the next starting point.
    fn most(&self) -> u32 {
        self.best.preemptions.saturating_add(self.barren / BARREN % UPHILL)
    }

    /// The task of the next turn, among the enabled tasks.
    fn named(&mut self, view: &View<'_>) -> TaskId {
        while let Some(turn) = self.tried.get(self.turn) {
            if self.done < turn.steps && view.enabled.binary_search(&turn.task).is_ok() {
                self.done += 1;
                return turn.task;
            }
            self.turn += 1;
            self.done = 0;
        }
        view.default_task()
    }
}

impl Strategy for LocalSearch {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.turn = 0;
        self.done = 0;
        self.executed = Schedule::default();
        self.tried.clone_from(&self.from.turns);
        if self.started {
            for _ in 0..=self.rng.below(3) {
                self.change();
            }
        }
        self.started = true;
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let task = self.named(view);
        self.executed.step(task, view.preempts(task));
        // With more preemptions the schedule cannot be accepted.
        if self.executed.preemptions > self.most() {
            return Decision::GiveUp(GiveUp::Redundant);
        }
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken =
            self.from.data.get(self.executed.data.len()).map_or(0, |&taken| taken.min(of - 1));
        self.executed.data.push(taken);
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        self.barren += 1;
        if outcome == Outcome::Failed {
            let (size, from) = (self.executed.size(), self.from.size());
            if size < self.best.size() {
                self.best = self.executed.clone();
                self.barren = 0;
            }
            if size <= from || self.executed.preemptions <= self.most() {
                self.from = std::mem::take(&mut self.executed);
            }
        }
        if self.barren.is_multiple_of(BARREN) {
            self.from.clone_from(&self.best);
        }
    }

    fn active_part(&self) -> &'static str {
        "near"
    }
}

impl PrefixReplay for LocalSearch {}

impl Shareable for LocalSearch {}

impl Reduction for LocalSearch {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Ending, Program, Run, programs, runs};
    use crate::strategy::dfs::Dfs;
    use crate::strategy::random::Random;

    fn fails(run: &Run) -> bool {
        matches!(run.ending, Ok(Ending::Assertion | Ending::Deadlock))
    }

    /// The fewest preemptions of any failing schedule of the program.
    fn fewest(program: &Program) -> u32 {
        let bound = |bound: u32| runs(program, &mut Dfs::new(Some(bound))).any(|run| fails(&run));
        (0..).find(|&most| bound(most)).expect("it fails")
    }

    #[test]
    fn a_random_failure_is_reduced_to_the_fewest_preemptions() {
        let programs = [
            programs::opposite(),
            programs::lost_update(3),
            programs::twostage(2),
            programs::reorder(3),
            programs::wronglock(3),
        ];
        for (number, program) in programs.iter().enumerate() {
            let found = runs(program, &mut Random::new(7)).find(fails).expect("a walk meets it");
            let mut near = LocalSearch::new(&found.choices, 1);
            let all: Vec<Run> = runs(program, &mut near).take(5_000).collect();
            // The search runs the initial schedule first.
            assert_eq!(all[0].choices, found.choices, "program {number}");
            let least = all.iter().filter(|run| fails(run)).map(|run| run.preemptions).min();
            assert_eq!(least, Some(fewest(program)), "program {number}, from {found:?}");
        }
    }
}
