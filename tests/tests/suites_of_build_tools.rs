//! `heddle test` on build directories of CMake and Meson: what their lists say about a test is kept.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;
use tests::heddle::{self, Home, Run};

/// A program with two threads, whose first argument says what it prints and how it ends.
const PROGRAM: &str = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int value;
static void *add(void *unused) { value = value + 1; return unused; }
static int two(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return value;
}
static int is(const char *name, const char *wanted) {
  const char *found = getenv(name);
  return found && !strcmp(found, wanted);
}
int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  if (!strcmp(what, "make")) return mkdir("fixture", 0700);
  if (!strcmp(what, "remove")) return rmdir("fixture");
  int sum = two();
  if (!strcmp(what, "fails")) return 1;
  if (!strcmp(what, "skips")) return 77;
  if (!strcmp(what, "says")) { puts("all is fine"); return 3; }
  if (!strcmp(what, "warns")) { puts(sum == 2 ? "fine" : "lost"); return 0; }
  if (!strcmp(what, "no device")) { puts("no device"); return 1; }
  if (!strcmp(what, "variables")) return !(is("A", "1") && is("B", "x=y") && is("C", "0:1"));
  if (!strcmp(what, "directory")) return access("here", F_OK) != 0;
  if (!strcmp(what, "fixture")) return access("fixture", F_OK) != 0;
  if (!strcmp(what, "path")) return strncmp(getenv("PATH"), "/own:", 5) != 0;
  if (!strcmp(what, "sum")) return sum != 2;
  if (!strcmp(what, "sometimes")) return sum == 2 ? 0 : 77;
  return 0;
}
"#;

fn compile(home: &Home) -> String {
    let source = home.path().join("checks.c");
    std::fs::write(&source, PROGRAM).expect("a file");
    let program = home.path().join("checks");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-pthread", "-o"]).args([&program, &source]);
    assert!(compiler.status().expect("the compiler runs").success());
    program.to_string_lossy().into_owned()
}

/// The tests of a result, each as `NAME: VERDICT`, and with the reason if there is one.
fn results(run: &Run) -> Vec<String> {
    let object: Value = run.object();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tests = object["tests"].as_array().expect("a list");
    let mut all: Vec<String> = tests
        .iter()
        .map(|test| {
            let reason = text(&test["reason"]);
            let reason = if reason.is_empty() { reason } else { format!(", {reason}") };
            format!("{}: {}{reason}", text(&test["suite"]), text(&test["verdict"]))
        })
        .collect();
    all.sort();
    all
}

