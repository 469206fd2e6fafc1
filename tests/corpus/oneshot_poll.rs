use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::thread;

#[test]
fn a_receiver_is_polled_and_dropped_while_a_value_is_sent() {
    let (sender, mut receiver) = oneshot::channel::<Box<u32>>();
    let sending = thread::spawn(move || {
        let _ = sender.send(Box::new(1));
    });
    let mut context = Context::from_waker(Waker::noop());
    if let std::task::Poll::Ready(Ok(value)) = Pin::new(&mut receiver).poll(&mut context) {
        assert_eq!(*value, 1);
    }
    drop(receiver);
    sending.join().unwrap();
}
