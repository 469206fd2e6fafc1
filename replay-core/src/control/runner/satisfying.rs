//! Finds a schedule that satisfies predicates, as near as possible to one that is at hand.
//!
//! 1. The schedule at hand is repeated with the scheduling points of the predicates. If it satisfies
//!    one, nothing has to be searched.
//! 2. Threads are held at their sites, in executions that begin as the schedule at hand: with all of
//!    its steps up to the position, then with fewer and fewer, at last with none. Between the last
//!    number of steps that was too large and the first that was not, the largest is found by bisection.
//! 3. A search of all schedules, and if that is too large one of those with few preemptions. Only these
//!    show that no schedule satisfies the predicates.

use super::program::Runner;
use super::refined::{Refined, refined};
use crate::control::beginning::first_choices;
use crate::control::command::{Outcome, explore, learn, record_again};
use crate::scratch::Scratch;
use crate::{
    Error, Observer, Progress, SearchOptions, StrategyChoice, failure_kinds_for_replay, predicates,
};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::{Granularity, Learned};
use traces::predicate::{Predicate, Purpose};
use traces::report::{Bug, Report};
use traces::{Choice, Execution, FailureKind, Trace};

/// The most executions that hold threads, for each number of steps of the schedule at hand.
const NEAR: u64 = 100;
/// The most executions that hold threads from the beginning.
const HELD: u64 = 2_000;
/// The most executions of a search of all schedules, and of one of those with few preemptions.
const ALL: u64 = 20_000;

/// The result of a search for a schedule that satisfies predicates.
#[derive(Debug)]
pub enum Sought {
    /// A schedule satisfies one.
    Found(Box<Satisfying>),
    /// None was found, which shows nothing.
    NotFound {
        /// How many executions were run.
        executions: u64,
        /// What ended the search, if that was not the limit on executions.
        why: String,
    },
    /// No schedule satisfies them: all were run.
    Impossible {
        /// How many executions were run.
        executions: u64,
        /// All of those with at most this many preemptions were run; none: all.
        bound: Option<u32>,
    },
    /// The user interrupted it, which shows nothing.
    Interrupted {
        /// How many executions were run.
        executions: u64,
    },
}

/// A schedule that satisfies a predicate.
#[derive(Debug)]
pub struct Satisfying {
    /// The execution with the scheduling points of the predicates. It continues behind the state in
    /// which one is satisfied.
    pub trace: Trace,
    /// One is satisfied after this many steps of it.
    pub steps: usize,
    /// The predicate, and who is where.
    pub message: String,
    /// How many executions were run.
    pub executions: u64,
    /// How many steps of the schedule at hand it begins with.
    pub shared: usize,
    /// Whether it is the schedule at hand.
    pub is_same: bool,
}

/// Stores the first execution that satisfies a predicate.
#[derive(Default)]
struct FirstSatisfied(Option<Box<Trace>>);

impl Observer for FirstSatisfied {
    fn progress(&mut self, _: &Progress) {}
    fn bug(&mut self, bug: &Bug, trace: &Trace) {
        if bug.kind == FailureKind::Satisfied {
            self.0.get_or_insert_with(|| Box::new(trace.clone()));
        }
    }
    fn note(&mut self, _: &str) {}
}

impl Runner {
    /// Checks predicates (`--when`) against the program, and compiles them for
    /// [`satisfying`](Runner::satisfying). The result has no predicates if it was interrupted.
    ///
    /// # Errors
    /// If a predicate is invalid; the message shows the position in it. If the program cannot be run.
    pub fn with_predicates(
        &self,
        when: Vec<String>,
        interrupt: &AtomicBool,
    ) -> Result<Runner, Error> {
        let points = match self.options.points {
            Granularity::Api => Granularity::Racy,
            other => other,
        };
        let wanted = SearchOptions {
            when,
            always: Vec::new(),
            never: Vec::new(),
            through: Vec::new(),
            predicates: Vec::new(),
            // The failures of the program are not what is sought; they end an execution nevertheless.
            fail_on: Vec::new(),
            points,
            learned: Learned::default(),
            race: None,
            changes: Vec::new(),
            ..self.options.clone()
        };
        let options = predicates::compile(&self.target, &wanted, interrupt)?;
        Ok(Runner { target: self.target.clone(), options })
    }

