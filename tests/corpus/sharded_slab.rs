use sharded_slab::Slab;
use std::sync::Arc;
use std::thread;

#[test]
fn a_removed_item_stays_while_it_is_read() {
    let slab = Arc::new(Slab::new());
    let key = slab.insert(String::from("first")).unwrap();
    let other = Arc::clone(&slab);
    let removing = thread::spawn(move || drop(other.remove(key)));
    if let Some(item) = slab.get(key) {
        assert_eq!(*item, "first");
    }
    removing.join().unwrap();
}
