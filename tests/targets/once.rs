//! One-time initialisation by any thread, and handing over values: Once, OnceLock, LazyLock,
//! sync_channel, park_timeout, wait_timeout, try_lock, scoped threads that return values.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TrySendError, channel, sync_channel};
use std::sync::{Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError};
use std::thread;
use std::time::Duration;

static MADE: AtomicU32 = AtomicU32::new(0);
static LAZY: LazyLock<u32> = LazyLock::new(|| MADE.fetch_add(1, Ordering::SeqCst) + 1);
static CELL: OnceLock<u32> = OnceLock::new();
static ONCE: Once = Once::new();

const MOMENT: Duration = Duration::from_millis(1);

fn made_once() {
    let come = |mine: u32| {
        let mut called = 0;
        ONCE.call_once(|| called = 1);
        assert!(ONCE.is_completed());
        (*LAZY, *CELL.get_or_init(|| mine), called)
    };
    let (one, two) = thread::scope(|scope| {
        let other = scope.spawn(|| come(1));
        (come(2), other.join().unwrap())
    });
    assert_eq!((one.0, two.0, MADE.load(Ordering::SeqCst)), (1, 1, 1));
    assert_eq!((one.1, one.2 + two.2), (two.1, 1));
    assert!(CELL.set(3).is_err());
}

fn handed_over() {
    let (sender, receiver) = sync_channel(1);
    let (answer, answers) = channel();
    assert_eq!(answers.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
    thread::scope(|scope| {
        scope.spawn(move || answer.send(receiver.iter().sum::<u32>()).unwrap());
        (1..=3).for_each(|item| sender.send(item).unwrap());
        drop(sender);
        assert_eq!(answers.recv(), Ok(6));
    });
    assert!(answers.recv().is_err());
    let (full, rest) = sync_channel(0);
    assert_eq!(full.try_send(1), Err(TrySendError::Full(1)));
    drop(rest);
    assert_eq!(full.try_send(1), Err(TrySendError::Disconnected(1)));
}

fn timed_and_tried() {
    let (lock, changed) = (Mutex::new(0), Condvar::new());
    let hold = lock.lock().unwrap();
    assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    let (hold, limit) = changed.wait_timeout_while(hold, MOMENT, |value| *value == 0).unwrap();
    assert!(limit.timed_out());
    drop(hold);
    let table = RwLock::new(());
    let reads = table.read().unwrap();
    assert!(table.try_read().is_ok() && table.try_write().is_err());
    drop(reads);
    thread::park_timeout(MOMENT);
    let main = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            *lock.lock().unwrap() = 1;
            main.unpark();
        });
        while *lock.lock().unwrap() == 0 {
            thread::park();
        }
    });
}

fn main() {
    made_once();
    handed_over();
    timed_and_tried();
    println!("as Rust has it");
}
