use std::panic::catch_unwind;
use std::thread;
use std::time::Duration;

fn main() {
    thread::spawn(|| {
        let _ = catch_unwind(|| panic!("expected"));
    });
    thread::sleep(Duration::from_millis(10));
}
