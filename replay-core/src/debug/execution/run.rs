//! Runs until an event of interest.

use super::position::{Access, Position, StepPoint, Until, Watch};
use super::{Execution, OnHit, Reason, RecordedStop, RunGoal, Stop};
use crate::Error;
use crate::debug::process::machine::{ProcessState, StopEvent};
use crate::symbols::Registers;
use std::collections::{BTreeMap, BTreeSet};
use traces::wire::acting;

/// What a function without calls may use below its stack pointer (System V ABI, 3.2.2).
const RED_ZONE: u64 = 128;

/// One run: its goal, and what it has seen.
pub(super) struct Run {
    pub(super) goal: RunGoal,
    pub(super) notice: OnHit,
    /// The step in progress at the start of the run.
    began: u64,
    /// The run stops at the choice of this step.
    stop_at: Option<u64>,
    /// The system call in progress, and its return: task, instruction, stack pointer.
    pub(super) serving: Option<(i64, (u16, u64, u64))>,
    /// How often each instruction, and each watched address (inverted), was hit.
    pub(super) hits: BTreeMap<u64, u64>,
    /// For signals and for system calls: a step, and how often they occurred in it.
    signals: (u64, u64),
    calls: (u64, u64),
    /// How often the goal's event occurred.
    pub(super) times: u64,
    /// Watched memory that the runtime accessed before the task returns from it, in order.
    accessed: Vec<Watch>,
    /// The number of stops without effect, the number at which the process is next detached, and
    /// how long it was traced last.
    pub(super) stops: u32,
    pub(super) next: u32,
    pub(super) held: u32,
    /// How often the process stopped during untraced counting.
    pub(super) counted: u32,
}

impl Run {
    fn count(&mut self, what: u64) -> u64 {
        let here = self.hits.entry(what).or_insert(0);
        *here += 1;
        *here
    }
}

impl Execution {
    pub(super) fn watches(&self, goal: RunGoal, notice: OnHit) -> Vec<Watch> {
        let mut watches = match notice {
            OnHit::Nothing => Vec::new(),
            _ => self.armed.watches.clone(),
        };
        if let RunGoal::Times(Until::Touched(watch), _)
        | RunGoal::Before(Some(Until::Touched(watch)), ..) = goal
            && !watches.contains(&watch)
        {
            watches.insert(0, watch);
        }
        watches
    }

    pub(super) fn catches(&self, number: i64) -> bool {
        let calls = self.armed.calls.as_ref();
        calls.is_some_and(|calls| calls.is_empty() || calls.contains(&number))
    }

    /// The program makes a system call that the debugger asked for, the `times`-th one from the
    /// current position.
    pub(super) fn caught(&mut self, number: i64, times: u64) -> Result<Stop, Error> {
        self.serving = Some(number);
        self.at.reached(Until::Call, times);
        Ok(self.stop(Reason::Call(number)))
    }

    /// Runs until the goal, an event that the debugger asked for, or the end.
    pub(super) fn run(&mut self, goal: RunGoal, notice: OnHit) -> Result<Stop, Error> {
        self.threads = None;
        self.shown_at_creator = None;
        let (mut run, wanted) = self.prepare(goal, notice)?;
        self.hits = 0;
        self.also.clear();
        let mut ran = false;
        let mut accessed = false;
        loop {
            if self.interrupt.take() {
                return if ran { self.interrupted() } else { Ok(self.stop(Reason::Interrupted)) };
            }
            ran = true;
            // What was read of the tasks at a recorded event does not hold any longer.
            self.threads = None;
            // After an ignored access, the process may be at a breakpoint that it has not reported.
            let rip = std::mem::take(&mut accessed).then(|| self.at_rip()).flatten();
            let come_to = rip.filter(|rip| wanted.contains(rip)).map(StopEvent::Hit);
            let happened = match come_to.is_none() && run.is_time() {
                true => match self.run_counting(&mut run, &wanted)? {
                    None => self.run_untraced(&mut run, &wanted)?,
                    happened => happened,
                },
                false => None,
            };
            let happened = match come_to.or(happened) {
                Some(happened) => happened,
                None => self.live.run(&wanted)?,
            };
            let stop = match happened {
                StopEvent::Hook => match self.live.state() {
                    ProcessState::Chosen if run.stop_at == Some(self.live.step()) => {
                        self.at = Position::chosen(self.live.step());
                        Some(self.stop(Reason::Done))
                    }
                    ProcessState::End => return self.hook(),
                    _ => None,
                },
                StopEvent::Hit(at) => self.hit(&mut run, at)?,
                StopEvent::Touched(watch) => {
                    accessed = true;
                    self.accesses(&mut run, watch)?
                }
                StopEvent::Call(number) => self.called(&mut run, number)?,
                StopEvent::Signal(signal) => self.signalled(&mut run, signal),
                StopEvent::Stopped | StopEvent::Stepped => None,
                StopEvent::Blocked => Some(self.stop(Reason::Waits)),
                StopEvent::Gone => return self.gone(),
            };
            if let Some(stop) = stop {
                return Ok(stop);
            }
            if notice == OnHit::Record && self.recorded_events.is_full() {
                return Ok(self.stop(Reason::Enough));
            }
        }
    }

