//! Main locks a mutex that it holds; a thread waits for it, too.

use std::sync::Mutex;

static MUTEX: Mutex<u32> = Mutex::new(0);

fn main() {
    let thread = std::thread::spawn(|| *MUTEX.lock().unwrap() += 1);
    let first = MUTEX.lock().unwrap();
    let second = MUTEX.lock().unwrap();
    drop((first, second));
    thread.join().unwrap();
}
