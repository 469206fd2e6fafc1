use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::{panic, thread};

static COUNT: AtomicU32 = AtomicU32::new(0);

fn add() {
    let before = COUNT.load(SeqCst);
    COUNT.store(before + 1, SeqCst);
}

fn main() {
    let thread = thread::spawn(|| {
        let caught = panic::catch_unwind(|| panic!("expected"));
        assert!(caught.is_err());
        add();
    });
    add();
    thread.join().unwrap();
    assert_eq!(COUNT.load(SeqCst), 2);
}
