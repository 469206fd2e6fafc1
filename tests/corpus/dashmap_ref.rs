use dashmap::DashMap;
use std::sync::Arc;
use std::thread;

#[test]
fn a_value_stays_while_it_is_borrowed() {
    let map = Arc::new(DashMap::new());
    map.insert(1, String::from("first"));
    let other = Arc::clone(&map);
    let removing = thread::spawn(move || drop(other.remove(&1)));
    let found = map.iter().next().map(|entry| entry.value());
    if let Some(value) = found {
        assert_eq!(value, "first");
    }
    removing.join().unwrap();
}
