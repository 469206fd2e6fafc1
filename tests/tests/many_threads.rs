//! As many threads alive at once as a program may have, each with a stack of the usual size.

use tests::heddle::Home;
use tests::targets::program;

#[test]
fn five_hundred_and_twelve_threads_are_alive_at_once() {
    let path = program("many_threads").build().expect("targets compile");
    let home = Home::new();
    let path = path.to_string_lossy();
    let run = home.heddle(["explore", "--json", "--max-executions", "5", "--", &*path, "512"]);
    let report = run.report();
    assert_eq!((report.threads, report.executions), (513, 5), "{run:?}");
    assert!(report.bugs.is_empty(), "{run:?}");
}
