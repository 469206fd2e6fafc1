//! What a person does with an execution: goes forwards and backwards in it, asks about it, changes
//! it. Without a word of any protocol.

mod branch;
mod diversion;
mod keep;
mod monitor;
mod stop_on;

use super::execution::position::Position;
use super::execution::{Armed, Execution, Reason, Stop};
use super::process::machine::{SCRATCH, Stand};
use super::process::registers::Values;
use super::process::tasks::Thread;
use super::process::tracee::Halt;
use crate::Error;
use diversion::Diversion;
use std::ops::Range;
use stop_on::StopOn;
use traces::change::Change;

/// What the next resumption is to do instead of what it says: gdb reads registers and threads anew
/// only when the program seems to have run.
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
    Keep(Vec<Change>),
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The debugger let go, or is gone.
    Detached,
    /// It wants the program to be gone.
    Killed,
}

/// See the module.
pub(crate) struct Session<'a> {
    pub(crate) execution: &'a mut Execution,
    /// The task whose registers are meant.
    pub(crate) selected: u16,
    pub(crate) stop: Stop,
    pub(crate) seek: Option<Seek>,
    diversion: Option<Diversion>,
    /// Where the next memory of the debugger's own is.
    scratch: u64,
    /// At which steps a run stops by itself.
    stop_on: StopOn,
    /// What the person is to be told.
    pub(crate) said: String,
    /// Where the user was before each seek, and where after going back.
    history: Vec<Position>,
    future: Vec<Position>,
    /// Positions with numbers.
    kept: Vec<(u64, Position)>,
    next_kept: u64,
}

impl<'a> Session<'a> {
    pub(crate) fn new(execution: &'a mut Execution, stop: Stop) -> Self {
        Session {
            selected: stop.task,
            execution,
            stop,
            seek: None,
            diversion: None,
            scratch: SCRATCH.start,
            stop_on: StopOn::Nothing,
            said: String::new(),
            history: Vec::new(),
            future: Vec::new(),
            kept: Vec::new(),
            next_kept: 1,
        }
    }

    /// Tells the person something.
    pub(crate) fn say(&mut self, text: &str) {
        self.said.push_str(text);
    }

    /// Nobody is there any more: what was armed and changed goes. Where it stands.
    pub(crate) fn leave(mut self) -> Stop {
        self.undivert();
        self.execution.armed = Armed::default();
        let _ = self.execution.interrupt.take();
        self.stop
    }

    /// The last stop, for one who was not there. Where it begins is no end that somebody ran into.
    pub(crate) fn last_stop(&self) -> Stop {
        match self.stop.reason {
            Reason::Begin | Reason::End | Reason::Sent => {
                Stop { reason: Reason::Done, ..self.stop }
            }
            _ => self.stop,
        }
    }

    /// Remembers where it stopped.
    pub(crate) fn arrive(&mut self, stop: Stop) {
        self.stop = stop;
        self.selected = stop.task;
        if stop.reason == Reason::End {
            let said = format!("[sched] {}\n", self.outcome());
            self.say(&said);
        }
        if stop.reason == Reason::Begin && self.execution.at.step == 0 {
            self.say(
                "[sched] the schedule begins at main; what ran before (the loader, constructors) is \
                 not part of it\n",
            );
        }
        // A Ctrl-C that came while it was stopping already.
        let _ = self.execution.interrupt.take();
    }

    /// Signals are part of the recorded execution: those that came are delivered, and no others.
    pub(crate) fn check_signal(&mut self, wanted: u8) {
        let pending = self.execution.live().signal().map(protocol_signal);
        if wanted != 0 && pending != Some(wanted) {
            self.say(
                "[sched] a signal that the recorded execution does not have is not delivered\n",
            );
        }
    }

