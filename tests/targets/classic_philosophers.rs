//! Dining philosophers: a barrier until all sit, a condition variable for the bell, a read-write lock for the menu, a
//! mutex for each fork, taken in ascending order. args: the mistake to plant.

#[path = "classic.rs"]
mod classic;

use classic::{Sheet, mistake, pthread_detach};
use std::mem::forget;
use std::os::unix::thread::JoinHandleExt;
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

const SEATS: usize = 3;

struct Table {
    forks: [Mutex<u32>; SEATS],
    served: Mutex<bool>,
    bell: Condvar,
    menu: RwLock<u32>,
    meals: Mutex<usize>,
    seated: Barrier,
    sheet: &'static Sheet,
}

impl Table {
    fn await_bell(&self) {
        let mut served = self.served.lock().unwrap();
        while !*served {
            served = self.bell.wait(served).unwrap();
        }
    }

    fn eat(&self, seat: usize) {
        let (left, right) = (seat, (seat + 1) % SEATS);
        let (mut first, mut second) = (left.min(right), left.max(right));
        if mistake("deadlock") {
            (first, second) = (left, right);
        }
        if mistake("self-deadlock") {
            second = first;
        }
        let mut one = self.forks[first].lock().unwrap();
        let mut two = self.forks[second].lock().unwrap();
        *one += 1;
        *two += 1;
        *self.meals.lock().unwrap() += 1;
        if mistake("lock-left-held") {
            forget(one);
        }
    }

    fn dine(&self, seat: usize) {
        self.seated.wait();
        let dish = self.menu.read().unwrap();
        if mistake("read-recursion") {
            assert_eq!(*dish, *self.menu.read().unwrap());
        }
        drop(dish);
        self.await_bell();
        self.eat(seat);
        self.sheet.sign();
    }
}

fn main() {
    let table = Arc::new(Table {
        forks: Default::default(),
        served: Mutex::new(false),
        bell: Condvar::new(),
        menu: RwLock::new(0),
        meals: Mutex::new(0),
        seated: Barrier::new(SEATS + usize::from(mistake("barrier-count"))),
        sheet: Sheet::new(SEATS as u32),
    });
    let philosophers: Vec<_> = (0..SEATS)
        .map(|seat| {
            let table = Arc::clone(&table);
            thread::spawn(move || table.dine(seat))
        })
        .collect();
    *table.menu.write().unwrap() = 1;
    *table.served.lock().unwrap() = true;
    table.bell.notify_all();
    table.sheet.collect();
    for philosopher in philosophers {
        if mistake("thread-misuse") {
            pthread_detach(philosopher.as_pthread_t());
        }
        philosopher.join().unwrap();
    }
    assert_eq!(*table.meals.lock().unwrap(), SEATS);
}
