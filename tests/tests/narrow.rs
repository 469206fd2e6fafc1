//! `heddle narrow`: the cause that it finds in programs with known bugs.

use serde_json::Value;
use tests::heddle::Home;
use tests::predicates::path;

/// A program, how its failure is found, and what the cause must name: texts of lines, and variables.
struct Expected {
    program: &'static str,
    args: &'static [&'static str],
    lines: &'static [&'static str],
    variables: &'static [&'static str],
}

const EXPECTED: &[Expected] = &[
    Expected {
        program: "increment",
        args: &["2", "1"],
        lines: &["counter = seen + 1"],
        variables: &["seen", "counter"],
    },
    Expected {
        program: "abba",
        args: &[],
        lines: &["pthread_mutex_lock(&b)", "pthread_mutex_lock(&a)"],
        variables: &[],
    },
    Expected {
        program: "order_in_state",
        args: &[],
        lines: &["waiting == MANY"],
        variables: &["connection", "waiting"],
    },
    Expected {
        program: "lost_wakeup",
        args: &[],
        lines: &["pthread_mutex_lock(&guard)"],
        variables: &["ready"],
    },
];

/// The trace of the program's failure, in this directory.
fn trace(home: &Home, program: &str, args: &[&str]) -> String {
    let program = path(program);
    let mut words = vec!["explore", "--json", "--", &program];
    words.extend(args);
    let report = home.heddle(words).report();
    report.bugs[0].trace.clone().expect("it is written")
}

#[test]
fn the_cause_is_found_and_is_sufficient_and_necessary() {
    for expected in EXPECTED {
        let home = Home::new();
        let trace = trace(&home, expected.program, expected.args);
        let run = home.heddle(["narrow", "--json", &trace]);
        assert_eq!(run.status, 0, "{}: {run:?}", expected.program);
        let found: Value = run.object();
        assert_eq!(found["result"], "cause", "{}: {found}", expected.program);
        assert_eq!(found["with"]["passing"], 0, "{found}");
        assert_eq!(found["without"]["failing"], 0, "{found}");
        let text = found["predicate"]["text"].as_str().unwrap_or_default().to_owned();
        let source = found["predicate"]["sites"].as_array().cloned().unwrap_or_default();
        let line_text = |site: &Value| {
            let file = std::fs::read_to_string(site["file"].as_str().unwrap_or_default());
            let line = site["line"].as_u64().unwrap_or_default() as usize;
            file.ok().and_then(|file| file.lines().nth(line - 1).map(str::to_owned))
        };
        let lines: Vec<String> = source.iter().filter_map(line_text).collect();
        for wanted in expected.lines {
            let is_there = lines.iter().any(|line| line.contains(wanted));
            assert!(is_there, "{}: {wanted}: {text}", expected.program);
        }
        for wanted in expected.variables {
            assert!(text.contains(wanted), "{}: {wanted}: {text}", expected.program);
        }
        // What is printed can be given to a search, which says the same.
        let program = path(expected.program);
        let mut words = vec!["explore", "--json", "--keep-going", "--max-executions", "200"];
        words.extend(["--through", &text, "--", &program]);
        words.extend(expected.args);
        let through = home.heddle(words).report().through.expect("they are counted");
        assert!(through.met_failing > 0 && through.met_passing == 0, "{text}: {through:?}");
        assert_eq!(through.other_failing, 0, "{text}: {through:?}");
    }
}

#[test]
fn what_has_no_cause_is_refused() {
    let home = Home::new();
    let program = path("increment");
    let passing = home.heddle(["run", "--", &program, "2", "1"]);
    assert_eq!(passing.status, 0, "{passing:?}");
    let name = std::fs::read_dir(home.path().join("heddle-out"))
        .expect("a trace is written")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|it| it == "heddle"))
        .expect("a trace");
    let run = home.heddle(["narrow".as_ref(), name.as_os_str()]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("does not fail"), "{run:?}");
}
