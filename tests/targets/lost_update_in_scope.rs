//! An update is lost between two scoped threads. With an argument the threads belong to another
//! thread than main, as in a test of Rust's harness.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

fn add(value: &AtomicU32) {
    let seen = value.load(SeqCst);
    value.store(seen + 1, SeqCst);
}

fn updates() {
    let value = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| add(&value));
        scope.spawn(|| add(&value));
    });
    assert_eq!(value.load(SeqCst), 2);
}

fn main() {
    if std::env::args().count() > 1 {
        if std::thread::spawn(updates).join().is_err() {
            std::process::exit(101)
        }
    } else {
        updates()
    }
}
