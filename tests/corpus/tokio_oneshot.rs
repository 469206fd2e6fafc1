use std::thread;
use tokio::sync::oneshot;

#[test]
fn a_closed_receiver_and_a_sender_take_the_value_once() {
    let (sender, mut receiver) = oneshot::channel::<Box<u32>>();
    let sending = thread::spawn(move || sender.send(Box::new(1)).map_err(|value| assert_eq!(*value, 1)));
    receiver.close();
    if let Ok(value) = receiver.try_recv() {
        assert_eq!(*value, 1);
    }
    let _ = sending.join().unwrap();
}
