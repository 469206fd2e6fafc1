//! State of the kernel that has no address in the program has a name, in steps and in what a task waits for.

use tests::heddle::Home;
use tests::hostile::build;

/// The failure that a search of one of the programs in `tests/claims` finds, as `show` prints it.
fn failure(home: &Home, name: &str) -> String {
    build(home, &format!("../claims/{name}"), name, &["-D_GNU_SOURCE"]);
    shown(home, &[&format!("./{name}")])
}

/// The failure that a search of a program finds, as `show` prints it.
fn shown(home: &Home, command: &[&str]) -> String {
    // dfs begins with the default schedule, in which a read finds nothing yet.
    let options = ["--strategy", "dfs", "--max-executions", "5000", "--patience", "500ms"];
    let report = home.explore(&options, command);
    let trace = report.bugs.first().and_then(|bug| bug.trace.clone());
    let trace = trace.unwrap_or_else(|| panic!("{command:?}: {report:?}"));
    home.heddle(["show", "--list", &trace]).stdout
}

#[test]
fn a_wait_names_what_it_is_for() {
    let home = Home::new();
    for (program, name) in [
        ("named-pipe-removed-before-opened", "waits for the other end of a pipe"),
        ("semaphore-set-never-posted", "waits for a semaphore set"),
        ("message-queue-never-sent-to", "waits for a message queue"),
    ] {
        let text = failure(&home, program);
        assert!(text.contains(name), "{program}:\n{text}");
    }
}

#[test]
fn a_step_names_the_state_that_it_accesses() {
    let home = Home::new();
    for (program, names) in [
        ("reader-of-a-pipe-closed", ["pipe of descriptor 3", ", written"]),
        ("refused-reader-is-late", ["transfer descriptor 3", "would block"]),
    ] {
        let text = failure(&home, program);
        for name in names {
            assert!(text.contains(name), "{program}, {name}:\n{text}");
        }
    }
    build(&home, "system_v", "program", &[]);
    for (case, name) in
        [("taken too early", "semaphore sets"), ("received too early", "message queues")]
    {
        let text = shown(&home, &["./program", case, "631"]);
        assert!(text.contains(name), "{case}:\n{text}");
    }
}
