//! A thread tries to lock a mutex of the standard library that main locks for a while.

use std::sync::Mutex;

static COUNTER: Mutex<u32> = Mutex::new(0);

fn main() {
    let thread = std::thread::spawn(|| COUNTER.try_lock().is_err());
    *COUNTER.lock().unwrap() += 1;
    let was_held = thread.join().unwrap();
    std::process::exit(i32::from(was_held));
}
