use std::thread;

#[test]
fn two_senders_may_outlive_the_receiver() {
    let (sender, receiver) = crossbeam_channel::unbounded::<Box<u32>>();
    let other = sender.clone();
    let one = thread::spawn(move || drop(sender.send(Box::new(1))));
    let two = thread::spawn(move || drop(other.send(Box::new(2))));
    drop(receiver);
    one.join().unwrap();
    two.join().unwrap();
}
