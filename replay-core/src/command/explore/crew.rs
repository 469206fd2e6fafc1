//! The workers of a search: a thread for each, with a process of its own that it gives pieces of work.

use super::round::{Back, Counts};
use crate::channel::Common;
use crate::worker::{Event, Worker};
use crate::{Error, Target};
use search::Visits;
use search::frontier::{Done, Work};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use traces::points::Learned;
use traces::wire::{Header, Job, News, Reset, fell_back};

/// How long a worker is left alone with a piece of work, so that no more than that is ever lost.
const LEASE: Duration = Duration::from_millis(600);
/// How long an execution may go on after the user has had enough.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a worker has to tell.
#[derive(Debug)]
pub(super) enum Message {
    /// Something of the piece with this number.
    News(usize, News),
    /// The piece comes back.
    Back(usize, Box<Back>),
    /// The process died, or was killed since the user had enough; the piece is as it was.
    Lost {
        piece: usize,
        /// How it ended; none if it was the user.
        died: Option<String>,
    },
    /// Another way back to the start is used from here on, and why.
    FellBack(u32, String),
    /// Nothing more can be done.
    Failed(Error),
}

/// What a thread is given.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) work: Work,
    /// What is known of the program's accesses to memory.
    pub(super) learned: Learned,
    /// Whether nobody has learned that yet.
    pub(super) pioneer: bool,
}

/// What threads wait for.
#[derive(Default)]
struct Desk {
    waiting: VecDeque<(usize, Task)>,
    over: bool,
}

/// What the threads of a search have in common.
pub(super) struct Crew<'a> {
    target: &'a Target,
    job: Job,
    spin_after: Duration,
    common: Common,
    desk: Mutex<Desk>,
    bell: Condvar,
    /// Pieces from this number on are not wanted any more.
    wanted: AtomicU64,
    /// All pieces are to come back as they stand.
    halt: AtomicBool,
    /// So they are once the user had enough, whatever else is being done then.
    interrupt: &'a AtomicBool,
    /// Executions in the pieces that are being done.
    pub(super) live: AtomicU64,
    /// Executions that learned, before there was any in a piece.
    pub(super) learning: AtomicU64,
    /// What is used to go back to the start ([`fell_back`]).
    instead: AtomicU32,
    /// Whether a worker's program came to its main: then it is not the program's fault where another
    /// worker's does not.
    begun: AtomicBool,
}

impl<'a> Crew<'a> {
    pub(super) fn new(
        target: &'a Target,
        job: Job,
        spin: Duration,
        interrupt: &'a AtomicBool,
    ) -> Result<Crew<'a>, Error> {
        Ok(Crew {
            target,
            job,
            spin_after: spin,
            common: Common::create()?,
            desk: Mutex::default(),
            bell: Condvar::new(),
            wanted: AtomicU64::new(u64::MAX),
            halt: AtomicBool::new(false),
            interrupt,
            live: AtomicU64::new(0),
            learning: AtomicU64::new(0),
            instead: AtomicU32::new(fell_back::NOTHING),
            begun: AtomicBool::new(false),
        })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a piece of work on the desk.
    pub(super) fn add(&self, piece: usize, task: Task, first: bool) {
        let mut desk = self.desk();
        if first {
            desk.waiting.push_front((piece, task));
        } else {
            desk.waiting.push_back((piece, task));
        }
        drop(desk);
        self.bell.notify_one();
    }

    /// All pieces of the round that begins are wanted.
    pub(super) fn want_all(&self) {
        self.wanted.store(u64::MAX, Relaxed);
    }

    /// How many pieces nobody has begun.
    pub(super) fn waiting(&self) -> usize {
        self.desk().waiting.len()
    }

    /// Pieces from this one on are not wanted any more; says which of them nobody has begun.
    pub(super) fn drop_from(&self, piece: usize) -> Vec<usize> {
        self.wanted.fetch_min(piece as u64, Relaxed);
        let mut desk = self.desk();
        let dropped = desk.waiting.iter().map(|&(at, _)| at).filter(|&at| at >= piece).collect();
        desk.waiting.retain(|&(at, _)| at < piece);
        dropped
    }