    /// Prepares the process for a run. Returns the instructions at which it must stop.
    fn prepare(&mut self, goal: RunGoal, notice: OnHit) -> Result<(Run, BTreeSet<u64>), Error> {
        let mut wanted: BTreeSet<u64> = match notice {
            OnHit::Nothing => BTreeSet::new(),
            _ => self.armed.breakpoints.keys().copied().collect(),
        };
        if let (Some((at, _)), OnHit::Stop) = (&self.lifted, notice) {
            wanted.insert(*at);
        }
        match goal {
            RunGoal::Out(_, runtime_exit) => drop(wanted.insert(runtime_exit.address)),
            RunGoal::Leave(_) => wanted.extend(&self.exits),
            RunGoal::Times(Until::At(at) | Until::AtState(at, _), _) => drop(wanted.insert(at)),
            RunGoal::Before(until, at, _) => {
                wanted.insert(at);
                if let Some(Until::At(other) | Until::AtState(other, _)) = until {
                    wanted.insert(other);
                }
            }
            _ => {}
        }
        if let Some(Until::At(at) | Until::AtState(at, _)) = self.awaits {
            wanted.insert(at);
        }
        let serving = match self.serving.take() {
            Some(number) if notice == OnHit::Stop => {
                let registers = self.live.tracee().registers()?;
                wanted.insert(registers.rip);
                Some((number, (self.live.current(), registers.rip, registers.rsp)))
            }
            _ => None,
        };
        let watches = self.watches(goal, notice);
        self.live.watch(&watches)?;
        let stop_at = match goal {
            RunGoal::Chosen(step) => Some(step),
            _ => self.limit,
        };
        self.live.stop_at(stop_at)?;
        let run = Run {
            goal,
            notice,
            began: self.live.step(),
            stop_at,
            serving,
            hits: BTreeMap::new(),
            signals: (0, 0),
            calls: (0, 0),
            times: 0,
            accessed: Vec::new(),
            stops: 0,
            next: 0,
            held: 0,
            counted: 0,
        };
        Ok((run, wanted))
    }

    /// A requested instruction is about to execute.
    fn hit(&mut self, run: &mut Run, at: u64) -> Result<Option<Stop>, Error> {
        let step = self.live.step();
        let count = counted(&mut self.counts, at, step);
        if let RunGoal::Out(task, runtime_exit) = run.goal
            && runtime_exit.address == at
            && self.live.current() == task
            && (runtime_exit.rsp == 0 || self.rsp()? == runtime_exit.rsp)
        {
            self.left_runtime(step, run.began)?;
            let mut accessed = std::mem::take(&mut run.accessed).into_iter();
            let reason = accessed.next().map_or(Reason::Done, Reason::Touched);
            self.also = accessed.collect();
            return Ok(Some(Stop { task, reason }));
        }
        if let Some((number, (task, rip, rsp))) = run.serving
            && (task, rip, rsp) == (self.live.current(), at, self.rsp()?)
        {
            self.left_runtime(step, run.began)?;
            return Ok(Some(self.stop(Reason::Returned(number))));
        }
        // Even within code that the runtime calls: a signal handler, an initialiser.
        if self.awaits == Some(Until::At(at)) || self.is_awaited_state(at)? {
            return Ok(Some(self.stop(Reason::Done)));
        }
        let here = run.count(at);
        if run.goal == RunGoal::Leave(self.live.current()) && self.exits.contains(&at) {
            return Ok(self.noted(run, Until::At(at), here, count, Reason::Done));
        }
        if let Some(reason) = self.goal_at(run, at)? {
            return Ok(Some(self.stop(reason)));
        }
        let lifted = self.lifted.as_ref().filter(|(lifted, _)| *lifted == at && self.is_left_out());
        let conditions = match lifted {
            Some((_, conditions)) => Some(conditions),
            None => self.armed.breakpoints.get(&at),
        };
        let Some(conditions) = conditions.filter(|_| run.notice != OnHit::Nothing) else {
            return Ok(None);
        };
        if self.is_hidden()? || !self.is_one_met(conditions) {
            return Ok(None);
        }
        Ok(self.noted(run, Until::At(at), here, count, Reason::Breakpoint))
    }

