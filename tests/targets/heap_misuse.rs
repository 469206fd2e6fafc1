//! One thread drops an object that another still uses, through
//! an unsafe pointer. Only some schedules make the mistake.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

#[repr(C)]
struct Account {
    balance: u64,
    history: *mut u64,
    months: [u64; 4],
}

static SHARED: AtomicPtr<Account> = AtomicPtr::new(std::ptr::null_mut());
static TURN: Mutex<u32> = Mutex::new(0);

/// A point where the other thread may run: uncontended locks of Rust's library are not points.
fn pause() {
    *TURN.lock().unwrap() += 1;
    std::thread::yield_now();
}

fn main() {
    let mistake = std::env::args().nth(1).unwrap_or_default();
    let mut account = Box::new(Account { balance: 0, history: std::ptr::null_mut(), months: [0; 4] });
    account.history = &raw mut account.balance;
    SHARED.store(Box::into_raw(account), Ordering::SeqCst);
    let keep = mistake == "overflow";
    let user = std::thread::spawn(move || {
        let mine = SHARED.load(Ordering::SeqCst);
        if mine.is_null() {
            return;
        }
        pause();
        unsafe {
            match mistake.as_str() {
                "write" => (*mine).balance = 1,
                "read" => *(*mine).history = 1,
                "twice" => drop(Box::from_raw(mine)),
                "overflow" if SHARED.load(Ordering::SeqCst).is_null() => {
                    *(&raw mut (*mine).months).cast::<u64>().add(black_box(4)) = 1;
                }
                _ => {}
            }
        }
    });
    let owner = std::thread::spawn(move || {
        let old = SHARED.swap(std::ptr::null_mut(), Ordering::SeqCst);
        pause();
        if !keep {
            drop(unsafe { Box::from_raw(old) });
        }
    });
    user.join().unwrap();
    owner.join().unwrap();
}
