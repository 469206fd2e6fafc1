//! `heddle narrow`: from failures of programs to the states that cause them.

use serde_json::Value;
use std::path::Path;
use tests::heddle::Home;
use tests::predicates::path;
use tests::targets::{self, sources};
use traces::FailureKind;
use traces::report::Verdict;

/// A program, and what its cause is: each alternative is texts of lines at which threads have to be, and
/// names that the condition has to contain. The cause, or a predicate that the answer calls equal to it, has
/// to match one.
struct Expected {
    program: &'static str,
    args: &'static [&'static str],
    causes: &'static [(&'static [&'static str], &'static [&'static str])],
}

/// The programs were chosen, and their causes written down, from their sources. Half of them are kinds that
/// `heddle narrow` was not made for: published bugs, and the patterns of other tools' examples.
const FOUND: &[Expected] = &[
    Expected {
        program: "increment",
        args: &["2", "1"],
        causes: &[(&["counter = seen + 1"], &[]), (&["pthread_mutex_lock(&guard)"], &[])],
    },
    Expected { program: "unguarded", args: &[], causes: &[(&["counter = seen + 1"], &[])] },
    Expected {
        program: "abba",
        args: &[],
        causes: &[(&["pthread_mutex_lock(&b)", "pthread_mutex_lock(&a)"], &[])],
    },
    Expected {
        program: "lost_wakeup",
        args: &[],
        causes: &[(&["pthread_mutex_lock(&guard)"], &[]), (&["ready = 1"], &[])],
    },
    Expected {
        program: "twostage",
        args: &["1"],
        causes: &[
            (&["pthread_mutex_lock(&second_guard)", "second"], &[]),
            (&["int two = second"], &[]),
        ],
    },
    Expected {
        program: "deny",
        args: &[],
        causes: &[(&["while (atomic_load(&wants[1 - own]))"], &[])],
    },
    Expected {
        program: "order_in_state",
        args: &[],
        causes: &[(&["waiting == MANY"], &["waiting", "connection"])],
    },
    Expected { program: "lost_update", args: &["2"], causes: &[(&["counter = counter + 1"], &[])] },
    Expected {
        program: "order",
        args: &[],
        causes: &[
            (&["pthread_mutex_lock(&guard)"], &["sum"]),
            (&["assert(sum < LIMIT)"], &["sum"]),
        ],
    },
    Expected {
        program: "account",
        args: &[],
        causes: &[(&["if (deposited && withdrawn)"], &["deposited"])],
    },
    Expected { program: "bank", args: &[], causes: &[(&["pthread_mutex_lock(&guard)"], &[])] },
    Expected {
        program: "published_early",
        args: &[],
        causes: &[
            (&["assert(value == 42)", "value = 42"], &[]),
            (&["assert(value == 42)"], &["value"]),
        ],
    },
    Expected {
        program: "wronglock",
        args: &["1"],
        causes: &[(&["assert(number == before + 1)"], &["number"]), (&["number++"], &[])],
    },
    Expected {
        program: "divided",
        args: &[],
        causes: &[
            (&["part = 100 / shares"], &["shares"]),
            (&["part = 100 / shares", "shares = 2"], &[]),
        ],
    },
    Expected {
        program: "swapped",
        args: &[],
        causes: &[(&["assert(now->size == size)"], &["size"])],
    },
    Expected {
        program: "pipe_release",
        args: &[],
        causes: &[
            (&["pthread_mutex_lock(&inode.guard)"], &["inode.pipe"]),
            (&["inode.pipe->readers++"], &["inode.pipe"]),
        ],
    },
    Expected {
        program: "scanner",
        args: &[],
        causes: &[(&["active = WORKERS"], &["active"]), (&["active--"], &["active"])],
    },
    Expected {
        program: "thread_pool",
        args: &["2", "5"],
        causes: &[
            (&["pthread_mutex_lock(&guard)"], &["closed"]),
            (&["if (tasks == 0)"], &["closed"]),
        ],
    },
    Expected {
        program: "late_crash",
        args: &[],
        causes: &[
            (&["pthread_mutex_unlock(&guard)"], &["T2.seen == 0"]),
            (&["int *seen = shared"], &["shared"]),
        ],
    },
    Expected {
        program: "publication_cpp",
        args: &["publication"],
        causes: &[
            (&["if (current.ready)"], &["limit"]),
            (&["assert(current.limit == 10)"], &["limit"]),
        ],
    },
    Expected {
        program: "wakeup_cpp",
        args: &["wakeup"],
        causes: &[(&["hold(guard)", "done = true"], &[])],
    },
    Expected {
        program: "locks_cpp",
        args: &["locks"],
        causes: &[(&["two(right)", "two(left)"], &[])],
    },
    Expected {
        program: "order_cpp",
        args: &["order"],
        causes: &[(&["assert(made != nullptr)"], &["made"])],
    },
    Expected {
        program: "aba_cpp",
        args: &["aba"],
        causes: &[(&["top.compare_exchange_strong(seen, seen->next)"], &["one", "seen"])],
    },
    Expected {
        program: "atomicity_cpp",
        args: &["atomicity"],
        causes: &[(&["hold(guard)"], &[]), (&["balance = value"], &[])],
    },
];

/// Programs in Rust. Their causes were written down before `heddle narrow` ran them; that of a sixth one,
/// `wakeup_rs`, is below.
const FOUND_IN_RUST: &[Expected] = &[
    Expected {
        program: "locks_rs",
        args: &["locks"],
        causes: &[(&["let _two = RIGHT.lock()", "let _two = LEFT.lock()"], &[])],
    },
    Expected {
        program: "atomicity_rs",
        args: &["atomicity"],
        causes: &[(&["*BALANCE.lock().unwrap() = value + 1"], &[])],
    },
    Expected {
        program: "publication_rs",
        args: &["publication"],
        causes: &[
            (&["LIMIT.store(10, SeqCst)", "assert_eq!(LIMIT.load(SeqCst), 10)"], &[]),
            (&["LIMIT.store(10, SeqCst)", "if READY.load(SeqCst)"], &[]),
            (&["assert_eq!(LIMIT.load(SeqCst), 10)"], &["LIMIT"]),
            (&["if READY.load(SeqCst)"], &["READY", "LIMIT"]),
        ],
    },
    Expected {
        program: "mutex_get_set",
        args: &[],
        causes: &[(&["*COUNTER.lock().unwrap() = value + 1"], &[])],
    },
    Expected {
        program: "flag_lock",
        args: &[],
        causes: &[
            (&["LOCKED.store(true, Relaxed)"], &[]),
            (&["COUNTER.store(COUNTER.load(Relaxed) + 1, Relaxed)"], &[]),
        ],
    },
];

/// The cause of these is a state that lines and variables of steps do not describe: an order, how many
/// threads began, two causes of one failure, a variable that the thread itself changes before its next
/// operation, or a thread that may be at either of two lines. If one is named, it has to be one.
const DIFFICULT: &[(&str, &[&str])] = &[
    ("buffer_if", &[]),
    ("shared_index", &["3"]),
    ("reorder", &["2"]),
    ("random_locks", &["3"]),
    ("aba", &[]),
    ("freed", &[]),
    ("downloader", &["2"]),
    ("compressor_joined", &[]),
    ("wakeup_rs", &["wakeup"]),
];

/// The trace of the program's failure, in this directory.
fn trace(home: &Home, program: &str, args: &[&str]) -> String {
    trace_by(home, "auto", program, args).0
}

fn trace_by(home: &Home, strategy: &str, program: &str, args: &[&str]) -> (String, FailureKind) {
    let program = path(program);
    let mut words = vec!["explore", "--json", "--strategy", strategy, "--", &program];
    words.extend(args);
    let report = home.heddle(words).report();
    (report.bugs[0].trace.clone().expect("it is written"), report.bugs[0].kind)
}

/// The strategy whose trace is narrowed down. `auto` finds the failure of `aba_cpp` in an execution in which
/// the word behind the pointer is a point, too: see `a_cause_of_three_parts_is_named_in_part`.
fn strategy_for(program: &str) -> &'static str {
    if program == "aba_cpp" { "random" } else { "auto" }
}

