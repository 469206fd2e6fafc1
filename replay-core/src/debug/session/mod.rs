//! The user's actions on an execution: moves forwards and backwards, queries and changes.
//! Independent of the protocol.

mod branch;
mod changed_copy;
mod diversion;
mod history;
mod left_out;
mod monitor;
pub(super) mod monitor_commands;
mod origin;
mod owed;
mod running_search;
mod satisfy;
mod save_change;
mod stop_on;

use super::execution::position::{Position, StepPoint};
use super::execution::{Condition, Execution, Reason, Stop, StopRequests};
use super::process::machine::{ProcessState, SCRATCH};
use super::process::registers::Values;
use super::process::tasks::Thread;
use super::process::tracee::WaitStatus;
use crate::Error;
use changed_copy::Diversion;
use owed::Owed;
use running_search::{RunningSearch, Wanted};
use std::collections::BTreeMap;
use std::ops::Range;
use stop_on::StopOn;
use traces::memory_change::MemoryChange;

/// What the next resumption does instead of the requested action. gdb only refreshes registers and
/// threads when the program seems to have run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seek {
    Position(Position),
    Failure,
    End,
    Next,
    Previous,
    StepBack,
    ResumeBack,
    Pick(u16),
    Rejoin,
    Explore,
    Satisfy,
    Keep(Vec<MemoryChange>),
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The debugger detached or disconnected.
    Detached,
    /// The debugger killed the program.
    Killed,
}

/// A debugging session; see the module.
pub(crate) struct Session<'a> {
    pub(crate) execution: &'a mut Execution,
    /// The task whose registers are accessed.
    pub(crate) selected: u16,
    pub(crate) stop: Stop,
    pub(crate) seek: Option<Seek>,
    diversion: Option<Diversion>,
    /// Breakpoints that the debugger has removed since the program ran last. It removes one to step
    /// a task over it, but other tasks still stop there.
    pub(crate) lifted: BTreeMap<u64, Vec<Condition>>,
    /// Events to report when the program is resumed.
    owed: Owed,
    /// The next free address of the debugger's own memory.
    scratch: u64,
    /// The code of the line that the next step backwards goes back through, if it is a loop.
    loop_line: Option<Range<u64>>,
    /// The steps at which a run stops.
    stop_on: StopOn,
    /// Text for the user.
    pub(crate) output: String,
    /// The positions to return to after seeks: earlier ones, and later ones after going back.
    history: Vec<Position>,
    future: Vec<Position>,
    /// Numbered positions.
    saved_positions: Vec<(u64, Position)>,
    next_checkpoint: u64,
    /// The predicate of the last search.
    wanted: Option<Wanted>,
    search: Option<RunningSearch>,
    /// The answer to the last search, as the script for gdb reads it.
    last_answer: String,
}

impl<'a> Session<'a> {
    pub(crate) fn new(execution: &'a mut Execution, stop: Stop) -> Self {
        Session {
            selected: stop.task,
            execution,
            stop,
            seek: None,
            diversion: None,
            lifted: BTreeMap::new(),
            owed: Owed::default(),
            scratch: SCRATCH.start,
            loop_line: None,
            stop_on: StopOn::Nothing,
            output: String::new(),
            history: Vec::new(),
            future: Vec::new(),
            saved_positions: Vec::new(),
            next_checkpoint: 1,
            wanted: None,
            search: None,
            last_answer: "\n0".to_owned(),
        }
    }

    /// Adds text for the user.
    pub(crate) fn print(&mut self, text: &str) {
        self.output.push_str(text);
    }

    /// The debugger has left: discards its changes and requests. Returns the last stop.
    pub(crate) fn leave(mut self) -> Stop {
        self.search = None;
        self.owed = Owed::default();
        self.undivert();
        self.execution.armed = StopRequests::default();
        let _ = self.execution.interrupt.take();
        self.stop
    }

    /// The last stop, for a debugger that has just connected. An end that was reached earlier is
    /// reported as a plain stop.
    pub(crate) fn last_stop(&self) -> Stop {
        match self.stop.reason {
            Reason::Begin | Reason::End | Reason::Sent => {
                Stop { reason: Reason::Done, ..self.stop }
            }
            _ => self.stop,
        }
    }

    /// Records a stop.
    pub(crate) fn arrive(&mut self, stop: Stop) {
        self.stop = stop;
        self.selected = stop.task;
        if stop.reason == Reason::End {
            let said = format!("[sched] {}\n", self.outcome());
            self.print(&said);
        }
        if stop.reason == Reason::Begin && self.execution.at.step == 0 {
            self.print(
                "[sched] the schedule begins at main; code that ran before (the loader, \
                 constructors) is not part of it\n",
            );
        }
        // Discard a Ctrl-C that came too late.
        let _ = self.execution.interrupt.take();
    }

    /// Signals are part of the recorded execution: only recorded signals are delivered.
    pub(crate) fn check_signal(&mut self, wanted: u8) {
        let pending = self.execution.live().signal().map(protocol_signal);
        if wanted != 0 && pending != Some(wanted) {
            self.print("[sched] only signals of the recorded execution are delivered\n");
        }
    }

