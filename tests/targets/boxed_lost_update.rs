// Two threads increment a counter in a block of the heap, each in two steps. No variable points to it.
use std::sync::atomic::{AtomicU32, Ordering};

fn counter(address: usize) -> &'static AtomicU32 {
    unsafe { &*(address as *const AtomicU32) }
}

fn increment(address: usize) {
    let before = counter(address).load(Ordering::SeqCst);
    counter(address).store(before + 1, Ordering::SeqCst);
}

fn main() {
    let address = Box::into_raw(Box::new(AtomicU32::new(0))) as usize;
    let other = std::thread::spawn(move || increment(address));
    increment(address);
    other.join().unwrap();
    assert_eq!(counter(address).load(Ordering::SeqCst), 2);
}
