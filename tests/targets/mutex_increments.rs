//! As many threads as the argument says increment a counter under a mutex of the standard library.

use std::sync::Mutex;

static COUNTER: Mutex<u32> = Mutex::new(0);

fn main() {
    let threads = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2);
    let increment = || *COUNTER.lock().unwrap() += 1;
    let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(increment)).collect();
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(*COUNTER.lock().unwrap(), threads);
}
