//! The page that `explain` writes about each failing target. After a change, read the changed page:
//! is every sentence true of the program?

use tests::debugging::store_points;
use tests::heddle::Home;
use tests::targets::{Language, Program, Reach, Where, program, programs, sources};
use traces::report::{Report, Verdict};

/// Finds the failure of a target and explains it. Points are at calls if these are sufficient, so
/// that the page does not depend on learned accesses.
fn page(target: &Program, points: Where) -> String {
    let home = Home::new();
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args =
        vec!["explore", "--points", points.name(), "--seed", "0", "--strategy", "random"];
    if let Some(slack) = &target.slack {
        args.extend(["--slack", slack]);
    }
    let own: Vec<&str> = target.args.iter().map(String::as_str).collect();
    store_points(&home, &path, &own);
    args.extend(["--json", "--", &path]);
    args.extend(target.args.iter().map(String::as_str));
    let report: Report = home.heddle(&args).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let run = home.heddle(["explain", &trace]);
    assert_eq!(run.status, 0, "{}: {run:?}", target.name);
    let (page, next) = run.stdout.split_once("\nNext\n").expect("what to type next");
    let commands: Vec<&str> =
        next.lines().map(|line| line.trim().split("  ").next().unwrap_or_default()).collect();
    for command in commands {
        // Each suggested command works as printed, except those that need a terminal.
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        if words[0] == "replay" || words[0] == "diff" {
            let run = home.heddle(&words);
            let expected = i32::from(words[0] == "replay");
            assert_eq!(run.status, expected, "{}: {command}: {run:?}", target.name);
        }
    }
    // The directory of the traces differs between machines.
    let directory = std::path::Path::new(&path).parent().expect("it has one");
    let page = page
        .replace(&format!("{}/", directory.display()), "")
        .replace(&format!("{}/", sources().display()), "");
    // Whether the sources are newer than the program also differs: they are when versions are
    // switched.
    let lines = page.lines().filter(|line| !line.ends_with("its line numbers may be wrong"));
    let page = lines.collect::<Vec<_>>().join("\n");
    without_numbers(&without_addresses(&page), "heap block #", |_| true, u8::is_ascii_digit)
}

/// Addresses of code and data depend on the compiler and the linker.
fn without_addresses(page: &str) -> String {
    without_numbers(page, "0x", |digits| digits > 8, u8::is_ascii_hexdigit)
}

/// Puts dots for the digits after each `prefix`, if there are so many that they are meant. (The number of a
/// heap block depends on what the C library and the runtime allocate before `main`.)
fn without_numbers(
    page: &str,
    prefix: &str,
    is_meant: fn(usize) -> bool,
    is_digit: fn(&u8) -> bool,
) -> String {
    let mut parts = page.split(prefix);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(is_digit).count();
        text += prefix;
        // The same length, so that columns stay aligned.
        text += &if is_meant(digits) { ".".repeat(digits) } else { part[..digits].to_owned() };
        text += &part[digits..];
    }
    text
}

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");

/// Compares the pages of all failing programs of a language with the reviewed ones.
fn check(language: Language, part: usize, parts: usize) {
    let failing = programs()
        .iter()
        .filter(|target| target.verdict == Verdict::Bug && target.language == language)
        .filter(|target| !matches!(target.search, Reach::Rare | Reach::Seldom))
        .skip(part)
        .step_by(parts);
    for target in failing {
        let known = std::path::Path::new(PAGES).join(format!("{}.snap", target.name));
        if !known.exists() && std::env::var_os("INSTA_UPDATE").is_none() {
            // A page without a reviewed version only has to exist and be complete.
            let page = page(target, Where::Racy);
            assert!(page.contains("What happens"), "{}: {page}", target.name);
            continue;
        }
        insta::with_settings!({ snapshot_path => "pages", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(target.name.clone(), page(target, target.points));
        });
    }
}

#[test]
fn c_part_1() {
    check(Language::C, 0, 3);
}

#[test]
fn c_part_2() {
    check(Language::C, 1, 3);
}

#[test]
fn c_part_3() {
    check(Language::C, 2, 3);
}

#[test]
fn cpp() {
    check(Language::Cpp, 0, 1);
}