/// What `narrow` reports about a failure, and its kind.
fn narrowed(home: &Home, program: &str, args: &[&str]) -> (Value, FailureKind) {
    let (trace, kind) = trace_by(home, strategy_for(program), program, args);
    let run = home.heddle(["narrow", "--json", &trace]);
    assert_eq!(run.status, 0, "{program}: {run:?}");
    (run.object(), kind)
}

/// The thread must have read the pointer and the word behind it, and another one must push the same node:
/// a predicate has no more than two threads at sites, and a condition that both readings are over is none.
#[test]
fn a_cause_of_three_parts_is_named_in_part() {
    let home = Home::new();
    let trace = trace(&home, "aba_cpp", &["aba"]);
    let found: Value = home.heddle(["narrow", "--json", &trace]).object();
    assert_eq!(found["result"], "part", "{found}");
    assert_eq!(found["without"]["failing"], 0, "{found}");
    let (failing, passing) = (&found["with"]["failing"], &found["with"]["passing"]);
    assert!(failing.as_u64() > passing.as_u64().map(|count| 10 * count), "{found}");
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

/// What is printed can be given to a search, which says the same of other executions. Returns how many
/// failing ones reached the state in each search.
fn confirm(
    home: &Home,
    (found, kind): &(Value, FailureKind),
    program: &str,
    args: &[&str],
) -> Vec<u64> {
    let mut failing = Vec::new();
    let text = found["predicate"]["text"].as_str().expect("it has a text");
    let path = path(program);
    for seed in ["1", "2", "3"] {
        let mut words = vec!["explore", "--json", "--keep-going", "--max-executions", "400"];
        // Other failures of the program have other causes.
        words.extend(["--seed", seed, "--fail-on", kind.name(), "--through", text, "--", &path]);
        words.extend(args);
        let through = home.heddle(words).report().through.expect("they are counted");
        let what = format!("{program}: {found}: {through:?}");
        assert_eq!((through.met_passing, through.other_failing), (0, 0), "{what}");
        failing.push(through.met_failing);
    }
    failing
}

/// Inserts the lines that are printed for the source, and asserts that the program can be built and that a
/// search fails in few executions. Whether there are such lines.
fn assert_source(home: &Home, found: &Value, program: &str, args: &[&str]) -> bool {
    let what = format!("{program}: {found}");
    let Some(insertions) = found["source"].as_array() else {
        assert!(found["not_in_source"].as_str().is_some_and(|why| !why.is_empty()), "{what}");
        return false;
    };
    let of = targets::program(program);
    let original = std::fs::read_to_string(sources().join(&of.file)).expect("it is there");
    let mut lines: Vec<String> = Vec::new();
    for (number, line) in (1..).zip(original.lines()) {
        let here = insertions.iter().filter(|one| one["line"] == number);
        let texts = here.clone().filter_map(|one| one["code"].as_str().map(str::to_owned));
        lines.extend(texts);
        if here.clone().all(|one| one["replaces"] == false) {
            lines.push(line.to_owned());
        }
    }
    let include = sources().join("../../probes/include");
    for header in ["heddle.h", "heddle.rs"] {
        std::fs::copy(include.join(header), home.path().join(header)).expect("it is copied");
    }
    let source = home.path().join(&of.file);
    std::fs::write(&source, lines.join("\n") + "\n").expect("it is written");
    let changed = home.path().join("changed");
    of.compile_source(Path::new(&source), &changed).unwrap_or_else(|why| panic!("{what}: {why}"));
    let changed = changed.to_string_lossy().into_owned();
    let words = ["explore", "--json", "--max-executions", "100", "--", &changed];
    let run = home.heddle(words.into_iter().chain(args.iter().copied()));
    assert_eq!(run.report().verdict, Verdict::Bug, "{what}: {run:?}");
    true
}

/// Narrows the failure down, and asserts that the cause is the expected one. Returns for how many programs
/// lines for the source were printed.
fn assert_found(all: &[Expected]) -> usize {
    let mut in_source = 0;
    for expected in all {
        let home = Home::new();
        let narrowed = narrowed(&home, expected.program, expected.args);
        let found = &narrowed.0;
        let what = format!("{}: {found}", expected.program);
        let (text, executions) = (&found["predicate"]["text"], &found["executions"]);
        println!("{}: {text}, {executions} executions", expected.program);
        assert_eq!(found["result"], "cause", "{what}");
        assert_eq!(found["with"]["passing"], 0, "{what}");
        assert_eq!(found["without"]["failing"], 0, "{what}");
        let alternatives = found["alternatives"].as_array().cloned().unwrap_or_default();
        let all: Vec<&Value> = [&found["predicate"]].into_iter().chain(&alternatives).collect();
        let matches = |(texts, names): &(&[&str], &[&str])| {
            all.iter().any(|predicate| {
                let lines = lines(predicate);
                let condition = predicate["text"].as_str().unwrap_or_default();
                let condition = condition.rsplit_once(": ").map_or("", |(_, it)| it);
                texts.iter().all(|text| lines.iter().any(|line| line.contains(text)))
                    && names.iter().all(|name| condition.contains(name))
            })
        };
        assert!(expected.causes.iter().any(matches), "{what}");
        let failing = confirm(&home, &narrowed, expected.program, expected.args);
        assert!(failing.iter().all(|&count| count > 0), "{failing:?}: {what}");
        in_source += usize::from(assert_source(&home, found, expected.program, expected.args));
    }
    in_source
}

#[test]
fn the_cause_is_found_and_is_sufficient_and_necessary() {
    let in_source = assert_found(FOUND);
    assert!(in_source >= 16, "{in_source} of {} causes as statements", FOUND.len());
}

#[test]
fn a_lock_of_rusts_standard_library_is_one_operation_of_a_line() {
    let in_source = assert_found(FOUND_IN_RUST);
    assert!(in_source >= 3, "{in_source} of {} causes as statements", FOUND_IN_RUST.len());
}

#[test]
fn no_cause_is_named_that_is_none() {
    for (program, args) in DIFFICULT {
        let home = Home::new();
        let found = narrowed(&home, program, args);
        println!("{program}: {}", found.0["result"]);
        if found.0["result"] == "cause" {
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
