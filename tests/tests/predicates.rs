//! Predicates (`--when`): the directed search, complete searches compared with each other, what
//! other commands make of a trace, and bad input.

use tests::debugging::compiled_text;
use tests::heddle::{Home, Run};
use tests::predicates::{KINDS, agree, found_at, messages, numbers, path, script};
use tests::targets::sources;
use traces::report::{PredicateResult, Verdict};

fn explore(home: &Home, program: &str, args: &[&str], when: &str, options: &[&str]) -> Run {
    let path = path(program);
    let mut all = vec!["explore", "--json", "--when", when];
    all.extend(options);
    all.extend(["--", &path]);
    all.extend(args);
    home.heddle(&all)
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
    let mut below = numbers(number);
    let actions = ["x", "y", "z", "c", "lxu", "lzu", "lau", "a", "b", "a", "b"];
    ["a", "b"].into_iter().map(|last| script(&actions, 2, &mut below) + last).collect()
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
        let what = format!("{scripts:?} {when}");
        match agree(&["dpor", "icb"], &what, search, |report| report.predicates[0].result) {
            PredicateResult::Satisfied => satisfied += 1,
            PredicateResult::Impossible => impossible += 1,
            other => panic!("{what}: {other:?}"),
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
    let invalid = [
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
        "T1@predicate_kinds.c:40..39",
        "T1@predicate_kinds.c:\"// divide\"..\"disturb(3)\"",
        "T1@predicate_kinds.c:1..99",
        "T1@predicate_kinds.c:1..3",
        "T1@predicate_kinds.c:40..x",
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
        "T1@draw: kind / 0 == 2 || kind % (1 - 1)",
        "T1@draw: kind % 0x0 == 2",
        "T1@divide: divisor == 1 && divisor == 2",
        "T1@divide: divisor > 3 && 2 >= divisor",
        "T1@disturb: disturb.times == 0",
        "T1@draw && T2@draw: $3.seen == 1",
        "T1@predicate_kinds.c:\"// draw\": T1.shape->kind == \"x\"",
    ];
    let mut text = messages(&home, &program, &invalid.map(|when| ("--when", when)));
    let opposite = ["--always", "divisor == 1", "--never", "divisor==1", "--", &program];
    let run = home.heddle(["explore"].iter().chain(&opposite));
    assert_eq!(run.status, 2);
    text += &run.stderr;
    let run = home.heddle(["explore", "--points", "api", "--when", "*@draw", "--", &program]);
    assert_eq!(run.status, 2);
    text += &run.stderr;
    insta::assert_snapshot!("errors", text);
}

#[test]
fn a_local_variable_is_not_read_from_memory_that_others_write() {
    // gcc describes `second` as the memory that it was read from, which another thread changes.
    let home = Home::new();
    let when = "take@aba.c:\"if (atomic_compare_exchange_strong(&top, &first, second))\": \
                take.second != take.first->next";
    let options = ["--keep-going", "--strategy", "dpor"];
    let run = explore(&home, "aba", &[], when, &options);
    if run.status == 2 {
        assert!(run.stderr.contains("keeps second nowhere"), "{run:?}");
    } else {
        assert_eq!(run.report().predicates[0].result, PredicateResult::Satisfied, "{run:?}");
    }
}

#[test]
fn holding_a_thread_that_others_need_is_no_failure() {
    let home = Home::new();
    let source = "#include <pthread.h>\n\
                  static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;\n\
                  static int number;\n\
                  static void *one(void *unused) {\n\
                  pthread_mutex_lock(&guard);\n\
                  number++;\n\
                  pthread_mutex_unlock(&guard);\n\
                  return unused;\n}\n\
                  static void *two(void *unused) {\n\
                  pthread_mutex_lock(&guard);\n\
                  number--;\n\
                  pthread_mutex_unlock(&guard);\n\
                  return unused;\n}\n\
                  int main(void) {\n\
                  pthread_t threads[2];\n\
                  pthread_create(&threads[0], 0, one, 0);\n\
                  pthread_create(&threads[1], 0, two, 0);\n\
                  return pthread_join(threads[0], 0) + pthread_join(threads[1], 0);\n}\n";
    let program = compiled_text(&home, "hold", source, &["-O0", "-g"]);
    // The second thread waits for the lock that the first one holds at its site.
    let when = "one@hold.c:\"number++\" && two@hold.c:\"number--\"";
    for (strategy, expected) in
        [("when", PredicateResult::NotFound), ("dpor", PredicateResult::Impossible)]
    {
        let fixed = ["explore", "--json", "--max-executions", "500", "--strategy", strategy];
        let run = home.heddle(fixed.iter().chain(&["--when", when, "--", &program]));
        let report = run.report();
        assert_eq!(report.predicates[0].result, expected, "{run:?}");
        assert!(report.bugs.is_empty(), "{run:?}");
    }
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

#[test]
fn executions_continue_behind_a_state_that_they_are_led_to() {
    let home = Home::new();
    let path = path("increment");
    let search = |through: &str, strategy: &str| {
        let run = home.heddle([
            "explore",
            "--json",
            "--keep-going",
            "--max-executions",
            "200",
            "--strategy",
            strategy,
            "--through",
            through,
            "--",
            &path,
            "2",
            "1",
        ]);
        let report = run.report();
        assert_eq!(report.verdict, Verdict::Bug, "{run:?}");
        report.through.expect("they are counted")
    };
    // The cause: every execution with it fails, and none without it.
    for strategy in ["when", "random", "dfs"] {
        let through = search("*@increment.c:\"counter = seen + 1\": $1.seen != counter", strategy);
        assert!(through.met_failing > 0 && through.met_passing == 0, "{strategy}: {through:?}");
        assert!(through.other_failing == 0 && through.other_passing > 0, "{strategy}: {through:?}");
    }
    // No cause: threads are there at once in executions of both kinds.
    let through = search("*@increment.c:\"int seen = counter\": counter == 0", "when");
    assert!(through.met_passing > 0 && through.met_failing > 0, "{through:?}");
}

#[test]
fn a_file_holds_predicates_and_a_trace_keeps_its_own() {
    let home = Home::new();
    let path = path("increment");
    let text = "# the cause\n\n  *@increment.c:\"counter = seen + 1\": $1.seen != counter\n";
    std::fs::write(home.path().join("predicates.txt"), text).expect("a file");
    std::fs::write(home.path().join("none.txt"), "# none\n").expect("a file");
    let run =
        home.heddle(["explore", "--json", "--when", "@predicates.txt", "--", &path, "2", "1"]);
    let report = run.report();
    assert_eq!((report.verdict, report.predicates.len()), (Verdict::Satisfied, 1), "{run:?}");
    let trace = report.satisfied[0].trace.clone().expect("it is written");
    // It can still be satisfied; not after the fix.
    let again = home.heddle(["replay", "--predicates", &trace]);
    assert_eq!(again.status, 5, "{again:?}");
    assert!(again.stdout.contains("1 predicate can still be satisfied"), "{again:?}");
    // (Without optimisation, since the compiler keeps no variable `seen` otherwise.)
    let fixed = home.path().join("fixed");
    let built = std::process::Command::new("gcc")
        .args(["-O0", "-g", "-pthread", "-DLOCKED", "-o"])
        .args([&fixed, &sources().join("increment.c")])
        .status();
    assert!(built.is_ok_and(|status| status.success()));
    let fixed = fixed.to_string_lossy();
    let again = home.heddle(["replay", "--json", "--predicates", &trace, "--", &fixed, "2", "1"]);
    let report = again.report();
    assert_eq!(report.predicates[0].result, PredicateResult::Impossible, "{again:?}");
    assert_eq!((again.status, report.complete), (0, true), "{again:?}");
    for (file, expected) in
        [("none.txt", "has no predicate"), ("absent.txt", "cannot read the predicates")]
    {
        let run = home.heddle(["explore", "--when", &format!("@{file}"), "--", &path]);
        assert!(run.status == 2 && run.stderr.contains(expected), "{run:?}");
    }
    let plain = home.heddle(["explore", "--json", "--", &path, "2", "1"]).report();
    let trace = plain.bugs[0].trace.clone().expect("it is written");
    let run = home.heddle(["replay", "--predicates", &trace]);
    assert!(run.status == 2 && run.stderr.contains("has no predicates"), "{run:?}");
}

#[test]
fn a_site_before_a_write_is_between_the_read_and_the_write_of_a_line() {
    let home = Home::new();
    let write = "any 2@lost_update.c:\"counter = counter + 1\"/write";
    // The update may be lost before the search reaches the state.
    for strategy in ["when", "dpor", "dfs"] {
        let options = ["--keep-going", "--strategy", strategy, "--max-executions", "1000"];
        let report = explore(&home, "lost_update", &["2"], write, &options).report();
        assert_eq!(report.satisfied.len(), 1, "{strategy}: {report:?}");
    }
    let all = &["--keep-going", "--strategy", "dpor"];
    // Both have read, and none has written.
    let never = format!("{write}: counter != 0");
    let report = explore(&home, "lost_update", &["2"], &never, all).report();
    assert_eq!(report.predicates[0].result, PredicateResult::Impossible, "{report:?}");
    // Before the line's first instruction, another thread may have written.
    let changed = "any 2@lost_update.c:\"counter = counter + 1\": counter != 0";
    let report = explore(&home, "lost_update", &["2"], changed, all).report();
    assert_eq!(report.predicates[0].result, PredicateResult::Impossible, "{report:?}");
    let line = "any 3@lost_update.c:\"counter = counter + 1\"";
    let changed =
        format!("{line} && *@lost_update.c:\"counter = counter + 1\"/write: counter == 0");
    let some = ["--keep-going", "--max-executions", "1000"];
    let report = explore(&home, "lost_update", &["4"], &changed, &some).report();
    assert_eq!(report.satisfied.len(), 1, "{report:?}");
}

#[test]
fn executions_through_a_lost_update_within_one_line_fail() {
    let home = Home::new();
    let line = "lost_update.c:\"counter = counter + 1\"";
    let through = format!("*@{line} && *@{line}/write");
    let program = path("lost_update");
    let run = home.heddle([
        "explore",
        "--json",
        "--keep-going",
        "--strategy",
        "dfs",
        "--through",
        &through,
        "--",
        &program,
        "2",
    ]);
    let through = run.report().through.expect("they are counted");
    assert!(through.met_failing > 0 && through.met_passing == 0, "{through:?}");
    assert!(through.other_failing == 0 && through.other_passing > 0, "{through:?}");
}

#[test]
fn what_writes_nowhere_or_is_instrumented_by_the_compiler_has_no_site_before_a_write() {
    let home = Home::new();
    for (program, args, when, what) in [
        (
            "lost_update",
            "2",
            "T0@lost_update.c:\"assert(counter == threads)\"/write",
            "writes to memory",
        ),
        (
            "lost_update_compiled",
            "2",
            "*@lost_update.c:\"counter = counter + 1\"/write",
            "heddle build",
        ),
        ("lost_update", "2", "*@lost_update.c:\"counter = counter + 1\"/read", "expected /write"),
    ] {
        let run = explore(&home, program, &[args], when, &[]);
        assert_eq!(run.status, 2, "{when}: {run:?}");
        assert!(run.stderr.contains(what), "{when}: {run:?}");
    }
}

#[test]
fn a_line_of_inlined_code_only_is_a_site() {
    let home = Home::new();
    let when = "T1@patterns.cpp:\"two(right)\" && T2@patterns.cpp:\"two(left)\"";
    // The two may block each other before the search reaches the state.
    let some = ["--keep-going", "--max-executions", "1000"];
    let report = explore(&home, "locks_cpp", &["locks"], when, &some).report();
    assert_eq!(report.satisfied.len(), 1, "{report:?}");
}

/// Two threads read a number, add one, and write it; a third place is never reached.
const ADDING: &str = r"
#include <pthread.h>
static volatile int value, never;
static void *work(void *unused) {
    int seen = value; // read
    seen = seen + 1; // add
    value = seen; // write
    if (never)
        value = 0; // elsewhere
    return unused; // behind
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    return pthread_join(threads[0], 0) + pthread_join(threads[1], 0);
}
";

#[test]
fn a_site_of_several_lines_is_any_of_them() {
    let home = Home::new();
    let program = compiled_text(&home, "adding", ADDING, &["-O0", "-g", "-pthread"]);
    let result = |when: &str, strategy: &str| {
        let words = ["explore", "--json", "--strategy", strategy, "--when", when, "--", &program];
        home.heddle(words).report().predicates[0].result
    };
    for strategy in ["dfs", "dpor"] {
        // A thread at the line that adds or at the one that writes has not written.
        let between = "T1@adding.c:\"// add\"..\"// write\" && T2@adding.c:\"// read\"";
        assert_eq!(result(between, strategy), PredicateResult::Satisfied, "{strategy}");
        let written = format!("{between}: value == 1");
        assert_eq!(result(&written, strategy), PredicateResult::Impossible, "{strategy}");
        let longer = written.replace("// write", "// behind");
        assert_eq!(result(&longer, strategy), PredicateResult::Satisfied, "{strategy}");
    }
    // The directed search holds a thread at one of the lines, and the local variable is known at each.
    let local = "$1.seen == 1 && $2.seen == 1 && value == 0";
    let both = format!("any 2@adding.c:\"// add\"..\"// write\": {local}");
    assert_eq!(result(&both, "when"), PredicateResult::Satisfied);
}

#[test]
fn a_site_that_no_thread_reaches_adds_no_step_and_no_execution() {
    let home = Home::new();
    let program = compiled_text(&home, "adding", ADDING, &["-O0", "-g", "-pthread"]);
    let search = |options: &[&str]| {
        let words = ["explore", "--json", "--strategy", "dfs"];
        let report = home.heddle([&words[..], options, &["--", &program]].concat()).report();
        assert!(report.complete, "{report:?}");
        (report.executions, report.max_steps)
    };
    let without = search(&[]);
    assert_eq!(search(&["--when", "*@adding.c:\"// elsewhere\""]), without);
    // A site that is reached adds two steps for each thread.
    let with = search(&["--when", "T1@adding.c:\"// read\" && T2@adding.c:\"// elsewhere\""]);
    assert_eq!(with.1, without.1 + 2);
}
