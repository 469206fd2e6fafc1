//! Main waits with a time limit on a condition variable, again and again, until a thread has set a flag. The
//! thread does not notify it.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

static FLAG: Mutex<bool> = Mutex::new(false);
static SET: Condvar = Condvar::new();

fn main() {
    let thread = std::thread::spawn(|| *FLAG.lock().unwrap() = true);
    let mut flag = FLAG.lock().unwrap();
    while !*flag {
        flag = SET.wait_timeout(flag, Duration::from_millis(10)).unwrap().0;
    }
    drop(flag);
    thread.join().unwrap();
}
