//! The search: workers run pieces of it, failures are run again and recorded, and the state is
//! saved so that the search can be resumed.

mod failures;
pub mod pieces;
mod report;
mod round;
mod state_file;
mod wording;
mod workers;

use super::execution::{Outcome, PROGRESS_EVERY, plan, run_single, single_job};
use super::learn;
use crate::control::distinct::Distinct;
use crate::control::ending::{ATTEMPTS, Ending};
use crate::control::learning_file::{self, Learning};
use crate::launch::WorkingFiles;
use crate::symbols::Symbols;
use crate::{Collector, Error, Observer, Progress, SearchOptions, Target};
use pieces::{IssuedPiece, Message, PieceRunner, SearchOrder};
use round::Round;
use search::share::frontier::Work;
use search::{Frontier, Visits};
use state_file::SearchState;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use traces::points::LearningResult;
use traces::report::Report;
use traces::wire::{FoundFailure, Job, Reset, RuntimeMessage, fell_back};
pub use workers::WorkerPool;

/// Number of worker processes that may die unexpectedly before the search ends.
const MOST_DEATHS: u64 = 100;
/// How often the state of the search is saved.
const SAVED_EVERY: Duration = Duration::from_millis(800);
/// A large state is saved less often: this many bytes a second, in the long run. Each save replaces the
/// whole state, and a search may run for days.
const SAVED_PER_SECOND: u64 = 1 << 20;

/// The time from one save of the state, of this many bytes, to the next.
fn time_between_saves(bytes: u64) -> Duration {
    SAVED_EVERY.max(Duration::from_millis(bytes * 1000 / SAVED_PER_SECOND))
}

/// Searches for failing schedules until a limit in the options is reached or `interrupt` is set.
///
/// # Errors
/// If the program cannot be run or controlled, or there is no search to resume.
pub fn explore(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    explore_with(target, options, interrupt, observer, &|order| {
        let SearchOrder { target, job, spin_after, interrupt, .. } = order;
        Ok(Box::new(WorkerPool::new(target, job, spin_after, interrupt)?))
    })
}

/// Opens what runs the pieces of a search.
pub type OpenRunner<'s> = dyn Fn(SearchOrder<'s>) -> Result<Box<dyn PieceRunner + 's>, Error> + 's;

/// As [`explore`], with pieces that `open` has run by other workers than those of this process.
///
/// # Errors
/// As [`explore`], and what `open` returns.
pub fn explore_with<'s>(
    target: &'s Target,
    options: &'s SearchOptions,
    interrupt: &'s AtomicBool,
    observer: &mut dyn Observer,
    open: &OpenRunner<'s>,
) -> Result<Report, Error> {
    Ok(search_with(target, options, interrupt, observer, open)?.report())
}

/// What the clients do in the search that is to be resumed.
pub(crate) fn saved_clients(
    target: &Target,
    options: &SearchOptions,
) -> Result<Vec<traces::clients::Client>, Error> {
    Ok(state_file::load(target, options)?.clients)
}

/// Continues a search in the place of its collector ([`Collector::Substitute`]), and saves its state.
///
/// # Errors
/// As [`explore`], and what `open` returns.
pub fn substitute<'s>(
    target: &'s Target,
    options: &'s SearchOptions,
    interrupt: &'s AtomicBool,
    observer: &mut dyn Observer,
    open: &OpenRunner<'s>,
) -> Result<(), Error> {
    search_with(target, options, interrupt, observer, open).map(drop)
}

