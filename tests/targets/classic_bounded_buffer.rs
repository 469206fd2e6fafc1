//! A bounded buffer with one slot: a producer and two consumers, who begin together, wait for each other, and look up
//! what an item weighs. args: the mistake to plant.

#[path = "classic.rs"]
mod classic;

use classic::{Sheet, mistake, pthread_detach};
use std::mem::forget;
use std::os::unix::thread::JoinHandleExt;
use std::sync::{Barrier, Condvar, Mutex, RwLock};
use std::thread;

const ITEMS: u32 = 2;

#[derive(Default)]
struct Buffer {
    slot: Mutex<Option<u32>>,
    not_empty: Condvar,
    not_full: Condvar,
    log: Mutex<Vec<u32>>,
    taken: Mutex<u32>,
    weight: RwLock<u32>,
}

impl Buffer {
    fn is_empty(&self) -> bool {
        self.slot.lock().unwrap().is_none()
    }

    fn put(&self, item: u32) {
        let mut slot = self.slot.lock().unwrap();
        while slot.is_some() {
            slot = self.not_full.wait(slot).unwrap();
        }
        *slot = Some(item);
        if mistake("deadlock") {
            // `get` takes these two in reverse order.
            self.log.lock().unwrap().push(item);
        }
        self.not_empty.notify_one();
        if mistake("lock-left-held") {
            forget(slot);
        }
    }

    fn get(&self) -> u32 {
        let log = mistake("deadlock").then(|| self.log.lock().unwrap());
        let mut slot = self.slot.lock().unwrap();
        drop(log);
        if mistake("lost-wake-up") && slot.is_none() {
            // The item may come between the question and the wait.
            drop(slot);
            slot = self.not_empty.wait(self.slot.lock().unwrap()).unwrap();
        }
        while if mistake("self-deadlock") { self.is_empty() } else { slot.is_none() } {
            slot = self.not_empty.wait(slot).unwrap();
        }
        self.not_full.notify_one();
        slot.take().unwrap()
    }
}

fn main() {
    let buffer: &Buffer = Box::leak(Box::default());
    let begin: &Barrier =
        Box::leak(Box::new(Barrier::new(ITEMS as usize + 1 + usize::from(mistake("barrier-count")))));
    let sheet = Sheet::new(ITEMS);
    let consumer = |_| {
        thread::spawn(move || {
            begin.wait();
            let item = buffer.get();
            let weight = buffer.weight.read().unwrap();
            if mistake("read-recursion") {
                assert_eq!(*weight, *buffer.weight.read().unwrap());
            }
            *buffer.taken.lock().unwrap() += item;
            drop(weight);
            sheet.sign();
        })
    };
    let consumers: Vec<_> = (0..ITEMS).map(consumer).collect();
    let producer = thread::spawn(move || {
        begin.wait();
        (1..=ITEMS).for_each(|item| buffer.put(item));
        *buffer.weight.write().unwrap() = 2;
    });
    sheet.collect();
    if mistake("thread-misuse") {
        pthread_detach(producer.as_pthread_t());
    }
    producer.join().unwrap();
    for consumer in consumers {
        consumer.join().unwrap();
    }
    assert_eq!(*buffer.taken.lock().unwrap(), 3);
}
