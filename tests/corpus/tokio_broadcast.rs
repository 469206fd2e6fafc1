use std::cell::Cell;
use std::thread;
use tokio::sync::broadcast;

/// Counts its clones; it may move to another thread, but two threads must not use it at once.
struct Message(Cell<u32>);

impl Clone for Message {
    fn clone(&self) -> Message {
        self.0.set(self.0.get() + 1);
        Message(Cell::new(self.0.get()))
    }
}

#[test]
fn each_receiver_gets_another_clone() {
    let (sender, mut first) = broadcast::channel(2);
    let mut second = sender.subscribe();
    let mut third = sender.subscribe();
    assert!(sender.send(Message(Cell::new(0))).is_ok());
    let one = thread::spawn(move || first.blocking_recv().unwrap().0.get());
    let two = thread::spawn(move || second.blocking_recv().unwrap().0.get());
    let mut seen = [one.join().unwrap(), two.join().unwrap()];
    seen.sort_unstable();
    assert_eq!(seen, [1, 2]);
    drop(third.try_recv());
}
