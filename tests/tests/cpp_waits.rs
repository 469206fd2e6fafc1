//! What a deadlock over the objects of C++'s library says.

use tests::heddle::Home;
use tests::targets::program;

/// The futexes belong to the library: the program has no name for them.
#[test]
fn what_blocks_a_thread_in_the_library_of_cpp_is_named() {
    let home = Home::new();
    let path = program("library_waits").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    for (what, wanted) in [
        ("barrier", "T1 waits for the other threads of a barrier"),
        ("flag", "T1 waits for a change of an atomic object"),
        ("future", "T1 waits for the result of a future; T2 waits for the result of a future"),
    ] {
        let report = home.heddle(["explore", "--json", "--", &path, what]).report();
        let message = report.bugs.first().map(|bug| bug.message.as_str());
        assert!(message.is_some_and(|text| text.contains(wanted)), "{what}: {report:?}");
    }
}
