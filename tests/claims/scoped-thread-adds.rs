// The end of a scoped thread is observed: reference counts, of which the last decrement matters.
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

static NUMBER: AtomicU32 = AtomicU32::new(0);

fn main() {
    std::thread::scope(|scope| {
        scope.spawn(|| NUMBER.fetch_add(1, SeqCst));
        NUMBER.fetch_add(2, SeqCst);
    });
    assert_eq!(NUMBER.load(SeqCst), 3);
}
