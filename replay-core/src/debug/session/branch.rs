//! Leaves the recorded schedule for another one, and returns to it.

use super::Session;
use crate::control::beginning::first_choices;
use crate::control::command::{self, Outcome};
use crate::debug::execution::position::{Position, StepPoint};
use crate::debug::execution::{Execution, Reason, Stop};
use crate::scratch::Scratch;
use crate::{Error, Observer, Progress, SearchOptions, StrategyChoice, store};
use std::path::Path;
use traces::report::Bug;
use traces::{Choice, TaskId, Trace};

/// The most executions of a search from here.
const BUDGET: u64 = 20_000;
/// The directory for saved traces without an explicit name.
const OUT: &str = "heddle-out";

/// The message if there is no next step.
const OVER: &str = "the execution is over here: `sched goto` an earlier step";

/// Stores the first failure of a search.
#[derive(Default)]
struct FirstFailure(Option<Box<Trace>>);

impl Observer for FirstFailure {
    fn progress(&mut self, _: &Progress) {}
    fn bug(&mut self, _: &Bug, trace: &Trace) {
        self.0.get_or_insert_with(|| Box::new(trace.clone()));
    }
    fn note(&mut self, _: &str) {}
}

/// The first part of a trace's file name.
fn stem(trace: &Trace) -> &'static str {
    trace.failure.as_ref().map_or("run", |failure| failure.kind.name())
}

