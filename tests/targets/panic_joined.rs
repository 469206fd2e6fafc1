//! A thread panics, and the joining thread handles that: no failure.

fn main() {
    let thread = std::thread::spawn(|| {
        if std::env::args().count() > 0 {
            panic!("expected");
        }
        1
    });
    let payload = thread.join().expect_err("the thread panics");
    println!("joined: {}", payload.downcast_ref::<&str>().unwrap_or(&"something else"));
}
