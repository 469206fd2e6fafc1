//! The program ported to loom: its threads, mutex and reference count in place of the standard
//! library's.

use crate::size::Size;
use loom::model::Builder;
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn increment(size: Size) {
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
}

/// A search with at most two preemptions, to its end or to about this time limit: the duration and
/// the number of executions.
pub(crate) fn bounded(size: Size, most: Duration) -> (Duration, u64) {
    let executions = std::sync::Arc::new(AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&executions);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_duration = Some(most);
    builder.max_branches = 100_000;
    let began = Instant::now();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        increment(size);
    });
    (began.elapsed(), executions.load(Ordering::Relaxed))
}
