//! Conditions that a search watches (`--always`, `--never`): what breaks them, complete searches
//! compared with each other, what other commands make of a trace, and bad input.

use tests::heddle::{Home, Run};
use tests::predicates::{agree, messages, numbers, path, script};
use traces::FailureKind;
use traces::report::{ConditionResult, Report, Verdict};

/// A search of `watched` with one condition; `option` is `--always` or `--never`.
fn explore(home: &Home, which: &str, (option, text): (&str, &str), options: &[&str]) -> Run {
    let path = path("watched");
    let mut all = vec!["explore", "--json", option, text];
    all.extend(options);
    all.extend(["--", &path, which]);
    home.heddle(&all)
}

fn result(report: &Report) -> ConditionResult {
    report.conditions[0].result
}

/// What threads do, the condition, and in which functions it is broken; none if no schedule breaks it.
const CONDITIONS: [(&str, (&str, &str), &[&str]); 16] = [
    ("withdraw", ("--always", "total >= 0"), &["// withdraw"]),
    ("withdraw", ("--always", "total >= -2"), &[]),
    ("withdraw", ("--never", "total == 4 && total * 2 != 8"), &[]),
    ("move", ("--always", "accounts[0].balance + accounts[1].balance == 10"), &["-= 1"]),
    (
        "move",
        (
            "--always",
            "*@watched.c:\"pthread_mutex_unlock(&m)\": \
             accounts[0].balance + accounts[1].balance == 10",
        ),
        &[],
    ),
    ("move", ("--never", "accounts[0].balance == 4 && accounts[1].balance == 6"), &["second half"]),
    ("move", ("--never", "accounts[0].balance == 3"), &[]),
    ("announce", ("--never", "ready && value == 0"), &["ready = 1"]),
    ("announce", ("--always", "value == 0 until ready"), &[]),
    ("until", ("--always", "value == 0 until ready"), &["value = 1"]),
    ("until", ("--never", "value == 1 until ready == 2"), &["value = 1"]),
    ("last", ("--always", "value >= 0"), &["last write"]),
    ("replace", ("--always", "current->balance <= 1"), &[]),
    ("replace", ("--never", "current->balance == 1"), &["current = made"]),
    (
        "withdraw",
        ("--never", "T1@watched.c:\"// withdraw\" && T2@watched.c:\"// withdraw\""),
        &["// withdraw"],
    ),
    ("withdraw", ("--always", "T1@watched.c:\"// withdraw\": total == 10"), &["// withdraw"]),
];

#[test]
fn complete_searches_agree_and_name_the_instruction() {
    let source = std::fs::read_to_string(tests::targets::sources().join("watched.c"));
    let source = source.expect("the source");
    let lines: Vec<&str> = source.lines().collect();
    for (which, condition, broken_at) in CONDITIONS {
        for strategy in ["dfs", "dpor", "icb"] {
            let options = ["--strategy", strategy, "--keep-going"];
            let run = explore(&Home::new(), which, condition, &options);
            let report = run.report();
            if broken_at.is_empty() {
                let expected = ConditionResult::NeverBroken;
                assert_eq!(result(&report), expected, "{strategy} {condition:?} {run:?}");
                assert_eq!((report.verdict, run.status), (Verdict::Clean, 0), "{run:?}");
                continue;
            }
            assert_eq!(
                result(&report),
                ConditionResult::Broken,
                "{strategy} {condition:?} {run:?}"
            );
            assert_eq!((report.verdict, run.status), (Verdict::Bug, 1), "{run:?}");
            for bug in &report.bugs {
                assert_eq!(bug.kind, FailureKind::BrokenCondition, "{run:?}");
                let line = bug.site.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
                let line: usize = line.unwrap_or_else(|| panic!("a line: {run:?}"));
                let text = lines[line - 1];
                assert!(
                    broken_at.iter().any(|part| text.contains(part)),
                    "{strategy} {condition:?} {text} {run:?}"
                );
            }
        }
    }
}

/// Scripts of two threads, drawn from a sequence that is always the same.
fn scripts(number: u64) -> Vec<String> {
    let mut below = numbers(number);
    let actions = ["x", "y", "z", "c", "lxu", "lzu", "lyxu", "x", "y"];
    (0..2).map(|_| script(&actions, 3, &mut below)).collect()
}

