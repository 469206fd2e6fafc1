//! What Rust's standard library has of threads: scopes, parking, once cells, barriers, read-write
//! locks, channels, thread-local destructors, condition variables with a limit.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc,
};
use std::thread;
use std::time::Duration;

fn scopes() {
    let mut numbers = [1, 2, 3];
    let (left, right) = numbers.split_at_mut(1);
    thread::scope(|scope| {
        scope.spawn(|| left[0] += 10);
        scope.spawn(|| right.iter_mut().for_each(|n| *n *= 2));
    });
    assert_eq!(numbers, [11, 4, 6]);
}

fn parking() {
    let ready = Arc::new(AtomicBool::new(false));
    let flag = ready.clone();
    let waiter = thread::spawn(move || {
        while !flag.load(SeqCst) {
            thread::park();
        }
    });
    ready.store(true, SeqCst);
    waiter.thread().unpark();
    waiter.join().unwrap();
    thread::park_timeout(Duration::from_millis(1));
}

fn once() {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<usize> = OnceLock::new();
    static LAZY: LazyLock<usize> = LazyLock::new(|| 7);
    static MADE: AtomicUsize = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                ONCE.call_once(|| {
                    MADE.fetch_add(1, SeqCst);
                });
                assert_eq!(*CELL.get_or_init(|| 5) + *LAZY, 12);
            });
        }
    });
    assert_eq!(MADE.load(SeqCst), 1);
}

fn barriers() {
    let barrier = Barrier::new(2);
    let leaders = AtomicUsize::new(0);
    let meet = || {
        for _ in 0..2 {
            leaders.fetch_add(usize::from(barrier.wait().is_leader()), SeqCst);
        }
    };
    thread::scope(|scope| {
        scope.spawn(meet);
        meet();
    });
    assert_eq!(leaders.load(SeqCst), 2);
}

fn read_write() {
    let lock = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut both = lock.write().unwrap();
            both.0 += 1;
            both.1 += 1;
        });
        let both = lock.read().unwrap();
        assert_eq!(both.0, both.1);
    });
    assert_eq!(*lock.read().unwrap(), (1, 1));
    assert!(lock.try_write().is_ok());
}

fn channels() {
    let (to, from) = mpsc::sync_channel(1);
    let sender = thread::spawn(move || (0..3).for_each(|n| to.send(n).unwrap()));
    assert_eq!(from.iter().sum::<i32>(), 3);
    sender.join().unwrap();
    assert!(from.recv_timeout(Duration::from_millis(1)).is_err());
}

fn locals() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            ENDED.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static OWN: RefCell<Option<Ends>> = const { RefCell::new(None) });
    let work = || OWN.with(|own| drop(own.borrow_mut().replace(Ends)));
    thread::Builder::new().name("named".into()).spawn(work).unwrap().join().unwrap();
    assert_eq!(ENDED.load(SeqCst), 1);
}

fn limits() {
    let (guard, changed) = (Mutex::new(false), Condvar::new());
    let held = guard.lock().unwrap();
    let (held, limit) = changed.wait_timeout(held, Duration::from_millis(1)).unwrap();
    assert!(limit.timed_out() && !*held);
}

fn main() {
    let parts = [scopes, parking, once, barriers, read_write, channels, locals, limits];
    let only = std::env::args().nth(1).and_then(|part| part.parse::<usize>().ok());
    for (number, part) in parts.iter().enumerate() {
        if only.is_none_or(|only| only == number) {
            part();
        }
    }
    println!("as Rust has it");
}