fn search_with<'s, 'o>(
    target: &'s Target,
    options: &'s SearchOptions,
    interrupt: &'s AtomicBool,
    observer: &'o mut dyn Observer,
    open: &OpenRunner<'s>,
) -> Result<Search<'o>, Error>
where
    's: 'o,
{
    let mut saved = match options.resume {
        true => state_file::load(target, options)?,
        false => SearchState::new(Frontier::new(plan(options))),
    };
    if saved.learning_cut_at.is_some_and(|cut| cut < learning_limit(options)) {
        // The executions after it had fewer points than those of a search with this limit. They are few.
        saved = SearchState {
            earlier: saved.earlier,
            ..SearchState::new(Frontier::new(plan(options)))
        };
    }
    saved.clients.clone_from(&options.clients);
    if options.visits {
        saved.visits.get_or_insert_default();
    }
    let began = Instant::now();
    let primed = prime(target, options, interrupt, observer)?;
    let path = learning_file::path(target, options);
    let saved_learning =
        path.as_ref().and_then(|path| learn::load_learning(path, target, observer));
    let known = saved_learning.as_ref().map(|known| known.result.clone());
    let job = match options.collector {
        // The workers have the job, and the program is not here.
        Collector::Substitute => pieces::job_of(options),
        Collector::First | Collector::Returned => learn::job(target, options, interrupt)?,
    };
    let last = learning_limit(options);
    let job = Job { earlier_learning: known, visits: options.visits, last, ..job };
    let reset = job.reset;
    let pool =
        open(SearchOrder { target, job, spin_after: options.spin_after, options, interrupt })?;
    let pool = &*pool;
    let mut search = Search {
        target,
        options,
        interrupt,
        observer,
        reset,
        began,
        saved,
        primed,
        deaths: 0,
        disturbed_pieces: BTreeMap::new(),
        halted: false,
        over: false,
        workers: 0,
        symbols: BTreeMap::new(),
        saved_learning,
        learning_failures: Vec::new(),
        live_learning: 0,
        reused_points: None,
        reason: String::new(),
        unwritable: false,
    };
    let ended = std::thread::scope(|scope| {
        let (to, from) = channel();
        let start = |number: u32| {
            let to = to.clone();
            let work = move || pool.work(number as usize, &to);
            std::thread::Builder::new().spawn_scoped(scope, work).map(drop)
        };
        let outcome = search.run(pool, &from, &start);
        pool.close();
        outcome
    });
    if let Err(error) = ended {
        search.end_with_error(error)?;
    } else if options.collector != Collector::Substitute {
        search.record_early();
    }
    search.finish();
    Ok(search)
}

/// The most executions of the learning phase: half of the search.
fn learning_limit(options: &SearchOptions) -> u64 {
    options.max_executions.map_or(u64::MAX, |most| most.div_ceil(2))
}

/// Warm-up runs before the search, without preemptions, so that files and caches that the program
/// creates exist. Each run is a separate process, as without Heddle. Reports the first run that
/// fails.
fn prime(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Option<String>, Error> {
    // What these runs leave in the working directory is there for the search.
    let target = &Target { files: WorkingFiles::default(), ..target.clone() };
    let mut failed = None;
    let mut ran = 0;
    let began = Instant::now();
    let late = || options.max_time.is_some_and(|most| began.elapsed() >= most);
    while ran < options.prime && !interrupt.load(Relaxed) && !late() {
        ran += 1;
        let how = match run_single(target, single_job(options), options, interrupt)? {
            Outcome::Recorded(trace) => trace.failure.map(|failure| failure.message),
            Outcome::Died { how, .. } => Some(how),
            Outcome::Diverged { .. } | Outcome::Interrupted => None,
        };
        if let (Some(how), None) = (how, &failed) {
            let failure = format!("warm-up run {ran} failed: {how}");
            observer.note(&failure);
            failed = Some(failure);
        }
    }
    Ok((ran > 0).then(|| wording::warmed_up(ran, failed.as_deref())))
}

struct Search<'a> {
    target: &'a Target,
    options: &'a SearchOptions,
    interrupt: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    reset: Reset,
    began: Instant,
    /// The state that a later search can resume from.
    saved: SearchState,
    /// A note on the warm-up runs, if there were any.
    primed: Option<String>,
    deaths: u64,
    /// How often in a row something outside of the program ended the process of a piece of this
    /// round.
    disturbed_pieces: BTreeMap<usize, u32>,
    /// Whether the workers were asked to return their pieces.
    halted: bool,
    /// Whether the search is complete: nothing is left to run.
    over: bool,
    /// Number of workers that were started.
    workers: u32,
    /// Symbols of the program's modules, loaded on first use.
    symbols: BTreeMap<u16, Symbols>,
    /// The learned points that an earlier search saved.
    saved_learning: Option<Learning>,
    /// Failures that this learning phase found.
    learning_failures: Vec<FoundFailure>,
    /// The executions of a learning phase that workers have not returned yet.
    live_learning: u64,
    /// The number of learned points that the saved file had; set when the learning phase is over.
    reused_points: Option<u64>,
    reason: String,
    /// Whether a trace could not be saved in the output directory and the user was notified.
    unwritable: bool,
}