    /// Whether the runner has predicates.
    #[must_use]
    pub fn has_predicates(&self) -> bool {
        !self.options.predicates.is_empty()
    }

    /// Searches for a schedule that satisfies one of the predicates of this runner, by preference one
    /// that begins as the first `position` steps of an execution.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn satisfying(
        &self,
        at_hand: &Execution,
        position: usize,
        interrupt: &AtomicBool,
    ) -> Result<Sought, Error> {
        let out = Scratch::new()
            .map_err(Error::system("cannot create a temporary directory for the search"))?;
        let options = SearchOptions { out: out.path().to_owned(), ..self.options.clone() };
        let mut search = Seeker { runner: self, options, executions: 0, interrupt };
        search.learn()?;
        let sought = search.run(at_hand, position)?;
        Ok(match sought {
            Sought::NotFound { executions, .. } if interrupt.load(Relaxed) => {
                Sought::Interrupted { executions }
            }
            other => other,
        })
    }
}

/// A search in progress.
struct Seeker<'a> {
    runner: &'a Runner,
    options: SearchOptions,
    executions: u64,
    interrupt: &'a AtomicBool,
}

impl Seeker<'_> {
    /// All searches use the same scheduling points, so that prefixes fit.
    fn learn(&mut self) -> Result<(), Error> {
        let mut silent = FirstSatisfied::default();
        self.options = learn(&self.runner.target, &self.options, self.interrupt, &mut silent)?;
        Ok(())
    }

    fn run(&mut self, at_hand: &Execution, position: usize) -> Result<Sought, Error> {
        let visiting = visiting(&self.options);
        let Some(own) = refined(self.runner, &visiting, at_hand, self.interrupt)? else {
            return self.anywhere(None);
        };
        self.executions += own.runs;
        if let Some(found) = self.on_the_way(&own, at_hand.steps.len())? {
            return Ok(Sought::Found(Box::new(found)));
        }
        if let Some((trace, shared)) = self.keeping_steps(&own, position)? {
            return self.found(*trace, shared);
        }
        self.anywhere(Some(&own))
    }

    /// Whether the schedule at hand satisfies a predicate itself.
    fn on_the_way(&mut self, own: &Refined, whole: usize) -> Result<Option<Satisfying>, Error> {
        let choices = own.trace.execution.choices().collect();
        let again = record_again(&self.runner.target, choices, &self.options, self.interrupt)?;
        self.executions += 1;
        let Outcome::Recorded(once) = again else { return Ok(None) };
        let Some(failure) = once.failure.filter(|it| it.kind == FailureKind::Satisfied) else {
            return Ok(None);
        };
        let steps = once.execution.steps.len();
        let shared = own.steps.partition_point(|&done| done <= steps).saturating_sub(1);
        Ok(Some(Satisfying {
            trace: own.trace.clone(),
            steps,
            message: failure.message,
            executions: self.executions,
            shared,
            is_same: own.steps.len() > whole || steps <= own.steps.last().copied().unwrap_or(0),
        }))
    }

    /// Searches with fewer and fewer steps of the schedule at hand; at least with one.
    fn keeping_steps(
        &mut self,
        own: &Refined,
        position: usize,
    ) -> Result<Option<(Box<Trace>, usize)>, Error> {
        let most = position.min(own.steps.len() - 1);
        let (mut without, mut fewer) = (most + 1, 1);
        let mut best = None;
        let mut shared = most;
        while shared > 0 && !self.is_interrupted() {
            best = self.begin_with(own, shared)?.map(|trace| (trace, shared));
            if best.is_some() {
                break;
            }
            without = shared;
            shared = most.saturating_sub(fewer);
            fewer *= 2;
        }
        // With no step it is another search.
        let mut with = best.as_ref().map_or(0, |(_, shared)| *shared);
        while best.is_some() && with + 1 < without && !self.is_interrupted() {
            let middle = with.midpoint(without);
            match self.begin_with(own, middle)? {
                Some(trace) => (best, with) = (Some((trace, middle)), middle),
                None => without = middle,
            }
        }
        Ok(best)
    }

    fn begin_with(&mut self, own: &Refined, shared: usize) -> Result<Option<Box<Trace>>, Error> {
        let prefix = first_choices(&own.trace.execution, own.steps[shared]);
        Ok(self.search(StrategyChoice::WHEN, prefix, NEAR)?.1)
    }

    /// Searches all schedules.
    fn anywhere(&mut self, own: Option<&Refined>) -> Result<Sought, Error> {
        let mut why = String::new();
        let steps =
            [(StrategyChoice::WHEN, HELD), (StrategyChoice::DPOR, ALL), (StrategyChoice::ICB, ALL)];
        for (strategy, most) in steps {
            if self.is_interrupted() {
                break;
            }
            let (report, found) = self.search(strategy, Vec::new(), most)?;
            if let Some(trace) = found {
                let shared = own.map_or(0, |own| common(own, &trace.execution));
                return self.found(*trace, shared);
            }
            if let Some(bound) = covered(report.bound, report.complete) {
                return Ok(Sought::Impossible { executions: self.executions, bound });
            }
            why = match report.executions < most {
                true => report.reason,
                false => String::new(),
            };
        }
        Ok(Sought::NotFound { executions: self.executions, why })
    }

    fn search(
        &mut self,
        strategy: StrategyChoice,
        prefix: Vec<Choice>,
        most: u64,
    ) -> Result<(Report, Option<Box<Trace>>), Error> {
        let options =
            SearchOptions { strategy, prefix, max_executions: Some(most), ..self.options.clone() };
        let mut first = FirstSatisfied::default();
        let report = explore(&self.runner.target, &options, self.interrupt, &mut first)?;
        self.executions += report.executions;
        Ok((report, first.0))
    }

    /// The schedule, continued behind the state that satisfies the predicate.
    fn found(&mut self, trace: Trace, shared: usize) -> Result<Sought, Error> {
        let steps = trace.execution.steps.len();
        let message = trace.failure.as_ref().map(|failure| failure.message.clone());
        let options = SearchOptions {
            learned: trace.header.options.learned.clone(),
            ..visiting(&self.options)
        };
        let choices = trace.execution.choices().collect();
        let again = record_again(&self.runner.target, choices, &options, self.interrupt)?;
        self.executions += 1;
        let trace = match again {
            Outcome::Recorded(longer) if longer.execution.steps.len() >= steps => *longer,
            _ => trace,
        };
        Ok(Sought::Found(Box::new(Satisfying {
            trace,
            steps,
            message: message.unwrap_or_default(),
            executions: self.executions,
            shared,
            is_same: false,
        })))
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }
}

