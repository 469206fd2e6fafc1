use std::thread;
use std::time::Duration;

#[test]
fn a_receiver_gives_up_while_a_value_is_sent() {
    let (sender, receiver) = oneshot::channel::<Box<u32>>();
    let sending = thread::spawn(move || {
        let _ = sender.send(Box::new(1));
    });
    let _ = receiver.recv_timeout(Duration::from_millis(1));
    drop(receiver);
    sending.join().unwrap();
}
