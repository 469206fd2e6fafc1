//! What a search has found: run again, recorded, and written down.

use super::crew::Crew;
use super::saved::{Known, Place, PutOff};
use super::{Once, Search, kept, once, record_again, single};
use crate::capture;
use crate::lesson::Learning;
use crate::options::SPINS_AGAIN_AFTER;
use crate::symbols::Symbols;
use crate::{Error, SearchOptions, store};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Spot;
use traces::report::{Bug, Race, RaceAccess};
use traces::wire::{Found, Job, Plan};
use traces::{Execution, Failure, FailureKind, Frame, Module, Site, Trace};

impl Search<'_> {
    /// A failure that this worker had not seen: it is run again, recorded, and written down before
    /// anything else happens.
    pub(super) fn found(
        &mut self,
        crew: &Crew<'_>,
        at: usize,
        found: Found,
    ) -> Result<usize, Error> {
        if self.kept.is_none() {
            Learning::note(&mut self.taught, &found);
        }
        if found.conflict.is_some() {
            self.conflict(&found);
            return Ok(0);
        }
        let number = found.execution;
        let place = Place {
            round: self.saved.rounds,
            piece: at as u64,
            number: self.saved.round.number(at, number),
            searches: self.saved.round.pieces[at].work.searches,
        };
        if self.is_beside(found.kind) {
            let found_at = self.found_at(place);
            self.beside(PutOff { place, found_at, found });
            return Ok(0);
        }
        if self.saved.suppressed_keys.contains(&found.key) {
            return Ok(0);
        }
        if number == 0 {
            // Each worker that learns meets the same.
            if self.saved.early.iter().all(|known| known.key != found.key) {
                self.saved.early.push(found);
            }
            return Ok(0);
        }
        let mut dropped = 0;
        if !self.options.keep_going {
            self.saved.round.failed(at, number);
            dropped = crew.drop_from(at + 1).len();
        }
        let known = self.saved.bugs.iter_mut().find(|known| known.keys.contains(&found.key));
        if let Some(known) = known {
            known.also_at(place, self.options.part(&found));
            if (found.preemptions, place) >= known.best {
                return Ok(dropped);
            }
        }
        let found_at = self.found_at(place);
        self.record(PutOff { place, found_at, found });
        Ok(dropped)
    }

    /// Whether what is of this kind is told of beside the failures.
    fn is_beside(&self, kind: FailureKind) -> bool {
        let beside = matches!(kind, FailureKind::Race | FailureKind::LockLeftHeld);
        beside && !self.options.fail_on.contains(&kind)
    }

    /// Which execution of the whole search this one is.
    fn found_at(&self, place: Place) -> u64 {
        let before =
            self.saved.frontier.executions() + self.saved.round.before(place.piece as usize);
        before + place.number
    }

    /// Records what failed before the search began, and not in it.
    pub(super) fn record_early(&mut self) {
        for found in std::mem::take(&mut self.saved.early) {
            if !self.saved.bugs.iter().any(|known| known.keys.contains(&found.key)) {
                self.record(PutOff { place: Place::BEFORE, found_at: 0, found });
            }
        }
    }

    /// Records what an earlier search was kept from recording.
    pub(super) fn record_put_off(&mut self) {
        for put_off in std::mem::take(&mut self.saved.put_off) {
            match self.is_beside(put_off.found.kind) {
                true => self.beside(put_off),
                false => self.record(put_off),
            }
        }
    }

    /// What is still to be recorded, as far as the report can tell of it.
    pub(super) fn tell_of_put_off(&mut self) {
        let why = format!(
            "interrupted before it was recorded: `--resume {}` does that",
            self.options.out.display()
        );
        for PutOff { place, found_at, found } in std::mem::take(&mut self.saved.put_off) {
            let Some(failure) = self.bare(&found, &why).failure else { continue };
            if self.is_beside(found.kind) || self.is_suppressed(&failure) {
                continue;
            }
            let known = &mut self.saved.bugs;
            if let Some(known) = known.iter_mut().find(|one| one.bug.signature == failure.signature)
            {
                known.keys.push(found.key);
                continue;
            }
            let bug = Bug {
                kind: failure.kind,
                signature: failure.signature,
                message: failure.message,
                site: failure.place,
                trace: None,
                found_at,
                preemptions: u64::from(found.preemptions),
                switches: 0,
                steps: 0,
                count: 1,
            };
            let part = self.options.part(&found);
            let best = (found.preemptions, place);
            known.push(Known { keys: vec![found.key], bug, part, first: place, best });
        }
    }

    /// Nobody waits for it any more: who goes on with the search records it.
    fn put_off(&mut self, put_off: PutOff) {
        let all = &mut self.saved.put_off;
        match all.iter_mut().find(|other| other.found.key == put_off.found.key) {
            Some(other) if other.place <= put_off.place => {}
            Some(other) => *other = put_off,
            None => all.push(put_off),
        }
    }

    /// Runs it again, recorded, and writes it down before anything else happens.
    fn record(&mut self, put_off: PutOff) {
        let PutOff { place, found_at, ref found } = put_off;
        if found.kind == FailureKind::Unsupported && !self.saved.unsupported.contains(&found.detail)
        {
            self.saved.unsupported.push(found.detail.clone());
        }
        if self.interrupt.load(Relaxed) {
            self.put_off(put_off);
            return;
        }
        let spins = found.kind == FailureKind::Spin;
        let spin_after = if spins { SPINS_AGAIN_AFTER } else { self.options.spin_after };
        let options = SearchOptions {
            learned: (*found.learned).clone(),
            race: found.race.as_deref().copied(),
            ..self.options.clone()
        };
        let again = record_again(
            self.target,
            found.choices.clone(),
            &SearchOptions { spin_after, ..options.clone() },
            self.interrupt,
        );
        let mut trace = match again {
            // What was found is told of, whatever keeps it from being looked at.
            Err(error) => self.bare(found, &format!("it could not be run again: {error}")),
            Ok(again) => match again {
                Once::Recorded(trace)
                    if trace.failure.as_ref().is_some_and(|failure| failure.kind == found.kind) =>
                {
                    *trace
                }
                Once::Recorded(trace) if trace.failure.is_some() => {
                    self.bare(found, "run again, it failed in another way")
                }
                Once::Recorded(_) => self.bare(
                    found,
                    "run again, it did not fail: something outside the schedule decides",
                ),
                Once::Diverged { step, what } => self
                    .bare(found, &format!("run again, it went another way at step {step}: {what}")),
                Once::Died { how } => self.bare(found, &how),
                Once::Interrupted => {
                    self.put_off(put_off);
                    return;
                }
            },
        };
        trace.header.found_at = found_at;
        trace.header.options = kept(&options, self.reset);
        let Some(failure) = trace.failure.clone() else { return };
        if self.is_suppressed(&failure) {
            self.saved.suppressed_keys.insert(found.key);
            return;
        }
        let part = self.options.part(found);
        let best = (found.preemptions, place);
        let at = self.saved.bugs.iter().position(|one| one.bug.signature == failure.signature);
        if let Some(known) = at.map(|at| &mut self.saved.bugs[at]) {
            if !known.keys.contains(&found.key) {
                known.keys.push(found.key);
            }
            known.also_at(place, part.clone());
            if best >= known.best {
                return;
            }
        }
        let path = self.write(&trace, failure.kind);
        let execution = &trace.execution;
        let bug = Bug {
            kind: failure.kind,
            signature: failure.signature,
            message: failure.message,
            site: failure.place,
            trace: path,
            found_at,
            preemptions: execution.preemptions().len() as u64,
            switches: execution.switches() as u64,
            steps: execution.steps.len() as u64,
            count: 1,
        };
        match at {
            // The simplest schedule of a failure stands for it.
            Some(at) => {
                let known = &mut self.saved.bugs[at];
                known.best = best;
                known.bug = Bug { found_at: known.bug.found_at, ..bug };
            }
            None => {
                self.observer.bug(&bug, &trace);
                let keys = vec![found.key];
                self.saved.bugs.push(Known { keys, bug, part, first: place, best });
            }
        }
    }

    /// A race or a lock left held that does not count as a failure: its schedule is run again up to
    /// there.
    fn beside(&mut self, put_off: PutOff) {
        let PutOff { found_at, ref found, .. } = put_off;
        if self.saved.raced_keys.contains(&found.key) {
            return;
        }
        if self.interrupt.load(Relaxed) {
            self.put_off(put_off);
            return;
        }
        let options = SearchOptions {
            learned: (*found.learned).clone(),
            fail_on: vec![found.kind],
            race: found.race.as_deref().copied(),
            ..self.options.clone()
        };
        let plan = Plan::Replay { choices: found.choices.clone(), expected: Vec::new() };
        let job = Job { plan, ..single(&options) };
        let again = once(self.target, job, &options, self.interrupt);
        if let Ok(Once::Interrupted) = again {
            self.put_off(put_off);
            return;
        }
        self.saved.raced_keys.insert(found.key);
        let Ok(Once::Recorded(mut trace)) = again else { return };
        trace.header.found_at = found_at;
        trace.header.options = kept(&options, self.reset);
        let Some(failure) = trace.failure.as_ref().filter(|f| f.kind == found.kind) else {
            return;
        };
        if self.saved.raced.contains(&failure.signature) || self.is_suppressed(failure) {
            return;
        }
        let failure = failure.clone();
        self.saved.raced.insert(failure.signature.clone());
        let message = failure.message.clone();
        let message = match found.kind {
            FailureKind::Race => message,
            _ => format!("{message} at {}", failure.place),
        };
        let path = self.write(&trace, found.kind);
        let line = match &path {
            Some(path) => format!("{message} (trace {path})"),
            None => message,
        };
        match found.kind {
            FailureKind::Race => {
                let race = Race { trace: path, ..race(&failure, &trace.execution) };
                self.saved.races.push((line, race));
            }
            _ => self.saved.left_held.push(line),
        }
    }

    /// Whether the user does not want to be told of it; counted, if so.
    fn is_suppressed(&mut self, failure: &Failure) -> bool {
        let rule = self.options.suppressions.rule_for(failure);
        if let Some(rule) = rule {
            self.saved.suppressed.insert(failure.signature.clone(), rule.to_owned());
        }
        rule.is_some()
    }

    /// Reads the symbols of the module that a place of a conflict is in, if it is in one.
    fn symbols_of(&mut self, found: &Found, spot: Spot) {
        let target = self.target;
        let path = match spot.module {
            Spot::FIXED | Spot::MAIN_STACK => return,
            0 => target.program.to_string_lossy().into_owned(),
            module => match found.places.iter().find(|place| place.1 == u64::from(module)) {
                Some((path, _)) => target.cwd.join(path).to_string_lossy().into_owned(),
                None => return,
            },
        };
        let build_id = if spot.module == 0 { target.build_id.clone() } else { String::new() };
        let symbols = || Symbols::of_modules(&[Module { path, build_id }]);
        self.symbols.entry(spot.module).or_insert_with(symbols);
    }

    /// Two accesses in the program as it is that nothing orders: neither is known to be a race.
    fn conflict(&mut self, found: &Found) {
        let (Some(places), Some(&word)) = (found.race.as_deref(), found.conflict.as_deref()) else {
            return;
        };
        // All symbols that are needed, before the first is used.
        for spot in [places.0, places.1, word] {
            self.symbols_of(found, spot);
        }
        let symbols = |spot: Spot| self.symbols.get(&spot.module);
        let site = |spot: Spot| Site { module: 0, offset: spot.offset };
        let frames =
            |spot: Spot| symbols(spot).map_or(Vec::new(), |all| all.frames(site(spot), false));
        let variable = symbols(word).and_then(|all| all.variable(site(word)));
        let place = |frames: &[Frame]| frames.first().map(Frame::place).unwrap_or_default();
        if found.delayed {
            let object = variable.map(|name| format!("{name}: ")).unwrap_or_default();
            let (store, load) = (place(&frames(places.0)), place(&frames(places.1)));
            self.saved.store_buffers.insert(format!(
                "{object}the load at {load} may be done before the store at {store} is seen by others"
            ));
            return;
        }
        let (one, other) = (frames(places.0), frames(places.1));
        let named = variable.as_deref().unwrap_or_default();
        if let Some(rule) = self.options.suppressions.rule_for_conflict([&one, &other], named) {
            let what = format!("conflict {} {}", place(&one), place(&other));
            self.saved.suppressed.insert(what, rule.to_owned());
            return;
        }
        let object = match variable {
            Some(name) => format!("{name}: "),
            None => String::new(),
        };
        let (one, other) = (place(&one), place(&other));
        self.saved.conflicts.insert(format!("{object}{one} and {other}"));
    }

    /// Writes a trace to where they go; the user is told where that cannot be.
    fn write(&mut self, trace: &Trace, kind: FailureKind) -> Option<String> {
        let out = &self.options.out;
        let cleaned = out.is_absolute().then(|| std::path::absolute(out).ok()).flatten();
        let unwritable = match store::save(trace, cleaned.as_ref().unwrap_or(out), kind.name()) {
            Ok(path) => return Some(path.to_string_lossy().into_owned()),
            Err(error) => error,
        };
        // What was found once may never be found again: it is kept where there is room.
        let instead = store::elsewhere().and_then(|dir| store::save(trace, &dir, kind.name()).ok());
        let what = match &instead {
            Some(path) => format!("it is {} instead", path.display()),
            None => "it is lost: search again with another --out".to_owned(),
        };
        if !std::mem::replace(&mut self.unwritable, true) {
            self.observer.note(&format!("{unwritable}; {what}"));
        }
        instead.map(|path| path.to_string_lossy().into_owned())
    }

    /// A trace of which nothing but the failure is known.
    fn bare(&self, found: &Found, why: &str) -> Trace {
        let message = match found.detail.is_empty() {
            true => format!("{} ({why})", found.kind),
            false => format!("{} ({why})", found.detail),
        };
        Trace {
            header: capture::header(self.target, kept(self.options, self.reset), found.execution),
            execution: Execution::default(),
            failure: Some(Failure {
                kind: found.kind,
                signature: format!("{} {}", found.kind, found.detail),
                message,
                // There are no tasks in this trace that it could name.
                task: None,
                site: None,
                place: String::new(),
                waits: Vec::new(),
                stacks: Vec::new(),
                past: Vec::new(),
            }),
            output: Vec::new(),
        }
    }
}

/// A race as the report tells of it.
fn race(failure: &Failure, execution: &Execution) -> Race {
    let name = |&lock: &u32| execution.objects.get(lock as usize).map(|object| object.name.clone());
    let frame = |frame: &Frame| match frame.function.as_str() {
        "" => frame.place(),
        function => format!("{function} ({})", frame.place()),
    };
    let accesses = failure.past.iter().map(|past| RaceAccess {
        task: past.task.to_string(),
        what: past.what.clone(),
        step: past.step,
        locks: past.locks.iter().filter_map(name).collect(),
        stack: past.frames.iter().map(frame).collect(),
    });
    Race { message: failure.message.clone(), accesses: accesses.collect(), trace: None }
}
