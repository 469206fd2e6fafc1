//! Main parks with a time limit, again and again, until a thread has set a flag.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let main = std::thread::current();
    let sets = move || {
        std::thread::sleep(Duration::from_millis(500));
        FLAG.store(true, SeqCst);
        main.unpark();
    };
    let thread = std::thread::spawn(sets);
    while !FLAG.load(SeqCst) {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    thread.join().unwrap();
}
