use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

#[test]
fn what_was_sent_before_the_end_is_received() {
    let (sender, receiver) = flume::unbounded();
    let mut context = Context::from_waker(Waker::noop());
    let mut receiving = pin!(receiver.recv_async());
    assert!(receiving.as_mut().poll(&mut context).is_pending());
    let sending = thread::spawn(move || sender.send(1).unwrap());
    let mut received = receiving.as_mut().poll(&mut context);
    sending.join().unwrap();
    if received.is_pending() {
        received = receiving.as_mut().poll(&mut context);
    }
    assert_eq!(received, Poll::Ready(Ok(1)));
}
