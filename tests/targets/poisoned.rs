//! A thread panics while it holds a lock; the others find the lock poisoned, and mend it: no failure.

use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let shared = Arc::new(Mutex::new(1));
    let held = Arc::clone(&shared);
    let failed = thread::spawn(move || {
        let mut value = held.lock().unwrap();
        *value = 2;
        panic!("while the lock is held");
    })
    .join();
    assert!(failed.is_err() && shared.is_poisoned());
    let value = match shared.lock() {
        Ok(value) => *value,
        Err(poisoned) => *poisoned.into_inner(),
    };
    shared.clear_poison();
    println!("mended: {value} {}", shared.lock().is_ok());
}
