//! main panics while another thread waits.

fn main() {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || never.recv());
    panic!("main gives up");
}
