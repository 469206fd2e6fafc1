//! An execution that can be gone through: forwards, and to any place of it.
//!
//! One process stands at the beginning and never runs; what runs are copies of it, or of copies made
//! on the way (checkpoints). Going back is running again from such a copy. Since the schedule decides
//! everything, the same way leads to the same place.
//!
//! `position` names places; `run` and `steps` go on, `places` goes to one, `backwards` finds what
//! came last before one. `look` sees what is there, `loose` leaves counting to the process itself, and
//! `interrupt` stops it from outside.

mod backwards;
mod interrupt;
mod lines;
mod look;
mod loose;
mod places;
pub(crate) mod position;
mod run;
mod steps;

use super::process::machine::{Machine, Stand};
use super::process::registers::RIP;
use super::process::tasks::{self, Thread, WayOut};
use super::process::tracee::{Halt, Tracee};
use crate::channel::Channel;
use crate::symbols::Symbols;
use crate::{Error, Target, command, launch};
pub(crate) use interrupt::Interrupt;
use places::Checkpoint;
use position::{Position, Until, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use traces::Trace;

/// Why an execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// At a breakpoint.
    Breakpoint,
    /// Watched memory was touched.
    Touched(Watch),
    /// What was asked for is done.
    Done,
    /// It went where it was sent, whoever moves there.
    Sent,
    /// A step was chosen that somebody wants to see.
    Chosen,
    /// The program makes this system call.
    Call(i64),
    /// This system call has been served.
    Returned(i64),
    /// A signal came.
    Signal(i32),
    /// There is nothing before.
    Begin,
    /// There is nothing after.
    End,
    /// Somebody wanted it to.
    Interrupted,
    /// The process is gone.
    Gone(Halt),
}

/// Where and why an execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) task: u16,
    pub(crate) reason: Reason,
}

/// A test at a breakpoint: whether the bytes of an agent expression come to anything but 0.
pub(crate) type Condition = Vec<u8>;

/// What the debugger wants to be told of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Armed {
    /// Instructions, each with conditions of which one has to hold, if there are any.
    pub(crate) breakpoints: BTreeMap<u64, Vec<Condition>>,
    pub(crate) watches: Vec<Watch>,
    /// System calls; all of them if the list is empty.
    pub(crate) calls: Option<Vec<i64>>,
}

/// Whether what the debugger wants to be told of stops a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It does.
    Stop,
    /// It is written down, and the run goes on.
    Record,
    /// It does not.
    Nothing,
}

/// What a run is to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Nothing but what is armed.
    None,
    /// A task comes out of the runtime.
    Out(u16, WayOut),
    /// Something happens for the n-th time.
    Times(Until, u64),
    /// A step was chosen.
    Chosen(u64),
    /// A task comes to one of the places at which it leaves a range of code ([`Execution::exits`]).
    Leave(u16),
    /// An instruction is about to be executed with this stack pointer, unless something else happens
    /// before.
    Before(Option<Until>, u64, u64),
}

/// What a search backwards keeps of what it passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) position: Position,
    pub(crate) task: u16,
    pub(crate) reason: Reason,
}

/// How many instructions are executed between two looks at whether somebody wants to stop.
const BREATH: u64 = 256;
/// See the module.
pub(crate) struct Execution {
    beginning: Machine,
    live: Machine,
    checkpoints: Vec<Checkpoint>,
    pub(crate) symbols: Symbols,
    pub(crate) target: Target,
    pub(crate) trace: Trace,
    /// The schedule that was recorded, and where it was left for another.
    pub(crate) recorded: Option<(Box<Trace>, Position)>,
    pub(crate) at: Position,
    pub(crate) armed: Armed,
    pub(crate) interrupt: Arc<Interrupt>,
    /// What a run with [`Notice::Record`] passed last.
    pub(crate) passed: Option<Passed>,
    /// How often each breakpoint, and each watch, was hit in a step.
    counts: BTreeMap<u64, (u64, u64)>,
    touches: BTreeMap<u64, (u64, u64)>,
    threads: Option<Vec<Thread>>,
    /// A task that is about to begin and is shown where it comes from.
    unborn: Option<u16>,
    /// The most system calls of the outside world that any copy made.
    outside: u64,
    main: u64,
    /// The call that is being served, for a stop when it has been.
    serving: Option<i64>,
    /// Only of this task is anything told that is armed.
    pub(crate) only: Option<u16>,
    /// A signal, a system call or an instruction at which a run stops whatever else it is for.
    awaits: Option<Until>,
    /// See [`Goal::Leave`].
    exits: BTreeSet<u64>,
    /// How often the last run passed the instruction of [`Goal::Before`].
    pub(crate) hits: u64,
    /// No run goes beyond the choice of this step.
    pub(crate) limit: Option<u64>,
    _channel: Channel,
}

