//! An execution that can be gone through: forwards, and to any place of it.
//!
//! One process stands at the beginning and never runs; what runs are copies of it, or of copies made
//! on the way (checkpoints). Going back is running again from such a copy. Since the schedule decides
//! everything, the same way leads to the same place.

mod backwards;
mod condition;
pub(crate) mod position;

use super::process::machine::{Happened, Machine, Stand};
use super::process::tasks::{self, Thread, WayOut};
use super::process::tracee::{self, Halt, Tracee};
use crate::channel::Channel;
use crate::symbols::Symbols;
use crate::{Error, Target, command, launch};
use position::{Leg, Place, Position, Until, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use traces::Trace;

/// How another thread stops what runs.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    wanted: AtomicBool,
    running: Mutex<Option<Arc<OwnedFd>>>,
}

impl Interrupt {
    /// What runs is to stop.
    pub(crate) fn ask(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        if let Some(handle) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            tracee::stop(handle, libc::SIGSTOP);
        }
    }

    fn follow(&self, handle: Arc<OwnedFd>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }

    /// Whether somebody asked since the last call.
    pub(crate) fn take(&self) -> bool {
        self.wanted.swap(false, Ordering::SeqCst)
    }

    /// The flag itself, for whoever looks at one.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.wanted
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}

/// Why an execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// At a breakpoint.
    Breakpoint,
    /// Watched memory was touched.
    Touched(Watch),
    /// What was asked for is done.
    Done,
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

/// A process to go back to.
#[derive(Debug)]
struct Checkpoint {
    machine: Machine,
    position: Position,
    outside: u64,
}

