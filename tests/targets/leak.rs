// A box that is taken apart and put together in two critical sections: in some schedules one is lost.
use std::ptr;
use std::sync::Mutex;
use std::thread;

struct Held(*mut [u64; 8]);
unsafe impl Send for Held {}

static HELD: Mutex<Held> = Mutex::new(Held(ptr::null_mut()));

fn put(value: u64) {
    let mine = Box::into_raw(Box::new([value; 8]));
    let is_empty = HELD.lock().unwrap().0.is_null();
    thread::yield_now();
    if is_empty {
        HELD.lock().unwrap().0 = mine;
    } else {
        drop(unsafe { Box::from_raw(mine) });
    }
}

fn main() {
    let threads: Vec<_> = (0..2).map(|value| thread::spawn(move || put(value))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
