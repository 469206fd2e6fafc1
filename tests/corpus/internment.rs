use internment::ArcIntern;
use std::thread;

#[test]
fn equal_values_are_one_value_in_all_threads() {
    let intern = || {
        let value = ArcIntern::new(7u32);
        assert_eq!(*value, 7);
    };
    let threads = [thread::spawn(intern), thread::spawn(intern), thread::spawn(intern)];
    for thread in threads {
        thread.join().unwrap();
    }
}
