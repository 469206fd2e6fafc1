//! The workers of a search: one thread each, with a worker process that receives pieces of work.

use super::pieces::{IssuedPiece, Message, PieceRunner};
use super::round::{Counts, PieceResult};
use super::wording::{never_began, overwritten};
use crate::control::channel::Common;
use crate::control::ending::Ending;
use crate::control::worker::{Event, Worker};
use crate::{Error, Target};
use search::Visits;
use search::share::frontier::WorkResult;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use traces::compact;
use traces::points::Learned;
use traces::wire::{Header, Job, Reset, fell_back};

/// How long a worker runs before it is paused and its result saved. At most this much work is lost
/// if a process dies.
const SLICE: Duration = Duration::from_millis(600);
/// How often the program is started while signals end it before main. There a fault of the program cannot
/// be distinguished from a signal that another process sent.
const STARTS: u32 = 3;
/// How long an execution may continue after the user interrupted the search.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// The queue of pieces.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(usize, IssuedPiece)>,
    over: bool,
}

/// The workers of one machine: the state that their threads share.
pub struct WorkerPool<'a> {
    target: &'a Target,
    job: Job,
    spin_after: Duration,
    common: Common,
    queue: Mutex<Queue>,
    work_available: Condvar,
    /// Pieces from this number on are no longer wanted.
    wanted: AtomicU64,
    /// All workers must return their pieces.
    halt: AtomicBool,
    /// Set when the user interrupts; workers check it in addition to `halt`.
    interrupt: &'a AtomicBool,
    /// Executions in pieces that are being run.
    live: AtomicU64,
    /// Executions of the learning phase.
    learning: AtomicU64,
    /// The reset in use instead of the requested one ([`fell_back`]).
    instead: AtomicU32,
    /// Whether some worker's program has reached main. Then a program that does not reach main is
    /// no fault of the program.
    begun: AtomicBool,
    /// How many processes a signal ended before main, while none has begun.
    killed_before_main: AtomicU32,
}

