//! Leaving the recorded schedule for another, and coming back to it.

use super::Session;
use crate::command::{self, Once};
use crate::debug::execution::position::{Place, Position};
use crate::debug::execution::{Execution, Reason, Stop};
use crate::{Error, Observer, Progress, SearchOptions, StrategyName, store};
use std::path::Path;
use traces::report::Bug;
use traces::{Choice, TaskId, Trace};

/// How many executions a hand-over to the search may take.
const BUDGET: u64 = 20_000;
/// Where what is found, or saved without a name, goes.
const OUT: &str = "heddle-out";

/// What is said where there is no next step.
const OVER: &str =
    "the execution is over here, nobody moves any more: `sched goto` an earlier step";

/// Keeps the first failure of a search.
#[derive(Default)]
struct First(Option<Box<Trace>>);

impl Observer for First {
    fn progress(&mut self, _: &Progress) {}
    fn bug(&mut self, _: &Bug, trace: &Trace) {
        self.0.get_or_insert_with(|| Box::new(trace.clone()));
    }
    fn note(&mut self, _: &str) {}
}

/// The choices of the first steps of an execution, with the data choices that belong to them.
pub(super) fn beginning(trace: &Trace, steps: u64) -> Vec<Choice> {
    let mut left = steps;
    trace
        .execution
        .choices()
        .take_while(|choice| match choice {
            Choice::Task(_) if left == 0 => false,
            Choice::Task(_) => {
                left -= 1;
                true
            }
            Choice::Data { .. } => true,
        })
        .collect()
}

/// What the name of a trace begins with.
fn stem(trace: &Trace) -> &'static str {
    trace.failure.as_ref().map_or("run", |failure| failure.kind.name())
}

impl Session<'_> {
    /// How many steps are behind, the one that was chosen and has not begun not among them.
    fn behind(&self) -> u64 {
        let at = &self.execution.at;
        match at.place {
            Place::Chosen => at.step.saturating_sub(1),
            _ => at.step,
        }
    }

    pub(super) fn stay(&mut self, why: &str) -> Stop {
        self.say(&format!("[sched] {why}\n"));
        Stop { task: self.execution.current(), reason: Reason::Done }
    }

    /// Lets a task make the next step, and goes on by default from there.
    pub(crate) fn pick(&mut self, task: u16) -> Result<Stop, Error> {
        let behind = self.behind();
        if let Some(why) = self.cannot_move(task, behind)? {
            return Ok(self.stay(&why));
        }
        let mut choices = beginning(&self.execution.trace, behind);
        choices.push(Choice::Task(TaskId(task)));
        let mut options = command::as_recorded(&self.execution.trace);
        // Those that come later are at steps of this schedule.
        options.changes.retain(|change| change.step <= behind + 1);
        let target = self.execution.target.clone();
        let interrupt = self.execution.interrupt.clone();
        let once = command::record_again(&target, choices, &options, interrupt.flag())?;
        Ok(match once {
            Once::Recorded(trace) => {
                self.execution.leave_for(*trace)?;
                let stop = self.execution.go_to(&Position::chosen(behind + 1))?;
                let outcome = self.foretold();
                self.say(&format!(
                    "[sched] another schedule from step {} on; without further choices it ends: \
                     {outcome}\n",
                    behind + 1
                ));
                stop
            }
            Once::Diverged { what, .. } => self.stay(&format!("T{task} cannot move here: {what}")),
            Once::Died { how } => self.stay(&format!("the process was gone: {how}")),
            Once::Interrupted => self.stay("interrupted"),
        })
    }

    /// Why a task cannot be let make the next step, as far as that is to be seen.
    fn cannot_move(&mut self, task: u16, behind: u64) -> Result<Option<String>, Error> {
        if self.execution.at.place == Place::End {
            return Ok(Some(OVER.to_owned()));
        }
        if self.execution.mover(behind + 1) == Some(task) {
            return Ok(Some(format!("T{task} moves here already")));
        }
        let thread = self.execution.thread(task)?.cloned();
        Ok(match thread {
            None => Some(format!("T{task} cannot move here: it has ended, or was not created yet")),
            Some(thread) if thread.is_blocked() => {
                let state = thread.state(&self.execution.trace.execution);
                Some(format!("T{task} cannot move here: it is {state}"))
            }
            Some(_) => None,
        })
    }

    /// Back to the recorded schedule, where it was left.
    pub(crate) fn rejoin(&mut self) -> Result<Stop, Error> {
        let Some((trace, position)) = self.execution.recorded.take() else {
            return Ok(self.stay("this is the recorded schedule"));
        };
        self.execution.switch(*trace)?;
        self.execution.go_to(&position)
    }

    /// Has the search go on from here, and goes to the first failure that it finds.
    pub(crate) fn explore(&mut self) -> Result<Stop, Error> {
        if self.execution.at.place == Place::End {
            return Ok(self.stay(OVER));
        }
        let behind = self.behind();
        let recorded = &self.execution.trace.header.options;
        // What the search writes down of itself is of no use; and the name of what it finds may be that
        // of the recording, which is no search's to replace.
        let out = tempfile::tempdir()
            .map_err(Error::system("there is no room for what the search finds"))?;
        let mut options = SearchOptions {
            strategy: StrategyName::Auto,
            out: out.path().to_owned(),
            prefix: beginning(&self.execution.trace, behind),
            max_executions: Some(BUDGET),
            max_steps: recorded.max_steps,
            ..SearchOptions::default().with_points_of(&self.execution.trace)
        };
        options.changes.retain(|change| change.step <= behind + 1);
        let target = self.execution.target.clone();
        let interrupt = self.execution.interrupt.clone();
        let mut first = First::default();
        let report = command::explore(&target, &options, interrupt.flag(), &mut first)?;
        let Some(trace) = first.0 else {
            let all = if report.complete { ", which are all there are" } else { "" };
            let why = format!("no failure in {} executions from here{all}", report.executions);
            return Ok(self.stay(&why));
        };
        let saved = store::save_beside(&trace, Path::new(OUT), stem(&trace));
        self.execution.leave_for(*trace)?;
        let stop = self.execution.go_to_failure()?;
        let saved = match saved {
            Ok(path) => format!("saved as {}", path.display()),
            Err(error) => format!("not saved: {error}"),
        };
        let text = format!(
            "[sched] a failure, after {} executions: {}; {saved}\n",
            report.executions,
            self.foretold()
        );
        self.say(&text);
        Ok(stop)
    }

    /// How the schedule that is followed ends, by its trace.
    pub(super) fn foretold(&self) -> String {
        match &self.execution.trace.failure {
            Some(failure) => format!("{}: {}", failure.kind, failure.message),
            None => "without a failure".to_owned(),
        }
    }

    /// Writes the schedule as it is now to a trace.
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
    /// Follows another schedule from here on; the recorded one is kept.
    pub(super) fn leave_for(&mut self, trace: Trace) -> Result<(), Error> {
        let here = (Box::new(self.trace.clone()), self.at.clone());
        let recorded = self.recorded.take().unwrap_or(here);
        self.switch(trace)?;
        self.recorded = Some(recorded);
        Ok(())
    }

    /// Starts the program anew, on this schedule.
    fn switch(&mut self, trace: Trace) -> Result<(), Error> {
        let target = self.target.clone();
        let mut fresh = Execution::start(&target, trace, self.interrupt.clone())?;
        fresh.armed = std::mem::take(&mut self.armed);
        *self = fresh;
        Ok(())
    }
}