    /// Continues: a task steps within a range, or all tasks run. While one task steps `alone`,
    /// stops of other tasks are not reported: a debugger that steps over a breakpoint does not
    /// expect them. The other tasks still run as scheduled, and what they reach is reported when
    /// all tasks continue.
    pub(crate) fn forwards(
        &mut self,
        step: Option<(u16, Range<u64>)>,
        alone: bool,
    ) -> Result<Stop, Error> {
        self.loop_line = None;
        let stepping = step.as_ref().map(|(task, _)| *task);
        let moves = self.seek.is_some() || self.diversion.is_some();
        if moves {
            // A move decides itself what is still owed.
            if self.seek.is_none() {
                self.owed = Owed::default();
            }
        } else if let Some(stop) = self.owed_stop(stepping.filter(|_| alone), true)? {
            self.lifted.clear();
            return Ok(stop);
        }
        let alone = stepping.filter(|_| alone && !moves);
        self.execution.only = alone;
        self.execution.lifted = match alone {
            Some(task) => self.lifted_before(task)?,
            None => None,
        };
        let range = step.map_or(0..0, |(_, range)| range);
        let stop = self.resume(stepping, range);
        self.execution.only = None;
        self.execution.lifted = None;
        self.lifted.clear();
        self.owe(alone, stop?)
    }

    fn resume(&mut self, stepping: Option<u16>, range: Range<u64>) -> Result<Stop, Error> {
        if let Some(seek) = self.seek.take() {
            return self.sent(seek);
        }
        if self.diversion.is_some() {
            return self.resume_diverted(stepping);
        }
        if self.stop.reason == Reason::End && stepping.is_none() {
            return Ok(Stop { task: self.stop.task, reason: self.exit() });
        }
        match stepping {
            None => self.run(),
            Some(task) => {
                // The task has ended or has not begun.
                let there = self.execution.thread(task)?.is_some();
                let task = if there { task } else { self.execution.current() };
                let blocked = self.execution.thread(task)?.filter(|t| t.is_blocked()).cloned();
                if let Some(thread) = blocked {
                    let state = thread.state(&self.execution.trace.execution);
                    self.print(&format!("[sched] T{task} is {state}\n"));
                }
                let stop = self.execution.step(task, &range)?;
                if stop.reason == Reason::End && stop.task != task {
                    self.print(&format!("[sched] T{task} never runs again\n"));
                    return Ok(Stop { task, ..stop });
                }
                Ok(stop)
            }
        }
    }

    /// Executes a pending seek instead of the debugger's request.
    fn sent(&mut self, seek: Seek) -> Result<Stop, Error> {
        let stop = self.perform(seek)?;
        Ok(match stop.reason {
            Reason::Done => Stop { reason: Reason::Sent, ..stop },
            _ => stop,
        })
    }

    /// Runs all tasks up to the next step that the user asked to stop at.
    fn run(&mut self) -> Result<Stop, Error> {
        let from = self.execution.at.step as usize;
        let next = self.stop_on.steps(&self.execution.trace.execution).find(|&step| step > from);
        self.execution.limit = next.map(|step| step as u64);
        let stop = self.execution.resume();
        self.execution.limit = None;
        let mut stop = stop?;
        if stop.reason == Reason::Done {
            stop.reason = Reason::Chosen;
            let what = self.stop_on.what();
            let when = self.when()?;
            self.print(&format!("[sched] {what} at {when}"));
        }
        Ok(stop)
    }

    /// The tasks that have not ended; none if the process has ended.
    pub(crate) fn threads(&mut self) -> Result<Vec<Thread>, Error> {
        match self.stop.reason {
            Reason::Gone(_) => Ok(Vec::new()),
            _ => self.execution.threads().map(<[_]>::to_vec),
        }
    }

    /// A reverse step. With `stepping`, that task goes back by one instruction; `over` says that it
    /// only leaves a breakpoint. Otherwise all tasks go back to the previous event.
    pub(crate) fn back(&mut self, stepping: Option<u16>, over: bool) -> Result<Stop, Error> {
        if let Some(seek) = self.seek.take() {
            return self.sent(seek);
        }
        self.discard();
        let Some(task) = stepping else {
            self.loop_line = None;
            return self.back_to_event();
        };
        self.owed = Owed::default();
        let stop = match self.loop_line.take() {
            Some(line) => self.execution.step_back_over(task, over, &line)?,
            None => self.execution.step_back(task, over)?,
        };
        self.owe_backwards(stop)
    }

    /// All tasks go back to the previous event.
    pub(super) fn back_to_event(&mut self) -> Result<Stop, Error> {
        if let Some(stop) = self.owed_stop(None, false)? {
            return Ok(stop);
        }
        let here = self.execution.at.clone();
        let stop = self.execution.resume_back()?;
        // The last of the steps to stop at whose choice is before here, if it comes after the event.
        let from = here.step as usize + usize::from(here.place != StepPoint::Chosen);
        let steps = self.stop_on.steps(&self.execution.trace.execution);
        let step = steps.take_while(|&step| step < from).last().map_or(0, |step| step as u64);
        let is_later = stop.reason == Reason::Begin || step > self.execution.at.step;
        if step == 0 || !is_later || stop.reason == Reason::Interrupted {
            return self.owe_backwards(stop);
        }
        self.owed = Owed::default();
        self.execution.go_to_step(step)?;
        let what = self.stop_on.what();
        let when = self.when()?;
        self.print(&format!("[sched] {what} at {when}"));
        Ok(Stop { task: self.execution.current(), reason: Reason::Chosen })
    }