impl Execution {
    /// Starts the program of a trace, and brings it to main's first instruction.
    pub(crate) fn start(
        target: &Target,
        trace: Trace,
        interrupt: Arc<Interrupt>,
    ) -> Result<Execution, Error> {
        let job = command::held(&trace);
        let channel = Channel::create(&job)?;
        channel.header().debug.on.store(1, Ordering::SeqCst);
        channel.header().debug.stop_at.store(u64::MAX, Ordering::SeqCst);
        let child = launch::start_traced(target, &channel)?;
        let tracee = Tracee::started(child.id() as i32)?;
        let mut beginning = Machine::begin(tracee)?;
        let symbols = Symbols::of_process(beginning.tracee().pid())?;
        let main = beginning.tasks()?.first().map_or(0, |task| task.start);
        let live = beginning.copy()?;
        let mut execution = Execution {
            beginning,
            live,
            checkpoints: Vec::new(),
            symbols,
            target: target.clone(),
            trace,
            recorded: None,
            at: Position::chosen(0),
            armed: Armed::default(),
            interrupt,
            passed: None,
            counts: BTreeMap::new(),
            touches: BTreeMap::new(),
            threads: None,
            unborn: None,
            outside: 0,
            main,
            serving: None,
            limit: None,
            only: None,
            awaits: None,
            exits: BTreeSet::new(),
            hits: 0,
            _channel: channel,
        };
        execution.interrupt.follow(execution.live.tracee().handle());
        execution.go_to(&Position::entry(0))?;
        Ok(execution)
    }

    /// The process that runs.
    pub(crate) fn live(&self) -> &Machine {
        &self.live
    }

    /// The same, to be changed.
    pub(crate) fn live_mut(&mut self) -> &mut Machine {
        self.threads = None;
        &mut self.live
    }

    /// The tasks that have not ended.
    pub(crate) fn threads(&mut self) -> Result<&[Thread], Error> {
        if self.threads.is_none() {
            let mut threads = tasks::threads(&mut self.live, &self.symbols)?;
            for thread in threads.iter_mut().filter(|thread| Some(thread.task) == self.unborn) {
                thread.values.set_word(RIP, thread.info.rip);
            }
            self.threads = Some(threads);
        }
        Ok(self.threads.as_deref().unwrap_or_default())
    }

    /// The same, if somebody has asked since it ran.
    pub(crate) fn known_threads(&self) -> &[Thread] {
        self.threads.as_deref().unwrap_or_default()
    }

    /// One of them.
    pub(crate) fn thread(&mut self, task: u16) -> Result<Option<&Thread>, Error> {
        Ok(self.threads()?.iter().find(|thread| thread.task == task))
    }

    /// Whose move it is, or was.
    pub(crate) fn current(&self) -> u16 {
        match self.live.stand() {
            Stand::End => self.live.end().3.unwrap_or_else(|| self.live.current()),
            _ => self.live.current(),
        }
    }

    fn stop(&self, reason: Reason) -> Stop {
        Stop { task: self.current(), reason }
    }

    /// Goes on until something that is armed happens, or the end.
    pub(crate) fn resume(&mut self) -> Result<Stop, Error> {
        if self.live.stand() == Stand::End {
            return Ok(self.stop(Reason::End));
        }
        self.run(Goal::None, Notice::Stop)
    }

    /// The task that moves in a step, by the recorded schedule.
    pub(crate) fn mover(&self, step: u64) -> Option<u16> {
        let steps = &self.trace.execution.steps;
        match step {
            0 => Some(0),
            _ => steps.get(step as usize - 1).map(|step| step.task.0),
        }
    }
}
