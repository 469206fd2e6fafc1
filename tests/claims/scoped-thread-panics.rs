use std::panic::catch_unwind;
use std::thread;

fn main() {
    let scope = || {
        thread::scope(|scope| {
            scope.spawn(|| panic!("expected"));
        });
    };
    assert!(catch_unwind(scope).is_err());
}
