//! Predicates (`--when`): the directed search, complete searches compared with each other, what
//! other commands make of a trace, and bad input.

use tests::heddle::{Home, Run};
use tests::targets::{program, sources};
use traces::report::{PredicateResult, Report, Verdict};

fn path(name: &str) -> String {
    let program = program(name);
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    path.to_string_lossy().into_owned()
}

fn explore(home: &Home, program: &str, args: &[&str], when: &str, options: &[&str]) -> Run {
    let path = path(program);
    let mut all = vec!["explore", "--json", "--when", when];
    all.extend(options);
    all.extend(["--", &path]);
    all.extend(args);
    home.heddle(&all)
}

/// The kinds of bug, each with its predicate; `N` is the number of threads.
const KINDS: [(&str, &str); 5] = [
    ("divide", "divide@predicate_kinds.c:\"// divide\": divisor == 0"),
    (
        "order",
        "publish@predicate_kinds.c:\"// publish\" && consume@predicate_kinds.c:\"// consume\": \
         ready == 1 && table == NULL",
    ),
    (
        "swap",
        "swap@predicate_kinds.c:\"// swap\" && draw@predicate_kinds.c:\"// draw\": \
         current->kind != kind",
    ),
    ("arrive", "any N@arrive"),
    (
        "deny",
        "T1@predicate_kinds.c:\"// withdraw\" && T2@predicate_kinds.c:\"// withdraw\": \
         wants[0] && wants[1]",
    ),
];

/// In which execution the predicate was satisfied first; 0 in the learning phase.
fn found_at(report: &Report) -> Option<u64> {
    report.satisfied.iter().map(|found| found.found_at).min()
}

#[test]
fn each_kind_of_bug_is_reached_within_100_executions() {
    for (kind, when) in KINDS {
        for threads in [2, 4, 16, 64] {
            let number = threads.to_string();
            let when = when.replace("any N", &format!("any {number}"));
            for seed in ["0", "1", "2"] {
                let options = ["--max-executions", "100", "--seed", seed];
                let run =
                    explore(&Home::new(), "predicate_kinds", &[kind, &number], &when, &options);
                let report = run.report();
                assert_eq!(report.verdict, Verdict::Satisfied, "{kind} {threads} {seed}: {run:?}");
                assert_eq!(run.status, 5);
                assert!(found_at(&report).is_some_and(|at| at <= 100), "{report:?}");
            }
        }
    }
}

#[test]
fn a_random_walk_needs_more_than_100_times_as_many_executions() {
    // Only states that many threads have to build together are that rare.
    for (kind, when, threads) in [("arrive", "any N@arrive", 16), ("arrive", "any N@arrive", 64)] {
        let number = threads.to_string();
        let when = when.replace("any N", &format!("any {number}"));
        let search = |strategy: &str, most: &str| {
            let options = ["--max-executions", most, "--strategy", strategy];
            explore(&Home::new(), "predicate_kinds", &[kind, &number], &when, &options).report()
        };
        let (directed, random) = (search("when", "100"), search("random", "10000"));
        let first = found_at(&directed).expect("it is found").max(1);
        println!("{kind}, {threads} threads: when {first}, random {:?}", found_at(&random));
        assert!(found_at(&random).is_none_or(|at| at >= 100 * first), "{random:?}");
    }
}

/// Scripts of two threads, drawn from a sequence that is always the same.
fn scripts(number: u64) -> Vec<String> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let actions = ["x", "y", "z", "c", "lxu", "lzu", "lau", "a", "b", "a", "b"];
    ["a", "b"]
        .into_iter()
        .map(|last| {
            let mut script = String::new();
            for _ in 0..1 + below(2) {
                script += actions[below(actions.len() as u64) as usize];
            }
            script + last
        })
        .collect()
}

#[test]
fn complete_searches_with_and_without_reduction_agree() {
    let predicates = [
        "*@here && *@there: x == 1",
        "T1@here && T2@there: x > y",
        "T1@here: x == y && x > 0",
        "T1@here && T2@there: y == 2",
        "*@here && *@here",
        "*@there: x == y && x > 0",
        "T1@here && T2@there: y == x + 2",
        "T2@there: x == 2",
        "T1@here && T2@there: x == 1 && y == 1",
        "*@here && *@there: y >= 1 && $1.done > $2.done",
    ];
    let (mut satisfied, mut impossible) = (0, 0);
    for (number, when) in (1..).zip(predicates.iter().cycle()).take(40) {
        let scripts = scripts(number);
        let args: Vec<&str> = scripts.iter().map(String::as_str).collect();
        let search = |strategy: &str| {
            let options = ["--strategy", strategy, "--max-executions", "300000"];
            explore(&Home::new(), "predicate_script", &args, when, &options).report()
        };
        let all = search("dfs");
        let result = all.predicates[0].result;
        assert_ne!(result, PredicateResult::NotFound, "{scripts:?} {when}: {all:?}");
        for strategy in ["dpor", "icb"] {
            let reduced = search(strategy);
            assert_eq!(
                reduced.predicates[0].result, result,
                "{strategy} {scripts:?} {when}: {reduced:?}"
            );
        }
        match result {
            PredicateResult::Satisfied => satisfied += 1,
            _ => impossible += 1,
        }
    }
    println!("{satisfied} satisfied, {impossible} impossible");
    assert!(satisfied >= 5 && impossible >= 10, "{satisfied} satisfied, {impossible} impossible");
}