/// The options with which an execution continues behind the state that satisfies a predicate, and its
/// failures count.
fn visiting(options: &SearchOptions) -> SearchOptions {
    let visited = |predicate: &Predicate| Predicate {
        text: format!("visit {}", predicate.text),
        purpose: Purpose::Visit,
        ..predicate.clone()
    };
    SearchOptions {
        predicates: options.predicates.iter().map(visited).collect(),
        fail_on: failure_kinds_for_replay(None),
        ..options.clone()
    }
}

/// With how many steps of the schedule at hand another execution begins.
fn common(own: &Refined, other: &Execution) -> usize {
    let same = own.trace.execution.choices().zip(other.choices());
    let steps = same
        .take_while(|(one, other)| one == other)
        .filter(|(choice, _)| matches!(choice, Choice::Task(_)))
        .count();
    own.steps.partition_point(|&done| done <= steps).saturating_sub(1)
}

/// Whether all schedules were run, or all with at most so many preemptions.
fn covered(bound: Option<i64>, complete: bool) -> Option<Option<u32>> {
    match bound {
        None => complete.then_some(None),
        Some(bound) => u32::try_from(bound).ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_impossible_without_a_complete_search() {
        assert_eq!(covered(Some(-1), false), None);
        assert_eq!(covered(None, false), None);
        assert_eq!(covered(None, true), Some(None));
        assert_eq!(covered(Some(2), false), Some(Some(2)));
    }
}