/// What the page must contain for any version of the compiler and the library.
fn found(name: &str, expected: &[&str]) {
    let page = page(program(name), program(name).points);
    for expected in expected {
        assert!(page.contains(expected), "{name}: {expected}: {page}");
    }
}

#[test]
fn rust() {
    found("heap_read_rs", &["use-after-free", "heap_misuse.rs:35", "runs between"]);
    found(
        "tellers",
        &["atomicity violation", "R read bank.balance = 0", "L lock bank.log", "M drop Arc"],
    );
    found("panic_main", &["main gives up", "independent of the schedule"]);
}

#[test]
fn symbols_suffice_without_debug_information() {
    let home = Home::new();
    let source = sources().join("bank.c");
    let path = home.path().join("bank");
    let built = std::process::Command::new("gcc")
        .args(["-O1", "-pthread", "-o"])
        .args([&path, &source])
        .status()
        .expect("gcc runs");
    assert!(built.success());
    let path = path.to_string_lossy().into_owned();
    let report = home.heddle(["explore", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let run = home.heddle(["explain", &trace]);
    assert_eq!(run.status, 0, "{run:?}");
    for expected in [
        "atomicity violation",
        "T1 deposit",
        "critical section of guard at deposit (steps",
        "Preemptions",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}

#[test]
fn a_passing_trace_is_refused_and_a_missing_program_is_reported() {
    let home = Home::new();
    let target = program("abba");
    let path = home.path().join("abba");
    std::fs::copy(target.build().expect("targets compile"), &path).expect("a copy");
    let path = path.to_string_lossy().into_owned();
    let run = home.heddle(["run", "--", &path]);
    let passing = run.trace();
    for verb in ["explain", "bisect"] {
        let refused = home.heddle([verb, passing]);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains("does not fail"), "{refused:?}");
    }
    let report = home.heddle(["explore", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    std::fs::remove_file(&path).expect("it was there");
    let run = home.heddle(["explain", &trace]);
    assert_eq!(run.status, 0, "{run:?}");
    for expected in ["based on the recording alone", "lock-order deadlock", "waits for"] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
}

#[test]
fn changed_sources_are_reported() {
    let home = Home::new();
    let source = home.path().join("abba.c");
    std::fs::copy(sources().join("abba.c"), &source).expect("a copy");
    let path = home.path().join("abba");
    let built = std::process::Command::new("gcc")
        .args(["-O1", "-g", "-pthread", "-o"])
        .args([&path, &source])
        .status()
        .expect("gcc runs");
    assert!(built.success());
    let path = path.to_string_lossy().into_owned();
    let report = home.heddle(["explore", "--json", "--", &path]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let file = std::fs::File::options().append(true).open(&source).expect("the source");
    file.set_modified(later).expect("its time");
    let run = home.heddle(["explain", &trace]);
    assert!(run.stdout.contains("was changed after the program was built"), "{run:?}");
}

#[test]
fn bisecting_takes_a_given_schedule_and_writes_the_nearest() {
    let home = Home::new();
    let target = program("increment");
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let report = home.heddle(["explore", "--json", "--", &path, "2", "1"]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let small: serde_json::Value = home.heddle(["shrink", "--json", &trace]).object();
    let small = small["trace"].as_str().expect("a path");
    let run = home.heddle(["run", "--", &path, "2", "1"]);
    let known = run.trace();
    let object: serde_json::Value = home.heddle(["bisect", "--json", small, known]).object();
    assert_eq!(object["kind"], "atomicity violation", "{object}");
    assert_eq!(object["exact"], true, "{object}");
    assert_eq!(object["orders"].as_array().map(Vec::len), Some(2), "{object}");
    let passing = object["passing"].as_str().expect("a path");
    let replayed: serde_json::Value = home.heddle(["replay", "--json", passing]).object();
    assert_eq!((&replayed["same"], &replayed["failure"]), (&true.into(), &serde_json::Value::Null));
    // Both claims are checked: the failing one fails, and the reverse is refused.
    let refused = home.heddle(["bisect", small, small]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("name a trace that passes"), "{refused:?}");
}

/// Builds a program from this text with these flags, and explains its first failure.
fn explained(name: &str, text: &str, flags: &[&str]) -> String {
    let home = Home::new();
    let source = home.path().join(name);
    std::fs::write(&source, text).expect("written");
    let compiler = if name.ends_with(".rs") { "rustc" } else { "gcc" };
    let built = std::process::Command::new(compiler)
        .args(flags)
        .args(["-o", "program", name])
        .current_dir(home.path())
        .status();
    assert!(built.expect("the compiler runs").success());
    let report = home.heddle(["explore", "--json", "--", "./program"]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let run = home.heddle(["explain", &trace]);
    assert_eq!(run.status, 0, "{run:?}");
    run.stdout
}

fn has(page: &str, expected: &[&str]) {
    for expected in expected {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

#[test]
fn windows_line_ends_tabs_and_wide_characters_in_the_source_are_shown() {
    let text = "#include <assert.h>\n#include <pthread.h>\n\
        static int 残高;\n\
        static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;\n\
        static int get(void)\n{\n\tpthread_mutex_lock(&guard);\n\tint\tnow = 残高; /* 現在 */\n\
        \tpthread_mutex_unlock(&guard);\n\treturn now;\n}\n\
        static void set(int to)\n{\n\tpthread_mutex_lock(\t&guard\t);\t// 設定\n\t残高 = to;\n\
        \tpthread_mutex_unlock(&guard);\n}\n\
        static void *add(void *unused)\n{\n\tset(get() + 1);\n\treturn unused;\n}\n\
        int main(void)\n{\n\tpthread_t one, two;\n\tpthread_create(&one, 0, add, 0);\n\
        \tpthread_create(&two, 0, add, 0);\n\tpthread_join(one, 0);\n\tpthread_join(two, 0);\n\
        \tassert(残高 == 2);\n\treturn 0;\n}\n";
    let page = explained("wide.c", &text.replace('\n', "\r\n"), &["-O1", "-g", "-pthread"]);
    has(
        &page,
        &[
            "atomicity violation",
            "wide.c:14  pthread_mutex_lock( &guard );",
            "int now = 残高;",
            "assert(残高 == 2);",
        ],
    );
    assert!(!page.contains(['\r', '\t']), "{page:?}");
}

#[test]
fn a_rust_program_is_explained_by_its_own_sites_not_by_the_librarys() {
    let text = "use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};\n\
        use std::sync::Arc;\nuse std::thread;\n\
        fn main() {\n    let counter = Arc::new(AtomicUsize::new(0));\n\
        \x20   let handles: Vec<_> = (0..2)\n        .map(|_| {\n\
        \x20           let counter = counter.clone();\n\
        \x20           thread::spawn(move || {\n\
        \x20               let value = counter.load(SeqCst);\n\
        \x20               counter.store(value + 1, SeqCst);\n            })\n        })\n\
        \x20       .collect();\n    for handle in handles {\n        handle.join().unwrap();\n    }\n\
        \x20   assert_eq!(counter.load(SeqCst), 2);\n}\n";
    let page = explained("counter.rs", text, &["-g", "-Copt-level=1"]);
    has(
        &page,
        &[
            "at counter.rs:18",
            "atomicity violation",
            "T1 main::{closure}  created by T0 at counter.rs:9",
            "counter.rs:16  handle.join().unwrap();",
            "overlap",
            "let value = counter.load(SeqCst);",
            "counter.store(value + 1, SeqCst);",
        ],
    );
    for inner in ["panicking.rs", "unix.rs", "atomic.rs", "std::"] {
        assert!(!page.contains(inner), "{inner}: {page}");
    }
}

#[test]
fn rust_locks_taken_in_opposite_orders_are_recognized() {
    let text = "use std::sync::Mutex;\nuse std::thread;\n\
        static LEFT: Mutex<u32> = Mutex::new(0);\nstatic RIGHT: Mutex<u32> = Mutex::new(0);\n\
        fn left_first() {\n    let left = LEFT.lock().unwrap();\n\
        \x20   *RIGHT.lock().unwrap() += *left;\n}\n\
        fn right_first() {\n    let right = RIGHT.lock().unwrap();\n\
        \x20   *LEFT.lock().unwrap() += *right;\n}\n\
        fn main() {\n    let other = thread::spawn(left_first);\n    right_first();\n\
        \x20   other.join().unwrap();\n}\n";
    let page = explained("locks.rs", text, &["-g", "-Copt-level=1"]);
    has(&page, &["lock-order deadlock", "waits for locks::LEFT", "locks.rs:7", "locks.rs:11"]);
}
