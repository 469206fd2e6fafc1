//! A thread that nobody joins panics; main only sees its channel closed, and ends as if all were well.

use std::sync::mpsc::channel;

fn main() {
    let (sender, receiver) = channel::<u32>();
    std::thread::spawn(move || {
        let _sender = sender;
        panic!("nobody is there to see this");
    });
    println!("received: {:?}", receiver.recv().ok());
}