    fn is_awaited_state(&self, at: u64) -> Result<bool, Error> {
        match self.awaits {
            Some(until @ Until::AtState(wanted, _)) if wanted == at => self.matches_state(until),
            _ => Ok(false),
        }
    }

    /// Whether an instruction that is reached is the run's goal.
    fn goal_at(&mut self, run: &mut Run, at: u64) -> Result<Option<Reason>, Error> {
        match run.goal {
            RunGoal::Before(until, wanted, rsp) => {
                let happened = match until {
                    Some(Until::At(other)) => other == at,
                    Some(Until::AtState(other, digest)) => other == at && self.digest()? == digest,
                    _ => false,
                };
                self.hits += u64::from(wanted == at);
                if happened {
                    return Ok(Some(Reason::Done));
                }
                if wanted == at && self.rsp()? == rsp {
                    return Ok(Some(Reason::Breakpoint));
                }
            }
            RunGoal::Times(Until::At(wanted), n) if wanted == at => {
                run.times += 1;
                return Ok((run.times == n).then_some(Reason::Done));
            }
            RunGoal::Times(Until::AtState(wanted, digest), _)
                if wanted == at && self.digest()? == digest =>
            {
                return Ok(Some(Reason::Done));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Watched memory was accessed, and perhaps more of it by the same instruction.
    fn accesses(&mut self, run: &mut Run, first: Watch) -> Result<Option<Stop>, Error> {
        let mut all = self.live.take_further();
        all.insert(0, first);
        if !self.is_access_of_program(first)? {
            return Ok(None);
        }
        if let RunGoal::Times(Until::Touched(goal), _)
        | RunGoal::Before(Some(Until::Touched(goal)), ..) = run.goal
            && let Some(at) = all.iter().position(|&watch| watch == goal)
        {
            all[..=at].rotate_right(1);
        }
        let (first, further) = (all[0], &all[1..]);
        let step = self.live.step();
        let stop = self.access(run, first)?;
        for &watch in further {
            let count = counted(&mut self.touches, watch.address, step);
            let here = run.count(!watch.address);
            if run.notice == OnHit::Nothing || !self.armed.watches.contains(&watch) {
                continue;
            }
            let is_runtime = self.live.is_runtime(self.rip()?);
            if stop.is_none() && is_runtime && matches!(run.goal, RunGoal::Out(..)) {
                run.accessed.push(watch);
                continue;
            }
            let last = self.recorded_events.last_mut();
            let is_last = last.as_ref().map(|it| it.reason) == Some(Reason::Touched(first));
            match (&stop, last) {
                (_, Some(last)) if run.notice == OnHit::Record && is_last && !self.collects => {
                    last.also.push(watch);
                }
                (Some(Stop { reason: Reason::Touched(_), .. }), _) => self.also.push(watch),
                (Some(_), _) if run.notice != OnHit::Record => {}
                _ => {
                    let reason = Reason::Touched(watch);
                    if let Some(stop) = self.noted(run, Until::Touched(watch), here, count, reason)
                    {
                        return Ok(Some(stop));
                    }
                }
            }
        }
        Ok(stop)
    }

    /// Whether an access that was just made is the program's. The runtime also reads what the
    /// program is about to access, and restores what an instruction has read before it is executed.
    fn is_access_of_program(&self, watch: Watch) -> Result<bool, Error> {
        match self.live.acting() {
            acting::RESTORES => return Ok(false),
            acting::PROGRAM => return Ok(true),
            _ => {}
        }
        let rip = self.rip()?;
        let is_hidden = self.live.is_own(rip) || self.is_hidden()?;
        Ok(!is_hidden || watch.kind == Access::Write && !self.is_in_runtime_frames(watch)?)
    }

    /// Whether watched memory belongs to the frames of the runtime on the stack of the running task,
    /// which is in the runtime: the program has no variables there.
    fn is_in_runtime_frames(&self, watch: Watch) -> Result<bool, Error> {
        let registers = Registers::from(&self.live.tracee().registers()?);
        let is_outside = |address| self.live.is_runtime(address) || self.is_system(address);
        let program = self.symbols.outside(&registers, true, self.live.tracee(), &is_outside);
        let (Some(inner), Some(outer)) =
            (registers.rsp(), program.and_then(|(registers, _)| registers.rsp()))
        else {
            return Ok(false);
        };
        Ok((inner.saturating_sub(RED_ZONE)..outer).contains(&watch.address))
    }

    fn rip(&self) -> Result<u64, Error> {
        Ok(self.live.tracee().registers()?.rip)
    }

    /// Watched memory was accessed by the program.
    fn access(&mut self, run: &mut Run, watch: Watch) -> Result<Option<Stop>, Error> {
        let step = self.live.step();
        let rip = self.rip()?;
        let count = counted(&mut self.touches, watch.address, step);
        let here = run.count(!watch.address);
        let until = Until::Touched(watch);
        if let RunGoal::Times(Until::Touched(wanted), n) = run.goal
            && wanted == watch
        {
            run.times += 1;
            if run.times == n {
                if run.notice == OnHit::Record && self.armed.watches.contains(&watch) {
                    // The position is after the accessing instruction.
                    let position = self.place_of(step, until, count);
                    let task = self.live.current();
                    self.record(RecordedStop::new(position, task, Reason::Touched(watch)));
                }
                return Ok(Some(self.stop(Reason::Done)));
            }
            if run.notice != OnHit::Record {
                return Ok(None);
            }
        }
        if let RunGoal::Before(Some(Until::Touched(wanted)), ..) = run.goal
            && wanted == watch
        {
            return Ok(Some(self.stop(Reason::Done)));
        }
        if run.notice == OnHit::Nothing || !self.armed.watches.contains(&watch) {
            return Ok(None);
        }
        if self.live.is_runtime(rip) && !self.is_left_out() {
            // The access is reported when the runtime returns, unless the run waits for that
            // anyway.
            if let RunGoal::Out(task, _) = run.goal
                && task == self.live.current()
            {
                if !run.accessed.contains(&watch) {
                    run.accessed.push(watch);
                }
                return Ok(None);
            }
            if run.notice == OnHit::Stop {
                return self.run_out_after_touch(run, watch, here, count).map(Some);
            }
        }
        Ok(self.noted(run, until, here, count, Reason::Touched(watch)))
    }

    /// Leaves the runtime after an access to watched memory, which was the `here`-th in this run
    /// and the `count`-th in its step. The position within the step may not have been counted yet.
    fn run_out_after_touch(
        &mut self,
        run: &Run,
        watch: Watch,
        here: u64,
        count: u64,
    ) -> Result<Stop, Error> {
        let (step, task) = (self.live.step(), self.live.current());
        let accessed = Reason::Touched(watch);
        self.noted(run, Until::Touched(watch), here, count, accessed);
        let place = self.at.clone();
        let stop = self.run_out_of_runtime(task, run.notice)?;
        if let Reason::Touched(other) = stop.reason {
            self.also.insert(0, other);
            self.also.retain(|&other| other != watch);
        } else if stop.reason != Reason::Done {
            return Ok(stop);
        }
        if self.live.step() == step {
            self.at = place;
            let all = self.touches.get(&watch.address).map_or(count, |&(_, count)| count);
            if all > count {
                self.at.reached(Until::Touched(watch), all - count);
            }
        }
        Ok(Stop { task, reason: accessed })
    }

    /// An event that the debugger asked for occurred, for the `here`-th time in this run and the
    /// `count`-th in its step: stops or records it.
    fn noted(
        &mut self,
        run: &Run,
        until: Until,
        here: u64,
        count: u64,
        reason: Reason,
    ) -> Option<Stop> {
        let (step, task) = (self.live.step(), self.live.current());
        if self.is_left_out() {
            if run.notice == OnHit::Stop && self.left_out.is_none() {
                let position = self.place_of(step, until, count);
                self.left_out = Some(RecordedStop::new(position, task, reason));
            }
            return None;
        }
        let mut position = self.at.clone();
        if step == run.began && position.step == step && run.notice == OnHit::Stop {
            position.reached(until, here);
        } else {
            position = self.place_of(step, until, count);
        }
        if run.notice == OnHit::Stop {
            self.at = position;
            return Some(Stop { task, reason });
        }
        self.record(RecordedStop::new(position, task, reason));
        None
    }

    /// The position at an event that was counted in its step, or from [`Execution::origin`] on.
    pub(super) fn place_of(&self, step: u64, until: Until, count: u64) -> Position {
        let mut position = match &self.origin {
            Some(origin) if origin.step == step => origin.clone(),
            _ => Position::chosen(step),
        };
        position.reached(until, count);
        position
    }

    /// Records an event.
    pub(super) fn record(&mut self, mut recorded: RecordedStop) {
        if self.collects {
            recorded.write = self.write_of(&recorded);
        }
        self.recorded_events.add(recorded);
    }

    /// Records that a part of the way to a position accessed watched memory.
    pub(super) fn record_touched(&mut self, stop: &Stop) {
        let Reason::Touched(watch) = stop.reason else { return };
        let step = self.live.step();
        let is_entry = match &self.at.place {
            StepPoint::Inside(segments) => {
                segments.last().is_some_and(|last| last.until == Until::Entry && last.then == 0)
            }
            _ => true,
        };
        let count = self.touches.get(&watch.address).map_or(1, |&(_, count)| count);
        let position = match is_entry {
            // The access was part of the step's operation.
            true => self.place_of(step, Until::Touched(watch), count),
            false => self.at.clone(),
        };
        let also = std::mem::take(&mut self.also);
        self.record(RecordedStop { also, ..RecordedStop::new(position, stop.task, stop.reason) });
    }

    /// The program made a system call.
    fn called(&mut self, run: &mut Run, number: i64) -> Result<Option<Stop>, Error> {
        let times = again(&mut run.calls, self.live.step());
        match run.goal {
            RunGoal::Times(Until::Call, n) if times == n => {
                return Ok(Some(self.stop(Reason::Done)));
            }
            RunGoal::Before(Some(Until::Call), ..) => return Ok(Some(self.stop(Reason::Done))),
            _ => {}
        }
        let wanted = run.notice == OnHit::Stop && self.catches(number);
        if !wanted && self.awaits != Some(Until::Call) {
            return Ok(None);
        }
        self.enter_step(run);
        self.caught(number, times).map(Some)
    }

    /// A signal was raised.
    fn signalled(&mut self, run: &mut Run, signal: i32) -> Option<Stop> {
        let times = again(&mut run.signals, self.live.step());
        match run.goal {
            RunGoal::Times(Until::Signal, n) if times == n => return Some(self.stop(Reason::Done)),
            RunGoal::Before(Some(Until::Signal), ..) => return Some(self.stop(Reason::Done)),
            _ => {}
        }
        if run.notice != OnHit::Stop && self.awaits != Some(Until::Signal) {
            return None;
        }
        self.enter_step(run);
        self.at.reached(Until::Signal, times);
        Some(self.stop(Reason::Signal(signal)))
    }

    fn enter_step(&mut self, run: &Run) {
        let step = self.live.step();
        if step != run.began {
            self.at = Position::chosen(step);
        }
    }

    /// Whether events of the running task are not reported.
    fn is_left_out(&self) -> bool {
        self.only.is_some_and(|task| task != self.live.current())
    }

    /// A task returned from the runtime to the program.
    fn left_runtime(&mut self, step: u64, began: u64) -> Result<(), Error> {
        let rip = self.live.tracee().registers()?.rip;
        let entry = matches!(self.at.place, StepPoint::Chosen);
        if step != began || self.at.step != step || entry {
            self.at = Position::entry(step);
        } else {
            self.at.advance(rip);
        }
        Ok(())
    }

    pub(super) fn hook(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.live.step(), place: StepPoint::End };
        Ok(self.stop(Reason::End))
    }

    pub(super) fn gone(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.at.step, place: StepPoint::End };
        Ok(match self.live.state() {
            ProcessState::Gone(status) => self.stop(Reason::Gone(status)),
            _ => self.stop(Reason::End),
        })
    }
}

pub(super) fn counted(counts: &mut BTreeMap<u64, (u64, u64)>, what: u64, step: u64) -> u64 {
    again(counts.entry(what).or_insert((step, 0)), step)
}

/// Counts an event in its step and returns its number.
fn again((in_step, count): &mut (u64, u64), step: u64) -> u64 {
    if *in_step != step {
        (*in_step, *count) = (step, 0);
    }
    *count += 1;
    *count
}
