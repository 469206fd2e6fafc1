//! A thread panics if another one was between its accesses: the panic is in a separate function, and another
//! thread waits for the one that panics.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

static PLACE: AtomicU32 = AtomicU32::new(0);

fn take() -> u32 {
    let place = PLACE.load(SeqCst);
    PLACE.store(place + 1, SeqCst);
    place
}

#[inline(never)]
fn check_that_it_is_first(place: u32) {
    assert_eq!(place, 0, "the second place");
}

fn main() {
    let first = thread::spawn(|| check_that_it_is_first(take()));
    let second = thread::spawn(take);
    let ended = first.join();
    second.join().unwrap();
    ended.unwrap();
}
