//! The search: workers run pieces of it, failures are recorded again, and all of it can be taken up
//! later.

mod crew;
mod found;
mod report;
mod round;
mod saved;

use super::{Once, kept, learn, once, plan, record_again, reset_name, single};
use crate::distinct::Distinct;
use crate::lesson::{self, Learning};
use crate::symbols::Symbols;
use crate::{Error, Observer, Progress, SearchOptions, Target};
use crew::{Crew, Message, Task};
use round::{Counts, Round};
use saved::Saved;
use search::{Frontier, Visits};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use traces::points::Lesson;
use traces::report::Report;
use traces::wire::{Found, Job, News, Reset, fell_back};

/// How often processes that die without a word are started again before the search ends.
const PATIENCE: u64 = 100;
/// How often what a search has come to is written down.
const SAVED_EVERY: Duration = Duration::from_millis(800);
/// How often the user is told how far it has come.
pub(super) const TOLD_EVERY: Duration = Duration::from_millis(200);

/// Searches for failing schedules until the options say stop or `interrupt` is set.
///
/// # Errors
/// Where the program cannot be run or controlled, or there is nothing to go on from.
pub fn explore(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let saved = match options.resume {
        true => saved::load(target, options)?,
        false => Saved::new(Frontier::new(plan(options))),
    };
    let primed = prime(target, options, interrupt, observer)?;
    let path = lesson::path(target, options);
    let lesson = path.as_ref().and_then(|path| learn::kept(path, target, observer));
    let known = lesson.as_ref().map(|known| known.lesson.clone());
    let job =
        Job { lesson: known, visits: options.visits, ..learn::job(target, options, interrupt)? };
    let reset = job.reset;
    let crew = Crew::new(target, job, options.spin_after, interrupt)?;
    let mut search = Search {
        target,
        options,
        interrupt,
        observer,
        reset,
        began: Instant::now(),
        saved,
        primed,
        deaths: 0,
        halted: false,
        over: false,
        workers: 0,
        symbols: BTreeMap::new(),
        lesson,
        taught: Vec::new(),
        kept: None,
        visits: options.visits.then(Visits::default),
        reason: String::new(),
        unwritable: false,
    };
    let ended = std::thread::scope(|scope| {
        let (to, from) = channel();
        let start = |number: u32| {
            let (crew, to) = (&crew, to.clone());
            scope.spawn(move || crew.work(number as usize, &to));
        };
        let came = search.run(&crew, &from, &start);
        crew.close();
        came
    });
    if let Err(error) = ended {
        search.broke(error)?;
    } else {
        search.record_early();
    }
    search.finish();
    Ok(search.report())
}

/// Runs the program a few times, with nobody preempted, for what it leaves outside its memory. Each time in
/// a process of its own, as it would run without Heddle; how the first failed that did is told.
fn prime(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Option<String>, Error> {
    let mut failed = None;
    let mut ran = 0;
    while ran < options.prime && !interrupt.load(Relaxed) {
        ran += 1;
        let how = match once(target, single(options), options, interrupt)? {
            Once::Recorded(trace) => trace.failure.map(|failure| failure.message),
            Once::Died { how } => Some(how),
            Once::Diverged { .. } | Once::Interrupted => None,
        };
        if let (Some(how), None) = (how, &failed) {
            observer.note(&format!("execution {ran} of those before the search failed: {how}"));
            failed = Some(format!("; number {ran} of them failed: {how}"));
        }
    }
    let executions = if ran == 1 { "execution" } else { "executions" };
    let failed = failed.unwrap_or_default();
    Ok((ran > 0).then(|| {
        format!("{ran} {executions} came before the search, and what they left outside the program's memory was there{failed}")
    }))
}

struct Search<'a> {
    target: &'a Target,
    options: &'a SearchOptions,
    interrupt: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    reset: Reset,
    began: Instant,
    /// Everything that a later search would go on from.
    saved: Saved,
    /// What executions before the search came to, where there were any.
    primed: Option<String>,
    deaths: u64,
    /// Whether the workers were told to give back what they have.
    halted: bool,
    /// Whether nothing is left to be done.
    over: bool,
    /// How many workers there were.
    workers: u32,
    /// Of modules of the program, once they were needed.
    symbols: BTreeMap<u16, Symbols>,
    /// What was learned before.
    lesson: Option<Learning>,
    /// What learning met so far.
    taught: Vec<Found>,
    /// How many of the points were known from before, once learning is over.
    kept: Option<u64>,
    /// Which ways it went, where that is asked for.
    visits: Option<Visits>,
    reason: String,
    /// Whether a trace could not be where it was to be, and that was said.
    unwritable: bool,
}