/// How many checkpoints are kept beside the beginning.
const CHECKPOINTS: usize = 12;
/// How many instructions are executed between two looks at whether somebody wants to stop.
const BREATH: u64 = 256;
/// From how many single steps on a checkpoint is left on the way.
const FAR: u64 = 64;
/// How many instructions before the place one went to.
const BEHIND: u64 = 48;

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
    /// The most system calls of the outside world that any copy made.
    outside: u64,
    main: u64,
    /// The call that is being served, for a stop when it has been.
    serving: Option<i64>,
    /// Only of this task is anything told that is armed.
    pub(crate) only: Option<u16>,
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
            outside: 0,
            main,
            serving: None,
            limit: None,
            only: None,
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
            self.threads = Some(tasks::threads(&mut self.live, &self.symbols)?);
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

    /// Executes instructions of a task, at least one, as long as it stays in `range`.
    pub(crate) fn step(&mut self, task: u16, range: &Range<u64>) -> Result<Stop, Error> {
        let mut count = 0u64;
        loop {
            let stop = self.step_one(task, Notice::Stop)?;
            if stop.reason != Reason::Done {
                return Ok(stop);
            }
            let rip = self.live.tracee().registers()?.rip;
            if !range.contains(&rip) {
                return Ok(stop);
            }
            if self.armed.breakpoints.contains_key(&rip) && self.holds(rip) {
                return Ok(Stop { task, reason: Reason::Breakpoint });
            }
            count += 1;
            if count.is_multiple_of(BREATH) && self.interrupt.take() {
                return Ok(Stop { task, reason: Reason::Interrupted });
            }
        }
    }

    /// Executes one instruction of the program in a task; the runtime's count as part of the call.
    pub(crate) fn step_one(&mut self, task: u16, notice: Notice) -> Result<Stop, Error> {
        let rip = match self.live.stand() {
            Stand::End => return Ok(self.stop(Reason::End)),
            Stand::Gone(halt) => return Ok(self.stop(Reason::Gone(halt))),
            Stand::Program => self.live.tracee().registers()?.rip,
            Stand::Begin | Stand::Chosen => 0,
        };
        let here = rip != 0 && self.live.current() == task && !self.live.is_runtime(rip);
        if !here {
            let way_out = self.thread(task)?.and_then(|thread| thread.way_out);
            return match way_out {
                Some(way_out) => self.run(Goal::Out(task, way_out), notice),
                None => Ok(self.stop(Reason::End)),
            };
        }
        self.threads = None;
        self.live.clear();
        let watches = self.watches(Goal::None, notice);
        self.live.watch(&watches)?;
        let mut happened = self.live.single_step()?;
        while happened == Happened::Stopped {
            // Somebody wants to stop, or wanted to.
            happened = self.live.single_step()?;
        }
        match happened {
            Happened::Stepped | Happened::Touched(_) => {
                let registers = self.live.tracee().registers()?;
                let mut stop = self.stop(Reason::Done);
                if self.live.is_runtime(registers.rip) {
                    stop = self.come_out(task, notice)?;
                } else {
                    self.at.advance(registers.rip);
                }
                if let Happened::Touched(watch) = happened
                    && stop.reason == Reason::Done
                {
                    stop.reason = Reason::Touched(watch);
                }
                Ok(stop)
            }
            Happened::Call(number) => {
                if self.catches(number) && notice == Notice::Stop {
                    return self.caught(number);
                }
                let registers = self.live.tracee().registers()?;
                let way_out = WayOut { address: registers.rip, rsp: registers.rsp };
                self.run(Goal::Out(task, way_out), notice)
            }
            Happened::Signal(signal) => {
                self.at.reached(Until::Signal, 1);
                Ok(self.stop(Reason::Signal(signal)))
            }
            Happened::Hook => self.hook(),
            Happened::Gone => self.gone(),
            Happened::Hit(_) | Happened::Stopped => Ok(self.stop(Reason::Done)),
        }
    }

    /// From the runtime's code, into which the program just called.
    fn come_out(&mut self, task: u16, notice: Notice) -> Result<Stop, Error> {
        let way_out = self.thread(task)?.and_then(|thread| thread.way_out);
        match way_out {
            Some(way_out) => self.run(Goal::Out(task, way_out), notice),
            // Its last call: nothing of the program's is left to come back to.
            None => self.run(Goal::None, notice),
        }
    }

    fn watches(&self, goal: Goal, notice: Notice) -> Vec<Watch> {
        let mut watches = match notice {
            Notice::Nothing => Vec::new(),
            _ => self.armed.watches.clone(),
        };
        if let Goal::Times(Until::Touched(watch), _) | Goal::Before(Some(Until::Touched(watch)), ..) =
            goal
            && !watches.contains(&watch)
        {
            watches.insert(0, watch);
        }
        watches
    }

    fn catches(&self, number: i64) -> bool {
        let calls = self.armed.calls.as_ref();
        calls.is_some_and(|calls| calls.is_empty() || calls.contains(&number))
    }

    fn caught(&mut self, number: i64) -> Result<Stop, Error> {
        self.serving = Some(number);
        self.at.reached(Until::Signal, 1);
        Ok(self.stop(Reason::Call(number)))
    }

    /// Runs until the goal is reached, or what is armed happens, or the end comes.
    pub(crate) fn run(&mut self, goal: Goal, notice: Notice) -> Result<Stop, Error> {
        self.threads = None;
        let began = self.live.step();
        let serving = self.serving.take();
        let mut wanted: BTreeSet<u64> = match notice {
            Notice::Nothing => BTreeSet::new(),
            _ => self.armed.breakpoints.keys().copied().collect(),
        };
        match goal {
            Goal::Out(_, way_out) => drop(wanted.insert(way_out.address)),
            Goal::Times(Until::At(at) | Until::Like(at, _), _) => drop(wanted.insert(at)),
            Goal::Before(until, at, _) => {
                wanted.insert(at);
                if let Some(Until::At(other) | Until::Like(other, _)) = until {
                    wanted.insert(other);
                }
            }
            _ => {}
        }
        let back = match serving {
            Some(_) if notice == Notice::Stop => {
                let registers = self.live.tracee().registers()?;
                wanted.insert(registers.rip);
                Some((self.live.current(), registers.rip, registers.rsp))
            }
            _ => None,
        };
        let watches = self.watches(goal, notice);
        self.live.watch(&watches)?;
        let stop_at = match goal {
            Goal::Chosen(step) => Some(step),
            _ => self.limit,
        };
        self.live.stop_at(stop_at)?;
        let (mut hits, mut times, mut touched) = (BTreeMap::new(), 0u64, None);
        let mut ran = false;
        self.hits = 0;
        loop {
            if self.interrupt.is_wanted() && self.interrupt.take() {
                return if ran { self.interrupted() } else { Ok(self.stop(Reason::Interrupted)) };
            }
            ran = true;
            match self.live.run(&wanted)? {
                Happened::Hook => match self.live.stand() {
                    Stand::Chosen if stop_at == Some(self.live.step()) => {
                        self.at = Position::chosen(self.live.step());
                        return Ok(self.stop(Reason::Done));
                    }
                    Stand::End => return self.hook(),
                    _ => {}
                },
                Happened::Hit(at) => {
                    let step = self.live.step();
                    let count = counted(&mut self.counts, at, step);
                    if let Goal::Out(task, way_out) = goal
                        && way_out.address == at
                        && self.live.current() == task
                        && (way_out.rsp == 0 || self.rsp()? == way_out.rsp)
                    {
                        self.came_out(step, began)?;
                        let reason = touched.map_or(Reason::Done, Reason::Touched);
                        return Ok(Stop { task, reason });
                    }
                    if let Some((task, rip, rsp)) = back
                        && (task, rip, rsp) == (self.live.current(), at, self.rsp()?)
                    {
                        self.came_out(step, began)?;
                        let number = serving.unwrap_or_default();
                        return Ok(self.stop(Reason::Returned(number)));
                    }
                    let here: &mut u64 = hits.entry(at).or_insert(0u64);
                    *here += 1;
                    let here = *here;
                    match goal {
                        Goal::Before(until, wanted, rsp) => {
                            let happened = match until {
                                Some(Until::At(other)) => other == at,
                                Some(Until::Like(other, digest)) => {
                                    other == at && self.digest()? == digest
                                }
                                _ => false,
                            };
                            self.hits += u64::from(wanted == at);
                            if happened {
                                return Ok(self.stop(Reason::Done));
                            }
                            if wanted == at && self.rsp()? == rsp {
                                return Ok(self.stop(Reason::Breakpoint));
                            }
                        }
                        Goal::Times(Until::At(wanted), n) if wanted == at => {
                            times += 1;
                            if times == n {
                                return Ok(self.stop(Reason::Done));
                            }
                        }
                        Goal::Times(Until::Like(wanted, digest), _)
                            if wanted == at && self.digest()? == digest =>
                        {
                            return Ok(self.stop(Reason::Done));
                        }
                        _ => {}
                    }
                    if notice == Notice::Nothing
                        || self.is_left_out()
                        || !self.armed.breakpoints.contains_key(&at)
                        || self.is_hidden()?
                        || !self.holds(at)
                    {
                        continue;
                    }
                    let task = self.live.current();
                    let mut position = self.at.clone();
                    if step == began && position.step == step && notice == Notice::Stop {
                        position.reached(Until::At(at), here);
                    } else {
                        position = Position::inside(step, vec![Leg::new(Until::At(at), count)]);
                    }
                    if notice == Notice::Stop {
                        self.at = position;
                        return Ok(Stop { task, reason: Reason::Breakpoint });
                    }
                    self.passed = Some(Passed { position, task, reason: Reason::Breakpoint });
                }
                Happened::Touched(watch) => {
                    let step = self.live.step();
                    let count = counted(&mut self.touches, watch.address, step);
                    let here: &mut u64 = hits.entry(!watch.address).or_insert(0u64);
                    *here += 1;
                    let here = *here;
                    if let Goal::Times(Until::Touched(wanted), n) = goal
                        && wanted == watch
                    {
                        times += 1;
                        if times == n {
                            if notice == Notice::Record && self.armed.watches.contains(&watch) {
                                // The place is behind the instruction that did it.
                                let leg = Leg::new(Until::Touched(watch), count);
                                self.passed = Some(Passed {
                                    position: Position::inside(step, vec![leg]),
                                    task: self.live.current(),
                                    reason: Reason::Touched(watch),
                                });
                            }
                            return Ok(self.stop(Reason::Done));
                        }
                        if notice != Notice::Record {
                            continue;
                        }
                    }
                    if let Goal::Before(Some(Until::Touched(wanted)), ..) = goal
                        && wanted == watch
                    {
                        return Ok(self.stop(Reason::Done));
                    }
                    if notice == Notice::Nothing
                        || self.is_left_out()
                        || !self.armed.watches.contains(&watch)
                    {
                        continue;
                    }
                    let task = self.live.current();
                    if self.live.is_runtime(self.live.tracee().registers()?.rip) {
                        // Shown where the runtime's work is done, unless somebody waits for that
                        // anyway.
                        if let Goal::Out(..) = goal {
                            touched = Some(watch);
                            continue;
                        }
                        if notice == Notice::Stop {
                            let stop = self.come_out(task, notice)?;
                            return Ok(match stop.reason {
                                Reason::Done => Stop { task, reason: Reason::Touched(watch) },
                                _ => stop,
                            });
                        }
                    }
                    let mut position = self.at.clone();
                    if step == began && position.step == step && notice == Notice::Stop {
                        position.reached(Until::Touched(watch), here);
                    } else {
                        let leg = Leg::new(Until::Touched(watch), count);
                        position = Position::inside(step, vec![leg]);
                    }
                    let reason = Reason::Touched(watch);
                    if notice == Notice::Stop {
                        self.at = position;
                        return Ok(Stop { task, reason });
                    }
                    self.passed = Some(Passed { position, task, reason });
                }
                Happened::Call(number) => {
                    if matches!(
                        goal,
                        Goal::Times(Until::Signal, 1) | Goal::Before(Some(Until::Signal), ..)
                    ) {
                        return Ok(self.stop(Reason::Done));
                    }
                    if notice == Notice::Stop && self.catches(number) {
                        let step = self.live.step();
                        if step != began {
                            self.at = Position::chosen(step);
                        }
                        return self.caught(number);
                    }
                }
                Happened::Signal(signal) => {
                    if matches!(
                        goal,
                        Goal::Times(Until::Signal, _) | Goal::Before(Some(Until::Signal), ..)
                    ) {
                        return Ok(self.stop(Reason::Done));
                    }
                    if notice == Notice::Nothing {
                        continue;
                    }
                    let step = self.live.step();
                    if step != began {
                        self.at = Position::chosen(step);
                    }
                    self.at.reached(Until::Signal, 1);
                    if notice == Notice::Stop {
                        return Ok(self.stop(Reason::Signal(signal)));
                    }
                }
                Happened::Stopped | Happened::Stepped => {}
                Happened::Gone => return self.gone(),
            }
        }
    }

    /// Whether nothing is told of the task that runs.
    fn is_left_out(&self) -> bool {
        self.only.is_some_and(|task| task != self.live.current())
    }

    /// A task came out of the runtime.
    fn came_out(&mut self, step: u64, began: u64) -> Result<(), Error> {
        let rip = self.live.tracee().registers()?.rip;
        let entry = matches!(self.at.place, Place::Chosen);
        if step != began || self.at.step != step || entry {
            self.at = Position::entry(step);
        } else {
            self.at.advance(rip);
        }
        Ok(())
    }

    fn rsp(&self) -> Result<u64, Error> {
        Ok(self.live.tracee().registers()?.rsp)
    }

    /// What tells a place in code from the same place at another time.
    fn digest(&self) -> Result<u64, Error> {
        use crate::symbols::Memory;
        let r = self.live.tracee().registers()?;
        let mut stack = [0u8; 512];
        self.live.tracee().read(r.rsp, &mut stack);
        let words = [
            r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
            r.r12, r.r13, r.r14, r.r15, r.rip, r.eflags, r.fs_base,
        ];
        let mut hash = blake3::Hasher::new();
        for word in words {
            hash.update(&word.to_le_bytes());
        }
        hash.update(&stack);
        let bytes = hash.finalize();
        let mut word = [0; 8];
        word.copy_from_slice(&bytes.as_bytes()[..8]);
        Ok(u64::from_le_bytes(word))
    }

    /// Whether it stands at such a place.
    pub(crate) fn is_like(&self, until: Until) -> Result<bool, Error> {
        match until {
            Until::Like(_, digest) => Ok(self.digest()? == digest),
            _ => Ok(false),
        }
    }

    /// Somebody wanted it to stop: where the program's own code is, or a task is chosen. (Other code
    /// may run for ever before this task is in the program's again.)
    fn interrupted(&mut self) -> Result<Stop, Error> {
        let task = self.live.current();
        let step = self.live.step();
        let told = |stop: Stop| match stop.reason {
            Reason::Done => Stop { reason: Reason::Interrupted, ..stop },
            _ => stop,
        };
        if self.live.stand() != Stand::Program {
            return Ok(Stop { task, reason: Reason::Interrupted });
        }
        let registers = self.live.tracee().registers()?;
        if self.live.is_runtime(registers.rip) {
            self.limit = Some(step + 1);
            let stop = self.come_out(task, Notice::Nothing);
            self.limit = None;
            return Ok(told(stop?));
        }
        if self.at.step != step {
            self.at = Position::chosen(step);
        }
        let like = Until::Like(registers.rip, self.digest()?);
        self.at.reached(like, 1);
        // The way here may be long, and nobody has counted: the last instructions can be gone back
        // over without it.
        self.leave_checkpoint()?;
        self.limit = Some(step + 1);
        let stop = self.some_more(task);
        self.limit = None;
        Ok(told(stop?))
    }

    /// A few instructions of a task, as long as nothing else happens.
    fn some_more(&mut self, task: u16) -> Result<Stop, Error> {
        let step = self.at.step;
        for _ in 0..BEHIND {
            let rip = self.live.tracee().registers()?.rip;
            if self.armed.breakpoints.contains_key(&rip) {
                break;
            }
            let stop = self.step_one(task, Notice::Nothing)?;
            if stop.reason != Reason::Done || self.at.step != step {
                return Ok(stop);
            }
        }
        Ok(Stop { task, reason: Reason::Done })
    }

    fn hook(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.live.step(), place: Place::End };
        Ok(self.stop(Reason::End))
    }

    fn gone(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.at.step, place: Place::End };
        Ok(match self.live.stand() {
            Stand::Gone(halt) => self.stop(Reason::Gone(halt)),
            _ => self.stop(Reason::End),
        })
    }

    /// Whether the code that stands here works for the runtime: what the C library does when the
    /// runtime calls it is none of the program's business.
    fn is_hidden(&self) -> Result<bool, Error> {
        let registers = self.live.tracee().registers()?;
        if !self.is_system(registers.rip) {
            return Ok(false);
        }
        let outside = |address: u64| self.is_system(address);
        let found = self.symbols.outside(
            &crate::symbols::Registers::from(&registers),
            true,
            self.live.tracee(),
            &outside,
        );
        Ok(found
            .and_then(|(registers, _)| registers.rip())
            .is_some_and(|rip| self.live.is_runtime(rip)))
    }

    /// Whether an address is in the C library or the loader.
    fn is_system(&self, address: u64) -> bool {
        let Some(site) = self.symbols.site(address) else { return false };
        let module = &self.symbols.map().modules()[usize::from(site.module)].module.path;
        let file = module.rsplit('/').next().unwrap_or_default();
        file.starts_with("libc.") || file.starts_with("libc-") || file.starts_with("ld-linux")
    }

    /// Whether a breakpoint's conditions let it stop.
    fn holds(&self, at: u64) -> bool {
        let Some(conditions) = self.armed.breakpoints.get(&at) else { return true };
        if conditions.is_empty() {
            return true;
        }
        let Ok(registers) = self.live.tracee().registers() else { return true };
        conditions.iter().any(|condition| {
            condition::evaluate(condition, &registers, self.live.tracee())
                // What cannot be told here is the debugger's to judge.
                .is_none_or(|value| value != 0)
        })
    }

    /// The task that moves in a step, by the recorded schedule.
    pub(crate) fn mover(&self, step: u64) -> Option<u16> {
        let steps = &self.trace.execution.steps;
        match step {
            0 => Some(0),
            _ => steps.get(step as usize - 1).map(|step| step.task.0),
        }
    }

    /// Goes to a place.
    pub(crate) fn go_to(&mut self, position: &Position) -> Result<Stop, Error> {
        self.start_from(position)?;
        self.follow(position, Notice::Nothing)
    }

    /// Puts a copy of the nearest checkpoint in the place of what runs.
    fn start_from(&mut self, position: &Position) -> Result<(), Error> {
        self.outside = self.outside.max(self.live.outside());
        let outside = self.outside;
        let fits = |checkpoint: &&mut Checkpoint| {
            checkpoint.outside == outside && leads_to(&checkpoint.position, position)
        };
        let best = self.checkpoints.iter_mut().filter(fits).max_by_key(|checkpoint| {
            let then = checkpoint.position.split().1;
            let legs = match &checkpoint.position.place {
                Place::Inside(legs) => legs.len(),
                _ => 0,
            };
            (checkpoint.position.step, legs, then)
        });
        let (machine, at) = match best {
            Some(checkpoint) => (checkpoint.machine.copy()?, checkpoint.position.clone()),
            None => (self.beginning.copy()?, Position::chosen(0)),
        };
        self.replace(machine, at);
        Ok(())
    }

    /// Goes back to the very beginning, for a run that looks at everything.
    pub(crate) fn rewind(&mut self) -> Result<(), Error> {
        let machine = self.beginning.copy()?;
        self.replace(machine, Position::chosen(0));
        self.passed = None;
        Ok(())
    }

    fn replace(&mut self, machine: Machine, at: Position) {
        self.interrupt.follow(machine.tracee().handle());
        self.live = machine;
        self.at = at;
        self.threads = None;
        self.counts.clear();
        self.touches.clear();
        self.serving = None;
    }

    /// From a place before it to a place.
    pub(crate) fn follow(&mut self, position: &Position, notice: Notice) -> Result<Stop, Error> {
        if position.step > self.at.step {
            let stop = self.run(Goal::Chosen(position.step), notice)?;
            if stop.reason != Reason::Done {
                return Ok(stop);
            }
        }
        let legs = match &position.place {
            Place::Chosen => return Ok(self.stop(Reason::Done)),
            Place::End => loop {
                let stop = self.run(Goal::None, notice)?;
                if matches!(stop.reason, Reason::End | Reason::Gone(_))
                    || stop.reason == Reason::Interrupted
                {
                    return Ok(stop);
                }
            },
            Place::Inside(legs) => legs,
        };
        let done = match &self.at.place {
            Place::Inside(done) => done.len(),
            _ => 0,
        };
        // The last leg of a checkpoint may have been followed in part.
        for leg in &legs[done.saturating_sub(1)..] {
            let begun = match &self.at.place {
                Place::Inside(here) => {
                    here.last().filter(|here| (here.until, here.times) == (leg.until, leg.times))
                }
                _ => None,
            };
            let mut then = begun.map_or(0, |begun| begun.then);
            if begun.is_none() {
                let stop = self.first_part(leg, notice)?;
                if stop.reason != Reason::Done {
                    return Ok(stop);
                }
            }
            let far = leg.then.saturating_sub(then) > FAR;
            while then < leg.then {
                if far && leg.then - then == BEHIND && notice == Notice::Nothing {
                    self.leave_checkpoint()?;
                }
                let task = self.live.current();
                let stop = self.step_one(task, Notice::Nothing)?;
                if stop.reason != Reason::Done {
                    return Ok(stop);
                }
                then += 1;
                if then.is_multiple_of(BREATH) && self.interrupt.is_wanted() {
                    return Ok(self.stop(Reason::Interrupted));
                }
                if notice == Notice::Record && then < leg.then {
                    self.note_stepped()?;
                }
            }
        }
        self.at = position.clone();
        Ok(self.stop(Reason::Done))
    }

    /// Writes down a breakpoint that single steps come by.
    fn note_stepped(&mut self) -> Result<(), Error> {
        let rip = self.live.tracee().registers()?.rip;
        if self.armed.breakpoints.contains_key(&rip) && self.holds(rip) {
            let task = self.live.current();
            let position = self.at.clone();
            self.passed = Some(Passed { position, task, reason: Reason::Breakpoint });
        }
        Ok(())
    }

    fn first_part(&mut self, leg: &Leg, notice: Notice) -> Result<Stop, Error> {
        let (step, before) = (self.at.step, self.at.clone());
        let goal = match leg.until {
            Until::Entry => {
                let task = self.live.current();
                let way_out = match self.live.stand() {
                    Stand::Begin => Some(WayOut { address: self.main, rsp: 0 }),
                    _ => self.thread(task)?.and_then(|thread| thread.way_out),
                };
                match way_out {
                    Some(way_out) => Goal::Out(task, way_out),
                    None => return Ok(self.stop(Reason::End)),
                }
            }
            until => Goal::Times(until, leg.times),
        };
        let stop = self.run(goal, notice)?;
        if stop.reason == Reason::Done {
            self.at = before;
            self.at.step = step;
            match (&mut self.at.place, leg.until) {
                (Place::Inside(legs), _) => legs.push(Leg::new(leg.until, leg.times)),
                (place, _) => *place = Place::Inside(vec![Leg::new(leg.until, leg.times)]),
            }
        }
        Ok(stop)
    }

    /// Keeps a copy of the process as it is.
    pub(crate) fn leave_checkpoint(&mut self) -> Result<(), Error> {
        if self.checkpoints.iter().any(|checkpoint| checkpoint.position == self.at) {
            return Ok(());
        }
        let outside = self.live.outside();
        let machine = self.live.copy()?;
        if self.checkpoints.len() >= CHECKPOINTS {
            self.checkpoints.remove(0);
        }
        self.checkpoints.push(Checkpoint { machine, position: self.at.clone(), outside });
        Ok(())
    }

    /// A copy of what runs, to come back to.
    pub(crate) fn set_aside(&mut self) -> Result<Machine, Error> {
        self.live.copy()
    }

    /// A copy of what runs takes its place; the original is kept aside and given back.
    pub(crate) fn divert(&mut self) -> Result<(Machine, Position), Error> {
        let copy = self.live.copy()?;
        let at = self.at.clone();
        let (counts, touches) = (self.counts.clone(), self.touches.clone());
        self.interrupt.follow(copy.tracee().handle());
        let original = std::mem::replace(&mut self.live, copy);
        (self.counts, self.touches) = (counts, touches);
        self.threads = None;
        Ok((original, at))
    }

    /// Takes back what [`Execution::divert`] put aside.
    pub(crate) fn rejoin(&mut self, original: Machine, at: Position) {
        self.replace(original, at);
    }
}

fn counted(counts: &mut BTreeMap<u64, (u64, u64)>, what: u64, step: u64) -> u64 {
    let entry = counts.entry(what).or_insert((step, 0));
    if entry.0 != step {
        *entry = (step, 0);
    }
    entry.1 += 1;
    entry.1
}

/// Whether a checkpoint lies on the way to a place.
fn leads_to(checkpoint: &Position, position: &Position) -> bool {
    if checkpoint.step != position.step {
        // Within a step there may be breakpoints that nobody counted.
        return checkpoint.step < position.step;
    }
    match (&checkpoint.place, &position.place) {
        (Place::Chosen, _) => true,
        (Place::Inside(_), Place::End) => true,
        (Place::Inside(from), Place::Inside(to)) => {
            let Some((last, before)) = from.split_last() else { return true };
            let Some(same) = to.get(before.len()) else { return false };
            to.starts_with(before)
                && (last.until, last.times) == (same.until, same.times)
                && (last.then <= same.then)
                && (last.then == same.then || to.len() == from.len())
        }
        _ => false,
    }
}
