use std::rc::Rc;
use std::thread;
use ticketed_lock::TicketedLock;

#[test]
fn a_value_is_counted_by_one_thread_at_a_time() {
    let mine = Rc::new(1);
    let mut lock = TicketedLock::new(Rc::clone(&mine));
    let ticket = lock.read();
    let reading = thread::spawn(move || {
        let guard = ticket.wait();
        drop(Rc::clone(&guard));
    });
    drop(Rc::clone(&mine));
    reading.join().unwrap();
    drop(lock);
    assert_eq!(Rc::strong_count(&mine), 1);
}
