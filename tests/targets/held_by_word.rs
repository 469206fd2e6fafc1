//! Deadlocks over the synchronisation of Rust's standard library that is no mutex: each is named by its argument.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Barrier, Mutex, Once, RwLock, mpsc};
use std::thread;

static FIRST: RwLock<u32> = RwLock::new(0);
static SECOND: RwLock<u32> = RwLock::new(0);
static ONCE: Once = Once::new();
static MUTEX: Mutex<u32> = Mutex::new(0);
static ARRIVED: AtomicU32 = AtomicU32::new(0);

fn both(read: &RwLock<u32>, write: &RwLock<u32>) {
    let seen = read.read().unwrap();
    *write.write().unwrap() += *seen;
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("rwlock") => thread::scope(|scope| {
            scope.spawn(|| both(&FIRST, &SECOND));
            scope.spawn(|| both(&SECOND, &FIRST));
        }),
        Some("once") => thread::scope(|scope| {
            scope.spawn(|| {
                let _held = MUTEX.lock().unwrap();
                ONCE.call_once(|| {});
            });
            scope.spawn(|| ONCE.call_once(|| *MUTEX.lock().unwrap() += 1));
        }),
        Some("barrier") => {
            let barrier = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| ARRIVED.fetch_add(1, SeqCst));
                barrier.wait();
            });
        }
        Some("message") => {
            let (sender, receiver) = mpsc::channel::<u32>();
            let _ = receiver.recv();
            drop(sender);
        }
        _ => thread::park(),
    }
}