#[test]
fn only_a_complete_search_says_impossible() {
    let home = Home::new();
    let when = "T1@here && T2@there: x == 7";
    let search = |options: &[&str]| {
        explore(&home, "predicate_script", &["xa", "xb"], when, options).report()
    };
    let walks = search(&["--max-executions", "200"]);
    assert_eq!(walks.predicates[0].result, PredicateResult::NotFound);
    assert_eq!((walks.verdict, walks.complete), (Verdict::Incomplete, false));
    let all = search(&["--strategy", "dpor"]);
    assert_eq!(all.predicates[0].result, PredicateResult::Impossible);
    assert_eq!((all.verdict, all.bound), (Verdict::Clean, None));
    let bounded = search(&["--strategy", "dfs", "--bound", "1"]);
    assert_eq!(bounded.predicates[0].result, PredicateResult::Impossible);
    assert_eq!(bounded.bound, Some(1));
    let text = home.heddle([
        "explore",
        "--strategy",
        "dfs",
        "--bound",
        "1",
        "--when",
        when,
        "--",
        &path("predicate_script"),
        "xa",
        "xb",
    ]);
    assert!(
        text.stdout.contains("no schedule satisfies it (every schedule with up to 1 preemption)"),
        "{text:?}"
    );
}

#[test]
fn a_trace_repeats_and_shrinks_to_the_same_predicate() {
    let home = Home::new();
    let when = "T1@here && T2@there: x == 2 && T1.done == 1";
    let run = explore(&home, "predicate_script", &["xa", "xb"], when, &[]);
    let report = run.report();
    let trace = report.satisfied[0].trace.clone().expect("it is written");
    let replayed = home.heddle(["replay", "--times", "5", &trace]);
    assert_eq!(replayed.status, 5, "{replayed:?}");
    assert!(replayed.stdout.contains("5 of 5 runs, each identical"), "{replayed:?}");
    let shrunk = home.heddle(["shrink", &trace]);
    assert_eq!(shrunk.status, 0, "{shrunk:?}");
    assert!(shrunk.stdout.contains("1 preemption"), "{shrunk:?}");
    for command in ["show", "explain"] {
        let shown = home.heddle([command, &trace]);
        assert!(shown.status == 0 && shown.stdout.contains("at site"), "{shown:?}");
    }
}

#[test]
fn instrumented_programs_and_other_resets_work_as_well() {
    let home = Home::new();
    let source = sources().join("predicate_script.c");
    let built = std::process::Command::new("gcc")
        .args(["-O1", "-g", "-pthread", "-fsanitize=thread", "-o"])
        .arg(home.path().join("compiled"))
        .arg(source)
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    let compiled = home.path().join("compiled").to_string_lossy().into_owned();
    let plain = path("predicate_script");
    for (program, reset) in
        [(&compiled, "memory"), (&plain, "memory"), (&plain, "fork"), (&plain, "exec")]
    {
        for (when, expected) in [
            ("T1@here && T2@there: x == 1", PredicateResult::Satisfied),
            ("T1@here && T2@there: x == 3", PredicateResult::Impossible),
        ] {
            let run = home.heddle([
                "explore",
                "--json",
                "--strategy",
                "dpor",
                "--reset",
                reset,
                "--when",
                when,
                "--",
                program,
                "xa",
                "xb",
            ]);
            let report = run.report();
            assert_eq!(report.predicates[0].result, expected, "{program} {reset}: {run:?}");
        }
    }
}

#[test]
fn errors_point_into_the_predicate() {
    let home = Home::new();
    let program = path("predicate_kinds");
    let mut text = String::new();
    for when in [
        "T1",
        "T1@",
        "T1@here",
        "T1@divid",
        "T1@predicate_kinds.c:2",
        "T1@predicat_kinds.c:30",
        "T1@predicate_kinds.c:\"nothing like it\"",
        "T1@predicate_kinds.c:\"disturb(1)\"",
        "dividee@divide",
        "T1@divide && T1@swap",
        "any 65@divide",
        "T1@divide T2@divide",
        "T1@divide: ",
        "T1@divide: divisor ==",
        "T1@divide: divisr == 0",
        "T1@divide: i == 0",
        "T1@disturb: times == 0",
        "T1@disturb: T1.tims == 0",
        "T1@disturb: T2.times == 0",
        "T1@draw: current->side == 4",
        "T1@draw: current == 4 && circle == 1",
        "T1@draw: *divisor == 4",
        "T1@draw: kind = 2",
        "T1@draw: rand() == 2",
        "T1@draw: kind == 1.5",
        "T1@draw: (widget)kind == 1",
        "T1@draw: 1 == 2",
        "T1@draw && T2@draw: $3.seen == 1",
        "T1@predicate_kinds.c:\"// draw\": T1.shape->kind == \"x\"",
    ] {
        let run = home.heddle(["explore", "--when", when, "--", &program]);
        assert_eq!(run.status, 2, "{when}: {run:?}");
        text += &run.stderr;
    }
    let run = home.heddle(["explore", "--points", "api", "--when", "*@draw", "--", &program]);
    assert_eq!(run.status, 2);
    text += &run.stderr;
    insta::assert_snapshot!("errors", text);
}

#[test]
fn the_file_of_options_takes_predicates() {
    let home = Home::new();
    std::fs::write(home.path().join("heddle.toml"), "when = [\"T1@here && T2@there: x == 2\"]\n")
        .expect("a file");
    let program = path("predicate_script");
    let run = home.heddle(["explore", "--json", "--", &program, "xa", "xb"]);
    assert_eq!(run.report().verdict, Verdict::Satisfied, "{run:?}");
    let run = home.heddle(["run", "--", &program, "xa", "xb"]);
    assert_eq!(run.status, 5, "{run:?}");
}
