//! Walking through a program's schedules: whatever a person, or a program on their behalf, can do to
//! an execution. Knows nothing of terminals.
//!
//! An execution is always whole: [`Walk::run`] follows some choices and goes on by default to the
//! end. So a position is a number, going back runs nothing, and another choice at a step is another
//! execution with the same beginning.

mod ahead;
mod bounded;
mod estimate;
mod hand;
pub mod positions;
pub mod standing;

pub use ahead::{Ahead, Nearest};
pub use bounded::{Among, Bounded};
pub use estimate::Estimate;
pub use hand::{Been, HandOver, Way};
pub use search::tree::Left;
pub use search::{Tree, Visits};

use crate::command::{Once, first_of, record_again};
use crate::{Error, Observer, SearchOptions, StrategyName, Target};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::report::Report;
use traces::{Choice, Trace};

/// What came of following some choices.
#[derive(Debug)]
pub enum Walked {
    /// The whole execution.
    Ran(Box<Trace>),
    /// The choices do not fit this program: what was to move could not.
    Impossible {
        /// From which step on, from 0.
        step: u64,
        /// How.
        what: String,
    },
    /// The process was gone before it could be looked at.
    Died(String),
    /// It was interrupted.
    Interrupted,
}

/// A program whose schedules can be run: a process, or in tests what stands for one.
pub trait Schedules {
    /// Follows `choices`, then goes on by default to the end.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<Walked, Error>;

    /// Runs these schedules, or as many as the budget allows, and keeps the smallest that fails with
    /// this signature.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    fn smallest(
        &self,
        among: &Among,
        budget: u64,
        signature: &str,
        interrupt: &AtomicBool,
    ) -> Result<Bounded, Error>;
}

/// A program whose schedules can be walked.
#[derive(Debug, Clone)]
pub struct Walk {
    target: Target,
    options: SearchOptions,
}

impl Walk {
    /// For a program, with the limits and the failures of these options.
    #[must_use]
    pub fn new(target: Target, options: SearchOptions) -> Walk {
        Walk { target, options }
    }

    /// The same for another build of the program.
    #[must_use]
    pub fn of_build(&self, target: Target) -> Walk {
        Walk { target, options: self.options.clone() }
    }

    /// The program.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Follows `choices`, then goes on by default to the end.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<Walked, Error> {
        let once = record_again(&self.target, choices, &self.options, interrupt)?;
        Ok(match once {
            Once::Recorded(trace) => Walked::Ran(trace),
            Once::Diverged { step, what } => Walked::Impossible { step, what },
            Once::Died { how } => Walked::Died(how),
            Once::Interrupted => Walked::Interrupted,
        })
    }

    /// A uniform random walk, recorded; none where it came to no end that could be looked at.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn random(&self, seed: u64, interrupt: &AtomicBool) -> Result<Option<Trace>, Error> {
        let options =
            SearchOptions { strategy: StrategyName::Random, seed, ..self.options.clone() };
        Ok(match first_of(&self.target, &options, interrupt)? {
            Once::Recorded(trace) => Some(*trace),
            Once::Diverged { .. } | Once::Died { .. } | Once::Interrupted => None,
        })
    }

    /// How many schedules begin so, roughly, by this many random walks; none where no walk came to an
    /// end.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn estimate(
        &self,
        beginning: &[Choice],
        walks: u64,
        interrupt: &AtomicBool,
    ) -> Result<Option<Estimate>, Error> {
        estimate::estimate(self, beginning, walks, interrupt)
    }

    /// Hands over to a search from a position, until it is over or `interrupt` is set.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn search(
        &self,
        order: &HandOver,
        out: &Path,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Report, Error> {
        hand::search(self, order, out, interrupt, observer)
    }

    /// Whether every schedule was run and each fails; no, where that is more than the budget allows.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn always_fails(&self, budget: u64, interrupt: &AtomicBool) -> Result<bool, Error> {
        bounded::always_fails(self, budget, interrupt)
    }

    /// What lies ahead of a beginning, by at most `budget` executions of each kind of look.
    ///
    /// # Errors
    /// Where the program cannot be run or controlled.
    pub fn ahead(
        &self,
        prefix: &[Choice],
        budget: u64,
        interrupt: &AtomicBool,
    ) -> Result<Ahead, Error> {
        ahead::look(&self.target, &self.options, prefix, budget, interrupt)
    }
}

impl Schedules for Walk {
    fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<Walked, Error> {
        Walk::run(self, choices, interrupt)
    }

    fn smallest(
        &self,
        among: &Among,
        budget: u64,
        signature: &str,
        interrupt: &AtomicBool,
    ) -> Result<Bounded, Error> {
        bounded::search(self, among, budget, signature, interrupt)
    }
}
