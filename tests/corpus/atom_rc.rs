use atom::Atom;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

#[test]
fn a_value_that_was_taken_is_counted_once() {
    let mine = Rc::new(1);
    let shared = Arc::new(Atom::new(Box::new(Rc::clone(&mine))));
    let other = Arc::clone(&shared);
    let taking = thread::spawn(move || drop(other.take()));
    let again = Rc::clone(&mine);
    taking.join().unwrap();
    drop(again);
    assert_eq!(Rc::strong_count(&mine), 1);
}
