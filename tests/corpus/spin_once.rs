use spin::Once;
use std::thread;

static ONCE: Once<Box<u32>> = Once::new();

#[test]
fn a_value_is_initialised_although_another_thread_failed_to() {
    let failing = thread::spawn(|| {
        let _ = ONCE.try_call_once(|| Err::<Box<u32>, ()>(()));
    });
    let value = ONCE.call_once(|| Box::new(7));
    assert_eq!(**value, 7);
    failing.join().unwrap();
}
