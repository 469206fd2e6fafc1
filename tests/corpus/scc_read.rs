use scc::HashMap;
use std::sync::Arc;
use std::thread;

#[test]
fn a_value_stays_while_it_is_read() {
    let map = Arc::new(HashMap::<u32, String>::new());
    map.insert(1, String::from("first")).unwrap();
    let other = Arc::clone(&map);
    let removing = thread::spawn(move || drop(other.remove(&1)));
    map.read(&1, |_, value| assert_eq!(value, "first"));
    removing.join().unwrap();
}
