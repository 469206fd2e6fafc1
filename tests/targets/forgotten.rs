// Main forgets a box if the other thread came first: then the box is lost.
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static SET: AtomicBool = AtomicBool::new(false);

fn main() {
    let other = thread::spawn(|| SET.store(true, Ordering::SeqCst));
    let mine = Box::new([1u64; 20]);
    if SET.load(Ordering::SeqCst) {
        std::mem::forget(mine);
    }
    other.join().unwrap();
}
