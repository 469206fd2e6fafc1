//! Heap errors are reported with the history of the block.

use tests::heddle::Home;
use tests::targets::{Program, program, programs};
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn search(home: &Home, program: &Program, options: &[&str]) -> Report {
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json"];
    args.extend(options);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

/// The history of the block in the output of `show`: for each event its line and the functions of
/// its stack.
fn past(home: &Home, trace: &str) -> Vec<(String, Vec<String>)> {
    let shown = home.heddle(["export", "--format", "json", trace]);
    let value: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let past = value["failure"]["past"].as_array().expect("a list").clone();
    past.iter()
        .map(|event| {
            let frames = event["frames"].as_array().expect("a list");
            (text(&event["what"]), frames.iter().map(|frame| text(&frame["function"])).collect())
        })
        .collect()
}

/// Checks the events of the block's history, and functions on their stacks.
fn check(name: &str, options: &[&str], kind: FailureKind, expected: &[(&str, &str)]) {
    let home = Home::new();
    let report = search(&home, program(name), options);
    let bug = report.bugs.first().unwrap_or_else(|| panic!("{name}: {report:?}"));
    assert_eq!(bug.kind, kind, "{name}: {report:?}");
    let trace = bug.trace.as_deref().expect("a trace");
    let past = past(&home, trace);
    let events: Vec<&str> = past.iter().map(|(what, _)| what.as_str()).collect();
    let wanted: Vec<&str> = expected.iter().map(|(what, _)| *what).collect();
    assert_eq!(events, wanted, "{name}: {past:?}");
    for ((_, frames), (_, function)) in past.iter().zip(expected) {
        assert!(frames.iter().any(|frame| frame.contains(function)), "{name}: {past:?}");
    }
    // The printed report has the same content, and a replay reproduces it.
    let shown = home.heddle(["show", trace]).stdout;
    assert!(shown.contains(" allocated the block "), "{name}: {shown}");
    let replayed = home.heddle(["replay", trace]);
    assert_eq!(replayed.status, 1, "{name}: {replayed:?}");
}

#[test]
fn a_heap_error_is_reported_with_the_stacks_of_allocation_and_release() {
    for (language, owner) in [("c", "owner"), ("cpp", "operator()"), ("rs", "{{closure}}")] {
        let both = [("allocated", "main"), ("freed", owner)];
        for (mistake, kind) in [
            ("write", FailureKind::UseAfterFree),
            ("read", FailureKind::UseAfterFree),
            ("twice", FailureKind::DoubleFree),
        ] {
            check(&format!("heap_{mistake}_{language}"), &["--strategy", "random"], kind, &both);
        }
    }
    check(
        "heap_overflow_c",
        &["--strategy", "random"],
        FailureKind::Overflow,
        &[("allocated", "main")],
    );
}

#[test]
fn leaks_are_found_on_request() {
    for (name, function) in [("leak_c", "push"), ("leak_cpp", "replace"), ("leak_rs", "put")] {
        let past = [("allocated", function)];
        check(name, &["--strategy", "random", "--fail-on", "leak"], FailureKind::Leak, &past);
    }
}

/// The frame that main had left still contained the pointer, so that the search saw a leak and its recording
/// did not. And `explain` and `shrink` ran the program without looking for leaks.
#[test]
fn a_leak_of_main_is_confirmed_and_explained() {
    let home = Home::new();
    let report =
        search(&home, program("leak_forgotten_rs"), &["--fail-on", "leak", "--strategy", "dfs"]);
    let [bug] = report.bugs.as_slice() else { panic!("{report:?}") };
    assert_eq!((bug.kind, bug.site.as_str()), (FailureKind::Leak, "forgotten.rs:9"), "{bug:?}");
    assert!(bug.message.ends_with("was allocated at forgotten.rs:9"), "{bug:?}");
    let trace = bug.trace.as_deref().expect("a trace");
    let explained = home.heddle(["explain", trace]).stdout;
    for part in ["The program fails exactly when", "write forgotten::SET", "none fails."] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let shrunk = home.heddle(["shrink", trace]);
    assert!(shrunk.stdout.contains("1 preemption"), "{shrunk:?}");
}

/// Without optimisation, accesses and allocations are in functions of Rust's library.
#[test]
fn places_in_a_library_are_those_of_the_user_that_called_it() {
    let home = Home::new();
    let target = program("heap_read_unoptimised_rs");
    let report = search(&home, target, &["--strategy", "random", "--keep-going"]);
    let bugs = report.bugs.iter().filter(|bug| bug.kind == FailureKind::UseAfterFree);
    let texts: Vec<String> = bugs
        .flat_map(|bug| [bug.site.clone(), bug.signature.clone(), bug.message.clone()])
        .chain(report.conflicts)
        .collect();
    assert!(texts.len() > 3, "{texts:?}");
    for text in &texts {
        let places: Vec<&str> =
            text.split([' ', ';']).filter(|word| word.contains(".rs:")).collect();
        let own = places.iter().all(|place| place.starts_with("heap_misuse.rs:"));
        assert!(own && (!places.is_empty() || text.starts_with("a block")), "{texts:?}");
    }
}

/// The names of a block showed the line of Rust's library that calls the allocator.
#[test]
fn a_block_has_the_line_of_the_user_that_allocated_it() {
    let home = Home::new();
    let report = search(&home, program("boxed_lost_update"), &["--strategy", "dpor"]);
    let trace = report.bugs[0].trace.as_deref().expect("a trace");
    let shown = home.heddle(["export", "--format", "json", trace]).stdout;
    assert!(shown.contains(" bytes, boxed_lost_update.rs:14)"), "{shown}");
    assert!(!shown.contains("alloc.rs:"), "{shown}");
}

#[test]
fn correct_programs_have_no_leak() {
    let home = Home::new();
    let mut found: Vec<(&str, String)> = Vec::new();
    for program in programs().iter().filter(|program| {
        program.bug.is_none()
            && program.verdict == Verdict::Clean
            && !program.name.starts_with("leak_")
            // A compare-and-swap that succeeds replaces the last pointer to a block.
            && program.name != "address_comes_back_twice"
            // In Rust these programs lend their threads memory that is never freed.
            && !(program.name.starts_with("classic_") && program.name.ends_with("_rs"))
    }) {
        let report = search(
            &home,
            program,
            &["--fail-on", "leak", "--strategy", "random", "--max-executions", "20"],
        );
        found.extend(report.bugs.into_iter().map(|bug| (program.name.as_str(), bug.message)));
    }
    assert_eq!(found, []);
}

#[test]
fn reachable_memory_is_not_a_leak() {
    let home = Home::new();
    let options = ["--fail-on", "leak", "--strategy", "dfs", "--max-executions", "0"];
    let report = search(&home, program("leak_c_fixed"), &options);
    assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
}

#[test]
fn the_heap_limit_is_configurable() {
    let home = Home::new();
    for (limit, status) in [("16M", 1), ("64M", 0)] {
        let path = program("heap_limit").build().expect("targets compile");
        let args = ["explore", "--max-memory", limit, "--", &path.to_string_lossy()];
        let run = home.heddle(args);
        assert_eq!(run.status, status, "{limit}: {run:?}");
    }
    let run = home.heddle(["explore", "--max-memory", "little", "--", "true"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("write 512M or 4G"), "{run:?}");
}
