use std::thread;

#[test]
fn the_memory_of_a_channel_is_freed() {
    let (sender, receiver) = crossbeam_channel::unbounded::<u64>();
    let sending = thread::spawn(move || {
        let _ = sender.send(7);
    });
    drop(receiver);
    sending.join().unwrap();
}
