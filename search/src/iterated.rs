//! Everything with no preemption, then everything with one, with two, and so on: the simplest failing
//! schedule comes first. And the same with delays.
//!
//! Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded
//! Programs" (2007), with the cache of happens-before states of CHESS (2008); Emmi, Qadeer and
//! Rakamarić, "Delay-Bounded Scheduling" (2011). Where we depart:
//!
//! * The cache is keyed by the state, the running task *and* the preemptions left. Without the
//!   running task an alternative is lost that was free there and costs a preemption here; without
//!   what is left, one that could not be afforded there. Running counts as nobody when the task
//!   cannot go on or has yielded.
//! * No sleep sets: their only sound form with a bound saves hardly anything beside the cache.
//! * A level is searched depth first from the start, so that no frontier has to be kept; what has
//!   fewer preemptions is run again, which is little beside what the level brings.

use crate::dfs::{Dfs, Measure};
use crate::events::{Event, Map, Order};
use crate::{Coverage, Decision, GiveUp, Outcome, Strategy, View};
use traces::TaskId;

/// How many states are remembered; what is forgotten is only done again.
const REMEMBERED: usize = 400_000;

/// The search. See the module's text.
#[derive(Debug, Clone)]
pub struct Iterated {
    measure: Measure,
    most: Option<u32>,
    level: u32,
    dfs: Dfs,
    /// The largest level that was finished with nothing left out.
    finished: Option<u32>,
    exhausted: bool,
    /// Whether nothing was left out for its cost, so that higher levels bring nothing.
    whole: bool,
    /// Whether the states that the cache goes by turned out not to tell everything.
    doubted: bool,
    /// Whether the execution was given up because all that follows is known.
    redundant: bool,
    order: Order,
    /// For a state and who ran: the most preemptions that were left there.
    cache: Map<(u64, u32), u32>,
}

impl Iterated {
    /// A search by preemptions or delays, up to so many if a number is named.
    #[must_use]
    pub fn new(measure: Measure, most: Option<u32>) -> Iterated {
        Iterated {
            measure,
            most,
            level: 0,
            dfs: Dfs::by(measure, Some(0)),
            finished: None,
            exhausted: false,
            whole: false,
            doubted: false,
            redundant: false,
            order: Order::default(),
            cache: Map::default(),
        }
    }

    /// The level that is searched.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Whether the same was seen here with as much left.
    fn known(&mut self, view: &View<'_>) -> bool {
        let running =
            view.running.filter(|&task| !view.yielded && view.enabled.binary_search(&task).is_ok());
        let key = (self.order.hash(), running.map_or(u32::MAX, |task: TaskId| u32::from(task.0)));
        let left = self.level.saturating_sub(self.dfs.spent());
        let room = self.cache.len() < REMEMBERED;
        match self.cache.get_mut(&key) {
            Some(most) if *most >= left => return true,
            Some(most) => *most = left,
            None if room => {
                self.cache.insert(key, left);
            }
            None => {}
        }
        false
    }
}

impl Strategy for Iterated {
    fn begin(&mut self, number: u64) -> bool {
        self.order.clear();
        self.redundant = false;
        while !self.exhausted {
            if self.dfs.begin(number) {
                return true;
            }
            if matches!(self.dfs.coverage(), Coverage::Complete { .. }) {
                let expected = self.finished.map_or(0, |finished| finished + 1);
                if self.level == expected {
                    self.finished = Some(self.level);
                }
                self.whole = !self.dfs.left_out() && self.finished == Some(self.level);
            }
            if !self.dfs.left_out() || self.most.is_some_and(|most| self.level >= most) {
                self.exhausted = true;
                break;
            }
            self.level += 1;
            self.dfs = Dfs::by(self.measure, Some(self.level));
            self.cache.clear();
        }
        false
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        // Delays depend on who would be next, which the key does not tell.
        if self.measure == Measure::Preemptions && self.dfs.is_new() && self.known(view) {
            self.redundant = true;
            return Decision::GiveUp(GiveUp::Redundant);
        }
        let decision = self.dfs.choose(view);
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(task)
        {
            let event = Event::new(next, self.order.count(task));
            self.order.step(&event);
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = self.dfs.choose_data(of);
        self.order.note(u64::from(taken));
        taken
    }

    fn detailed(&self) -> bool {
        self.measure == Measure::Preemptions
    }

    fn end(&mut self, outcome: Outcome) {
        // What was given up so is no gap.
        self.dfs.end(if self.redundant { Outcome::Passed } else { outcome });
    }

    fn class(&self) -> Option<u64> {
        (self.measure == Measure::Preemptions).then(|| self.order.hash())
    }

    fn doubt(&mut self) {
        self.doubted = true;
    }

    fn part(&self) -> &'static str {
        match self.measure {
            Measure::Preemptions => "icb",
            Measure::Delays => "delay",
        }
    }

    fn coverage(&self) -> Coverage {
        match (self.measure, self.exhausted, self.finished) {
            _ if self.doubted => Coverage::Open,
            (_, true, Some(_)) if self.whole => Coverage::Complete { bound: None },
            (Measure::Preemptions, true, Some(finished)) if self.most == Some(finished) => {
                Coverage::Complete { bound: Some(finished) }
            }
            (Measure::Delays, true, Some(finished)) if self.most == Some(finished) => {
                Coverage::AsAsked
            }
            (Measure::Preemptions, _, Some(finished)) => Coverage::Within(finished),
            _ => Coverage::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{programs, runs};
    use std::collections::BTreeSet;

    /// The smallest programs on which a cache without the running task, one without what is left,
    /// and sleep sets lose something within a bound.
    #[test]
    fn the_cache_loses_nothing_on_the_smallest_counterexamples() {
        let programs = [
            programs::short(&["l m; r a", "", "w a"]),
            programs::short(&["w a; l m; r a", "l m; w a; u m; w a"]),
            programs::short(&["r a; w a", "", "r a; w a"]),
            programs::short(&["r a; w a; r a", "r a", "w a"]),
            programs::short(&["r a; w a", "w a"]),
        ];
        for (number, program) in programs.iter().enumerate() {
            for bound in 0..=2 {
                let all: BTreeSet<_> = runs(program, &mut Dfs::new(Some(bound)))
                    .map(|run| (run.ending.expect("not given up"), run.variables))
                    .collect();
                let mut icb = Iterated::new(Measure::Preemptions, Some(bound));
                let found: BTreeSet<_> = runs(program, &mut icb)
                    .filter_map(|run| Some((run.ending.ok()?, run.variables)))
                    .collect();
                assert_eq!(found, all, "program {number} within {bound}");
            }
        }
    }

    #[test]
    fn within_a_bound_the_published_numbers_of_outcomes() {
        // Distinct classes within 0, 1, 2, 3 preemptions, by a search of the same bound.
        for (program, expected) in
            [(programs::locked(2, 3), [2, 6, 14, 18]), (programs::locked(3, 2), [6, 24, 60, 90])]
        {
            for (bound, expected) in expected.into_iter().enumerate() {
                let mut icb = Iterated::new(Measure::Preemptions, Some(bound as u32));
                let mut classes = BTreeSet::new();
                let mut number = 0;
                loop {
                    number += 1;
                    if !icb.begin(number) {
                        break;
                    }
                    if crate::simulate::run(&program, &mut icb).ending.is_ok() {
                        classes.insert(icb.class());
                    }
                }
                assert_eq!(classes.len(), expected, "within {bound}");
            }
        }
    }
}
