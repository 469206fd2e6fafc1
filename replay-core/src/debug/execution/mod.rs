//! An execution that can be run forwards and backwards to any position.
//!
//! One process stays at the start; copies of it run, or copies of checkpoints. Going back means
//! running such a copy again. The schedule determines everything, so the same path leads to the
//! same state.
//!
//! `position` describes positions. `run` and `steps` run forwards, `go_to` goes to a position,
//! `backwards` goes to the last event before one, which `last_events` finds in the execution and
//! `parts` in a step. `inspect` examines the state, `untraced` lets the process count breakpoints
//! itself, and `interrupt` stops it from another thread.

mod backwards;
mod checkpoint;
mod events;
pub(crate) mod fault;
mod go_to;
pub(crate) mod history;
mod inspect;
mod interrupt;
mod last_events;
mod line_range;
pub(crate) mod locate;
mod loop_line;
pub(crate) mod memory_write;
pub(crate) mod origin;
mod outer_frames;
mod parts;
pub(crate) mod position;
mod recorded;
mod run;
mod steps;
mod stretch;
mod untraced;

use super::process::machine::{Machine, ProcessState};
use super::process::registers::RIP;
use super::process::tasks::{self, RuntimeExit, Thread};
use super::process::tracee::Tracee;
use crate::control::channel::Channel;
use crate::control::command;
use crate::launch::own_files::OwnFiles;
use crate::launch::process;
use crate::symbols::Symbols;
use crate::{Error, Target};
use checkpoint::Checkpoint;
pub(crate) use events::{Condition, Reason, RecordedStop, Stop, StopRequests};
pub(crate) use interrupt::Interrupt;
use position::{Position, Until, Watch};
use recorded::{Course, Recorded, Scan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use traces::Trace;

/// What a run does at an event that the debugger asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnHit {
    /// It stops.
    Stop,
    /// It records the event and continues.
    Record,
    /// It ignores the event.
    Nothing,
}

/// The goal of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunGoal {
    /// Only the events that the debugger asked for.
    None,
    /// A task returns from the runtime to the program.
    Out(u16, RuntimeExit),
    /// An event occurs for the n-th time.
    Times(Until, u64),
    /// A step is chosen.
    Chosen(u64),
    /// A task leaves a range of code ([`Execution::exits`]).
    Leave(u16),
    /// An instruction is about to execute with this stack pointer, unless the given event occurs
    /// first.
    Before(Option<Until>, u64, u64),
}

/// The tasks as they were when a task began to execute a function for the debugger.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) task: u16,
    pub(crate) others: Vec<Thread>,
}

/// The number of instructions between two checks for an interrupt.
const INTERRUPT_INTERVAL: u64 = 256;
/// An execution under the debugger; see the module.
pub(crate) struct Execution {
    beginning: Machine,
    live: Machine,
    checkpoints: Vec<Checkpoint>,
    pub(crate) symbols: Symbols,
    pub(crate) target: Target,
    pub(crate) trace: Trace,
    /// The recorded schedule and the position where it was left, while another one is followed.
    pub(crate) recorded: Option<(Box<Trace>, Position)>,
    pub(crate) at: Position,
    pub(crate) armed: StopRequests,
    pub(crate) interrupt: Arc<Interrupt>,
    /// The events that a run with [`OnHit::Record`] recorded.
    recorded_events: Recorded,
    /// The last search backwards.
    scan: Option<Scan>,
    /// How the search goes that is under way.
    course: Course,
    /// How many events it collects.
    wanted: usize,
    /// The position from which events are counted; none: the beginning of their step.
    origin: Option<Position>,
    /// Whether what writes and the contents are recorded with accesses to watched memory.
    collects: bool,
    /// For each breakpoint and each watched address: a step, and the number of hits in it.
    counts: BTreeMap<u64, (u64, u64)>,
    touches: BTreeMap<u64, (u64, u64)>,
    threads: Option<Vec<Thread>>,
    /// Where the outermost frames of `threads` return to the runtime.
    outer_returns: Option<Vec<u64>>,
    /// Set while the process is a copy in which a task executes a function for the debugger.
    pub(crate) call: Option<Call>,
    /// What else was accessed at the last stop at watched memory, in order.
    pub(crate) also: Vec<Watch>,
    /// A breakpoint that a debugger removed so that one task can step over it: it still exists for
    /// all others.
    pub(crate) lifted: Option<(u64, Vec<Condition>)>,
    /// The first event of another task while `only` was set.
    pub(crate) left_out: Option<RecordedStop>,
    /// A task that is about to begin and is shown in the runtime's code that calls its function.
    shown_at_creator: Option<u16>,
    /// All tasks that are about to begin at a breakpoint are shown there, too. A debugger (lldb)
    /// that finds a thread at a breakpoint reports a hit, and steps over it when it continues.
    pub(crate) begins_at_creator: bool,
    /// The largest number of external system calls that any copy has made.
    outside: u64,
    main: u64,
    /// The system call in progress, if a stop at its return is wanted.
    serving: Option<i64>,
    /// If set, only this task's events are reported.
    pub(crate) only: Option<u16>,
    /// An event at which a run stops regardless of its goal.
    awaits: Option<Until>,
    /// The instructions of [`RunGoal::Leave`].
    exits: BTreeSet<u64>,
    /// How often the last run passed the instruction of [`RunGoal::Before`].
    pub(crate) hits: u64,
    /// A run does not continue beyond the choice of this step.
    pub(crate) limit: Option<u64>,
    _channel: Channel,
    /// The copy of the working directory in which the execution runs.
    files: Option<OwnFiles>,
}

