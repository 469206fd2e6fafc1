//! A thread waits at a condition variable of the standard library until main has set a flag.

use std::sync::{Condvar, Mutex};

static FLAG: Mutex<bool> = Mutex::new(false);
static SET: Condvar = Condvar::new();

fn main() {
    let waits = || {
        let mut flag = FLAG.lock().unwrap();
        while !*flag {
            flag = SET.wait(flag).unwrap();
        }
    };
    let thread = std::thread::spawn(waits);
    *FLAG.lock().unwrap() = true;
    SET.notify_one();
    thread.join().unwrap();
}
