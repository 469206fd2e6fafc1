//! A wait for a condition that one thread signals once. The waiter tests it again
//! afterwards; with the argument it does not, which is right only without spurious wake-ups.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let once = std::env::args().len() > 1;
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let waits = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let mut ready = shared.0.lock().unwrap();
            while !*ready {
                ready = shared.1.wait(ready).unwrap();
                if once {
                    break;
                }
            }
            assert!(*ready);
        })
    };
    *shared.0.lock().unwrap() = true;
    shared.1.notify_one();
    waits.join().unwrap();
}