    /// Goes on: a task steps, as long as it stays in a range, or everybody runs. While one steps
    /// `alone`, nothing is told of the others: a debugger that steps over a breakpoint holds them
    /// back, and is at a loss when it hears of one. They do run, as the schedule says.
    pub(crate) fn forwards(
        &mut self,
        step: Option<(u16, Range<u64>)>,
        alone: bool,
    ) -> Result<Stop, Error> {
        self.execution.only = step.as_ref().filter(|_| alone).map(|(task, _)| *task);
        let (stepping, range) = step.map_or((None, 0..0), |(task, range)| (Some(task), range));
        let stop = self.resume(stepping, range);
        self.execution.only = None;
        stop
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
                // One that has ended since, or never began.
                let there = self.execution.thread(task)?.is_some();
                let task = if there { task } else { self.execution.current() };
                let blocked = self.execution.thread(task)?.filter(|t| t.is_blocked()).cloned();
                if let Some(thread) = blocked {
                    let state = thread.state(&self.execution.trace.execution);
                    self.say(&format!("[sched] T{task} is {state}\n"));
                }
                let stop = self.execution.step(task, &range)?;
                if stop.reason == Reason::End && stop.task != task {
                    self.say(&format!("[sched] T{task} never runs again\n"));
                    return Ok(Stop { task, ..stop });
                }
                Ok(stop)
            }
        }
    }

    /// Goes where it was sent before, instead of what the debugger says now.
    fn sent(&mut self, seek: Seek) -> Result<Stop, Error> {
        let stop = self.perform(seek)?;
        Ok(match stop.reason {
            Reason::Done => Stop { reason: Reason::Sent, ..stop },
            _ => stop,
        })
    }

    /// Everybody runs, up to the next step that somebody wants to see.
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
            self.say(&format!("[sched] {what} at {when}"));
        }
        Ok(stop)
    }

    /// The tasks that have not ended; none when the process is gone.
    pub(crate) fn threads(&mut self) -> Result<Vec<Thread>, Error> {
        match self.stop.reason {
            Reason::Gone(_) => Ok(Vec::new()),
            _ => self.execution.threads().map(<[_]>::to_vec),
        }
    }

    /// Goes back: a task by one instruction, perhaps only to be `over` a breakpoint, or everybody to
    /// what came last.
    pub(crate) fn back(&mut self, stepping: Option<u16>, over: bool) -> Result<Stop, Error> {
        if let Some(seek) = self.seek.take() {
            return self.sent(seek);
        }
        self.discard();
        match stepping {
            Some(task) => self.execution.step_back(task, over),
            None => self.execution.resume_back(),
        }
    }

    /// How the process ends when it goes on from its end.
    fn exit(&self) -> Reason {
        let live = self.execution.live();
        if let Stand::Gone(halt) = live.stand() {
            return Reason::Gone(halt);
        }
        let (how, kind, number, _) = live.end();
        use traces::FailureKind as K;
        let halt = match traces::FailureKind::from_code(kind) {
            _ if how != traces::wire::ended::FAILED => Halt::Exited(0),
            Some(K::Exit) => Halt::Exited(number),
            Some(K::Panic) => Halt::Exited(101),
            Some(K::Crash | K::StackOverflow | K::UseAfterFree) if number > 0 => {
                Halt::Killed(number)
            }
            Some(K::Spin) => Halt::Killed(libc::SIGKILL),
            Some(kind) if kind.is_deadlock() => Halt::Killed(libc::SIGKILL),
            _ => Halt::Killed(libc::SIGABRT),
        };
        Reason::Gone(halt)
    }

    /// Back to main's first instruction, or to a step.
    pub(crate) fn restart(&mut self, step: Option<&str>) -> Result<(), Error> {
        self.discard();
        let position = match step.map(|step| step.trim().parse()) {
            None => Position::entry(0),
            Some(Ok(step)) => Position::chosen(step),
            Some(Err(_)) => {
                self.say(
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

    /// How the schedule ends, in words.
    pub(crate) fn outcome(&self) -> String {
        use traces::wire::ended;
        let live = self.execution.live();
        let (how, kind, ..) = live.end();
        let what = match how {
            ended::PASSED => "the program ends without a failure".to_owned(),
            ended::DIVERGED => format!("the replay went another way: {}", live.message()),
            ended::CUT => "the limit of steps is reached".to_owned(),
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

    /// The registers of the selected thread.
    pub(crate) fn values(&mut self) -> Result<Values, Error> {
        let selected = self.selected;
        Ok(match self.execution.thread(selected)? {
            Some(thread) => thread.values.clone(),
            None => Values::unknown(),
        })
    }

    /// Memory of the debugger's own in the process, for what it evaluates.
    pub(crate) fn allocate(&mut self, size: u64) -> Option<u64> {
        let start = self.scratch.next_multiple_of(4096);
        self.scratch = start.checked_add(size).filter(|end| *end <= SCRATCH.end)?;
        Some(start)
    }
}

/// A signal's number in the protocol, which has its own for some.
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
