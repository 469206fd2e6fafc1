// One thread sends a message through a channel of the standard library, and main receives it.
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

enum Sending {
    Unbounded(Sender<u32>),
    Bounded(SyncSender<u32>),
}

fn make(kind: &str) -> (Sending, Receiver<u32>) {
    let bounded = |(sender, receiver)| (Sending::Bounded(sender), receiver);
    match kind {
        "rendezvous" => bounded(sync_channel(0)),
        "bounded" => bounded(sync_channel(1)),
        _ => {
            let (sender, receiver) = channel();
            (Sending::Unbounded(sender), receiver)
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_default();
    let how = args.next().unwrap_or_default();
    let (sender, receiver) = make(&kind);
    let other = thread::spawn(move || match sender {
        Sending::Unbounded(sender) => sender.send(7).unwrap(),
        Sending::Bounded(sender) => sender.send(7).unwrap(),
    });
    let received = match how.as_str() {
        "limit" => receiver.recv_timeout(Duration::from_secs(100)).unwrap(),
        "poll" => loop {
            match receiver.try_recv() {
                Ok(received) => break received,
                Err(_) => thread::yield_now(),
            }
        },
        "once" => receiver.try_recv().unwrap(),
        _ => receiver.recv().unwrap(),
    };
    assert_eq!(received, 7);
    other.join().unwrap();
}