/// A test that CTest passes or skips must not fail here, and one that CTest may fail must not be clean.
#[test]
fn results_are_judged_as_ctest_judges_them() {
    let home = Home::new();
    let program = compile(&home);
    let build = home.path().join("build");
    std::fs::create_dir_all(build.join("sub")).expect("a directory");
    std::fs::write(build.join("sub/here"), "").expect("a file");
    let mut file = String::new();
    for (name, word, properties) in [
        ("directory", "directory", "WORKING_DIRECTORY \"sub\""),
        ("expected to fail", "fails", "WILL_FAIL \"TRUE\""),
        ("expected, passes", "passes", "WILL_FAIL \"TRUE\""),
        ("forbidden output", "warns", "FAIL_REGULAR_EXPRESSION \"lost\""),
        ("needs a file", "passes", "REQUIRED_FILES \"/no/such/file\""),
        ("needs a fixture", "fixture", "FIXTURES_REQUIRED \"F\""),
        ("needs a broken fixture", "fixture", "FIXTURES_REQUIRED \"G\""),
        ("off", "fails", "DISABLED \"TRUE\""),
        ("output", "says", "PASS_REGULAR_EXPRESSION \"all (was|is) fine\""),
        ("skipped", "skips", "SKIP_RETURN_CODE \"77\""),
        ("skips sometimes", "sometimes", "SKIP_RETURN_CODE \"77\""),
        ("skipped by output", "no device", "SKIP_REGULAR_EXPRESSION \"no d.vice\""),
        ("sum", "sum", "SKIP_REGULAR_EXPRESSION \"no d.vice\""),
        (
            "variables",
            "variables",
            "ENVIRONMENT \"A=1;B=x=y;C=1\" ENVIRONMENT_MODIFICATION \
            \"C=path_list_prepend:0\"",
        ),
        ("wrong output", "says", "PASS_REGULAR_EXPRESSION \"all is lost\""),
        ("makes", "make", "FIXTURES_SETUP \"F\""),
        ("makes nothing", "fails", "FIXTURES_SETUP \"G\""),
        ("removes", "remove", "FIXTURES_CLEANUP \"F\""),
    ] {
        file += &format!("add_test([=[{name}]=] \"{program}\" \"{word}\")\n");
        file += &format!("set_tests_properties([=[{name}]=] PROPERTIES {properties})\n");
    }
    file += "add_test(unbuilt \"/no/such/program\")\n";
    std::fs::write(build.join("CTestTestfile.cmake"), file).expect("a file");
    if Command::new("ctest").arg("--version").output().is_err() {
        println!("SKIPPED: needs ctest");
        return;
    }
    let run = home.heddle(["test", "build", "--json", "--no-fail-fast", "--max-time", "60s"]);
    let beside = "it makes or removes a fixture: it runs beside the tests that need it";
    assert_eq!(
        results(&run),
        [
            "directory: clean",
            "expected to fail: incomplete, not judged in each schedule: the exit status, with which it \
             is expected to fail (WILL_FAIL)",
            "expected, passes: bug, it passes and is expected to fail (WILL_FAIL)",
            "forbidden output: incomplete, not judged in each schedule: the output \
             (FAIL_REGULAR_EXPRESSION)",
            &format!("makes nothing: ignored, {beside}"),
            &format!("makes: ignored, {beside}"),
            "needs a broken fixture: error, its fixture is missing: makes nothing ended with exit status: 1",
            "needs a file: error, it needs /no/such/file, which does not exist",
            "needs a fixture: clean",
            "off: ignored, it is disabled in CTest",
            "output: incomplete, not judged in each schedule: the output (PASS_REGULAR_EXPRESSION)",
            &format!("removes: ignored, {beside}"),
            "skipped by output: ignored, it skips itself (its output has `no d.vice`)",
            "skipped: ignored, it skips itself (exit status 77)",
            "skips sometimes: incomplete, it skips itself (exit status 77) in a schedule, with which the search \
             ended",
            "sum: bug",
            "unbuilt: error, CTest knows no program for it: build the project first",
            "variables: clean",
            "wrong output: bug, its output has nothing of what it must have (PASS_REGULAR_EXPRESSION)",
        ],
        "{run:?}"
    );
    assert_eq!(run.status, 1, "{run:?}");
    assert!(!build.join("fixture").exists(), "the last of the tests removes the fixture");
}

/// `meson introspect --tests`, as the tool prints it.
#[test]
fn results_are_judged_as_meson_judges_them() {
    let home = Home::new();
    let program = compile(&home);
    std::fs::create_dir_all(home.path().join("build/meson-info")).expect("a directory");
    std::fs::create_dir_all(home.path().join("sub")).expect("a directory");
    std::fs::write(home.path().join("sub/here"), "").expect("a file");
    let test = |name: &str, word: &str, more: Value| {
        let mut test = serde_json::json!({
            "cmd": [program, word], "env": {}, "name": name, "workdir": null, "timeout": 30,
            "suite": ["p"], "is_parallel": true, "priority": 0, "protocol": "exitcode",
        });
        let more = more.as_object().expect("an object").clone();
        test.as_object_mut().expect("an object").extend(more);
        test
    };
    let list = serde_json::json!([
        test("directory", "directory", serde_json::json!({"workdir": home.path().join("sub")})),
        test("fails", "fails", serde_json::json!({})),
        test("path", "path", serde_json::json!({"env": {"PATH": "/own"}})),
        test("skipped", "skips", serde_json::json!({})),
        test("tap", "passes", serde_json::json!({"protocol": "tap"})),
        test(
            "variables",
            "variables",
            serde_json::json!({"env": {"A": "1", "B": "x=y", "C": "0:1"}})
        ),
    ]);
    let tools = home.path().join("tools");
    std::fs::create_dir_all(&tools).expect("a directory");
    let script = format!(
        "#!/bin/sh\n[ \"$*\" = 'introspect --tests' ] || exit 1\ncat <<'END'\n{list}\nEND\n"
    );
    let meson = tools.join("meson");
    std::fs::write(&meson, script).expect("a file");
    std::fs::set_permissions(&meson, PermissionsExt::from_mode(0o755)).expect("permissions");
    let mut path = tools.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command =
        home.command(["test", "build", "--json", "--no-fail-fast", "--max-time", "60s"]);
    command.env("PATH", path);
    let run = heddle::run(command, Duration::from_secs(300));
    assert_eq!(
        results(&run),
        [
            "directory: clean",
            "fails: bug",
            "path: clean",
            "skipped: ignored, it skips itself (exit status 77)",
            "tap: incomplete, not judged in each schedule: the output (protocol tap)",
            "variables: clean",
        ],
        "{run:?}"
    );
}
