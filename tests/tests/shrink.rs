//! Shrinking real failures: to how few preemptions, with a proof, and never to another failure.

use serde_json::Value;
use tests::heddle::Home;
use tests::targets::program;

/// A failing trace of a target, found by a random walk with this seed.
fn failing(home: &Home, name: &str, seed: &str) -> (String, Vec<String>) {
    let target = program(name);
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--strategy", "random", "--seed", seed, "--json", "--", &path];
    args.extend(target.args.iter().map(String::as_str));
    let report = home.heddle(&args).report();
    let bug = &report.bugs[0];
    (bug.trace.clone().expect("a trace"), vec![bug.kind.to_string(), bug.signature.clone()])
}

/// Shrinks what each of some seeds finds: all come to the same, proved.
fn check(name: &str, preemptions: u64) {
    let home = Home::new();
    for seed in ["0", "1", "2"] {
        let (trace, failure) = failing(&home, name, seed);
        let run = home.heddle(["shrink", "--json", &trace]);
        assert_eq!(run.status, 0, "{name} seed {seed}: {run:?}");
        let object: Value = run.object();
        assert_eq!(object["to"]["preemptions"], preemptions, "{name} seed {seed}: {object}");
        assert_eq!(object["minimal"], "proved", "{name} seed {seed}: {object}");
        let small = object["trace"].as_str().expect("a path");
        let replayed: Value = home.heddle(["replay", "--json", small]).object();
        assert_eq!(replayed["failure"]["kind"], failure[0].as_str(), "{name}: {replayed}");
        assert_eq!(replayed["failure"]["signature"], failure[1].as_str(), "{name}: {replayed}");
    }
}

#[test]
fn a_lost_update_takes_one_preemption() {
    check("increment", 1);
}

#[test]
fn two_locks_in_opposite_order_take_one_preemption() {
    check("abba", 1);
}

#[test]
fn a_check_and_an_act_in_two_sections_take_one_preemption() {
    check("bank", 1);
}

#[test]
fn a_failure_of_every_schedule_takes_none() {
    check("self_deadlock", 0);
}

#[test]
fn what_passes_is_refused() {
    let home = Home::new();
    let path = program("increment").build().expect("targets compile");
    let run = home.heddle(["run", "--", &path.to_string_lossy(), "2", "1"]);
    assert_eq!(run.status, 0, "{run:?}");
    let trace = run.stderr.lines().find_map(|line| line.strip_prefix("trace ")).expect("a path");
    let refused = home.heddle(["shrink", trace]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not fail"), "{refused:?}");
}

#[test]
fn no_other_file_is_overwritten() {
    let home = Home::new();
    let (trace, _) = failing(&home, "abba", "0");
    let mine = home.path().join("mine");
    std::fs::write(&mine, "not a trace").expect("a file");
    let refused = home.heddle(["shrink", &trace, "-o", &mine.to_string_lossy()]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert_eq!(std::fs::read_to_string(&mine).expect("still there"), "not a trace");
}
