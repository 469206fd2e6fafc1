//! What ordinary Rust uses: Mutex, Condvar, RwLock, mpsc, scope, thread_local, Barrier, OnceLock, park.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock};
use std::thread;

thread_local! {
    static OWN: Cell<u32> = const { Cell::new(1) };
}

static TABLE: OnceLock<u32> = OnceLock::new();

fn main() {
    let shared = Arc::new((Mutex::new(0u32), Condvar::new()));
    let (sender, receiver) = channel();
    let worker = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            OWN.with(|own| own.set(own.get() + 10));
            sender.send(OWN.with(Cell::get)).unwrap();
            let (value, changed) = &*shared;
            *value.lock().unwrap() = 100;
            changed.notify_one();
            *TABLE.get_or_init(|| 1000)
        })
    };
    let (value, changed) = &*shared;
    let mut seen = value.lock().unwrap();
    while *seen == 0 {
        seen = changed.wait(seen).unwrap();
    }
    let mut sum = *seen + TABLE.get_or_init(|| 1000) + receiver.recv().unwrap();
    drop(seen);
    sum += worker.join().unwrap() + OWN.with(Cell::get);

    let counter = AtomicU32::new(0);
    let barrier = Barrier::new(2);
    let list = RwLock::new(vec![1, 2, 3]);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                list.write().unwrap().push(4);
                barrier.wait();
                counter.fetch_add(list.read().unwrap().iter().sum::<u32>(), Ordering::SeqCst);
            });
        }
    });
    let sleeper = thread::spawn(thread::park);
    sleeper.thread().unpark();
    sleeper.join().unwrap();
    println!("{sum} {}", counter.load(Ordering::SeqCst));
}