impl Search<'_> {
    fn run(
        &mut self,
        pool: &dyn PieceRunner,
        from: &Receiver<Message>,
        start: &dyn Fn(u32) -> io::Result<()>,
    ) -> Result<(), Error> {
        let deadline = self.options.max_time.map(|time| self.began + time);
        let (mut reported, mut saved) = (Instant::now(), Instant::now());
        let mut pause = SAVED_EVERY;
        let mut level = None;
        if self.options.collector == Collector::First {
            self.saved.round.reopen();
        }
        self.record_unrecorded();
        loop {
            if self.saved.round.open().is_empty() {
                if self.saved.round.has_failed() && !self.options.keep_going {
                    return Ok(());
                }
                if self.settle() {
                    // The state hashes of earlier executions did not include the new points.
                    pool.forget_states()?;
                    level = None;
                }
                if self.halted {
                    return Ok(());
                }
                self.saved.rounds += 1;
                self.disturbed_pieces.clear();
                self.saved.round = Round::new(self.next_round());
                if self.saved.round.pieces.is_empty() {
                    self.over = self.saved.frontier.is_finished();
                    return Ok(());
                }
                if self.saved.frontier.level() != level {
                    // States seen at another level say nothing about this level.
                    level = self.saved.frontier.level();
                    pool.forget_states()?;
                }
            }
            let open = self.saved.round.open();
            while self.workers < self.options.workers.min(open.len() as u32) {
                match start(self.workers) {
                    Ok(()) => self.workers += 1,
                    // The others do its work.
                    Err(_) if self.workers > 0 => break,
                    Err(error) => return Err(Error::system("cannot start a thread")(error)),
                }
            }
            pool.want_all();
            for at in open {
                pool.add(at, self.task(at), false);
            }
            let mut out = self.saved.round.open().len();
            while out > 0 {
                match from.recv_timeout(Duration::from_millis(20)) {
                    Ok(message) => out -= self.handle(pool, message)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::Runtime("all workers have exited".into()));
                    }
                }
                self.live_learning = pool.learning();
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if late && self.reason.is_empty() {
                    self.reason = "the time limit was reached".into();
                }
                let enough = late || self.interrupt.load(Relaxed) || self.deaths >= MOST_DEATHS;
                if enough && !self.halted {
                    self.halted = true;
                    out -= pool.recall_all().len();
                }
                if reported.elapsed() > PROGRESS_EVERY {
                    reported = Instant::now();
                    self.report_progress(pool);
                }
                if saved.elapsed() > pause {
                    pause = time_between_saves(self.save());
                    saved = Instant::now();
                }
            }
            if self.halted {
                return Ok(());
            }
        }
    }

    /// The work of the next round. The first one is the learning phase, whose executions count.
    fn next_round(&mut self) -> Vec<Work> {
        if self.saved.rounds == 1 {
            return vec![Work::learning()];
        }
        let most = self.options.max_executions.unwrap_or(u64::MAX);
        self.saved.frontier.round(most.saturating_sub(self.saved.frontier.runs() + self.learning()))
    }

    /// The executions of the learning phase.
    fn learning(&self) -> u64 {
        let round = self.saved.round.counted().map(|(counts, _)| counts.learning);
        match self.saved.counts.learning + round.sum::<u64>() {
            0 => self.live_learning,
            returned => returned,
        }
    }

    /// Handles a worker's message. Returns how many pieces are no longer outstanding.
    fn handle(&mut self, pool: &dyn PieceRunner, message: Message) -> Result<usize, Error> {
        match message {
            Message::FromRuntime(at, RuntimeMessage::Found(found)) => self.found(pool, at, found),
            // A search with live clients gets what they did with a failure.
            Message::FromRuntime(_, RuntimeMessage::Recorded(_)) => Ok(0),
            Message::FromRuntime(at, RuntimeMessage::Learned { result, known }) => {
                self.learned(pool, at, result, known)
            }
            Message::FromRuntime(_, RuntimeMessage::Diverged { step, what, .. }) => {
                if self.reason.is_empty() {
                    self.reason = wording::left_prefix(step, &what);
                }
                Ok(0)
            }
            Message::Returned(at, back) => {
                self.disturbed_pieces.remove(&at);
                let grew = back.grew;
                if !grew && !self.saved.round.has_grown() {
                    self.saved.learned.clone_from(&back.learned);
                }
                let mut back = *back;
                let searches = self.saved.round.pieces[at].work.searches;
                if let (Some(all), Some(more), true) =
                    (&mut self.saved.visits, back.visits.take(), searches)
                {
                    all.add(more);
                }
                self.saved.round.back(at, back);
                let dropped = if grew { pool.drop_from(at + 1).len() } else { 0 };
                let open = self.saved.round.open().contains(&at);
                if open && !self.halted {
                    pool.add(at, self.task(at), true);
                    return Ok(dropped);
                }
                Ok(1 + dropped)
            }
            Message::Lost { piece, died } => {
                match died {
                    Some(ending) if ending.from_outside => {
                        self.disturbed(piece, ending.how)?;
                    }
                    Some(Ending { how, .. }) => {
                        self.deaths += 1;
                        if self.deaths >= MOST_DEATHS {
                            self.reason = wording::many_deaths(&how);
                        }
                    }
                    None => {}
                }
                // States that the dead worker claimed may not be explored by any other worker.
                pool.forget_states()?;
                if self.halted || self.deaths >= MOST_DEATHS || self.saved.round.is_obsolete(piece)
                {
                    return Ok(1);
                }
                pool.add(piece, self.task(piece), true);
                Ok(0)
            }
            Message::FellBack(_, instead, why) => {
                let instead = if instead == fell_back::EXEC { Reset::Exec } else { Reset::Fork };
                if self.options.reset.is_some() {
                    self.observer.note(&wording::other_reset(self.reset, instead, &why));
                }
                self.reset = instead;
                Ok(0)
            }
            Message::Failed(error) => Err(error),
        }
    }

    /// Something outside of the program ended the process that ran a piece, which says nothing about
    /// the program: the piece is run again.
    fn disturbed(&mut self, piece: usize, how: String) -> Result<(), Error> {
        *self.saved.disturbances.entry(how.clone()).or_default() += 1;
        let in_a_row = self.disturbed_pieces.entry(piece).or_default();
        *in_a_row += 1;
        if *in_a_row < ATTEMPTS || self.halted {
            return Ok(());
        }
        Err(Error::Disturbed(wording::disturbed(&self.target.program, &how)))
    }

    /// A worker has finished the learning phase. All workers learn the same points.
    fn learned(
        &mut self,
        pool: &dyn PieceRunner,
        at: usize,
        result: LearningResult,
        known: bool,
    ) -> Result<usize, Error> {
        if self.reused_points.is_some() {
            return Ok(0);
        }
        self.reused_points = Some(if known { result.learned.sites.len() as u64 } else { 0 });
        let Some(path) = learning_file::path(self.target, self.options) else { return Ok(0) };
        match self.saved_learning.take() {
            // Report the failures of the earlier learning phase, which was not run again.
            Some(before) if known => {
                for found in before.found {
                    self.found(pool, at, found)?;
                }
                return Ok(0);
            }
            Some(_) => self.observer.note(&wording::learns_again(&path)),
            None => {}
        }
        if !result.learned.is_empty() {
            let found = std::mem::take(&mut self.learning_failures);
            learning_file::save(&path, self.target, &Learning { result, found });
        }
        Ok(0)
    }

    /// Moves the results of the round into the frontier. Returns whether the search starts again
    /// because of new points.
    fn settle(&mut self) -> bool {
        let round = std::mem::take(&mut self.saved.round);
        for (at, piece) in round.pieces.iter().enumerate() {
            let before = self.before_round() + round.before(at);
            let here = (self.saved.rounds, at as u64);
            for known in self.saved.bugs.iter_mut().filter(|known| known.first.is_in(here)) {
                known.bug.found_at = before + known.first.number;
            }
            for unrecorded in self.saved.unrecorded.iter_mut().filter(|one| one.place.is_in(here)) {
                unrecorded.found_at = before + unrecorded.place.number;
            }
            if !round.is_obsolete(at) {
                self.saved.counts.add(&piece.counts);
            }
            if piece.work.is_learning() {
                let limit = learning_limit(self.options);
                self.saved.learning_cut_at = (piece.counts.learning >= limit).then_some(limit);
                self.saved.learning_steps = std::mem::take(&mut self.saved.counts.max_steps);
            }
        }
        for (_, fingerprints) in round.counted() {
            for &fingerprint in fingerprints {
                self.saved.distinct.add(fingerprint);
            }
        }
        let grown = round.has_grown();
        if let Some(points) = round.grown() {
            self.saved.learned.clone_from(points);
        }
        self.saved.frontier.settle(round.into_done());
        // A strategy that depends on earlier executions knows only executions without the new
        // points.
        let again = grown && !self.saved.frontier.is_memoryless();
        if again {
            self.saved.frontier.begin_again(plan(self.options));
            self.saved.distinct = Distinct::default();
            self.saved.visits = self.saved.visits.as_ref().map(|_| Visits::default());
        }
        again
    }

    /// How many executions count before those of the current round: those of the learning phase, and
    /// those before the last restart.
    pub(super) fn before_round(&self) -> u64 {
        let frontier = &self.saved.frontier;
        frontier.executions() + frontier.superseded() + self.learning()
    }

    /// One piece of the round, as a worker receives it.
    fn task(&self, at: usize) -> IssuedPiece {
        IssuedPiece {
            work: self.saved.round.pieces[at].work.clone(),
            learned: self.saved.learned.clone(),
            pioneer: self.saved.rounds <= 1,
        }
    }

    /// The progress, including executions that workers have not returned yet.
    fn progress(&self, running: u64, waiting: u64) -> Progress {
        let frontier = &self.saved.frontier;
        let (_, round) = self.saved.round.executions();
        let failing: u64 = self.saved.round.counted().map(|(counts, _)| counts.failing).sum();
        Progress {
            learning: self.learning(),
            executions: self.before_round() + round + running,
            distinct: self.saved.distinct.len(),
            failing: self.saved.counts.failing + failing,
            failures: self.saved.bugs.len() as u64,
            elapsed: self.began.elapsed(),
            bound: frontier.level(),
            open: frontier.open_branches() + waiting,
            covered: frontier.covered(),
            machines: None,
        }
    }

    fn report_progress(&mut self, pool: &dyn PieceRunner) {
        let progress = self.progress(pool.running(), pool.waiting() as u64);
        let machines = pool.machines();
        let progress = Progress { machines, ..progress };
        if let Some(machines) = machines {
            self.workers = self.workers.max(machines.workers);
        }
        self.observer.progress(&progress);
        self.show_tree(&progress);
    }

    /// Gives the observer access to the tree of remaining work.
    fn show_tree(&mut self, progress: &Progress) {
        let SearchState { frontier, round, visits, .. } = &self.saved;
        self.observer.tree(progress, &|| (frontier.tree(round.remaining_work()), visits.clone()));
    }

    /// Saves the state of the search. Returns how many bytes were written.
    fn save(&mut self) -> u64 {
        let earlier = self.saved.earlier;
        self.saved.earlier += self.began.elapsed().as_secs_f64();
        let written = state_file::save(&self.saved, self.target, self.options);
        self.saved.earlier = earlier;
        written.unwrap_or_else(|error| {
            if !std::mem::replace(&mut self.saved.unwritable, true) {
                self.observer.note(&error.to_string());
            }
            0
        })
    }

    /// Ends a search that cannot continue. Found failures are reported, and the state is saved so
    /// that the search can be resumed.
    fn end_with_error(&mut self, error: Error) -> Result<(), Error> {
        (self.halted, self.over) = (true, false);
        if self.saved.bugs.is_empty() {
            if self.saved.frontier.runs() > 0 {
                self.save();
            }
            return Err(error);
        }
        self.reason = error.to_string();
        self.observer.note(&wording::ended_early(&error));
        Ok(())
    }

    /// The end of the search. What is left of it can be resumed, unless it ended soon because of its first
    /// failure.
    fn finish(&mut self) {
        let progress = self.progress(0, 0);
        self.show_tree(&progress);
        let unrecorded = !self.saved.unrecorded.is_empty();
        let at_failure = !self.halted && !self.options.keep_going && self.saved.round.has_failed();
        let soon = self.began.elapsed() <= SAVED_EVERY && !self.options.resume && !unrecorded;
        if self.options.collector == Collector::Substitute {
            self.save();
        } else if self.over && !unrecorded {
            state_file::forget(self.options);
        } else if !(at_failure && soon) {
            self.save();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state of 17 MB, saved every 800 ms, is 75 GB an hour.
    #[test]
    fn a_large_state_is_saved_less_often() {
        assert_eq!(time_between_saves(0), SAVED_EVERY);
        assert_eq!(time_between_saves(100_000), SAVED_EVERY);
        assert_eq!(time_between_saves(17 << 20), Duration::from_secs(17));
        for bytes in [1 << 20, 10 << 20, 1 << 30] {
            let rate = bytes as f64 / time_between_saves(bytes).as_secs_f64();
            assert!(rate <= SAVED_PER_SECOND as f64 * 1.01, "{bytes} bytes: {rate} a second");
        }
    }
}
