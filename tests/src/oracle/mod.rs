//! Random small programs whose outcomes are known completely.
//!
//! [`suite`] generates programs, prints them as one C file, and computes the outcomes and the
//! number of schedules of each by brute-force enumeration of the abstract program. The results of a
//! search must agree with it, over the abstract program ([`drive`]) and over a process compiled
//! from the C file.

pub mod brute;
pub mod c;
pub mod calls;
mod code;
pub mod drive;
pub mod exit_status;
mod generate;
pub mod machine;
pub mod program;
mod statistics;

pub use statistics::Statistics;

use brute::Survey;
use program::Program;
use search::rng::Rng;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The outcome of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The process ended with this status, which encodes the shared variables.
    Exit(u8),
    /// No task was enabled.
    Deadlock,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Exit(status) => write!(f, "exit {status}"),
            Outcome::Deadlock => f.write_str("deadlock"),
        }
    }
}

/// A program, and what is known about it.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The program.
    pub program: Program,
    /// Its possible outcomes.
    pub outcomes: BTreeSet<Outcome>,
    /// The number of its schedules: distinct lists of choices.
    pub schedules: u64,
    /// The number of schedules by preemptions, and further statistics.
    pub survey: Survey,
}

impl Generated {
    /// Computes everything about a program.
    ///
    /// # Panics
    /// If it misuses an object.
    #[must_use]
    pub fn of(program: Program) -> Generated {
        let survey = brute::enumerate(&machine::Machine::new(&program), CAP);
        let survey = survey.expect("a program of which everything can be known");
        Generated {
            program,
            outcomes: survey.outcomes.keys().copied().collect(),
            schedules: survey.schedules_within(None),
            survey,
        }
    }

    /// The possible outcomes with at most this many preemptions; with any number if there is no
    /// bound.
    #[must_use]
    pub fn outcomes_within(&self, bound: Option<u32>) -> BTreeSet<Outcome> {
        let within = |least: u32| bound.is_none_or(|bound| least <= bound);
        let outcomes = self.survey.outcomes.iter();
        outcomes.filter(|&(_, &least)| within(least)).map(|(&outcome, _)| outcome).collect()
    }

    /// The number of schedules with at most this many preemptions; of all if there is no bound.
    #[must_use]
    pub fn schedules_within(&self, bound: Option<u32>) -> u64 {
        self.survey.schedules_within(bound)
    }
}

/// Programs in one C file.
#[derive(Debug, Clone)]
pub struct Suite {
    /// For `gcc -O1 -g -pthread`. The first argument is the number of the program to run; the exit
    /// status is 127 if there is no such program.
    pub c_source: String,
    /// The programs, by number.
    pub programs: Vec<Generated>,
}

impl Suite {
    /// A suite of these programs.
    #[must_use]
    pub fn of(programs: Vec<Generated>) -> Suite {
        let c_source = c::print(programs.iter().map(|generated| &generated.program));
        Suite { c_source, programs }
    }

    /// Compiles the C file in `directory`, and returns the path of the executable.
    ///
    /// # Errors
    /// If a file cannot be written, there is no gcc, or gcc rejects the file.
    pub fn compile(&self, directory: &Path) -> io::Result<PathBuf> {
        let source = directory.join("oracle.c");
        let program = directory.join("oracle");
        std::fs::write(&source, &self.c_source)?;
        let output = Command::new("gcc")
            .args(["-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([&program, &source])
            .output()?;
        if output.status.success() {
            return Ok(program);
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// The total number of schedules of all programs: the cost of an exhaustive search.
    #[must_use]
    pub fn schedules(&self) -> u64 {
        self.programs.iter().map(|generated| generated.schedules).sum()
    }
}

/// The maximum number of schedules of a program of [`suite`].
pub const CAP: u64 = 2_000;

/// `count` programs, the same for the same seed. The first programs do not depend on `count`.
#[must_use]
pub fn suite(seed: u64, count: usize) -> Suite {
    Suite::of((0..count as u64).map(|n| of_the_whole_api(seed, n, CAP)).collect())
}

/// Program `number` of a seed, with at most `cap` schedules: without timeouts, signals,
/// cancellation, futexes and other operations whose dependences strategies do not know completely.
#[must_use]
pub fn generated(seed: u64, number: u64, cap: u64) -> Generated {
    fit(seed, number, cap, false)
}

/// Like `generated`, but with all operations.
#[must_use]
pub fn of_the_whole_api(seed: u64, number: u64, cap: u64) -> Generated {
    fit(seed, number, cap, true)
}

fn fit(seed: u64, number: u64, cap: u64, whole: bool) -> Generated {
    let mut rng = Rng::new(seed, number);
    loop {
        let program = generate::program(&mut rng, whole);
        let Ok(survey) = brute::enumerate(&machine::Machine::new(&program), cap) else { continue };
        // Programs whose outcome does not depend on the order are kept rarely; they would be half
        // of all.
        let one_in = match survey.outcomes.keys().next() {
            Some(Outcome::Exit(_)) if survey.outcomes.len() == 1 => 6,
            Some(Outcome::Deadlock) if survey.outcomes.len() == 1 => 20,
            _ => 1,
        };
        if rng.below(one_in) != 0 {
            continue;
        }
        return Generated {
            program,
            outcomes: survey.outcomes.keys().copied().collect(),
            schedules: survey.schedules_within(None),
            survey,
        };
    }
}
