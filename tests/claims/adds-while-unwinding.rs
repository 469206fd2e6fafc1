use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

static COUNT: AtomicU32 = AtomicU32::new(0);

struct Adds;

impl Drop for Adds {
    fn drop(&mut self) {
        let before = COUNT.load(SeqCst);
        COUNT.store(before + 1, SeqCst);
    }
}

fn main() {
    let thread = thread::spawn(|| {
        let _adds = Adds;
        panic!("expected");
    });
    drop(Adds);
    assert!(thread.join().is_err());
    assert_eq!(COUNT.load(SeqCst), 2);
}