    /// The next step backwards goes back through this line. None if it is no range of addresses.
    pub(super) fn go_back_through(&mut self, line: &[&str]) -> Option<()> {
        let [start, end] = line else { return None };
        let [start, end] = [start, end].map(|it| u64::from_str_radix(it, 16).ok());
        self.loop_line = Some(start?..end?);
        Some(())
    }

    /// The exit of a process that continues from the end of its schedule.
    fn exit(&self) -> Reason {
        let live = self.execution.live();
        if let ProcessState::Gone(status) = live.state() {
            return Reason::Gone(status);
        }
        let (how, kind, number, _) = live.end();
        use traces::FailureKind as K;
        let status = match traces::FailureKind::from_code(kind) {
            _ if how != traces::wire::ended::FAILED => WaitStatus::Exited(0),
            Some(K::Exit) => WaitStatus::Exited(number),
            Some(K::Panic) => WaitStatus::Exited(101),
            Some(K::Crash | K::StackOverflow | K::UseAfterFree) if number > 0 => {
                WaitStatus::Killed(number)
            }
            Some(K::Spin) => WaitStatus::Killed(libc::SIGKILL),
            Some(kind) if kind.is_deadlock() => WaitStatus::Killed(libc::SIGKILL),
            _ => WaitStatus::Killed(libc::SIGABRT),
        };
        Reason::Gone(status)
    }

    /// Goes back to main's first instruction, or to a step.
    pub(crate) fn restart(&mut self, step: Option<&str>) -> Result<(), Error> {
        self.discard();
        self.owed = Owed::default();
        let position = match step.map(|step| step.trim().parse()) {
            None => Position::entry(0),
            Some(Ok(step)) => Position::chosen(step),
            Some(Err(_)) => {
                self.print(
                    "[sched] `run` goes to the start, `run N` to step N; the program's \
                          arguments are those of the schedule\n",
                );
                Position::entry(0)
            }
        };
        self.execution.go_to(&position)?;
        self.stop = Stop { task: self.execution.current(), reason: Reason::Done };
        self.selected = self.stop.task;
        Ok(())
    }

    /// Whether the recording ends here because of its limit on steps.
    fn is_cut(&self) -> bool {
        let trace = &self.execution.trace;
        let (steps, most) = (trace.execution.steps.len() as u64, trace.header.options.max_steps);
        trace.failure.is_none() && most > 0 && steps >= most && self.steps_done() >= steps
    }

    /// How the schedule ends, as text.
    pub(crate) fn outcome(&self) -> String {
        use traces::wire::ended;
        let live = self.execution.live();
        let (how, kind, ..) = live.end();
        let what = match how {
            ended::PASSED => "the program ends without a failure".to_owned(),
            ended::DIVERGED | ended::CUT if self.is_cut() => format!(
                "the recording was stopped after {} steps (--max-steps), and what follows is not known",
                self.execution.trace.execution.steps.len()
            ),
            ended::DIVERGED => format!("the replay diverged: {}", live.message()),
            _ => match &self.execution.trace.failure {
                Some(failure) if failure.kind.code() == kind => failure.message.clone(),
                _ => {
                    let kind = traces::FailureKind::from_code(kind);
                    kind.map_or_else(|| "it failed".to_owned(), |kind| kind.to_string())
                }
            },
        };
        format!("end of the schedule: {what}")
    }

    /// The registers of the selected task.
    pub(crate) fn values(&mut self) -> Result<Values, Error> {
        let selected = self.selected;
        if let Some(values) = self.pretended(selected) {
            return Ok(values.clone());
        }
        Ok(match self.execution.thread(selected)? {
            Some(thread) => thread.values.clone(),
            None => Values::unknown(),
        })
    }

    /// Allocates memory of the debugger's own in the process.
    pub(crate) fn allocate(&mut self, size: u64) -> Option<u64> {
        let start = self.scratch.next_multiple_of(4096);
        self.scratch = start.checked_add(size).filter(|end| *end <= SCRATCH.end)?;
        Some(start)
    }
}

/// The protocol's number of a signal, which differs for some signals.
pub(crate) fn protocol_signal(signal: i32) -> u8 {
    match signal {
        libc::SIGBUS => 10,
        libc::SIGUSR1 => 30,
        libc::SIGUSR2 => 31,
        libc::SIGCHLD => 20,
        libc::SIGCONT => 19,
        libc::SIGSTOP => 17,
        libc::SIGTSTP => 18,
        libc::SIGURG => 16,
        libc::SIGIO => 23,
        libc::SIGSYS => 12,
        other => u8::try_from(other).unwrap_or(0),
    }
}
