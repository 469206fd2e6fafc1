//! Two tellers each add one to a balance that they read and write in two steps. The bank lies in a block
//! that nothing but registers points to when it fails.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

struct Bank {
    balance: AtomicU32,
    log: Mutex<Vec<u32>>,
}

fn main() {
    let bank = Arc::new(Bank { balance: AtomicU32::new(0), log: Mutex::new(Vec::new()) });
    let tellers: Vec<_> = (0..2)
        .map(|number| {
            let bank = bank.clone();
            thread::spawn(move || {
                let now = bank.balance.load(Ordering::SeqCst);
                bank.log.lock().unwrap().push(number);
                bank.balance.store(now + 1, Ordering::SeqCst);
            })
        })
        .collect();
    for teller in tellers {
        teller.join().unwrap();
    }
    assert_eq!(bank.balance.load(Ordering::SeqCst), 2);
}