    /// All pieces are to come back as they stand; says which nobody has begun.
    pub(super) fn halt(&self) -> Vec<usize> {
        self.halt.store(true, Relaxed);
        self.desk().waiting.drain(..).map(|(piece, _)| piece).collect()
    }

    /// Nothing of what was remembered of states is to be relied on any more.
    pub(super) fn forget_states(&self) -> Result<(), Error> {
        self.common.clear()
    }

    /// The threads go home.
    pub(super) fn close(&self) {
        self.halt.store(true, Relaxed);
        self.desk().over = true;
        self.bell.notify_all();
    }

    fn next(&self) -> Option<(usize, Task)> {
        let mut desk = self.desk();
        loop {
            if desk.over {
                return None;
            }
            if let Some(next) = desk.waiting.pop_front() {
                return Some(next);
            }
            desk = self.bell.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One thread: does piece after piece until there are no more. The `number`-th of them.
    pub(super) fn work(&self, number: usize, to: &Sender<Message>) {
        let mut hand = Hand { crew: self, to, worker: None, seen: Counts::default(), number };
        while let Some((piece, task)) = self.next() {
            let message = match hand.piece(piece, &task) {
                Ok(message) => message,
                Err(error) => Message::Failed(error),
            };
            let failed = matches!(message, Message::Failed(_));
            if to.send(message).is_err() || failed {
                return;
            }
        }
    }
}

/// A thread's own things.
struct Hand<'a, 'c> {
    crew: &'c Crew<'a>,
    to: &'c Sender<Message>,
    worker: Option<Worker<'c>>,
    /// What the worker had counted when it last gave something back.
    seen: Counts,
    number: usize,
}

impl<'c> Hand<'_, 'c> {
    fn start(&mut self, pioneer: bool) -> Result<Worker<'c>, Error> {
        let mut job = self.crew.job.clone();
        job.reset = match self.crew.instead.load(Relaxed) {
            fell_back::FORK if job.reset == Reset::Memory => Reset::Fork,
            fell_back::EXEC => Reset::Exec,
            _ => job.reset,
        };
        job.pioneer = pioneer;
        if self.number > 0 {
            // What the first one finds out of the program holds for it everywhere.
            job.checks = 0;
        }
        self.seen = Counts::default();
        let (target, spin) = (self.crew.target, self.crew.spin_after);
        Worker::with(target, job, spin, Some(&self.crew.common))
    }

