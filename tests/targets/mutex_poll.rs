//! Main looks at a flag under a mutex of the standard library, again and again, until a thread has set it.

use std::sync::Mutex;
use std::time::Duration;

static FLAG: Mutex<bool> = Mutex::new(false);

fn main() {
    let sets = || {
        std::thread::sleep(Duration::from_millis(5));
        *FLAG.lock().unwrap() = true;
    };
    let thread = std::thread::spawn(sets);
    while !*FLAG.lock().unwrap() {
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap();
}
