//! Failures that a search found: each is run again, recorded and saved.

use super::Search;
use super::pieces::PieceRunner;
use super::state_file::{KnownFailure, SearchPosition, Unrecorded};
use super::wording::{delayed_store, late, saved_elsewhere, seen_once, why_missing};
use crate::control::capture;
use crate::control::command::backtraces::print_backtraces;
use crate::control::command::execution::{
    Outcome, record_again, run_single, single_job, trace_options,
};
use crate::control::command::reduced_environment::reduce_environment;
use crate::control::learning_file::Learning;
use crate::symbols::{Symbols, is_user_frame};
use crate::{Collector, Error, SearchOptions, store};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::ModuleAddress;
use traces::report::{Bug, Race, RaceAccess};
use traces::trace::Options;
use traces::wire::{FoundFailure, Job, Plan};
use traces::{Execution, Failure, FailureKind, Frame, Module, Site, Trace};

impl Search<'_> {
    /// Handles a failure that this worker had not reported before: runs it again, records it and
    /// saves the trace before the search continues. Returns how many queued pieces were dropped.
    pub(super) fn found(
        &mut self,
        pool: &dyn PieceRunner,
        at: usize,
        found: FoundFailure,
    ) -> Result<usize, Error> {
        if self.reused_points.is_none() {
            Learning::note(&mut self.learning_failures, &found);
        }
        let number = found.execution;
        let place = SearchPosition {
            round: self.saved.rounds,
            piece: at as u64,
            number: self.saved.round.number(at, number),
            searches: self.saved.round.pieces[at].work.searches,
        };
        if found.conflict.is_some() {
            match self.options.collector {
                Collector::Substitute => self.postpone(Unrecorded { place, found_at: 0, found }),
                Collector::First | Collector::Returned => self.conflict(&found),
            }
            return Ok(0);
        }
        if self.options.is_warning(found.kind) {
            let found_at = self.found_at(place);
            self.record_warning(Unrecorded { place, found_at, found });
            return Ok(0);
        }
        if self.saved.suppressed_keys.contains(&found.key) {
            return Ok(0);
        }
        if found.part == Learning::PART {
            return Ok(self.found_early(pool, at, found));
        }
        let mut dropped = 0;
        if !self.options.keep_going {
            self.saved.round.failed(at, number);
            dropped = pool.drop_from(at + 1).len();
        }
        let known = self.saved.bugs.iter_mut().find(|known| known.keys.contains(&found.key));
        if let Some(known) = known {
            known.also_found_at(place, self.options.part(&found));
            if (found.preemptions, place) >= known.best {
                return Ok(dropped);
            }
        }
        let found_at = self.found_at(place);
        self.record(Unrecorded { place, found_at, found });
        Ok(dropped)
    }

    /// Handles a failure of the learning phase. One whose execution showed new points, or belongs to
    /// an earlier search, is recorded at the end, unless the search finds it with these points.
    fn found_early(&mut self, pool: &dyn PieceRunner, at: usize, found: FoundFailure) -> usize {
        if found.unsettled || found.execution == 0 {
            // A learning phase that was run again reports the same failures.
            if self.saved.early.iter().all(|known| known.key != found.key) {
                self.saved.early.push(found);
            }
            return 0;
        }
        let key = found.key;
        if !self.saved.bugs.iter().any(|known| known.keys.contains(&key)) {
            let found_at = found.execution;
            let place = SearchPosition { number: found_at, ..SearchPosition::BEFORE };
            self.record(Unrecorded { place, found_at, found });
        }
        // The search may find one that did not occur again.
        if self.options.keep_going || self.saved.unconfirmed.iter().any(|one| one.0.contains(&key))
        {
            return 0;
        }
        self.saved.round.failed(at, 0);
        pool.drop_from(at + 1).len()
    }

    /// The number of this execution within the whole search.
    fn found_at(&self, place: SearchPosition) -> u64 {
        self.before_round() + self.saved.round.before(place.piece as usize) + place.number
    }

    /// Records the failures of the learning phase that the search did not find with the learned points.
    pub(super) fn record_early(&mut self) {
        for found in std::mem::take(&mut self.saved.early) {
            let is_recorded = self.saved.bugs.iter().any(|known| known.keys.contains(&found.key));
            // The search found it, too, and was interrupted before it was recorded.
            let is_kept = self.saved.unrecorded.iter().any(|one| one.found.key == found.key);
            if !is_recorded && !is_kept {
                let (place, found_at) = (SearchPosition::BEFORE, found.execution);
                self.record(Unrecorded { place, found_at, found });
            }
        }
    }

    /// The first execution with a failure that was found in this one: the learning phase may have had it before
    /// the points were known with which it is recorded.
    fn first_found(&self, key: u64, found_at: u64) -> u64 {
        let early = self.saved.early.iter().filter(|one| one.key == key && one.execution > 0);
        early.map(|one| one.execution).chain([found_at]).min().unwrap_or(found_at)
    }

    /// Whether failures are only kept: the user interrupts the search, or the program is not here.
    fn postpones(&self) -> bool {
        self.interrupt.load(Relaxed) || self.options.collector == Collector::Substitute
    }

    /// Records failures that an earlier collector found but did not record.
    pub(super) fn record_unrecorded(&mut self) {
        let mut unrecorded = std::mem::take(&mut self.saved.unrecorded);
        if self.options.collector == Collector::Substitute {
            self.saved.unrecorded = unrecorded;
            return;
        }
        unrecorded.sort_by_key(|one| one.place);
        for unrecorded in unrecorded {
            if unrecorded.found.conflict.is_some() {
                self.conflict(&unrecorded.found);
                continue;
            }
            match self.options.is_warning(unrecorded.found.kind) {
                true => self.record_warning(unrecorded),
                false => self.record(unrecorded),
            }
        }
    }

    /// Adds the failures that are still unrecorded to the report, with the details that are known.
    pub(super) fn report_unrecorded(&mut self) {
        let why = format!(
            "interrupted before it was recorded: `--resume {}` records it",
            self.options.out.display()
        );
        for Unrecorded { place, found_at, found } in std::mem::take(&mut self.saved.unrecorded) {
            if found.conflict.is_some() {
                continue;
            }
            let Some(failure) = self.trace_without_execution(&found, &why).failure else {
                continue;
            };
            if self.options.is_warning(found.kind) || self.is_suppressed(&failure) {
                continue;
            }
            let known = &mut self.saved.bugs;
            if let Some(known) = known.iter_mut().find(|one| one.bug.signature == failure.signature)
            {
                known.keys.push(found.key);
                continue;
            }
            let bug = Bug {
                stack: failure.own_stack(),
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
            known.push(KnownFailure { keys: vec![found.key], bug, part, first: place, best });
        }
    }

    /// Keeps a failure for a collector that resumes the search: of each failure the first execution, and
    /// the simplest.
    fn postpone(&mut self, unrecorded: Unrecorded) {
        let simplest = |one: &Unrecorded| (one.found.preemptions, one.place);
        let includes = |one: &Unrecorded, other: &Unrecorded| {
            one.found.key == other.found.key
                && one.place <= other.place
                && simplest(one) <= simplest(other)
        };
        let all = &mut self.saved.unrecorded;
        if !all.iter().any(|other| includes(other, &unrecorded)) {
            all.retain(|other| !includes(&unrecorded, other));
            all.push(unrecorded);
        }
    }

    /// Runs the failing schedule again, records it and saves the trace.
    fn record(&mut self, unrecorded: Unrecorded) {
        let Unrecorded { place, found_at, ref found } = unrecorded;
        let found_at = self.first_found(found.key, found_at);
        if found.kind == FailureKind::Unsupported && !self.saved.unsupported.contains(&found.detail)
        {
            self.saved.unsupported.push(found.detail.clone());
        }
        if self.postpones() {
            self.postpone(unrecorded);
            return;
        }
        let options =
            SearchOptions { race: found.race.as_deref().copied(), ..self.options_of(found) };
        let again = options.clone().expecting(Some(found.kind));
        let (mut trace, is_confirmed) = match self.confirm(found, &again) {
            Confirmation::Recorded(trace) => (*trace, true),
            Confirmation::Reported(why) => (self.trace_without_execution(found, &why), true),
            Confirmation::Missing(trace) => (*trace, false),
            Confirmation::Interrupted => {
                self.postpone(unrecorded);
                return;
            }
        };
        trace.header.found_at = found_at;
        self.set_options(&mut trace, &options);
        let Some(failure) = trace.failure.clone() else { return };
        if self.is_suppressed(&failure) {
            self.saved.suppressed_keys.insert(found.key);
            return;
        }
        if place == SearchPosition::BEFORE
            && let Some(known) = self.found_in_search(&failure, is_confirmed)
        {
            known.keys.push(found.key);
            return;
        }
        if !is_confirmed {
            self.keep_unconfirmed(found, found_at, &trace, failure);
            return;
        }
        self.saved.unconfirmed.retain(|(keys, _)| !keys.contains(&found.key));
        let part = self.options.part(found);
        let best = (found.preemptions, place);
        let at = self.saved.bugs.iter().position(|one| one.bug.signature == failure.signature);
        if let Some(known) = at.map(|at| &mut self.saved.bugs[at]) {
            if !known.keys.contains(&found.key) {
                known.keys.push(found.key);
            }
            known.also_found_at(place, part.clone());
            if best >= known.best {
                return;
            }
        }
        let again = options.expecting(Some(failure.kind));
        reduce_environment(&mut trace, self.target, &again, self.interrupt);
        print_backtraces(&mut trace, self.target, self.interrupt);
        let path = self.write(&trace, failure.kind);
        let bug = bug(failure, &trace.execution, path, found_at);
        match at {
            // The simplest schedule represents the failure.
            Some(at) => {
                let known = &mut self.saved.bugs[at];
                known.best = best;
                known.bug = Bug { found_at: known.bug.found_at, ..bug };
            }
            None => {
                self.observer.bug(&bug, &trace);
                let keys = vec![found.key];
                self.saved.bugs.push(KnownFailure { keys, bug, part, first: place, best });
            }
        }
    }

    /// The options with the points of a failing execution, and with its clients if they ran in it.
    fn options_of(&self, found: &FoundFailure) -> SearchOptions {
        let clients = match self.options.live_clients {
            true => found.clients.to_vec(),
            false => self.options.clients.clone(),
        };
        SearchOptions { learned: (*found.learned).clone(), clients, ..self.options.clone() }
    }

    /// The failure that the search found in place of this one of the learning phase, which did not know
    /// the points yet: a mutex in a word of memory has no holder there, so a task that waits for itself,
    /// or a cycle of tasks, is one of all tasks that wait.
    fn found_in_search(
        &mut self,
        failure: &Failure,
        is_confirmed: bool,
    ) -> Option<&mut KnownFailure> {
        let is_same = |known: &&mut KnownFailure| {
            let bug = &known.bug;
            let is_later = known.first != SearchPosition::BEFORE && bug.kind.is_deadlock();
            is_later && (!is_confirmed || waits_include(&failure.signature, &bug.signature))
        };
        self.saved.bugs.iter_mut().filter(|_| failure.kind.is_deadlock()).find(is_same)
    }

    /// Runs a failing schedule again until it fails, a few times at most.
    fn confirm(&self, found: &FoundFailure, options: &SearchOptions) -> Confirmation {
        let mut missing = None;
        // Whether the schedule has not led to a failure once.
        let mut has_passed = false;
        for _ in 0..CONFIRMATIONS {
            let choices = found.choices.clone();
            let again = match record_again(self.target, choices, options, self.interrupt) {
                Ok(again) => again,
                // A failure is reported even if it cannot be run again.
                Err(error) => {
                    let why = format!("it could not be run again: {error}");
                    return Confirmation::Reported(why);
                }
            };
            // A process that was killed from outside says nothing about the schedule.
            has_passed |= match &again {
                Outcome::Recorded(trace) => trace.failure.is_none(),
                Outcome::Diverged { .. } => true,
                Outcome::Died { .. } | Outcome::Interrupted => false,
            };
            let once = why_missing(&again).map(|why| self.trace_without_execution(found, &why));
            missing = Some(match (again, once) {
                // The failing execution was not recorded: show the same schedule, which passed.
                (Outcome::Recorded(trace), Some(once)) => Trace { failure: once.failure, ..*trace },
                (_, Some(once)) => once,
                // The same schedule passes and fails.
                (Outcome::Recorded(mut trace), None) if has_passed => {
                    if let Some(failure) = &mut trace.failure {
                        failure.message.push_str(FAILS_AT_TIMES);
                    }
                    return Confirmation::Missing(trace);
                }
                (Outcome::Recorded(trace), None) => return Confirmation::Recorded(trace),
                (Outcome::Died { how, .. }, None) => return Confirmation::Reported(how),
                (Outcome::Diverged { .. } | Outcome::Interrupted, None) => {
                    return Confirmation::Interrupted;
                }
            });
        }
        missing.map_or(Confirmation::Interrupted, |trace| Confirmation::Missing(Box::new(trace)))
    }

    /// Reports a failure that did not occur again, apart from the confirmed ones.
    fn keep_unconfirmed(
        &mut self,
        found: &FoundFailure,
        found_at: u64,
        trace: &Trace,
        failure: Failure,
    ) {
        let known = |one: &&mut (Vec<u64>, Bug)| one.1.signature == failure.signature;
        if let Some((keys, bug)) = self.saved.unconfirmed.iter_mut().find(known) {
            bug.count += 1;
            if !keys.contains(&found.key) {
                keys.push(found.key);
            }
            return;
        }
        let path = self.write(trace, failure.kind);
        let bug = bug(failure, &trace.execution, path, found_at);
        self.observer.note(&seen_once(&bug));
        self.saved.unconfirmed.push((vec![found.key], bug));
    }

    /// Records a race, or a lock left held, that does not count as a failure: runs its schedule
    /// again up to that point.
    fn record_warning(&mut self, unrecorded: Unrecorded) {
        let Unrecorded { found_at, ref found, .. } = unrecorded;
        if self.saved.raced_keys.contains(&found.key) {
            return;
        }
        if self.postpones() {
            self.postpone(unrecorded);
            return;
        }
        let options = SearchOptions {
            fail_on: vec![found.kind],
            race: found.race.as_deref().copied(),
            ..self.options_of(found)
        };
        let plan = Plan::Replay { choices: found.choices.clone(), expected: Vec::new() };
        let job = Job { plan, ..single_job(&options) };
        let again = run_single(self.target, job, &options, self.interrupt);
        if let Ok(Outcome::Interrupted) = again {
            self.postpone(unrecorded);
            return;
        }
        self.saved.raced_keys.insert(found.key);
        let Ok(Outcome::Recorded(mut trace)) = again else { return };
        trace.header.found_at = found_at;
        self.set_options(&mut trace, &options);
        let Some(failure) = trace.failure.as_ref().filter(|f| f.kind == found.kind) else {
            return;
        };
        if self.saved.raced.contains(&failure.signature) || self.is_suppressed(failure) {
            return;
        }
        let failure = failure.clone();
        reduce_environment(&mut trace, self.target, &options, self.interrupt);
        self.saved.raced.insert(failure.signature.clone());
        let message = failure.as_warning();
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

    /// Stores the options of the search in a trace, which keeps the limit on steps that its execution had.
    fn set_options(&self, trace: &mut Trace, options: &SearchOptions) {
        let max_steps = trace.header.options.max_steps;
        trace.header.options =
            Options { max_steps, ..trace_options(self.target, options, self.reset) };
    }

    /// Whether a suppression applies to the failure. Applied suppressions are counted.
    fn is_suppressed(&mut self, failure: &Failure) -> bool {
        let rule = self.options.suppressions.rule_for(failure);
        if let Some(rule) = rule {
            self.saved.suppressed.insert(failure.signature.clone(), rule.to_owned());
        }
        rule.is_some()
    }

    /// Loads the symbols of the module that a spot belongs to, if it belongs to one.
    fn symbols_of(&mut self, found: &FoundFailure, spot: ModuleAddress) {
        let target = self.target;
        let path = match spot.module {
            ModuleAddress::FIXED | ModuleAddress::MAIN_STACK => return,
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

    /// Two unordered accesses in an uninstrumented program. Neither is confirmed as a race.
    fn conflict(&mut self, found: &FoundFailure) {
        let (Some(places), Some(&word)) = (found.race.as_deref(), found.conflict.as_deref()) else {
            return;
        };
        // Load all symbols first: the closures below borrow them.
        for spot in [places.0, places.1, word].iter().chain(found.callers.iter().flatten()) {
            self.symbols_of(found, *spot);
        }
        let symbols = |spot: ModuleAddress| self.symbols.get(&spot.module);
        let site = |spot: ModuleAddress| Site { module: 0, offset: spot.offset };
        let frames = |spot: ModuleAddress| {
            symbols(spot).map_or(Vec::new(), |all| all.frames(site(spot), false))
        };
        let variable = symbols(word).and_then(|all| all.variable(site(word)));
        let place = |frames: &[Frame]| frames.first().map(Frame::place).unwrap_or_default();
        if found.delayed {
            let (store, load) = (place(&frames(places.0)), place(&frames(places.1)));
            self.saved.store_buffers.insert(delayed_store(variable.as_deref(), &load, &store));
            return;
        }
        let with_callers = |spot: ModuleAddress, at: usize| {
            let callers = found.callers.get(at).into_iter().flatten();
            let callers = callers.flat_map(|&caller| frames(caller));
            frames(spot).into_iter().chain(callers).collect::<Vec<Frame>>()
        };
        let (one, other) = (with_callers(places.0, 0), with_callers(places.1, 1));
        let named = variable.as_deref().unwrap_or_default();
        if let Some(rule) = self.options.suppressions.rule_for_conflict([&one, &other], named) {
            let what = format!("conflict {} {}", place(&one), place(&other));
            self.saved.suppressed.insert(what, rule.to_owned());
            self.saved.conflicts.remove(&(*places, word));
            return;
        }
        let object = match variable {
            Some(name) => format!("{name}: "),
            None => String::new(),
        };
        let own = |frames: &[Frame]| {
            let frame = frames.iter().find(|frame| is_user_frame(frame));
            frame.map_or_else(|| place(frames), Frame::place)
        };
        let mut both = [own(&one), own(&other)];
        both.sort();
        // The callers may be known only now.
        self.saved
            .conflicts
            .insert((*places, word), format!("{object}{} and {}", both[0], both[1]));
    }

    /// Saves a trace in the output directory. If that fails, saves it elsewhere and notifies the user
    /// once.
    fn write(&mut self, trace: &Trace, kind: FailureKind) -> Option<String> {
        let out = &self.options.out;
        let cleaned = out.is_absolute().then(|| std::path::absolute(out).ok()).flatten();
        let unwritable = match store::save(trace, cleaned.as_ref().unwrap_or(out), kind.name()) {
            Ok(path) => return Some(path.to_string_lossy().into_owned()),
            Err(error) => error,
        };
        // The failure may never occur again, so the trace is saved in the fallback directory.
        let instead =
            store::fallback_directory().and_then(|dir| store::save(trace, &dir, kind.name()).ok());
        if !std::mem::replace(&mut self.unwritable, true) {
            self.observer.note(&saved_elsewhere(&unwritable, instead.as_deref()));
        }
        instead.map(|path| path.to_string_lossy().into_owned())
    }

    /// A trace that contains only the failure, without an execution.
    fn trace_without_execution(&self, found: &FoundFailure, why: &str) -> Trace {
        let message = match found.detail.is_empty() {
            true => format!("{} ({why})", found.kind),
            false => format!("{} ({why})", found.detail),
        };
        Trace {
            header: capture::header(
                self.target,
                trace_options(self.target, self.options, self.reset),
                found.execution,
            ),
            execution: Execution::default(),
            failure: Some(Failure {
                kind: found.kind,
                signature: format!("{} {}", found.kind, found.detail),
                message,
                // The trace has no tasks to refer to.
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

/// Whether the waits of a deadlock, as its signature names them, include those of another one.
fn waits_include(all: &str, part: &str) -> bool {
    let places = |signature: &str| -> Vec<String> {
        signature.split(' ').skip(1).map(str::to_owned).collect()
    };
    let (mut left, part) = (places(all), places(part));
    !part.is_empty()
        && part.iter().all(|place| {
            let at = left.iter().position(|other| other == place);
            at.map(|at| left.swap_remove(at)).is_some()
        })
}

/// How often a failing schedule is run again before its failure counts as not confirmed. One that passes
/// even once is not confirmed either.
const CONFIRMATIONS: u32 = 3;

/// What the message of a failure adds if its schedule failed again only after it had not.
const FAILS_AT_TIMES: &str = " (its schedule ended differently when it was run again, and then failed: it \
                              depends on something outside of the schedule)";

/// The result of running a failing schedule again.
enum Confirmation {
    /// It failed and was recorded in full, perhaps with another failure.
    Recorded(Box<Trace>),
    /// The failure counts although there is no recording of it, for this reason.
    Reported(String),
    /// It did not fail again. The trace has the failure, and as much of the execution as is known.
    Missing(Box<Trace>),
    /// The user interrupted it.
    Interrupted,
}

/// A failure as the report shows it.
fn bug(failure: Failure, execution: &Execution, trace: Option<String>, found_at: u64) -> Bug {
    Bug {
        stack: failure.own_stack(),
        kind: failure.kind,
        signature: failure.signature,
        message: failure.message + &late(execution),
        site: failure.place,
        trace,
        found_at,
        preemptions: execution.preemptions().len() as u64,
        switches: execution.switches() as u64,
        steps: execution.steps.len() as u64,
        count: 1,
    }
}

/// A race as the report shows it.
fn race(failure: &Failure, execution: &Execution) -> Race {
    let name = |&lock: &u32| execution.objects.get(lock as usize).map(|object| object.name.clone());
    let accesses = failure.past.iter().map(|past| RaceAccess {
        task: past.task.to_string(),
        what: past.what.clone(),
        step: past.step,
        locks: past.locks.iter().filter_map(name).collect(),
        stack: past.frames.iter().map(Frame::in_words).collect(),
    });
    Race { message: failure.message.clone(), accesses: accesses.collect(), trace: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_of_a_deadlock_include_those_of_a_task_that_waits_for_itself() {
        let all = "deadlock bank.rs:4 bank.rs:6 bank.rs:6";
        assert!(waits_include(all, "self-deadlock bank.rs:6"));
        assert!(waits_include(all, "deadlock bank.rs:6 bank.rs:6"));
        assert!(!waits_include(all, "deadlock bank.rs:4 bank.rs:4"));
        assert!(!waits_include(all, "deadlock bank.rs:6 bank.rs:9"));
        assert!(!waits_include(all, "deadlock"));
    }
}
