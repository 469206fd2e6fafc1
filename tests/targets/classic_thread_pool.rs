//! A pool of two threads, which begin together, take jobs from a channel until the pool is closed, and look at settings
//! for each. args: the mistake to plant.

#[path = "classic.rs"]
mod classic;

use classic::{Sheet, mistake, pthread_detach};
use std::mem::forget;
use std::os::unix::thread::JoinHandleExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex, RwLock};
use std::thread::{self, JoinHandle};

const WORKERS: usize = 2;
const JOBS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

struct Shared {
    jobs: Mutex<Receiver<Job>>,
    tally: Mutex<usize>,
    settings: RwLock<u32>,
    begin: Barrier,
    sheet: &'static Sheet,
}

impl Shared {
    fn work(&self) {
        self.begin.wait();
        loop {
            let jobs = self.jobs.lock().unwrap();
            let Ok(job) = jobs.recv() else { break };
            if mistake("lock-left-held") {
                forget(jobs);
            } else {
                drop(jobs);
            }
            job();
        }
        self.sheet.sign();
    }

    /// One more job is done.
    fn count(&self) {
        let settings = self.settings.read().unwrap();
        if mistake("read-recursion") {
            assert_eq!(*settings, *self.settings.read().unwrap());
        }
        let mut tally = self.tally.lock().unwrap();
        if mistake("self-deadlock") {
            *self.tally.lock().unwrap() += 1;
        }
        *tally += 1;
    }
}

struct Pool {
    shared: Arc<Shared>,
    sender: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    fn new() -> Pool {
        let (sender, jobs) = channel();
        let shared = Arc::new(Shared {
            jobs: Mutex::new(jobs),
            tally: Mutex::new(0),
            settings: RwLock::new(0),
            begin: Barrier::new(WORKERS + usize::from(mistake("barrier-count"))),
            sheet: Sheet::new(WORKERS as u32),
        });
        let worker = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work())
        };
        let workers = (0..WORKERS).map(worker).collect();
        Pool { shared, sender: Some(sender), workers }
    }

    fn submit(&self) {
        let shared = Arc::clone(&self.shared);
        self.sender.as_ref().unwrap().send(Box::new(move || shared.count())).unwrap();
    }

    fn close(mut self) -> usize {
        if !mistake("lost-wake-up") {
            // The channel is never closed.
            self.sender = None;
        }
        self.shared.sheet.collect();
        for worker in self.workers.drain(..) {
            if mistake("thread-misuse") {
                pthread_detach(worker.as_pthread_t());
            }
            worker.join().unwrap();
        }
        *self.shared.tally.lock().unwrap()
    }
}

fn main() {
    let pool = Pool::new();
    (0..JOBS).for_each(|_| pool.submit());
    {
        // `count` takes these two in reverse order.
        let tally = mistake("deadlock").then(|| pool.shared.tally.lock().unwrap());
        *pool.shared.settings.write().unwrap() = 1;
        drop(tally);
    }
    assert_eq!(pool.close(), JOBS);
}
