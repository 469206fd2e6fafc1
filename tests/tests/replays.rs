//! What a search found is the same in a process that only replays it.

use std::path::Path;
use tests::heddle::Home;
use tests::targets::program;

/// Searches for a failure and returns the trace.
fn trace_of(home: &Home, command: &[&str]) -> String {
    let run = home.heddle([&["explore", "--json", "--"], command].concat());
    let report = run.report();
    assert_eq!(report.unconfirmed.len(), 0, "{run:?}");
    assert_eq!(report.bugs.len(), 1, "{run:?}");
    report.bugs[0].trace.clone().expect("a trace")
}

fn assert_replays(home: &Home, trace: &str) {
    let run = home.heddle(["replay", "--times", "3", trace]);
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.stdout.contains("3 of 3 runs"), "{run:?}");
}

/// Regression test: in a search, the stack of the thread that is not main was at another address than
/// in a replay, because a search maps more memory of the runtime. So the variable on that stack was no
/// scheduling point in the replay.
#[test]
fn variables_on_the_stacks_of_other_threads_replay_shrink_and_are_explained() {
    let home = Home::new();
    let target = program("lost_update_in_scope");
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let trace = trace_of(&home, &[&path, "apart"]);
    assert_replays(&home, &trace);
    let run = home.heddle(["shrink", "--output", "smallest.heddle", &trace]);
    assert!(run.stdout.contains("1 preemption"), "{run:?}");
    assert_replays(&home, "smallest.heddle");
    let run = home.heddle(["explain", "smallest.heddle"]);
    assert_eq!(run.status, 0, "{run:?}");
}

/// Regression test: a replay called the program by its absolute path, so that copies of its name on
/// the heap had another size, and the blocks behind them other addresses.
#[test]
fn the_name_by_which_a_program_was_called_is_repeated() {
    let home = Home::new();
    let target = program("lost_update_in_scope");
    let path = target.build().expect("targets compile");
    std::fs::copy(path, home.path().join("updates")).expect("a copy");
    std::fs::create_dir(home.path().join("below")).expect("a directory");
    for name in ["./updates", "below/.././././updates", "below/../below/../below/.././updates"] {
        let trace = trace_of(&home, &[name, "apart"]);
        let shown = home.heddle(["show", "--json", &trace]);
        assert_eq!(name_in(&shown.object()), name, "{shown:?}");
        assert_replays(&home, &trace);
        std::fs::remove_dir_all(home.path().join("heddle-out")).expect("an output directory");
    }
}

/// The name by which the program was called, from a trace as JSON.
fn name_in(trace: &serde_json::Value) -> String {
    let bytes = trace["header"]["name"].as_array().expect("bytes");
    let bytes = bytes.iter().map(|byte| byte.as_u64().expect("a byte") as u8).collect();
    String::from_utf8(bytes).expect("text")
}

/// Regression test: the stack guard was random. A function stores it on its stack, where it was the
/// value of a step if another thread had used that memory as a variable before.
#[test]
fn the_stack_guard_is_the_same_in_every_run() {
    let home = Home::new();
    let target = program("guard_on_stack");
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let guard = |trace: &str| {
        let shown = home.heddle(["show", "--json", trace]);
        shown.object::<serde_json::Value>()["output"].to_string()
    };
    let first = guard(&trace_of(&home, &[&path]));
    assert!(first.contains("48,48,10"), "the guard's lowest byte is not zero: {first}");
    std::fs::remove_dir_all(Path::new(home.path()).join("heddle-out")).expect("a directory");
    assert_eq!(guard(&trace_of(&home, &[&path])), first);
}
