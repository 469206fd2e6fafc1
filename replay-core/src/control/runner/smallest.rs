//! Searches a set of schedules for the smallest one with a given failure.

use super::program::{RunOutcome, Runner};
use super::size::Size;
use crate::Error;
use crate::control::command::search_job;
use crate::control::worker::{Event, Worker};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use traces::points::CodeRange;
use traces::wire::{Job, Plan, Probing, RuntimeMessage};
use traces::{Choice, Trace};

/// A set of schedules.
#[derive(Debug, Clone)]
pub enum ScheduleSet {
    /// All schedules with at most this many preemptions.
    Preemptions(u32),
    /// At least one schedule of each order of dependent operations, with at most this many
    /// preemptions. Random walks verify which operations depend on each other.
    Orders(u32),
    /// Schedules close to the default schedule.
    Departures {
        /// The most decisions that differ from the default.
        most: u32,
        /// The most preemptions.
        preemptions: u32,
        /// No decision differs at these sites.
        quiet: Vec<CodeRange>,
    },
    /// Mutations of a failing schedule.
    Mutations {
        /// The choices of that schedule.
        choices: Vec<Choice>,
        /// The seed for the mutations.
        seed: u64,
    },
}

/// The result of a search for the smallest schedule.
#[derive(Debug)]
pub struct Smallest {
    /// The smallest schedule with the failure, recorded.
    pub found: Option<Trace>,
    /// Whether every schedule of the set was run.
    pub complete: bool,
    /// The number of executions.
    pub executions: u64,
}

/// The most steps to spend on one bound: a few seconds. If accesses have breakpoint probes, most
/// steps hit one and take microseconds each. Spin loops can make executions far longer than the one
/// that fails.
fn most_steps(runner: &Runner) -> u64 {
    match runner.options.probing {
        _ if runner.options.learned.sites.is_empty() => 50_000_000,
        Probing::Jumps => 5_000_000,
        Probing::Breakpoints => 500_000,
    }
}

/// A program whose schedules can be run: a process, or a model in tests.
pub trait RunSchedules {
    /// Follows `choices` and then the default schedule to the end.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<RunOutcome, Error>;

    /// Runs the schedules of a set, within the budget, and returns the smallest that fails with
    /// this signature.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    fn smallest(
        &self,
        among: &ScheduleSet,
        budget: u64,
        signature: &str,
        interrupt: &AtomicBool,
    ) -> Result<Smallest, Error>;
}

impl RunSchedules for Runner {
    fn run(&self, choices: Vec<Choice>, interrupt: &AtomicBool) -> Result<RunOutcome, Error> {
        Runner::run(self, choices, interrupt)
    }

    fn smallest(
        &self,
        among: &ScheduleSet,
        budget: u64,
        signature: &str,
        interrupt: &AtomicBool,
    ) -> Result<Smallest, Error> {
        search(self, among, budget, signature, interrupt)
    }
}

impl Runner {
    /// Whether every schedule was run and all of them fail. False if the budget does not suffice.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn always_fails(&self, budget: u64, interrupt: &AtomicBool) -> Result<bool, Error> {
        always_fails(self, budget, interrupt)
    }
}

fn search(
    runner: &Runner,
    among: &ScheduleSet,
    budget: u64,
    signature: &str,
    interrupt: &AtomicBool,
) -> Result<Smallest, Error> {
    let options = &runner.options;
    let (plan, all_steps, atomic): (_, _, &[CodeRange]) = match *among {
        ScheduleSet::Preemptions(bound) => {
            (Plan::bounded("dfs", Some(bound)), most_steps(runner), &[])
        }
        // Conflicts are computed at every step, which is slower.
        ScheduleSet::Orders(bound) => {
            (Plan::Orders { bound }, most_steps(runner).min(5_000_000), &[])
        }
        ScheduleSet::Departures { most, preemptions, ref quiet } => {
            (Plan::Departures { most, preemptions }, 30_000_000, quiet)
        }
        ScheduleSet::Mutations { ref choices, seed } => {
            (Plan::LocalSearch { choices: choices.clone(), seed }, most_steps(runner), &[])
        }
    };
    let mut job = Job { last: budget, all_steps, ..search_job(options, plan) };
    job.scope.atomic.extend_from_slice(atomic);
    let mut worker = Worker::start(&runner.target, job, options.spin_after)?;
    let mut found: Option<Trace> = None;
    let mut died = false;
    loop {
        match worker.wait(interrupt)? {
            // A known failure is reported again only if its schedule is smaller. The recording
            // shows which failure it is.
            Event::RuntimeMessage(RuntimeMessage::Found(news)) => {
                if let RunOutcome::Ran(trace) = runner.run(news.choices, interrupt)?
                    && trace.failure.as_ref().is_some_and(|one| one.signature == signature)
                    && found
                        .as_ref()
                        .is_none_or(|best| Size::of(&trace.execution) < Size::of(&best.execution))
                {
                    found = Some(*trace);
                    // Other schedules with the same orders may be smaller, but this search does not
                    // compare them.
                    if matches!(among, ScheduleSet::Orders(_)) {
                        break;
                    }
                }
            }
            Event::RuntimeMessage(
                RuntimeMessage::Diverged { .. }
                | RuntimeMessage::Learned { .. }
                | RuntimeMessage::Recorded(_),
            )
            | Event::Tick
            | Event::Parked
            | Event::Idle => {}
            Event::Done => break,
            Event::Held | Event::Died(_) => {
                died = true;
                break;
            }
        }
    }
    let header = worker.channel().header();
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    Ok(Smallest {
        found,
        complete: header.complete.load(Relaxed) != 0 && holes == 0 && !died,
        executions: header.executions.load(Relaxed),
    })
}

/// Whether every schedule was run and all of them fail. False if the budget does not suffice.
fn always_fails(runner: &Runner, budget: u64, interrupt: &AtomicBool) -> Result<bool, Error> {
    let options = &runner.options;
    let plan = Plan::bounded("dfs", None);
    let job = Job { last: budget, all_steps: most_steps(runner), ..search_job(options, plan) };
    let mut worker = Worker::start(&runner.target, job, options.spin_after)?;
    let over = loop {
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(_) | Event::Tick | Event::Parked | Event::Idle => {
                let header = worker.channel().header();
                // The runtime counts failing executions first.
                let ran = header.executions.load(Acquire);
                if header.failing.load(Relaxed) < ran {
                    break false;
                }
            }
            Event::Done => break true,
            Event::Held | Event::Died(_) => break false,
        }
    };
    let header = worker.channel().header();
    let ran = header.executions.load(Relaxed);
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    let whole = over && header.complete.load(Relaxed) != 0 && holes == 0;
    Ok(whole && ran > 0 && header.failing.load(Relaxed) == ran)
}