impl Execution {
    /// Starts the program of a trace and runs it to main's first instruction.
    pub(crate) fn start(
        target: &Target,
        trace: Trace,
        interrupt: Arc<Interrupt>,
    ) -> Result<Execution, Error> {
        let job = command::debugger_job(&trace);
        let channel = Channel::create(&job)?;
        channel.header().debug.on.store(1, Ordering::SeqCst);
        channel.header().debug.stop_at.store(u64::MAX, Ordering::SeqCst);
        let files = target.files.of_process(&target.cwd)?;
        let child = process::start_traced(target, &channel, files.as_ref())?;
        let tracee = Tracee::started(child.id())?;
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
            armed: StopRequests::default(),
            interrupt,
            recorded_events: Recorded::default(),
            scan: None,
            course: Course::Runs,
            wanted: 1,
            origin: None,
            collects: false,
            counts: BTreeMap::new(),
            touches: BTreeMap::new(),
            threads: None,
            outer_returns: None,
            call: None,
            also: Vec::new(),
            lifted: None,
            left_out: None,
            shown_at_creator: None,
            begins_at_creator: false,
            outside: 0,
            main,
            serving: None,
            limit: None,
            only: None,
            awaits: None,
            exits: BTreeSet::new(),
            hits: 0,
            _channel: channel,
            files,
        };
        execution.interrupt.follow(execution.live.tracee().handle());
        execution.go_to(&Position::entry(0))?;
        Ok(execution)
    }

    /// The running process.
    pub(crate) fn live(&self) -> &Machine {
        &self.live
    }

    /// The running process, mutably. Cached threads are discarded.
    pub(crate) fn live_mut(&mut self) -> &mut Machine {
        self.threads = None;
        &mut self.live
    }

    /// The tasks that have not ended.
    pub(crate) fn threads(&mut self) -> Result<&[Thread], Error> {
        if let (Some(call), None) = (&self.call, &self.threads) {
            // The call is not in the runtime's state: only this task's registers differ.
            self.outer_returns = None;
            let mut threads = call.others.clone();
            if let Some(thread) = threads.iter_mut().find(|thread| thread.task == call.task) {
                (thread.values, thread.runtime_exit) = tasks::own(&self.live, &self.symbols)?;
            }
            self.threads = Some(threads);
        }
        if self.threads.is_none() {
            self.outer_returns = None;
            let mut threads = tasks::threads(&mut self.live, &self.symbols)?;
            let all = self.begins_at_creator;
            let is_breakpoint = |start: u64| self.armed.breakpoints.contains_key(&start);
            for thread in threads.iter_mut().filter(|thread| {
                Some(thread.task) == self.shown_at_creator
                    || all && thread.is_about_to_begin() && is_breakpoint(thread.info.start)
            }) {
                thread.values.set_word(RIP, thread.info.rip);
            }
            self.threads = Some(threads);
        }
        Ok(self.threads.as_deref().unwrap_or_default())
    }

    /// The tasks, if they have been read since the process last ran.
    pub(crate) fn known_threads(&self) -> &[Thread] {
        self.threads.as_deref().unwrap_or_default()
    }

    /// One of the tasks.
    pub(crate) fn thread(&mut self, task: u16) -> Result<Option<&Thread>, Error> {
        Ok(self.threads()?.iter().find(|thread| thread.task == task))
    }

    /// The task that runs or ran last.
    pub(crate) fn current(&self) -> u16 {
        match self.live.state() {
            ProcessState::End => self.live.end().3.unwrap_or_else(|| self.live.current()),
            _ => self.live.current(),
        }
    }

    fn stop(&self, reason: Reason) -> Stop {
        Stop { task: self.current(), reason }
    }

    /// Continues until an event that the debugger asked for, or the end.
    pub(crate) fn resume(&mut self) -> Result<Stop, Error> {
        if self.live.state() == ProcessState::End {
            return Ok(self.stop(Reason::End));
        }
        self.run(RunGoal::None, OnHit::Stop)
    }

    /// The task of a step in the recorded schedule.
    pub(crate) fn task_of_step(&self, step: u64) -> Option<u16> {
        let steps = &self.trace.execution.steps;
        match step {
            0 => Some(0),
            _ => steps.get(step as usize - 1).map(|step| step.task.0),
        }
    }
}
