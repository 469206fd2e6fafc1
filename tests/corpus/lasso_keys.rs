use lasso::{Spur, ThreadedRodeo};
use std::sync::Arc;
use std::thread;

#[test]
fn equal_strings_have_one_key_in_all_threads() {
    let strings: Arc<ThreadedRodeo<Spur>> = Arc::new(ThreadedRodeo::new());
    let other = Arc::clone(&strings);
    let interning = thread::spawn(move || other.get_or_intern("word"));
    let mine = strings.get_or_intern("word");
    assert_eq!(mine, interning.join().unwrap());
}
