//! Annotations by heddle.rs.
#[path = "../../probes/include/heddle.rs"]
mod heddle;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

static TOTAL: AtomicUsize = AtomicUsize::new(0);
static GATE: Mutex<usize> = Mutex::new(0);

fn add() {
    let was = TOTAL.load(Ordering::Relaxed);
    heddle::point(&TOTAL);
    TOTAL.store(was + 1, Ordering::Relaxed);
}

fn main() {
    let whole = std::env::args().nth(1).is_some_and(|arg| arg == "whole");
    heddle::begin();
    heddle::name(&TOTAL, "the total");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| if whole { heddle::atomic(add) } else { add() });
        }
    });
    *GATE.lock().unwrap() += 1;
    heddle::check!(TOTAL.load(Ordering::Relaxed) == 2);
}