impl<'a> WorkerPool<'a> {
    /// The workers for searches of a program with a job. [`PieceRunner::work`] starts each.
    ///
    /// # Errors
    /// If the memory that they share cannot be created.
    pub fn new(
        target: &'a Target,
        job: Job,
        spin: Duration,
        interrupt: &'a AtomicBool,
    ) -> Result<WorkerPool<'a>, Error> {
        Ok(WorkerPool {
            target,
            job,
            spin_after: spin,
            common: Common::create()?,
            queue: Mutex::default(),
            work_available: Condvar::new(),
            wanted: AtomicU64::new(u64::MAX),
            halt: AtomicBool::new(false),
            interrupt,
            live: AtomicU64::new(0),
            learning: AtomicU64::new(0),
            instead: AtomicU32::new(fell_back::NOTHING),
            begun: AtomicBool::new(false),
            killed_before_main: AtomicU32::new(0),
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<(usize, IssuedPiece)> {
        let mut queue = self.queue();
        loop {
            if queue.over {
                return None;
            }
            if let Some(next) = queue.waiting.pop_front() {
                return Some(next);
            }
            queue = self.work_available.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl PieceRunner for WorkerPool<'_> {
    fn add(&self, piece: usize, task: IssuedPiece, first: bool) {
        let mut queue = self.queue();
        if first {
            queue.waiting.push_front((piece, task));
        } else {
            queue.waiting.push_back((piece, task));
        }
        drop(queue);
        self.work_available.notify_one();
    }

    fn want_all(&self) {
        self.wanted.store(u64::MAX, Relaxed);
    }

    fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    fn drop_from(&self, piece: usize) -> Vec<usize> {
        self.wanted.fetch_min(piece as u64, Relaxed);
        let mut queue = self.queue();
        let dropped = queue.waiting.iter().map(|&(at, _)| at).filter(|&at| at >= piece).collect();
        queue.waiting.retain(|&(at, _)| at < piece);
        dropped
    }

    fn recall_all(&self) -> Vec<usize> {
        self.halt.store(true, Relaxed);
        self.queue().waiting.drain(..).map(|(piece, _)| piece).collect()
    }

    fn forget_states(&self) -> Result<(), Error> {
        self.common.clear()
    }

    fn close(&self) {
        self.halt.store(true, Relaxed);
        self.queue().over = true;
        self.work_available.notify_all();
    }

    fn work(&self, number: usize, to: &Sender<Message>) {
        let mut thread =
            WorkerThread { pool: self, to, worker: None, seen: Counts::default(), number };
        while let Some((piece, task)) = self.next() {
            let message = match thread.piece(piece, &task) {
                Ok(message) => message,
                Err(error) => Message::Failed(error),
            };
            let failed = matches!(message, Message::Failed(_));
            if to.send(message).is_err() || failed {
                return;
            }
        }
    }

    fn running(&self) -> u64 {
        self.live.load(Relaxed)
    }

    fn learning(&self) -> u64 {
        self.learning.load(Relaxed)
    }
}

/// State of one worker thread.
struct WorkerThread<'a, 'c> {
    pool: &'c WorkerPool<'a>,
    to: &'c Sender<Message>,
    worker: Option<Worker<'c>>,
    /// The worker's counters at its last result.
    seen: Counts,
    number: usize,
}

impl<'c> WorkerThread<'_, 'c> {
    fn start(&mut self, pioneer: bool) -> Result<Worker<'c>, Error> {
        let mut job = self.pool.job.clone();
        job.reset = match self.pool.instead.load(Relaxed) {
            fell_back::FORK if job.reset == Reset::Memory => Reset::Fork,
            fell_back::EXEC => Reset::Exec,
            _ => job.reset,
        };
        job.pioneer = pioneer;
        if self.number > 0 {
            // The first worker's comparison with a forked process is valid for all workers.
            job.checks = 0;
        }
        self.seen = Counts::default();
        let (target, spin) = (self.pool.target, self.pool.spin_after);
        Worker::with(target, job, spin, Some(&self.pool.common))
    }

    /// Runs one piece of work until it is complete, paused or lost.
    fn piece(&mut self, piece: usize, task: &IssuedPiece) -> Result<Message, Error> {
        let bytes = compact::encode(&(&task.work, &task.learned));
        // A process runs the learning phase once.
        let mut worker = match self.worker.take().filter(|_| !task.work.is_learning()) {
            Some(worker) => worker,
            None => self.start(task.pioneer)?,
        };
        let pool = self.pool;
        let (mut given, mut asked) = (false, None);
        let (mut began, mut reported) = (Instant::now(), 0);
        let before = |worker: &Worker<'_>| worker.channel().header().executions.load(Relaxed);
        let mut base = before(&worker);
        let never = AtomicBool::new(false);
        let message = loop {
            match worker.wait(&never)? {
                Event::RuntimeMessage(news) => {
                    if self.to.send(Message::FromRuntime(piece, news)).is_err() {
                        break None;
                    }
                }
                Event::Idle if !given => {
                    pool.begun.store(true, Relaxed);
                    worker.send_work(&bytes)?;
                    (given, began, base) = (true, Instant::now(), before(&worker));
                }
                Event::Idle => {
                    let back = self.back(piece, &worker)?;
                    // The process has points that other workers may not know yet, and cannot drop
                    // them: end it. And memory that executions leave behind in the runtime when they
                    // end the process must not end a long search.
                    if !back.grew && !is_half_used(worker.channel().header()) {
                        self.worker = Some(worker);
                    }
                    break Some(Message::Returned(piece, Box::new(back)));
                }
                Event::Tick | Event::Parked => {}
                Event::Done | Event::Held => break Some(Message::Lost { piece, died: None }),
                Event::Died(ending) if ending.from_outside => {
                    break Some(Message::Lost { piece, died: Some(ending) });
                }
                Event::Died(how) => {
                    if worker.channel().header().execution.load(Relaxed) == 0 {
                        if !pool.begun.load(Relaxed) {
                            let in_a_row = pool.killed_before_main.fetch_add(1, Relaxed) + 1;
                            if !how.by_signal || in_a_row >= STARTS {
                                return Err(never_began(&pool.target.program, &how.how));
                            }
                            let how = format!("{} before main", how.how);
                            let died = Ending { how, from_outside: true, by_signal: true };
                            break Some(Message::Lost { piece, died: Some(died) });
                        }
                        break Some(Message::Lost { piece, died: Some(how) });
                    }
                    // A process for each execution survives any way of dying.
                    pool.instead.fetch_max(fell_back::FORK, Relaxed);
                    break Some(Message::Lost { piece, died: Some(how) });
                }
            }
            let learning = worker.channel().header().learning.load(Relaxed);
            pool.learning.fetch_max(learning, Relaxed);
            let now = before(&worker) - base;
            pool.live.fetch_add(now.saturating_sub(reported), Relaxed);
            reported = reported.max(now);
            let halted = pool.halt.load(Relaxed) || pool.interrupt.load(Relaxed);
            let unwanted = pool.wanted.load(Relaxed) <= piece as u64;
            if given && (halted || unwanted || began.elapsed() > SLICE) {
                worker.channel().pause();
                if halted {
                    // An execution that does not end must not delay the interrupt.
                    let since = *asked.get_or_insert_with(Instant::now);
                    if since.elapsed() > STOP_TIMEOUT {
                        worker.end();
                        break Some(Message::Lost { piece, died: None });
                    }
                }
            } else if halted {
                worker.end();
                break Some(Message::Lost { piece, died: None });
            }
        };
        pool.live.fetch_sub(reported, Relaxed);
        Ok(message.unwrap_or(Message::Lost { piece, died: None }))
    }

    fn back(&mut self, piece: usize, worker: &Worker<'_>) -> Result<PieceResult, Error> {
        let parcel = worker.channel().parcel();
        type Parcel = (WorkResult, Vec<u64>, bool, bool, Learned, Option<Visits>);
        let read: Result<Parcel, _> = compact::decode(&parcel);
        let (done, fingerprints, finished, grew, learned, visits) =
            read.map_err(|error| overwritten(&self.pool.target.program, error))?;
        let header = worker.channel().header();
        let instead = header.fell_back.load(Relaxed);
        if self.pool.instead.fetch_max(instead, Relaxed) < instead {
            let _ = self.to.send(Message::FellBack(piece, instead, worker.channel().message()));
        }
        let now = counts(header);
        let counts = since(&now, &self.seen);
        self.seen = now;
        Ok(PieceResult { done, fingerprints, finished, grew, learned, visits, counts })
    }
}

/// Whether more than half of the runtime's own memory has been used, some of which may be free again.
fn is_half_used(header: &Header) -> bool {
    header.heap_used.load(Relaxed) > header.heap.len / 2
}

fn counts(header: &Header) -> Counts {
    let keys = header.counts.iter().map(|one| (one.key.load(Relaxed), one.count.load(Relaxed)));
    Counts {
        failing: header.failing.load(Relaxed),
        cut: header.cut.load(Relaxed),
        outside: header.outside.load(Relaxed),
        diverged: header.diverged.load(Relaxed),
        steps: header.steps.load(Relaxed),
        max_steps: header.max_steps.load(Relaxed),
        step_limit: header.step_limit.load(Relaxed),
        max_tasks: header.max_tasks.load(Relaxed),
        api: header.api_sites.load(Relaxed),
        racy: header.racy_sites.load(Relaxed),
        fresh: header.instrumentation.fresh.load(Relaxed),
        probes: header.instrumentation.probes.load(Relaxed),
        jumps: header.instrumentation.jumps.load(Relaxed),
        compiled: header.compiled_sites.load(Relaxed),
        code: header.instrumentation.code.load(Relaxed),
        covered: header.instrumentation.covered.load(Relaxed),
        unseen: header.instrumentation.unseen.load(Relaxed),
        unknown_calls: header
            .unknown_calls
            .iter()
            .filter_map(traces::wire::UnknownCall::get)
            .map(|(name, library, module, offset)| ((name, library), (module, offset)))
            .collect(),
        probes_removed: header.instrumentation.probes_removed.load(Relaxed),
        learning: header.learning.load(Relaxed),
        checks: header.checks.load(Relaxed),
        resumed: header.resumed.load(Relaxed),
        through: std::array::from_fn(|at| header.through[at].load(Relaxed)),
        keys: keys.filter(|&(key, _)| key != 0).collect(),
    }
}

/// The difference between two readings of the counters.
fn since(now: &Counts, before: &Counts) -> Counts {
    let keys = now.keys.iter().map(|&(key, count)| (key, count - before.of(&[key]).min(count)));
    Counts {
        failing: now.failing.saturating_sub(before.failing),
        cut: now.cut.saturating_sub(before.cut),
        outside: now.outside.saturating_sub(before.outside),
        diverged: now.diverged.saturating_sub(before.diverged),
        steps: now.steps.saturating_sub(before.steps),
        checks: now.checks.saturating_sub(before.checks),
        resumed: now.resumed.saturating_sub(before.resumed),
        through: std::array::from_fn(|at| now.through[at].saturating_sub(before.through[at])),
        learning: now.learning.saturating_sub(before.learning),
        probes_removed: now.probes_removed.saturating_sub(before.probes_removed),
        fresh: now.fresh.saturating_sub(before.fresh),
        keys: keys.filter(|&(_, count)| count > 0).collect(),
        unknown_calls: now.unknown_calls.clone(),
        ..*now
    }
}
