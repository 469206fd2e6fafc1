use std::sync::Mutex;
use std::{panic, thread};

static NUMBER: Mutex<i32> = Mutex::new(0);

fn main() {
    let thread = thread::spawn(|| drop(NUMBER.lock()));
    let caught = panic::catch_unwind(|| {
        let _guard = NUMBER.lock();
        panic!("expected");
    });
    assert!(caught.is_err());
    thread.join().unwrap();
}
