//! Main parks with a time limit until a thread has set a flag, but at most four times.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let thread = std::thread::spawn(|| FLAG.store(true, SeqCst));
    let mut attempts = 0;
    while !FLAG.load(SeqCst) && attempts < 4 {
        std::thread::park_timeout(Duration::from_millis(10));
        attempts += 1;
    }
    let is_set = FLAG.load(SeqCst);
    thread.join().unwrap();
    assert!(is_set || attempts < 4, "gave up");
}
