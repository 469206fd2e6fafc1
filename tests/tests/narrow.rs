//! `heddle narrow`: from failures of programs to the states that cause them.

use serde_json::Value;
use tests::heddle::Home;
use tests::predicates::path;

/// A program and, if a cause is found, texts of its lines: each alternative is the lines of threads that
/// have to be in the cause, or in a predicate that the answer calls equal to it.
struct Expected {
    program: &'static str,
    args: &'static [&'static str],
    lines: &'static [&'static [&'static str]],
}

/// The programs were chosen, and their causes written down, from their sources.
const FOUND: &[Expected] = &[
    Expected {
        program: "increment",
        args: &["2", "1"],
        lines: &[&["counter = seen + 1"], &["pthread_mutex_lock(&guard)"]],
    },
    Expected { program: "unguarded", args: &[], lines: &[&["counter = seen + 1"]] },
    Expected {
        program: "abba",
        args: &[],
        lines: &[&["pthread_mutex_lock(&b)", "pthread_mutex_lock(&a)"]],
    },
    Expected {
        program: "lost_wakeup",
        args: &[],
        lines: &[&["pthread_mutex_lock(&guard)"], &["ready = 1"]],
    },
    Expected {
        program: "twostage",
        args: &["1"],
        lines: &[&["pthread_mutex_lock(&second_guard)", "second"], &["int two = second"]],
    },
    Expected { program: "deny", args: &[], lines: &[&["while (atomic_load(&wants[1 - own]))"]] },
];

/// The cause of these is a state that lines and variables of steps do not describe: an order, the value
/// of what a lock protects, or a place within a line. If one is named, it has to be one.
const DIFFICULT: &[(&str, &[&str])] =
    &[("order_in_state", &[]), ("lost_update", &["2"]), ("shared_index", &["3"])];

/// The trace of the program's failure, in this directory.
fn trace(home: &Home, program: &str, args: &[&str]) -> String {
    let program = path(program);
    let mut words = vec!["explore", "--json", "--", &program];
    words.extend(args);
    let report = home.heddle(words).report();
    report.bugs[0].trace.clone().expect("it is written")
}

fn narrowed(home: &Home, program: &str, args: &[&str]) -> Value {
    let trace = trace(home, program, args);
    let run = home.heddle(["narrow", "--json", &trace]);
    assert_eq!(run.status, 0, "{program}: {run:?}");
    run.object()
}

/// The texts of the lines at which a predicate has threads.
fn lines(predicate: &Value) -> Vec<String> {
    let text = |site: &Value| {
        let file = std::fs::read_to_string(site["file"].as_str()?).ok()?;
        let line = usize::try_from(site["line"].as_u64()?).ok()?;
        file.lines().nth(line - 1).map(str::to_owned)
    };
    predicate["sites"].as_array().into_iter().flatten().filter_map(text).collect()
}

/// What is printed can be given to a search, which says the same of other executions.
fn confirm(home: &Home, found: &Value, program: &str, args: &[&str]) {
    let text = found["predicate"]["text"].as_str().expect("it has a text");
    let path = path(program);
    for seed in ["1", "2", "3"] {
        let mut words = vec!["explore", "--json", "--keep-going", "--max-executions", "400"];
        words.extend(["--seed", seed, "--through", text, "--", &path]);
        words.extend(args);
        let through = home.heddle(words).report().through.expect("they are counted");
        let what = format!("{program}: {found}: {through:?}");
        assert!(through.met_failing > 0 && through.met_passing == 0, "{what}");
        assert_eq!(through.other_failing, 0, "{what}");
    }
}

#[test]
fn the_cause_is_found_and_is_sufficient_and_necessary() {
    for expected in FOUND {
        let home = Home::new();
        let found = narrowed(&home, expected.program, expected.args);
        let what = format!("{}: {found}", expected.program);
        assert_eq!(found["result"], "cause", "{what}");
        assert_eq!(found["with"]["passing"], 0, "{what}");
        assert_eq!(found["without"]["failing"], 0, "{what}");
        let alternatives = found["alternatives"].as_array().cloned().unwrap_or_default();
        let all: Vec<Vec<String>> =
            [&found["predicate"]].into_iter().chain(&alternatives).map(lines).collect();
        let has = |wanted: &&[&str]| {
            let is_in = |lines: &Vec<String>| {
                wanted.iter().all(|text| lines.iter().any(|line| line.contains(text)))
            };
            all.iter().any(is_in)
        };
        assert!(expected.lines.iter().any(has), "{what}");
        confirm(&home, &found, expected.program, expected.args);
    }
}

#[test]
fn no_cause_is_named_that_is_none() {
    for (program, args) in DIFFICULT {
        let home = Home::new();
        let found = narrowed(&home, program, args);
        println!("{program}: {}", found["result"]);
        if found["result"] == "cause" {
            confirm(&home, &found, program, args);
        }
    }
}

#[test]
fn what_has_no_cause_is_refused() {
    let home = Home::new();
    let program = path("increment");
    let trace_of = |home: &Home| {
        let is_trace =
            |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "heddle");
        let entries =
            std::fs::read_dir(home.path().join("heddle-out")).expect("a trace is written");
        entries.filter_map(Result::ok).map(|entry| entry.path()).find(is_trace).expect("a trace")
    };
    let passing = home.heddle(["run", "--", &program, "2", "1"]);
    assert_eq!(passing.status, 0, "{passing:?}");
    let run = home.heddle(["narrow".as_ref(), trace_of(&home).as_os_str()]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("does not fail"), "{run:?}");

    let home = Home::new();
    home.heddle(["explore", "--points", "api", "--", &program, "2", "1"]);
    let run = home.heddle(["narrow".as_ref(), trace_of(&home).as_os_str()]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("--points racy") && run.stderr.lines().count() == 1, "{run:?}");
}
