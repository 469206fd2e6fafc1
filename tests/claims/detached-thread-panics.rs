use std::thread;
use std::time::Duration;

fn main() {
    thread::spawn(|| {
        let _ = std::panic::catch_unwind(|| ());
        panic!("never joined");
    });
    thread::sleep(Duration::from_millis(10));
}
