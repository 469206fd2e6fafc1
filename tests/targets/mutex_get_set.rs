// Two threads that read under a mutex, and write back under the same mutex taken again. With `atomic`, both under
// one lock.
use std::sync::Mutex;

static COUNTER: Mutex<u32> = Mutex::new(0);

fn add() {
    if cfg!(atomic) {
        *COUNTER.lock().unwrap() += 1;
    } else {
        let value = *COUNTER.lock().unwrap();
        *COUNTER.lock().unwrap() = value + 1;
    }
}

fn main() {
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(add)).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*COUNTER.lock().unwrap(), 2);
}