#[test]
fn complete_searches_with_and_without_reduction_agree() {
    let conditions = [
        ("--always", "x <= 2"),
        ("--never", "x == 1 && y == 0"),
        ("--always", "y <= x"),
        ("--never", "x == 1 && y == 2"),
        ("--always", "x == 0 until y"),
        ("--never", "y == 2 until x == 2"),
        ("--always", "x + y < 4"),
        ("--never", "x == 2 && y == 1 until y == 3"),
    ];
    let (mut broken, mut never) = (0, 0);
    let path = path("predicate_script");
    for (number, (option, text)) in (1..).zip(conditions.iter().cycle()).take(48) {
        let scripts = scripts(number);
        let home = Home::new();
        let search = |strategy: &str| {
            let mut all = vec!["explore", "--json", option, text, "--strategy", strategy];
            all.extend(["--max-executions", "300000", "--", &path]);
            all.extend(scripts.iter().map(String::as_str));
            home.heddle(&all).report()
        };
        let what = format!("{scripts:?} {text}");
        match agree(&["dpor", "icb", "auto"], &what, search, result) {
            ConditionResult::Broken => broken += 1,
            ConditionResult::NeverBroken => never += 1,
            other => panic!("{what}: {other:?}"),
        }
    }
    println!("{broken} broken, {never} never broken");
    assert!(broken >= 10 && never >= 10, "{broken} broken, {never} never broken");
}

#[test]
fn only_a_complete_search_says_that_nothing_breaks_it() {
    let home = Home::new();
    let condition = ("--always", "total >= -2");
    let walks =
        explore(&home, "withdraw", condition, &["--strategy", "random", "--max-executions", "50"]);
    assert_eq!(result(&walks.report()), ConditionResult::NotBroken, "{walks:?}");
    let program = path("watched");
    let run = |options: &[&str]| {
        let mut all = vec!["explore", "--always", "total >= -2"];
        all.extend(options);
        all.extend(["--", &program, "withdraw"]);
        home.heddle(&all)
    };
    let text = run(&["--strategy", "random", "--max-executions", "50"]);
    assert!(text.stdout.contains("not broken in 50 executions; this does not show"), "{text:?}");
    let text = run(&["--strategy", "dfs", "--bound", "1"]);
    assert!(
        text.stdout.contains("no schedule breaks it (every schedule with up to 1 preemption)"),
        "{text:?}"
    );
}

#[test]
fn a_trace_repeats_and_shrinks_to_the_same_condition() {
    let home = Home::new();
    let run = explore(&home, "withdraw", ("--always", "total >= 0"), &["--strategy", "random"]);
    let report = run.report();
    assert!(report.bugs[0].message.ends_with("breaks always total >= 0"), "{report:?}");
    let trace = report.bugs[0].trace.clone().expect("it is written");
    let replayed = home.heddle(["replay", "--times", "5", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    assert!(replayed.stdout.contains("5 of 5 runs, each identical"), "{replayed:?}");
    let shrunk = home.heddle(["shrink", &trace]);
    assert_eq!(shrunk.status, 0, "{shrunk:?}");
    assert!(shrunk.stdout.contains("1 preemption"), "{shrunk:?}");
    let explained = home.heddle(["explain", &trace]);
    assert!(explained.stdout.contains("breaks always total >= 0"), "{explained:?}");
}

#[test]
fn the_file_of_options_takes_conditions() {
    let home = Home::new();
    let program = path("watched");
    let file = "always = [\"total >= 0\"]\nnever = [\"total == 4\"]\n";
    std::fs::write(home.path().join("heddle.toml"), file).expect("a file");
    let run = home.heddle(["explore", "--json", "--keep-going", "--", &program, "withdraw"]);
    let report = run.report();
    let results: Vec<_> =
        report.conditions.iter().map(|one| (one.text.as_str(), one.result)).collect();
    // Each execution ends with the first condition that is broken, and total is 4 before it is -2.
    assert_eq!(
        results,
        [
            ("always total >= 0", ConditionResult::NeverBroken),
            ("never total == 4", ConditionResult::Broken)
        ],
        "{run:?}"
    );
    let run = home.heddle(["run", "--never", "total == 4", "--", &program, "withdraw"]);
    assert_eq!(run.status, 1, "{run:?}");
}

#[test]
fn errors_point_into_the_condition() {
    let home = Home::new();
    let program = path("watched");
    let invalid = [
        ("--always", ""),
        ("--always", "totl >= 0"),
        ("--always", "total >="),
        ("--always", "1 == 1"),
        ("--never", "1 == 1"),
        ("--always", "from == 0"),
        ("--always", "T1.from == 0"),
        ("--always", "$1.from == 0"),
        ("--always", "$tid == 1"),
        ("--always", "T1@transfer"),
        ("--always", "T1@transfr: total == 0"),
        ("--always", "T1@transfer: T1.frm == 0"),
        ("--never", "total until"),
        ("--never", "until total"),
        ("--always", "total until redy"),
        ("--always", "total = 2"),
    ];
    let mut text = messages(&home, &program, &invalid);
    let run = home.heddle(["explore", "--never", "total", "--points", "api", "--", &program]);
    assert_eq!(run.status, 2, "{run:?}");
    text += &run.stderr;
    insta::assert_snapshot!("errors", text);
}