impl Session<'_> {
    /// The number of completed steps; a chosen step that has not begun is not one.
    pub(super) fn steps_done(&self) -> u64 {
        let at = &self.execution.at;
        match at.place {
            StepPoint::Chosen => at.step.saturating_sub(1),
            _ => at.step,
        }
    }

    pub(super) fn stay(&mut self, why: &str) -> Stop {
        self.print(&format!("[sched] {why}\n"));
        Stop { task: self.execution.current(), reason: Reason::Done }
    }

    /// Makes a task execute the next step; the default schedule follows.
    pub(crate) fn pick(&mut self, task: u16) -> Result<Stop, Error> {
        let steps_done = self.steps_done();
        if let Some(why) = self.why_not_enabled(task, steps_done)? {
            return Ok(self.stay(&why));
        }
        let mut choices = first_choices(&self.execution.trace.execution, steps_done as usize);
        choices.push(Choice::Task(TaskId(task)));
        let mut options = command::as_recorded(&self.execution.trace);
        // Later changes refer to steps of the present schedule.
        options.changes.retain(|change| change.step <= steps_done + 1);
        let target = self.execution.target.clone();
        let interrupt = self.execution.interrupt.clone();
        let once = command::record_again(&target, choices, &options, interrupt.flag())?;
        Ok(match once {
            Outcome::Recorded(trace) => {
                self.execution.switch_to(*trace)?;
                let stop = self.execution.go_to(&Position::chosen(steps_done + 1))?;
                let outcome = self.expected_outcome();
                self.print(&format!(
                    "[sched] another schedule from step {} on; without further choices its outcome \
                     is: {outcome}\n",
                    steps_done + 1
                ));
                stop
            }
            Outcome::Diverged { what, .. } => {
                self.stay(&format!("T{task} is not enabled here: {what}"))
            }
            Outcome::Died { how, .. } => self.stay(&format!("the process has ended: {how}")),
            Outcome::Interrupted => self.stay("interrupted"),
        })
    }

    /// Why a task cannot execute the next step, as far as this is visible.
    fn why_not_enabled(&mut self, task: u16, steps_done: u64) -> Result<Option<String>, Error> {
        if self.execution.at.place == StepPoint::End {
            return Ok(Some(OVER.to_owned()));
        }
        if self.execution.task_of_step(steps_done + 1) == Some(task) {
            return Ok(Some(format!("T{task} already runs next")));
        }
        let thread = self.execution.thread(task)?.cloned();
        Ok(match thread {
            None => Some(format!(
                "T{task} is not enabled here: it has ended, or was not created \
                                  yet"
            )),
            Some(thread) if thread.is_blocked() => {
                let state = thread.state(&self.execution.trace.execution);
                Some(format!("T{task} is not enabled here: it is {state}"))
            }
            Some(_) => None,
        })
    }

    /// Returns to the recorded schedule at the position where it was left.
    pub(crate) fn rejoin(&mut self) -> Result<Stop, Error> {
        let Some((trace, position)) = self.execution.recorded.take() else {
            return Ok(self.stay("this is the recorded schedule"));
        };
        self.execution.switch(*trace)?;
        self.execution.go_to(&position)
    }

    /// Searches from here and goes to the first failure found.
    pub(crate) fn explore(&mut self) -> Result<Stop, Error> {
        if self.execution.at.place == StepPoint::End {
            return Ok(self.stay(OVER));
        }
        let steps_done = self.steps_done();
        let recorded = &self.execution.trace.header.options;
        // A temporary directory: the search's state is of no use, and a failure's trace could
        // replace the recording.
        let out = Scratch::new()
            .map_err(Error::system("cannot create a temporary directory for the search"))?;
        let mut options = SearchOptions {
            strategy: StrategyChoice::AUTO,
            out: out.path().to_owned(),
            prefix: first_choices(&self.execution.trace.execution, steps_done as usize),
            max_executions: Some(BUDGET),
            max_steps: recorded.max_steps,
            ..SearchOptions::default().with_points_of(&self.execution.trace)
        };
        options.changes.retain(|change| change.step <= steps_done + 1);
        let target = self.execution.target.clone();
        let interrupt = self.execution.interrupt.clone();
        let mut first = FirstFailure::default();
        let report = command::explore(&target, &options, interrupt.flag(), &mut first)?;
        let Some(trace) = first.0 else {
            let all = if report.complete { ", which are all there are" } else { "" };
            let why = format!("no failure in {} executions from here{all}", report.executions);
            return Ok(self.stay(&why));
        };
        let saved = store::save_beside(&trace, Path::new(OUT), stem(&trace));
        self.execution.switch_to(*trace)?;
        let stop = self.execution.go_to_failure()?;
        let saved = match saved {
            Ok(path) => format!("saved as {}", path.display()),
            Err(error) => format!("not saved: {error}"),
        };
        let text = format!(
            "[sched] a failure, after {} executions: {}; {saved}\n",
            report.executions,
            self.expected_outcome()
        );
        self.print(&text);
        Ok(stop)
    }

    /// How the current schedule ends, according to its trace.
    pub(super) fn expected_outcome(&self) -> String {
        match &self.execution.trace.failure {
            Some(failure) => format!("{}: {}", failure.kind, failure.message),
            None => "without a failure".to_owned(),
        }
    }

    /// Saves the current schedule as a trace.
    pub(crate) fn save(&mut self, file: Option<&str>) -> Result<String, Error> {
        let trace = &self.execution.trace;
        let path = match file {
            Some(file) => {
                store::save_new(trace, Path::new(file))?;
                file.to_owned()
            }
            None => store::save_beside(trace, Path::new(OUT), stem(trace))?.display().to_string(),
        };
        Ok(format!("saved as {path}\n"))
    }
}

impl Execution {
    /// Follows another schedule; the recorded one is stored.
    pub(super) fn switch_to(&mut self, trace: Trace) -> Result<(), Error> {
        let here = (Box::new(self.trace.clone()), self.at.clone());
        let recorded = self.recorded.take().unwrap_or(here);
        self.switch(trace)?;
        self.recorded = Some(recorded);
        Ok(())
    }

    /// Restarts the program on a schedule.
    fn switch(&mut self, trace: Trace) -> Result<(), Error> {
        let target = self.target.clone();
        let mut fresh = Execution::start(&target, trace, self.interrupt.clone())?;
        fresh.armed = std::mem::take(&mut self.armed);
        *self = fresh;
        Ok(())
    }
}
