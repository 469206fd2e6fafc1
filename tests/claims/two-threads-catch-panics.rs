use std::{panic, thread};

fn main() {
    let thread = thread::spawn(|| panic::catch_unwind(|| panic!("expected")).is_err());
    let caught = panic::catch_unwind(|| panic!("expected")).is_err();
    assert!(caught && thread.join().unwrap());
}
