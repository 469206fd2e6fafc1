// A lock made of a flag: tested first and then set, so that two
// threads may both enter. With `atomic`, by compare-and-swap.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static LOCKED: AtomicBool = AtomicBool::new(false);
static COUNTER: AtomicU32 = AtomicU32::new(0);

fn lock() {
    if cfg!(atomic) {
        while LOCKED.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
    } else {
        while LOCKED.load(Acquire) {
            std::hint::spin_loop();
        }
        LOCKED.store(true, Relaxed);
    }
}

fn add() {
    lock();
    COUNTER.store(COUNTER.load(Relaxed) + 1, Relaxed);
    LOCKED.store(false, Release);
}

fn main() {
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(add)).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(COUNTER.load(Relaxed), 2);
}