    /// Has one piece of work done, as far as it gets.
    fn piece(&mut self, piece: usize, task: &Task) -> Result<Message, Error> {
        let bytes = rmp_serde::to_vec(&(&task.work, &task.learned)).map_err(|error| {
            Error::Runtime(format!("a piece of the search cannot be written down: {error}"))
        })?;
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start(task.pioneer)?,
        };
        let crew = self.crew;
        let (mut given, mut asked) = (false, None);
        let (mut began, mut told) = (Instant::now(), 0);
        let before = |worker: &Worker<'_>| worker.channel().header().executions.load(Relaxed);
        let mut base = before(&worker);
        let never = AtomicBool::new(false);
        let message = loop {
            match worker.wait(&never)? {
                Event::News(news) => {
                    if self.to.send(Message::News(piece, news)).is_err() {
                        break None;
                    }
                }
                Event::Idle if !given => {
                    crew.begun.store(true, Relaxed);
                    worker.give(&bytes)?;
                    (given, began, base) = (true, Instant::now(), before(&worker));
                }
                Event::Idle => {
                    let back = self.back(&worker)?;
                    // A process cannot forget what it knows, and others may not know it yet.
                    if !back.grew {
                        self.worker = Some(worker);
                    }
                    break Some(Message::Back(piece, Box::new(back)));
                }
                Event::Tick | Event::Parked => {}
                Event::Done => break Some(Message::Lost { piece, died: None }),
                Event::Died(how) => {
                    if worker.channel().header().execution.load(Relaxed) == 0 {
                        if !crew.begun.load(Relaxed) {
                            return Err(never_began(crew.target, &how));
                        }
                        break Some(Message::Lost { piece, died: Some(how) });
                    }
                    // Whatever it is, a process for each execution survives it.
                    crew.instead.fetch_max(fell_back::FORK, Relaxed);
                    break Some(Message::Lost { piece, died: Some(how) });
                }
            }
            let learning = worker.channel().header().learning.load(Relaxed);
            crew.learning.fetch_max(learning, Relaxed);
            let now = before(&worker) - base;
            crew.live.fetch_add(now.saturating_sub(told), Relaxed);
            told = told.max(now);
            let halted = crew.halt.load(Relaxed) || crew.interrupt.load(Relaxed);
            let unwanted = crew.wanted.load(Relaxed) <= piece as u64;
            if given && (halted || unwanted || began.elapsed() > LEASE) {
                worker.channel().pause();
                if halted {
                    // An execution that does not end by itself must not hold the user up.
                    let since = *asked.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        worker.end();
                        break Some(Message::Lost { piece, died: None });
                    }
                }
            } else if halted {
                worker.end();
                break Some(Message::Lost { piece, died: None });
            }
        };
        crew.live.fetch_sub(told, Relaxed);
        Ok(message.unwrap_or(Message::Lost { piece, died: None }))
    }

    fn back(&mut self, worker: &Worker<'_>) -> Result<Back, Error> {
        let parcel = worker.channel().parcel();
        type Parcel = (Done, Vec<u64>, bool, bool, Learned, Option<Visits>);
        let read: Result<Parcel, _> = rmp_serde::from_slice(&parcel);
        let (done, fingerprints, finished, grew, learned, visits) = read.map_err(|error| {
            Error::Runtime(format!(
                "{} overwrote the memory that it shares with Heddle, so nothing can be said: {error}",
                self.crew.target.program.display()
            ))
        })?;
        let header = worker.channel().header();
        let instead = header.fell_back.load(Relaxed);
        if self.crew.instead.fetch_max(instead, Relaxed) < instead {
            let _ = self.to.send(Message::FellBack(instead, worker.channel().message()));
        }
        let now = counts(header);
        let counts = since(&now, &self.seen);
        self.seen = now;
        Ok(Back { done, fingerprints, finished, grew, learned, visits, counts })
    }
}

fn never_began(target: &Target, how: &str) -> Error {
    Error::Target(format!(
        "{} ended before its main began: {how}. Does it run by itself?",
        target.program.display()
    ))
}

fn counts(header: &Header) -> Counts {
    let keys = header.counts.iter().map(|one| (one.key.load(Relaxed), one.count.load(Relaxed)));
    Counts {
        failing: header.failing.load(Relaxed),
        cut: header.cut.load(Relaxed),
        diverged: header.diverged.load(Relaxed),
        steps: header.steps.load(Relaxed),
        max_steps: header.max_steps.load(Relaxed),
        max_tasks: header.max_tasks.load(Relaxed),
        api: header.api_sites.load(Relaxed),
        racy: header.racy_sites.load(Relaxed),
        fresh: header.sight.fresh.load(Relaxed),
        probes: header.sight.probes.load(Relaxed),
        jumps: header.sight.jumps.load(Relaxed),
        compiled: header.compiled_sites.load(Relaxed),
        code: header.sight.code.load(Relaxed),
        covered: header.sight.covered.load(Relaxed),
        unseen: header.sight.unseen.load(Relaxed),
        tired: header.sight.tired.load(Relaxed),
        learning: header.learning.load(Relaxed),
        checks: header.checks.load(Relaxed),
        keys: keys.filter(|&(key, _)| key != 0).collect(),
    }
}

/// What was counted in between.
fn since(now: &Counts, before: &Counts) -> Counts {
    let keys = now.keys.iter().map(|&(key, count)| (key, count - before.of(&[key]).min(count)));
    Counts {
        failing: now.failing.saturating_sub(before.failing),
        cut: now.cut.saturating_sub(before.cut),
        diverged: now.diverged.saturating_sub(before.diverged),
        steps: now.steps.saturating_sub(before.steps),
        checks: now.checks.saturating_sub(before.checks),
        learning: now.learning.saturating_sub(before.learning),
        tired: now.tired.saturating_sub(before.tired),
        fresh: now.fresh.saturating_sub(before.fresh),
        keys: keys.filter(|&(_, count)| count > 0).collect(),
        ..*now
    }
}