impl Search<'_> {
    fn run(
        &mut self,
        crew: &Crew<'_>,
        from: &Receiver<Message>,
        start: &dyn Fn(u32),
    ) -> Result<(), Error> {
        let deadline = self.options.max_time.map(|time| self.began + time);
        let (mut told, mut saved) = (Instant::now(), Instant::now());
        let mut level = None;
        self.saved.round.go_on();
        self.record_put_off();
        loop {
            if self.saved.round.open().is_empty() {
                if self.saved.round.has_failed() && !self.options.keep_going {
                    return Ok(());
                }
                if self.settle() {
                    // What was seen without the new points says nothing of what there is with them.
                    crew.forget_states()?;
                    level = None;
                }
                if self.halted {
                    return Ok(());
                }
                self.saved.rounds += 1;
                let most = self.options.max_executions.unwrap_or(u64::MAX);
                let left = most.saturating_sub(self.saved.frontier.runs());
                self.saved.round = Round::new(self.saved.frontier.round(left));
                if self.saved.round.pieces.is_empty() {
                    self.over = self.saved.frontier.is_finished();
                    return Ok(());
                }
                if self.saved.frontier.level() != level {
                    // What was seen of other levels says nothing of this one.
                    level = self.saved.frontier.level();
                    crew.forget_states()?;
                }
            }
            let open = self.saved.round.open();
            while self.workers < self.options.workers.min(open.len() as u32) {
                start(self.workers);
                self.workers += 1;
            }
            crew.want_all();
            for at in open {
                crew.add(at, self.task(at), false);
            }
            let mut out = self.saved.round.open().len();
            while out > 0 {
                match from.recv_timeout(Duration::from_millis(20)) {
                    Ok(message) => out -= self.heed(crew, message)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::Runtime("all workers are gone".into()));
                    }
                }
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if late && self.reason.is_empty() {
                    self.reason = "the time was up".into();
                }
                let enough = late || self.interrupt.load(Relaxed) || self.deaths >= PATIENCE;
                if enough && !self.halted {
                    self.halted = true;
                    out -= crew.halt().len();
                }
                if told.elapsed() > TOLD_EVERY {
                    told = Instant::now();
                    self.tell(crew);
                }
                if saved.elapsed() > SAVED_EVERY {
                    self.save();
                    saved = Instant::now();
                }
            }
            if self.halted {
                return Ok(());
            }
        }
    }

    /// Does what a message asks for; says how many pieces are not out any more.
    fn heed(&mut self, crew: &Crew<'_>, message: Message) -> Result<usize, Error> {
        match message {
            Message::News(at, News::Found(found)) => self.found(crew, at, found),
            Message::News(at, News::Learned { lesson, known }) => {
                self.learned(crew, at, lesson, known)
            }
            Message::News(_, News::Diverged { step, what, .. }) => {
                if self.reason.is_empty() {
                    self.reason = format!("an execution left its prefix at step {step}: {what}");
                }
                Ok(0)
            }
            Message::Back(at, back) => {
                let before = self.saved.round.has_grown();
                if !before {
                    self.saved.learned.clone_from(&back.learned);
                }
                let grew = back.grew;
                let mut back = *back;
                let searches = self.saved.round.pieces[at].work.searches;
                if let (Some(all), Some(more), true) =
                    (&mut self.visits, back.visits.take(), searches)
                {
                    all.add(more);
                }
                self.saved.round.back(at, back);
                let dropped = if grew { crew.drop_from(at + 1).len() } else { 0 };
                let open = self.saved.round.open().contains(&at);
                if open && !self.halted {
                    crew.add(at, self.task(at), true);
                    return Ok(dropped);
                }
                Ok(1 + dropped)
            }
            Message::Lost { piece, died } => {
                if let Some(how) = died {
                    self.deaths += 1;
                    self.reason = format!("a process of the program died too often: {how}");
                    if self.deaths < PATIENCE {
                        self.reason.clear();
                    }
                }
                // What it had claimed to see to is seen to by nobody.
                crew.forget_states()?;
                if self.halted || self.deaths >= PATIENCE || self.saved.round.is_moot(piece) {
                    return Ok(1);
                }
                crew.add(piece, self.task(piece), true);
                Ok(0)
            }
            Message::FellBack(instead, why) => {
                let instead = if instead == fell_back::EXEC { Reset::Exec } else { Reset::Fork };
                if self.options.reset.is_some() {
                    let [now, before] = [instead, self.reset].map(reset_name);
                    self.observer.note(&format!("{now} reset is used instead of {before}: {why}"));
                }
                self.reset = instead;
                Ok(0)
            }
            Message::Failed(error) => Err(error),
        }
    }

    /// A worker knows what there is to be learned before the search. Each that learns comes to the same.
    fn learned(
        &mut self,
        crew: &Crew<'_>,
        at: usize,
        lesson: Lesson,
        known: bool,
    ) -> Result<usize, Error> {
        if self.kept.is_some() {
            return Ok(0);
        }
        self.kept = Some(if known { lesson.learned.sites.len() as u64 } else { 0 });
        let Some(path) = lesson::path(self.target, self.options) else { return Ok(0) };
        match self.lesson.take() {
            // What the executions met that were not run again.
            Some(before) if known => {
                for found in before.found {
                    self.found(crew, at, found)?;
                }
                return Ok(0);
            }
            Some(_) => self.observer.note(&format!(
                "{}: the program does not do what it did then (other input, or other libraries): \
                 learned anew",
                path.display()
            )),
            None => {}
        }
        if !lesson.learned.is_empty() {
            let found = std::mem::take(&mut self.taught);
            lesson::save(&path, self.target, &Learning { lesson, found });
        }
        Ok(0)
    }

    /// Takes over what the round came to, and gives it to the frontier; says whether the search begins again.
    fn settle(&mut self) -> bool {
        let round = std::mem::take(&mut self.saved.round);
        for (at, piece) in round.pieces.iter().enumerate() {
            let before = self.saved.frontier.executions() + round.before(at);
            let here = (self.saved.rounds, at as u64);
            for known in self.saved.bugs.iter_mut().filter(|known| known.first.is_in(here)) {
                known.bug.found_at = before + known.first.number;
            }
            for put_off in self.saved.put_off.iter_mut().filter(|one| one.place.is_in(here)) {
                put_off.found_at = before + put_off.place.number;
            }
            if !round.is_moot(at) {
                self.saved.counts.add(&piece.counts);
            }
        }
        for (_, fingerprints) in round.counted() {
            for &fingerprint in fingerprints {
                self.saved.distinct.add(fingerprint);
            }
        }
        let grown = round.has_grown();
        self.saved.frontier.settle(round.into_done());
        // A search that goes by what it did before knows of executions without the new points only.
        let again = grown && !self.saved.frontier.is_memoryless();
        if again {
            self.saved.frontier.begin_again(plan(self.options));
            self.saved.distinct = Distinct::default();
            self.saved.counts.forget_failures();
            self.visits = self.visits.as_ref().map(|_| Visits::default());
            // They were met while the search learned what the points are.
            self.saved.bugs.iter_mut().for_each(|known| known.bug.found_at = 0);
        }
        again
    }

    /// A piece of the round as a worker gets it.
    fn task(&self, at: usize) -> Task {
        Task {
            work: self.saved.round.pieces[at].work.clone(),
            learned: self.saved.learned.clone(),
            pioneer: self.saved.rounds <= 1,
        }
    }

    /// How far it has come, with what the workers have not given back yet.
    fn progress(&self, running: u64, waiting: u64) -> Progress {
        let frontier = &self.saved.frontier;
        let (_, round) = self.saved.round.executions();
        let failing: u64 = self.saved.round.counted().map(|(counts, _)| counts.failing).sum();
        Progress {
            learning: 0,
            executions: frontier.executions() + round + running,
            distinct: self.saved.distinct.len(),
            failing: self.saved.counts.failing + failing,
            failures: self.saved.bugs.len() as u64,
            elapsed: self.began.elapsed(),
            bound: frontier.level(),
            open: frontier.open_branches() + waiting,
            covered: frontier.covered(),
        }
    }

    fn tell(&mut self, crew: &Crew<'_>) {
        let progress = self.progress(crew.live.load(Relaxed), crew.waiting() as u64);
        let progress = Progress { learning: crew.learning.load(Relaxed), ..progress };
        self.observer.progress(&progress);
        self.show_tree(&progress);
    }

    /// Lets the observer look at what is left.
    fn show_tree(&mut self, progress: &Progress) {
        let Saved { frontier, round, .. } = &self.saved;
        let visits = self.visits.as_ref();
        self.observer.tree(progress, &|| (frontier.tree(round.left()), visits.cloned()));
    }

    /// Writes down what the search has come to, so that another can go on from there.
    fn save(&mut self) {
        let earlier = self.saved.earlier;
        self.saved.earlier += self.began.elapsed().as_secs_f64();
        if let Err(error) = saved::save(&self.saved, self.target, self.options)
            && !std::mem::replace(&mut self.saved.unwritable, true)
        {
            self.observer.note(&error.to_string());
        }
        self.saved.earlier = earlier;
    }

    /// The search cannot go on. What it found stays found, and where it stood can be gone on from.
    fn broke(&mut self, error: Error) -> Result<(), Error> {
        (self.halted, self.over) = (true, false);
        if self.saved.bugs.is_empty() {
            if self.saved.frontier.runs() > 0 {
                self.save();
            }
            return Err(error);
        }
        self.reason = error.to_string();
        self.observer.note(&format!("the search ended early: {error}"));
        Ok(())
    }

    /// The last word: a search that is over leaves nothing to go on from.
    fn finish(&mut self) {
        let progress = self.progress(0, 0);
        self.show_tree(&progress);
        let long = self.began.elapsed() > SAVED_EVERY;
        let put_off = !self.saved.put_off.is_empty();
        let stopped = self.halted || self.options.resume || long || put_off;
        if self.over && !put_off {
            saved::forget(self.options);
        } else if stopped {
            self.save();
        }
    }
}
