//! Going to a place: from the nearest checkpoint before it, by the legs that lead there.

use super::position::{Leg, Place, Position, Until};
use super::run::counted;
use super::{BREATH, Execution, Goal, Notice, Passed, Reason, Stop};
use crate::Error;
use crate::debug::process::machine::{Machine, Stand};
use crate::debug::process::tasks::WayOut;

/// A process to go back to.
#[derive(Debug)]
pub(super) struct Checkpoint {
    machine: Machine,
    position: Position,
    outside: u64,
}

/// How many checkpoints are kept beside the beginning.
const CHECKPOINTS: usize = 12;
/// From how many single steps on a checkpoint is left on the way.
const FAR: u64 = 64;
/// How many instructions before the place one went to.
pub(super) const BEHIND: u64 = 48;

impl Execution {
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
        self.unborn = None;
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
        for (index, leg) in legs.iter().enumerate().skip(done.saturating_sub(1)) {
            let last = index + 1 == legs.len();
            let begun = match &self.at.place {
                Place::Inside(here) if index + 1 == done => {
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
                if notice == Notice::Record && !(last && then == leg.then) {
                    // What was run to has been counted.
                    let is_new = !matches!(leg.until, Until::At(_));
                    self.note_stepped(is_new)?;
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
                if notice == Notice::Record && !(last && then == leg.then) {
                    self.note_stepped(true)?;
                }
            }
        }
        // What a person wrote may be no place of this step.
        if self.live.step() == position.step {
            self.at = position.clone();
        }
        Ok(self.stop(Reason::Done))
    }

    /// Writes down a breakpoint that single steps, or the ends of legs, come by.
    fn note_stepped(&mut self, is_new: bool) -> Result<(), Error> {
        let rip = self.live.tracee().registers()?.rip;
        if is_new && self.armed.breakpoints.contains_key(&rip) {
            counted(&mut self.counts, rip, self.live.step());
        }
        if self.armed.breakpoints.contains_key(&rip) && self.holds(rip) {
            let task = self.live.current();
            let position = self.at.clone();
            self.passed = Some(Passed { position, task, reason: Reason::Breakpoint });
        }
        Ok(())
    }

    pub(super) fn first_part(&mut self, leg: &Leg, notice: Notice) -> Result<Stop, Error> {
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
        let mut stop = self.run(goal, notice)?;
        if let (Until::Touched(_), Reason::Done) = (leg.until, stop.reason)
            && self.live.is_runtime(self.live.tracee().registers()?.rip)
        {
            // The place is where its work is done.
            stop = self.come_out(self.live.current(), Notice::Nothing)?;
        }
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
