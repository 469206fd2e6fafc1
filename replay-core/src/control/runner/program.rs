//! A program whose schedules can be run.
//!
//! An execution always runs to its end: [`Runner::run`] follows the given choices and then the
//! default schedule. So a position is just a step number, going back runs nothing, and another
//! choice at a step is another execution with the same prefix.

use crate::control::command::{Outcome, first_of, record_again};
use crate::{Error, SearchOptions, StrategyChoice, Target};
use std::sync::atomic::AtomicBool;
use traces::{Choice, Trace};

/// The outcome of following a list of choices.
#[derive(Debug)]
pub enum RunOutcome {
    /// The execution ran to its end.
    Ran(Box<Trace>),
    /// The choices do not fit the program: a chosen task was not enabled.
    Impossible {
        /// The first step that does not fit, from 0.
        step: u64,
        /// The reason why the choice does not fit.
        what: String,
    },
    /// The process ended before it could be inspected.
    Died(String),
    /// The user interrupted the execution.
    Interrupted,
}

/// A program whose schedules can be run, with the options to run it.
#[derive(Debug, Clone)]
pub struct Runner {
    pub(super) target: Target,
    pub(super) options: SearchOptions,
}

impl Runner {
    /// A runner for a program, with the limits and failure kinds of these options.
    #[must_use]
    pub fn new(target: Target, options: SearchOptions) -> Runner {
        Runner { target, options }
    }

    /// A runner with the same options for another build of the program.
    #[must_use]
    pub fn of_build(&self, target: Target) -> Runner {
        Runner { target, options: self.options.clone() }
    }

    /// The program.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Follows `choices` and then the default schedule to the end.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<RunOutcome, Error> {
        let once = record_again(&self.target, choices, &self.options, interrupt)?;
        Ok(match once {
            Outcome::Recorded(trace) => RunOutcome::Ran(trace),
            Outcome::Diverged { step, what } => RunOutcome::Impossible { step, what },
            Outcome::Died { how, .. } => RunOutcome::Died(how),
            Outcome::Interrupted => RunOutcome::Interrupted,
        })
    }

    /// Records a uniform random walk; none if it reached no end that could be inspected.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn random(&self, seed: u64, interrupt: &AtomicBool) -> Result<Option<Trace>, Error> {
        let options =
            SearchOptions { strategy: StrategyChoice::RANDOM, seed, ..self.options.clone() };
        Ok(match first_of(&self.target, &options, interrupt)? {
            Outcome::Recorded(trace) => Some(*trace),
            Outcome::Diverged { .. } | Outcome::Died { .. } | Outcome::Interrupted => None,
        })
    }
}
