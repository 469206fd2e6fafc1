//! Counts the executions that reach predicates, by how they end: many predicates in one search.

use super::program::Runner;
use crate::control::command::{explore, search_job};
use crate::control::worker::{Event, Worker};
use crate::scratch::Scratch;
use crate::{Error, Observer, Progress, SearchOptions, StrategyChoice, predicates};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Learned;
use traces::predicate::{MOST_NOTED, Predicate};
use traces::report::{Bug, ThroughReport};
use traces::wire::{Job, Plan, Reset};
use traces::{FailureKind, Trace};

/// How executions ended that reached a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reached {
    /// Without a failure.
    pub passing: u64,
    /// With one.
    pub failing: u64,
}

impl Reached {
    /// The sum of two counts.
    #[must_use]
    pub fn plus(self, other: Reached) -> Reached {
        Reached { passing: self.passing + other.passing, failing: self.failing + other.failing }
    }
}

/// The executions of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reaching {
    /// All that ended.
    pub all: Reached,
    /// For each predicate those that reached it.
    pub each: Vec<Reached>,
    /// Whether every schedule was run, and everything in them was observed.
    pub complete: bool,
}

impl Runner {
    /// Runs at most `most` executions of a plan and counts those that reach each predicate, whose purpose
    /// is to be noted. Only failures of one kind count; executions that fail otherwise are left out.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn count_reaching(
        &self,
        predicates: &[Predicate],
        kind: FailureKind,
        plan: Plan,
        (most, most_steps): (u64, u64),
        interrupt: &AtomicBool,
    ) -> Result<Reaching, Error> {
        let predicates = predicates[..predicates.len().min(MOST_NOTED)].to_vec();
        let count = predicates.len();
        let options = SearchOptions { predicates, fail_on: vec![kind], ..self.options.clone() };
        let job = Job {
            last: most,
            all_steps: most_steps,
            reset: options.reset.unwrap_or(Reset::Memory),
            ..search_job(&options, plan)
        };
        let mut worker = Worker::start(&self.target, job, options.spin_after)?;
        let died = loop {
            match worker.wait(interrupt)? {
                Event::RuntimeMessage(_) | Event::Tick | Event::Parked | Event::Idle => {}
                Event::Done => break false,
                Event::Held | Event::Died(_) => break true,
            }
        };
        let header = worker.channel().header();
        let read = |from: &[std::sync::atomic::AtomicU64]| Reached {
            passing: from[0].load(Relaxed),
            failing: from[1].load(Relaxed),
        };
        // Without predicates the runtime counts no states.
        let failing = header.failing.load(Relaxed);
        let others = header.cut.load(Relaxed) + header.diverged.load(Relaxed) + failing;
        let passing = header.executions.load(Relaxed).saturating_sub(others);
        let all = match count {
            0 => Reached { passing, failing },
            _ => read(&header.through[..2]).plus(read(&header.through[2..])),
        };
        let each: Vec<Reached> = header.noted[..count].iter().map(|one| read(one)).collect();
        let ended = all.passing + all.failing;
        // What was not observed may have further schedules.
        let is_observed = header.instrumentation.unseen.load(Relaxed) == 0;
        let complete = !died
            && is_observed
            && header.complete.load(Relaxed) != 0
            && header.diverged.load(Relaxed) + header.cut.load(Relaxed) == 0
            && header.executions.load(Relaxed) == ended;
        Ok(Reaching { all, each, complete })
    }

    /// Leads at most `most` executions through states that satisfy a predicate, and counts how they end. The
    /// search learns its own scheduling points. None if it was interrupted.
    ///
    /// # Errors
    /// If the predicate is invalid for the program, or the program cannot be run or controlled.
    pub fn led_through(
        &self,
        predicate: &str,
        kind: FailureKind,
        most: u64,
        interrupt: &AtomicBool,
    ) -> Result<Option<ThroughReport>, Error> {
        // The search's state and the traces of its failures are of no use.
        let out = Scratch::new()
            .map_err(Error::system("cannot create a temporary directory for the search"))?;
        let options = SearchOptions {
            strategy: StrategyChoice::WHEN,
            through: vec![predicate.to_owned()],
            fail_on: vec![kind],
            keep_going: true,
            max_executions: Some(most),
            out: out.path().to_owned(),
            learned: Learned::default(),
            race: None,
            ..self.options.clone()
        };
        let options = predicates::compile(&self.target, &options, interrupt)?;
        if options.predicates.is_empty() {
            return Ok(None);
        }
        Ok(explore(&self.target, &options, interrupt, &mut Unobserved)?.through)
    }
}

/// Ignores the progress of a search.
struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: &Progress) {}
    fn bug(&mut self, _: &Bug, _: &Trace) {}
    fn note(&mut self, _: &str) {}
}
