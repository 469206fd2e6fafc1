//! The program ported to shuttle: its threads and mutex in place of the standard library's.

use crate::size::Size;
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::Mutex;
use shuttle::{Config, Runner, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn increment(size: Size) -> u64 {
    let counter = Arc::new(Mutex::new(0_u64));
    let threads: Vec<_> = (0..size.threads)
        .map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for _ in 0..size.rounds {
                    let seen = *counter.lock().unwrap();
                    *counter.lock().unwrap() = seen + 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    *counter.lock().unwrap()
}

/// Runs executions under the random scheduler: their duration, and how many lose an update.
pub(crate) fn random(size: Size, executions: u64, seed: u64) -> (Duration, u64) {
    let scheduler = RandomScheduler::new_from_seed(seed, usize::try_from(executions).unwrap());
    let lost = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lost);
    let began = Instant::now();
    // A failing assertion would end the run: failures are counted instead.
    let ran = Runner::new(scheduler, Config::new()).run(move || {
        if increment(size) != size.expected() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(ran as u64, executions, "shuttle ran all of them");
    (began.elapsed(), lost.load(Ordering::Relaxed))
}
