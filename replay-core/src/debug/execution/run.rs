//! Running, until something happens that somebody wants to know.

use super::position::{Access, Leg, Place, Position, Until, Watch};
use super::{Execution, Goal, Notice, Passed, Reason, Stop};
use crate::Error;
use crate::debug::process::machine::{Happened, Stand};
use std::collections::{BTreeMap, BTreeSet};

/// One run: what it is for, and what it came by.
pub(super) struct Run {
    pub(super) goal: Goal,
    pub(super) notice: Notice,
    /// The step that was under way when it began.
    began: u64,
    /// The step at whose choice it stops.
    stop_at: Option<u64>,
    /// The call that is being served, and where it comes back: task, instruction, stack pointer.
    pub(super) serving: Option<(i64, (u16, u64, u64))>,
    /// How often each place, and (inverted) each watched address, was come to.
    pub(super) hits: BTreeMap<u64, u64>,
    /// How many signals came, and system calls, and in which step.
    signals: (u64, u64),
    calls: (u64, u64),
    /// How often what the goal counts happened.
    pub(super) times: u64,
    /// What the runtime touched while somebody waits for a task to come out of it.
    touched: Option<Watch>,
    /// How often the process stopped for nothing, how often it is to before it is let go of, and for
    /// how long it was held last.
    pub(super) stops: u32,
    pub(super) next: u32,
    pub(super) held: u32,
    /// How often it stopped while it counted.
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
    pub(super) fn watches(&self, goal: Goal, notice: Notice) -> Vec<Watch> {
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

    pub(super) fn catches(&self, number: i64) -> bool {
        let calls = self.armed.calls.as_ref();
        calls.is_some_and(|calls| calls.is_empty() || calls.contains(&number))
    }

    /// The program makes a system call that is to be seen, for the `times`-th time from where this was.
    pub(super) fn caught(&mut self, number: i64, times: u64) -> Result<Stop, Error> {
        self.serving = Some(number);
        self.at.reached(Until::Call, times);
        Ok(self.stop(Reason::Call(number)))
    }

    /// Runs until the goal is reached, or what is armed happens, or the end comes.
    pub(super) fn run(&mut self, goal: Goal, notice: Notice) -> Result<Stop, Error> {
        self.threads = None;
        self.unborn = None;
        let (mut run, wanted) = self.prepare(goal, notice)?;
        self.hits = 0;
        let mut ran = false;
        let mut touched = false;
        loop {
            if self.interrupt.take() {
                return if ran { self.interrupted() } else { Ok(self.stop(Reason::Interrupted)) };
            }
            ran = true;
            // Behind an access that was no stop it stands where it has not been seen yet.
            let rip = std::mem::take(&mut touched).then(|| self.at_rip()).flatten();
            let come_to = rip.filter(|rip| wanted.contains(rip)).map(Happened::Hit);
            let happened = match come_to.is_none() && run.is_time() {
                true => match self.run_counting(&mut run, &wanted)? {
                    None => self.run_loose(&mut run, &wanted)?,
                    happened => happened,
                },
                false => None,
            };
            let happened = match come_to.or(happened) {
                Some(happened) => happened,
                None => self.live.run(&wanted)?,
            };
            let stop = match happened {
                Happened::Hook => match self.live.stand() {
                    Stand::Chosen if run.stop_at == Some(self.live.step()) => {
                        self.at = Position::chosen(self.live.step());
                        Some(self.stop(Reason::Done))
                    }
                    Stand::End => return self.hook(),
                    _ => None,
                },
                Happened::Hit(at) => self.hit(&mut run, at)?,
                Happened::Touched(watch) => {
                    touched = true;
                    self.touched(&mut run, watch)?
                }
                Happened::Call(number) => self.called(&mut run, number)?,
                Happened::Signal(signal) => self.signalled(&mut run, signal),
                Happened::Stopped | Happened::Stepped => None,
                Happened::Gone => return self.gone(),
            };
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
    }

    /// Arms the process for a run; the instructions at which it is to be looked at.
    fn prepare(&mut self, goal: Goal, notice: Notice) -> Result<(Run, BTreeSet<u64>), Error> {
        let mut wanted: BTreeSet<u64> = match notice {
            Notice::Nothing => BTreeSet::new(),
            _ => self.armed.breakpoints.keys().copied().collect(),
        };
        match goal {
            Goal::Out(_, way_out) => drop(wanted.insert(way_out.address)),
            Goal::Leave(_) => wanted.extend(&self.exits),
            Goal::Times(Until::At(at) | Until::Like(at, _), _) => drop(wanted.insert(at)),
            Goal::Before(until, at, _) => {
                wanted.insert(at);
                if let Some(Until::At(other) | Until::Like(other, _)) = until {
                    wanted.insert(other);
                }
            }
            _ => {}
        }
        if let Some(Until::At(at) | Until::Like(at, _)) = self.awaits {
            wanted.insert(at);
        }
        let serving = match self.serving.take() {
            Some(number) if notice == Notice::Stop => {
                let registers = self.live.tracee().registers()?;
                wanted.insert(registers.rip);
                Some((number, (self.live.current(), registers.rip, registers.rsp)))
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
            touched: None,
            stops: 0,
            next: 0,
            held: 0,
            counted: 0,
        };
        Ok((run, wanted))
    }

    /// It is about to execute an instruction that was asked for.
    fn hit(&mut self, run: &mut Run, at: u64) -> Result<Option<Stop>, Error> {
        let step = self.live.step();
        let count = counted(&mut self.counts, at, step);
        if let Goal::Out(task, way_out) = run.goal
            && way_out.address == at
            && self.live.current() == task
            && (way_out.rsp == 0 || self.rsp()? == way_out.rsp)
        {
            self.came_out(step, run.began)?;
            let reason = run.touched.map_or(Reason::Done, Reason::Touched);
            return Ok(Some(Stop { task, reason }));
        }
        if let Some((number, (task, rip, rsp))) = run.serving
            && (task, rip, rsp) == (self.live.current(), at, self.rsp()?)
        {
            self.came_out(step, run.began)?;
            return Ok(Some(self.stop(Reason::Returned(number))));
        }
        // In what the runtime calls: a signal's handler, what is done once.
        if self.awaits == Some(Until::At(at)) || self.is_awaited_like(at)? {
            return Ok(Some(self.stop(Reason::Done)));
        }
        let here = run.count(at);
        if run.goal == Goal::Leave(self.live.current()) && self.exits.contains(&at) {
            return Ok(self.noted(run, Until::At(at), here, count, Reason::Done));
        }
        if let Some(reason) = self.goal_at(run, at)? {
            return Ok(Some(self.stop(reason)));
        }
        if run.notice == Notice::Nothing
            || self.is_left_out()
            || !self.armed.breakpoints.contains_key(&at)
            || self.is_hidden()?
            || !self.holds(at)
        {
            return Ok(None);
        }
        Ok(self.noted(run, Until::At(at), here, count, Reason::Breakpoint))
    }

    fn is_awaited_like(&self, at: u64) -> Result<bool, Error> {
        match self.awaits {
            Some(until @ Until::Like(wanted, _)) if wanted == at => self.is_like(until),
            _ => Ok(false),
        }
    }

    /// Whether an instruction that is come to is what the run is for.
    fn goal_at(&mut self, run: &mut Run, at: u64) -> Result<Option<Reason>, Error> {
        match run.goal {
            Goal::Before(until, wanted, rsp) => {
                let happened = match until {
                    Some(Until::At(other)) => other == at,
                    Some(Until::Like(other, digest)) => other == at && self.digest()? == digest,
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
            Goal::Times(Until::At(wanted), n) if wanted == at => {
                run.times += 1;
                return Ok((run.times == n).then_some(Reason::Done));
            }
            Goal::Times(Until::Like(wanted, digest), _)
                if wanted == at && self.digest()? == digest =>
            {
                return Ok(Some(Reason::Done));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Watched memory was touched.
    fn touched(&mut self, run: &mut Run, watch: Watch) -> Result<Option<Stop>, Error> {
        let step = self.live.step();
        let rip = self.live.tracee().registers()?.rip;
        if watch.kind != Access::Write && self.live.is_own(rip) {
            // The runtime looks at what the program is about to touch; that is no access of its.
            return Ok(None);
        }
        let count = counted(&mut self.touches, watch.address, step);
        let here = run.count(!watch.address);
        let until = Until::Touched(watch);
        if let Goal::Times(Until::Touched(wanted), n) = run.goal
            && wanted == watch
        {
            run.times += 1;
            if run.times == n {
                if run.notice == Notice::Record && self.armed.watches.contains(&watch) {
                    // The place is behind the instruction that did it.
                    self.passed = Some(Passed {
                        position: Position::inside(step, vec![Leg::new(until, count)]),
                        task: self.live.current(),
                        reason: Reason::Touched(watch),
                    });
                }
                return Ok(Some(self.stop(Reason::Done)));
            }
            if run.notice != Notice::Record {
                return Ok(None);
            }
        }
        if let Goal::Before(Some(Until::Touched(wanted)), ..) = run.goal
            && wanted == watch
        {
            return Ok(Some(self.stop(Reason::Done)));
        }
        if run.notice == Notice::Nothing
            || self.is_left_out()
            || !self.armed.watches.contains(&watch)
        {
            return Ok(None);
        }
        if self.live.is_runtime(rip) {
            // Shown where the runtime's work is done, unless somebody waits for that anyway.
            if let Goal::Out(..) = run.goal {
                run.touched = Some(watch);
                return Ok(None);
            }
            if run.notice == Notice::Stop {
                return self.come_out_having_touched(run, watch, here, count).map(Some);
            }
        }
        Ok(self.noted(run, until, here, count, Reason::Touched(watch)))
    }

    /// Out of the runtime, in which watched memory was touched for the `here`-th time in this run and the
    /// `count`-th in its step: nobody may have seen yet how far into the step that was.
    fn come_out_having_touched(
        &mut self,
        run: &Run,
        watch: Watch,
        here: u64,
        count: u64,
    ) -> Result<Stop, Error> {
        let (step, task) = (self.live.step(), self.live.current());
        let touched = Reason::Touched(watch);
        self.noted(run, Until::Touched(watch), here, count, touched);
        let place = self.at.clone();
        let stop = self.come_out(task, run.notice)?;
        if !matches!(stop.reason, Reason::Done | Reason::Touched(_)) {
            return Ok(stop);
        }
        if self.live.step() == step {
            self.at = place;
            let all = self.touches.get(&watch.address).map_or(count, |&(_, count)| count);
            if all > count {
                self.at.reached(Until::Touched(watch), all - count);
            }
        }
        Ok(Stop { task, reason: touched })
    }

    /// Something that is armed happened, for the `here`-th time in this run and the `count`-th in
    /// its step: a stop, or something to remember.
    fn noted(
        &mut self,
        run: &Run,
        until: Until,
        here: u64,
        count: u64,
        reason: Reason,
    ) -> Option<Stop> {
        let (step, task) = (self.live.step(), self.live.current());
        let mut position = self.at.clone();
        if step == run.began && position.step == step && run.notice == Notice::Stop {
            position.reached(until, here);
        } else {
            position = Position::inside(step, vec![Leg::new(until, count)]);
        }
        if run.notice == Notice::Stop {
            self.at = position;
            return Some(Stop { task, reason });
        }
        self.passed = Some(Passed { position, task, reason });
        None
    }

    /// The program made a system call.
    fn called(&mut self, run: &mut Run, number: i64) -> Result<Option<Stop>, Error> {
        let times = again(&mut run.calls, self.live.step());
        match run.goal {
            Goal::Times(Until::Call, n) if times == n => {
                return Ok(Some(self.stop(Reason::Done)));
            }
            Goal::Before(Some(Until::Call), ..) => return Ok(Some(self.stop(Reason::Done))),
            _ => {}
        }
        let wanted = run.notice == Notice::Stop && self.catches(number);
        if !wanted && self.awaits != Some(Until::Call) {
            return Ok(None);
        }
        self.enter_step(run);
        self.caught(number, times).map(Some)
    }

    /// A signal came.
    fn signalled(&mut self, run: &mut Run, signal: i32) -> Option<Stop> {
        let times = again(&mut run.signals, self.live.step());
        match run.goal {
            Goal::Times(Until::Signal, n) if times == n => return Some(self.stop(Reason::Done)),
            Goal::Before(Some(Until::Signal), ..) => return Some(self.stop(Reason::Done)),
            _ => {}
        }
        if run.notice != Notice::Stop && self.awaits != Some(Until::Signal) {
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

    pub(super) fn hook(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.live.step(), place: Place::End };
        Ok(self.stop(Reason::End))
    }

    pub(super) fn gone(&mut self) -> Result<Stop, Error> {
        self.at = Position { step: self.at.step, place: Place::End };
        Ok(match self.live.stand() {
            Stand::Gone(halt) => self.stop(Reason::Gone(halt)),
            _ => self.stop(Reason::End),
        })
    }
}

pub(super) fn counted(counts: &mut BTreeMap<u64, (u64, u64)>, what: u64, step: u64) -> u64 {
    again(counts.entry(what).or_insert((step, 0)), step)
}

/// Counts something in its step: how often it happened by now.
fn again((in_step, count): &mut (u64, u64), step: u64) -> u64 {
    if *in_step != step {
        (*in_step, *count) = (step, 0);
    }
    *count += 1;
    *count
}
