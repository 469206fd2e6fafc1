//! `heddle test` on small suites of each framework.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tests::heddle::{self, Home, Run};
use tests::suites::{assert_no_trace_is_lost, sources, tested, verdicts};

/// How to compile a suite: source, compiler, libraries, and the header that it needs.
const SUITES: [(&str, &str, &[&str], &str); 6] = [
    ("googletest.cpp", "g++", &["-lgtest", "-lgtest_main"], "gtest/gtest.h"),
    ("catch2.cpp", "g++", &[], "catch2/catch.hpp"),
    ("doctest.cpp", "g++", &[], "doctest/doctest.h"),
    ("boost.cpp", "g++", &[], "boost/test/included/unit_test.hpp"),
    ("criterion.c", "gcc", &["-lcriterion"], "criterion/criterion.h"),
    ("glib.c", "gcc", &["pkg-config glib-2.0"], "glib-2.0/glib.h"),
];

/// Compiles a suite into the directory under a name without the framework's name; `None`,
/// with a message, if the framework is not installed.
fn compile(home: &Home, source: &str) -> Option<PathBuf> {
    let suite = SUITES.iter().find(|suite| suite.0 == source).expect("a suite of the list");
    if !Path::new("/usr/include").join(suite.3).exists() {
        println!("SKIPPED: {source}: needs {}", suite.3);
        return None;
    }
    let program = home.path().join("checks");
    let mut command = Command::new(suite.1);
    command.args(["-g", "-O1", "-pthread", "-o"]).arg(&program).arg(sources().join(source));
    for library in suite.2 {
        match library.strip_prefix("pkg-config ") {
            Some(package) => {
                let flags =
                    Command::new("pkg-config").args(["--cflags", "--libs", package]).output();
                let flags = flags.expect("pkg-config runs").stdout;
                command.args(String::from_utf8_lossy(&flags).split_whitespace());
            }
            None => drop(command.arg(library)),
        }
    }
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn test_all(home: &Home, program: &Path) -> Run {
    let program = program.to_string_lossy().into_owned();
    home.heddle(["test", &program, "--json", "--no-fail-fast", "--max-time", "60s"])
}

#[test]
fn each_test_of_each_framework_is_searched_alone() {
    for (source, expected) in [
        (
            "googletest.cpp",
            &[
                "Counter.DISABLED_Off: ignored",
                "Counter.Kept: clean",
                "Counter.Lost: bug",
                "Counter.Plain: no-threads",
            ][..],
        ),
        ("catch2.cpp", &["kept: clean", "lost, update [1]: bug", "plain: no-threads"]),
        (
            "doctest.cpp",
            &["kept: clean", "lost, update [1]: bug", "off: ignored", "plain: no-threads"],
        ),
        (
            "boost.cpp",
            &["counter/kept: clean", "counter/lost: bug", "off: ignored", "plain: no-threads"],
        ),
        ("glib.c", &["/counter/lost: bug", "/counter/plain: no-threads"]),
        ("criterion.c", &["counter/off: ignored", "counter/plain: unsupported"]),
    ] {
        let home = Home::new();
        let Some(program) = compile(&home, source) else { continue };
        let run = test_all(&home, &program);
        let expected: Vec<&str> = expected.to_vec();
        assert_eq!(verdicts(&run), expected, "{source}: {}", run.stderr);
        let has_bug = expected.iter().any(|line| line.ends_with(": bug"));
        assert_eq!(run.status, if has_bug { 1 } else { 3 }, "{source}");
        assert_no_trace_is_lost(&home, &run);
    }
}

#[test]
fn filters_partitions_and_lists_choose_tests() {
    let home = Home::new();
    let Some(program) = compile(&home, "doctest.cpp") else { return };
    let program = program.to_string_lossy().into_owned();
    let listed = |options: &[&str]| {
        let run = home.heddle([&["test", &program, "--list"], options].concat());
        let mut names: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        names.sort();
        (run.status, names.join("; "))
    };
    let all = "checks kept; checks lost, update [1]; checks plain";
    assert_eq!(listed(&[]), (0, all.to_owned()));
    assert_eq!(listed(&["--filter", "kept"]).1, "checks kept");
    assert_eq!(listed(&["--exact", "--filter", "kep"]), (2, String::new()));
    assert_eq!(listed(&["--exact", "--filter", "kept"]).1, "checks kept");
    assert_eq!(listed(&["--skip", "kept", "--skip", "plain"]).1, "checks lost, update [1]");
    assert_eq!(listed(&["--ignored"]).1, "checks off");
    let parts: Vec<String> =
        (1..=2).map(|part| listed(&["--partition", &format!("count:{part}/2")]).1).collect();
    assert_eq!(parts.iter().flat_map(|names| names.split("; ")).count(), 3, "{parts:?}");
    let nothing = home.heddle(["test", &program, "--filter", "no such test"]);
    assert_eq!(nothing.status, 2, "{nothing:?}");
    assert!(nothing.stderr.contains("no test matches the filter, of 4 tests"), "{nothing:?}");
}

#[test]
fn known_failures_pass_and_the_others_are_in_the_reports() {
    let home = Home::new();
    let Some(program) = compile(&home, "doctest.cpp") else { return };
    let run = test_all(&home, &program);
    std::fs::write(home.path().join("known.json"), &run.stdout).expect("a file");
    let program = program.to_string_lossy().into_owned();
    let mut command =
        home.command(["test", &program, "--baseline", "known.json", "--junit", "suite.xml"]);
    command.env("GITHUB_ACTIONS", "true");
    let again = heddle::run(command, Duration::from_secs(300));
    assert_eq!(again.status, 0, "{again:?}");
    assert!(again.stdout.contains("1 known"), "{again:?}");
    std::fs::write(home.path().join("known.json"), r#"{"tests":[]}"#).expect("a file");
    let mut command =
        home.command(["test", &program, "--baseline", "known.json", "--junit", "suite.xml"]);
    command.env("GITHUB_ACTIONS", "true");
    let again = heddle::run(command, Duration::from_secs(300));
    assert_eq!(again.status, 1, "{again:?}");
    assert!(again.stderr.contains("::error "), "{again:?}");
    let junit = std::fs::read_to_string(home.path().join("suite.xml")).expect("a report");
    assert_eq!(junit.matches("<testcase").count(), 4, "{junit}");
    assert!(junit.contains("heddle replay heddle-out/checks/lost--update--1-/"), "{junit}");
}

#[test]
fn tests_of_ctest_and_of_a_file_of_commands_are_searched() {
    let home = Home::new();
    let Some(program) = compile(&home, "doctest.cpp") else { return };
    let lines = "# one test\n./checks --test-case=kept\n./checks --test-case=plain\n";
    std::fs::write(home.path().join("commands"), lines).expect("a file");
    let run = home.heddle(["test", "--commands", "commands", "--json"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(verdicts(&run), [": clean", ": no-threads"]);
    let build = home.path().join("build");
    std::fs::create_dir(&build).expect("a directory");
    let tests = format!("add_test(whole \"{}\")\n", program.display());
    std::fs::write(build.join("CTestTestfile.cmake"), tests).expect("a file");
    let run = home.heddle(["test", "build", "--list"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("whole kept\n"), "{run:?}");
}

#[test]
fn wrong_programs_and_options_are_named_and_the_others_are_run() {
    let home = Home::new();
    let run = home.heddle(["test"]);
    assert_eq!(run.status, 2, "{run:?}");
    let run = home.heddle(["test", "./missing", "/bin/true", "--json"]);
    assert_eq!(run.status, 3, "{run:?}");
    assert_eq!(verdicts(&run), [": error", ": no-threads"]);
    let run = home.heddle(["test", "/bin/true", "--", "--workers", "2"]);
    assert!(run.status == 2 && run.stderr.contains("--jobs"), "{run:?}");
    let run = home.heddle(["test", "/bin/true", "--", "--ignored"]);
    assert!(run.status == 2 && run.stderr.contains("--ignored chooses tests: give it before `--`, behind which are options of heddle explore"), "{run:?}");
    // It has a framework's text, but no list of tests.
    let script = "#!/bin/sh\n# RUST_TEST_THREADS\necho all 3 checks passed\n";
    std::fs::write(home.path().join("odd"), script).expect("a file");
    let made = Command::new("chmod").args(["+x"]).arg(home.path().join("odd")).status();
    assert!(made.expect("chmod runs").success());
    let run = home.heddle(["test", "./odd"]);
    assert!(run.status == 3 && run.stdout.contains("its tests are not known"), "{run:?}");
    // It prints something beside its list, also where no test is ignored.
    let script = "#!/bin/sh\n# RUST_TEST_THREADS\necho starting\ncase \"$*\" in *--ignored*) ;; \
        *) echo 'only: test';; esac\n";
    std::fs::write(home.path().join("odd"), script).expect("a file");
    let run = home.heddle(["test", "./odd", "--list"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "odd only\n"), "{run:?}");
}

/// A script in the directory that answers as a test program of Rust does.
fn script(home: &Home, name: &str, text: &str) {
    std::fs::write(home.path().join(name), format!("#!/bin/sh\n# RUST_TEST_THREADS\n{text}"))
        .expect("a file");
    let made = Command::new("chmod").args(["+x"]).arg(home.path().join(name)).status();
    assert!(made.expect("chmod runs").success());
}

/// The line is in the list of ignored tests, too.
#[test]
fn a_line_that_a_program_prints_in_the_form_of_a_test_is_none() {
    let home = Home::new();
    let lists = "case \"$*\" in *--ignored*) echo 'slow: test' ;; *--exact*) ;; \
        *) echo 'fast: test'; echo 'slow: test' ;; esac\n";
    script(&home, "prints", &format!("echo 'x: test'\n{lists}"));
    let run = home.heddle(["test", "./prints", "--list", "--include-ignored"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "prints fast\nprints slow\n"), "{run:?}");
    let run = home.heddle(["test", "./prints", "--list"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "prints fast\n"), "{run:?}");
    // A harness that lists all tests whatever the filter is.
    let lists = "case \"$*\" in *--ignored*) echo 'slow: test' ;; \
        *) echo 'fast: test'; echo 'slow: test' ;; esac\n";
    script(&home, "lists_all", lists);
    let run = home.heddle(["test", "./lists_all", "--list"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "lists_all fast\n"), "{run:?}");
}

#[test]
fn a_suite_whose_time_is_used_up_has_not_passed() {
    let home = Home::new();
    let text = "#include <pthread.h>\nstatic int a, b;\nstatic void *thread(void *at)\n{\n    \
        for (int i = 0; i < 50; i++)\n        \
        __atomic_fetch_add((int *)at, 1, __ATOMIC_SEQ_CST);\n    return 0;\n}\n\
        int main(void)\n{\n    pthread_t one;\n    pthread_create(&one, 0, thread, &a);\n    \
        thread(&a);\n    pthread_join(one, 0);\n    return b;\n}\n";
    let program = test_in_c(&home, text);
    let commands = format!("{program}\n").repeat(40);
    std::fs::write(home.path().join("commands"), commands).expect("a file");
    let options = ["test", "--commands", "commands", "--total-time", "1s", "-j", "1"];
    let run = home.heddle(options);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.stdout.contains("not run, the time for all tests is used up: "), "{run:?}");
    assert!(run.stdout.lines().last().is_some_and(|line| line.contains(" not-run")), "{run:?}");
}

#[test]
fn traces_replay_whatever_the_lengths_of_paths_and_of_the_environment_are() {
    let home = Home::new();
    let Some(program) = compile(&home, "doctest.cpp") else { return };
    let directory = home.path().join("a-directory/with-a-name-that-is-longer-than-others");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::copy(program, directory.join("checks")).expect("a copy");
    for variable in ["", "1", "a longer value of a variable that is there by chance"] {
        let options = ["--json", "--filter", "lost", "--out", "heddle-out"];
        let mut command = home.command([&["test", "./checks"], &options[..]].concat());
        command.current_dir(&directory).env("LENGTH_OF_THE_ENVIRONMENT", variable);
        let run = heddle::run(command, Duration::from_secs(300));
        let object: Value = run.object();
        let trace = object["tests"][0]["report"]["bugs"][0]["trace"].as_str().expect("a trace");
        let mut command = home.command(["replay", trace]);
        command.current_dir(&directory);
        let replayed = heddle::run(command, Duration::from_secs(300));
        assert!(replayed.stdout.starts_with("reproduced: "), "{variable}: {replayed:?}");
        std::fs::remove_dir_all(directory.join("heddle-out")).expect("an output directory");
    }
}

/// A test that fails in the first of all runs only has not passed: it is named.
#[test]
fn a_failure_whose_recording_does_not_repeat_is_no_pass() {
    let home = Home::new();
    let source = "#include <fcntl.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
        static void *run(void *unused) { return unused; }\n\
        int main(void) {\n  pthread_t thread;\n  pthread_create(&thread, 0, run, 0);\n\
        pthread_join(thread, 0);\n\
        if (open(\"made-by-the-first-run\", O_CREAT | O_EXCL, 0600) >= 0) abort();\n\
        return 0;\n}\n";
    std::fs::write(home.path().join("once.c"), source).expect("a file");
    let mut compiler = Command::new("gcc");
    compiler.args(["-g", "-pthread", "-o", "once", "once.c"]).current_dir(home.path());
    assert!(compiler.status().expect("gcc runs").success());
    std::fs::write(home.path().join("commands"), "./once\n").expect("a file");
    let run = home.heddle(["test", "--commands", "commands", "--json", "--junit", "suite.xml"]);
    assert_eq!(verdicts(&run), [": unconfirmed"], "{run:?}");
    assert_eq!(run.status, 1, "{run:?}");
    let junit = std::fs::read_to_string(home.path().join("suite.xml")).expect("a report");
    assert!(junit.contains("its recording did not repeat"), "{junit}");
    std::fs::remove_file(home.path().join("made-by-the-first-run")).expect("the program made it");
    let run = home.heddle(["test", "--commands", "commands", "--out", "again"]);
    assert!(run.stdout.contains("failed once, and its recording did not repeat"), "{run:?}");
    // A search gives each execution its own copy of the working directory, but not of others.
    let outside = Home::new();
    let removed = outside.path().join("removed-by-the-first-run");
    let opens = "open(\"made-by-the-first-run\", O_CREAT | O_EXCL, 0600) >= 0";
    let removes = format!("unlink(\"{}\") == 0", removed.display());
    let source = source.replace(opens, &removes).replace("<fcntl.h>", "<unistd.h>");
    std::fs::write(home.path().join("once.c"), source).expect("a file");
    assert!(compiler.status().expect("gcc runs").success());
    std::fs::write(&removed, "").expect("a file");
    let run = home.heddle(["explore", "--", "./once"]);
    assert!(run.stdout.contains("search incomplete: an execution failed and did not"), "{run:?}");
    std::fs::write(&removed, "").expect("a file");
    let run = home.heddle(["explore", "--reset", "fork", "--junit", "search.xml", "--", "./once"]);
    assert!(run.stdout.contains("seen once, not confirmed"), "{run:?}");
    assert_eq!(run.status, 1, "{run:?}");
    let junit = std::fs::read_to_string(home.path().join("search.xml")).expect("a report");
    assert!(junit.contains("<failure") && junit.contains("did not repeat"), "{junit}");
}

/// A schedule that fails in every second run is no result of the search.
#[test]
fn a_failure_whose_schedule_also_passes_is_not_confirmed() {
    let (home, outside) = (Home::new(), Home::new());
    let number = outside.path().join("number-of-runs");
    const AT_TIMES: &str = "(its schedule ended differently when it was run again, and then failed: it \
                            depends on something outside of the schedule)";
    let source = "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n\
        static void *run(void *unused) { return unused; }\n\
        int main(void) {\n  int runs = 0;\n  FILE *file = fopen(NUMBER, \"r+\");\n\
        fscanf(file, \"%d\", &runs);\n  rewind(file);\n  fprintf(file, \"%09d\", runs + 1);\n\
        fclose(file);\n  pthread_t thread;\n  pthread_create(&thread, 0, run, 0);\n\
        pthread_join(thread, 0);\n  assert(runs % 2 == 0);\n  return 0;\n}\n";
    std::fs::write(home.path().join("twice.c"), source).expect("a file");
    let mut compiler = Command::new("gcc");
    compiler.arg(format!("-DNUMBER=\"{}\"", number.display()));
    compiler.args(["-g", "-pthread", "-o", "twice", "twice.c"]).current_dir(home.path());
    assert!(compiler.status().expect("gcc runs").success());
    for first in ["000000000", "000000001"] {
        std::fs::write(&number, first).expect("a file");
        let run = home.heddle(["explore", "--json", "--reset", "exec", "--", "./twice"]);
        let report = run.report();
        assert!(report.bugs.is_empty(), "{report:?}");
        let said: Vec<&str> = report.unconfirmed.iter().map(|bug| bug.message.as_str()).collect();
        assert!(said.iter().any(|text| text.contains(AT_TIMES)), "{report:?}");
        assert_eq!(run.status, 1, "{run:?}");
    }
}

/// No execution of the search ends within its time.
#[test]
fn a_failure_of_the_first_run_is_repeated_where_the_search_has_no_time() {
    let home = Home::new();
    let text = "#include <assert.h>\n#include <pthread.h>\nstatic void *thread(void *at) { return at; }\n\
        int main(void)\n{\n    pthread_t one;\n    pthread_create(&one, 0, thread, 0);\n    \
        pthread_join(one, 0);\n    assert(!\"kept\");\n}\n";
    let program = test_in_c(&home, text);
    let (run, tests) = tested(&home, &program, &["--max-time", "1ms"]);
    assert_eq!(tests[0]["verdict"], "bug", "{run:?}");
    assert_eq!(run.status, 1, "{run:?}");
}

/// doctest runs all test cases of a name: what fails may be another one.
#[test]
fn a_test_that_cannot_be_run_alone_is_an_error_also_if_it_fails() {
    let home = Home::new();
    if !Path::new("/usr/include/doctest/doctest.h").exists() {
        println!("SKIPPED: needs doctest/doctest.h");
        return;
    }
    let text = "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n#include <thread>\n\
        TEST_CASE(\"same\") { std::thread([] {}).join(); CHECK(1 == 1); }\n\
        TEST_SUITE(\"other\") {\nTEST_CASE(\"same\") { CHECK(1 == 2); }\n}\n";
    std::fs::write(home.path().join("same.cpp"), text).expect("a file");
    let mut compiler = Command::new("g++");
    compiler.args(["-g", "-pthread", "-o", "same", "same.cpp"]).current_dir(home.path());
    assert!(compiler.status().expect("g++ runs").success());
    let (run, tests) = tested(&home, "./same", &["--max-time", "10s"]);
    for test in &tests {
        assert_eq!(test["verdict"], "error", "{run:?}");
        let reason = test["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("did not run exactly one test: rename the test, or name the program with its arguments in a file of commands"), "{reason}");
    }
    assert_eq!((tests.len(), run.status), (2, 3), "{run:?}");
}

/// A framework reports a failed check in the exit status, which says neither what failed nor where.
#[test]
fn a_failed_check_of_a_framework_is_an_assertion_at_its_place() {
    for (source, check, text) in [
        ("googletest.cpp", "EXPECT_EQ(with_two_threads(add), 2)", "Which is: 1 2"),
        ("catch2.cpp", "REQUIRE(with_two_threads(add) == 2)", "with expansion: 1 == 2"),
        ("doctest.cpp", "CHECK(with_two_threads(add) == 2)", "values: CHECK( 1 == 2 )"),
        ("boost.cpp", "BOOST_TEST(with_two_threads(add) == 2)", "has failed [1 != 2]"),
        ("glib.c", "g_assert_cmpint(value, ==, 2)", "assertion failed (value == 2): (1 == 2)"),
    ] {
        let home = Home::new();
        let Some(program) = compile(&home, source) else { continue };
        let content = std::fs::read_to_string(sources().join(source)).expect("a source");
        let is_check = |line: &str| line.contains(check);
        let line = content.lines().position(is_check).expect("the check") + 1;
        let (run, tests) = tested(&home, &program.to_string_lossy(), &["--max-time", "60s"]);
        let bugs: Vec<&Value> = tests
            .iter()
            .flat_map(|test| test["report"]["bugs"].as_array().into_iter().flatten())
            .collect();
        assert_eq!(bugs.len(), 1, "{source}: {run:?}");
        assert_eq!(bugs[0]["kind"], "assertion", "{source}: {}", bugs[0]);
        assert_eq!(bugs[0]["site"], format!("{source}:{line}"), "{source}: {}", bugs[0]);
        let message = bugs[0]["message"].as_str().expect("a message");
        assert!(message.contains(text), "{source}: {message}");
    }
}

/// Compiles a C program of one test.
fn test_in_c(home: &Home, text: &str) -> String {
    let source = home.path().join("checks.c");
    std::fs::write(&source, text).expect("a file");
    let program = home.path().join("checks");
    let built =
        Command::new("cc").args(["-g", "-O1", "-pthread", "-o"]).args([&program, &source]).status();
    assert!(built.expect("the compiler runs").success());
    program.to_string_lossy().into_owned()
}

#[test]
fn longer_sleeps_are_an_order_of_threads_in_suites_unless_slack_is_given() {
    let home = Home::new();
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <unistd.h>\nstatic int set;\n\
                static void *thread(void *x) {\n    usleep(50000);\n    set = 1;\n    return x;\n}\n\
                int main(void) {\n    pthread_t one;\n    pthread_create(&one, 0, thread, 0);\n    \
                usleep(100000);\n    assert(set);\n    return pthread_join(one, 0);\n}\n";
    let program = test_in_c(&home, text);
    let verdict = |options: &[&str]| {
        let (run, tests) = tested(&home, &program, options);
        (run.status, tests[0]["verdict"].as_str().expect("a verdict").to_owned())
    };
    assert_eq!(verdict(&[]).0, 0);
    assert_eq!(verdict(&["--", "--slack", "1s"]), (1, "bug".to_owned()));
    std::fs::write(home.path().join("heddle.toml"), "slack = \"1s\"\n").expect("a file");
    assert_eq!(verdict(&[]), (1, "bug".to_owned()));
}

#[test]
fn a_test_with_more_threads_than_an_execution_may_have_is_searched_in_its_beginning() {
    let home = Home::new();
    let text = "#include <pthread.h>\nstatic int total;\nstatic void *thread(void *x) {\n    \
                __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);\n    return x;\n}\nint main(void) {\n    \
                for (int round = 0; round < 5000; round++) {\n        pthread_t one;\n        \
                pthread_create(&one, 0, thread, 0);\n        \
                __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);\n        pthread_join(one, 0);\n    }\n    \
                return 0;\n}\n";
    let program = test_in_c(&home, text);
    let (run, tests) =
        tested(&home, &program, &["--max-time", "60s", "--", "--max-executions", "100"]);
    assert_eq!(tests[0]["verdict"], "incomplete", "{run:?}");
    // Additions commute, so some executions would have repeated others.
    let report = &tests[0]["report"];
    let ran = ["executions", "given_up"].map(|name| report[name].as_u64().expect("a number"));
    assert_eq!(ran.iter().sum::<u64>(), 100, "{run:?}");
}

/// The first run of a test is for its threads and its output: a start is a large part of what a test costs.
#[test]
fn a_test_without_threads_is_started_once() {
    let home = Home::new();
    let text = "#include <fcntl.h>\n#include <unistd.h>\nint main(void)\n{\n    \
        int file = open(\"starts\", O_WRONLY | O_CREAT | O_APPEND, 0600);\n    \
        return write(file, \"x\", 1) != 1;\n}\n";
    let program = test_in_c(&home, text);
    for backtraces in ["0", "1"] {
        let mut command = home.command(["test", &program]);
        command.env("RUST_BACKTRACE", backtraces);
        let run = heddle::run(command, Duration::from_secs(60));
        assert!(run.stdout.contains("1 no-threads"), "{run:?}");
        let starts = std::fs::read(home.path().join("starts")).expect("the starts");
        assert_eq!(starts.len(), 1, "{backtraces}: {run:?}");
        std::fs::remove_file(home.path().join("starts")).expect("it exists");
    }
}
