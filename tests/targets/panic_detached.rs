//! A thread that is not joined panics; main only sees its channel closed, and ends normally.

use std::sync::mpsc::channel;

fn main() {
    let (sender, receiver) = channel::<u32>();
    std::thread::spawn(move || {
        let _sender = sender;
        panic!("not joined");
    });
    println!("received: {:?}", receiver.recv().ok());
}
