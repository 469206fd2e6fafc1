//! Checks of many cases on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Checks each case, as many at a time as there are processors. `check` returns what is wrong, if
/// anything.
///
/// # Panics
/// If something is wrong, with all of it.
pub fn check_all<T: Sync>(cases: &[T], check: impl Fn(&T) -> Option<String> + Sync) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let what = check(case);
                    wrong.lock().expect("no thread panics with the lock").extend(what);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panicked");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
