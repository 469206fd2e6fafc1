//! One mistake of each kind between threads. args: which.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::sync::{Condvar, Mutex};
use std::thread;

// Made visible before it is ready.
static READY: AtomicBool = AtomicBool::new(false);
static LIMIT: AtomicUsize = AtomicUsize::new(0);

fn publish() {
    READY.store(true, SeqCst);
    LIMIT.store(10, SeqCst);
}

fn rely_on_it() {
    if READY.load(SeqCst) {
        assert_eq!(LIMIT.load(SeqCst), 10);
    }
}

// A value that is the same again.
struct Node {
    next: AtomicPtr<Node>,
    taken: AtomicBool,
}

static SECOND: Node = Node { next: AtomicPtr::new(null_mut()), taken: AtomicBool::new(false) };
static FIRST: Node = Node { next: AtomicPtr::new(null_mut()), taken: AtomicBool::new(false) };
static TOP: AtomicPtr<Node> = AtomicPtr::new(null_mut());

fn pop() -> *mut Node {
    loop {
        let seen = TOP.load(SeqCst);
        if seen.is_null() {
            return seen;
        }
        // SAFETY: all nodes are static.
        let next = unsafe { (*seen).next.load(SeqCst) };
        if TOP.compare_exchange(seen, next, SeqCst, SeqCst).is_ok() {
            return seen;
        }
    }
}

fn push(node: *mut Node) {
    loop {
        let seen = TOP.load(SeqCst);
        // SAFETY: all nodes are static.
        unsafe { (*node).next.store(seen, SeqCst) };
        if TOP.compare_exchange(seen, node, SeqCst, SeqCst).is_ok() {
            return;
        }
    }
}

fn pop_one() {
    pop();
}

fn pop_two_push_one() {
    let one = pop();
    let two = pop();
    if !two.is_null() {
        // SAFETY: all nodes are static.
        unsafe { (*two).taken.store(true, SeqCst) };
    }
    if !one.is_null() {
        push(one);
    }
}

// A wake-up before any thread waits.
static DONE: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

fn wait_for_it() {
    let done = *DONE.lock().unwrap();
    if !done {
        let hold = DONE.lock().unwrap();
        drop(CHANGED.wait(hold));
    }
}

fn do_it() {
    *DONE.lock().unwrap() = true;
    CHANGED.notify_one();
}

// Locks in opposite order.
static LEFT: Mutex<()> = Mutex::new(());
static RIGHT: Mutex<()> = Mutex::new(());

fn left_first() {
    let _one = LEFT.lock();
    let _two = RIGHT.lock();
}

fn right_first() {
    let _one = RIGHT.lock();
    let _two = LEFT.lock();
}

// One relies on the other having come first.
static MADE: Mutex<Option<u32>> = Mutex::new(None);

fn make() {
    *MADE.lock().unwrap() = Some(7);
}

fn rely() {
    let made = *MADE.lock().unwrap();
    assert_eq!(made, Some(7));
}

// What belongs together, in two critical sections.
static BALANCE: Mutex<u32> = Mutex::new(0);

fn add() {
    let value = *BALANCE.lock().unwrap();
    *BALANCE.lock().unwrap() = value + 1;
}

fn both(one: fn(), two: fn()) {
    let threads = [thread::spawn(one), thread::spawn(two)];
    for thread in threads {
        thread.join().unwrap();
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("publication") => both(publish, rely_on_it),
        Some("aba") => {
            FIRST.next.store((&raw const SECOND).cast_mut(), SeqCst);
            TOP.store((&raw const FIRST).cast_mut(), SeqCst);
            both(pop_one, pop_two_push_one);
            let left = TOP.load(SeqCst);
            // SAFETY: all nodes are static.
            assert!(left.is_null() || unsafe { !(*left).taken.load(SeqCst) });
        }
        Some("wakeup") => both(wait_for_it, do_it),
        Some("locks") => both(left_first, right_first),
        Some("order") => both(make, rely),
        Some("atomicity") => {
            both(add, add);
            assert_eq!(*BALANCE.lock().unwrap(), 2);
        }
        _ => {}
    }
}
