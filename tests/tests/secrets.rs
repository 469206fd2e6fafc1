//! Finding 4: what a trace contains of the user's environment, and who can read it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, build};

const SECRET: &str = "hush-hush";
const NAMES: [&str; 8] =
    ["MYSQL_PWD", "PASS", "DB_PASS", "AUTH", "GH_PAT", "BEARER", "COOKIE", "PASSPHRASE"];

fn explore(home: &Home, options: &[&str]) -> String {
    let args = [&["explore", "--json"], options, &["--", "./program", "--token=x"]].concat();
    let mut command = home.command(args);
    for name in NAMES {
        command.env(name, SECRET);
    }
    command.env("PROXY", format!("http://me:{SECRET}@proxy:80")).env("HARMLESS", "harmless-value");
    let report = run(command, BOUND).report();
    report.bugs[0].trace.clone().expect("a trace")
}

fn bytes(home: &Home, trace: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(home.path().join(trace)).expect("there")).into_owned()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn heddle(home: &Home, args: &[&str]) -> Run {
    run(home.command(args), BOUND)
}

#[test]
fn traces_are_private_and_contain_no_secrets() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let trace = explore(&home, &[]);
    let out = home.path().join("heddle-out");
    assert_eq!(mode(&out), 0o700);
    assert_eq!(mode(&home.path().join(&trace)), 0o600);
    let ignored = std::fs::read_to_string(out.join(".gitignore")).expect("there");
    assert!(ignored.lines().any(|line| line == "*"), "{ignored}");
    let text = bytes(&home, &trace);
    assert!(!text.contains(SECRET), "a secret is in the trace");
    assert!(text.contains("harmless-value"));
    let shown = heddle(&home, &["show", "--environment", &trace]);
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(shown.stdout.contains("HARMLESS=harmless-value\n"), "{shown:?}");
    for name in NAMES.iter().chain(&["PROXY"]) {
        assert!(shown.stdout.contains(&format!("{name} (value not recorded)\n")), "{name}");
    }
    let again = heddle(&home, &["replay", &trace]);
    assert_eq!(again.status, 1, "{again:?}");
}

#[test]
fn a_trace_without_the_environment_replays_in_the_present_one() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let trace = explore(&home, &["--no-env"]);
    assert!(!bytes(&home, &trace).contains("harmless-value"));
    let again = heddle(&home, &["replay", &trace]);
    assert_eq!(again.status, 1, "{again:?}");
    // Nor do the traces that are made from it.
    let mut shrink = home.command(["shrink", "-o", "small.heddle", &trace]);
    shrink.env("HARMLESS", "harmless-value");
    let shrunk = run(shrink, BOUND);
    assert!([0, 1].contains(&shrunk.status), "{shrunk:?}");
    assert!(!bytes(&home, "small.heddle").contains("harmless-value"));
}

#[test]
fn a_redacted_trace_can_be_handed_on() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    let trace = explore(&home, &[]);
    let exported = heddle(&home, &["export", "--redact", &trace]);
    assert_eq!(exported.status, 0, "{exported:?}");
    let path = exported.stdout.trim();
    assert!(path.ends_with(".redacted.heddle"), "{path}");
    assert_eq!(mode(&home.path().join(path)), 0o600);
    let text = bytes(&home, path);
    assert!(!text.contains("harmless-value") && !text.contains("--token=x"));
    assert!(text.contains("--token=***"));
    let shown = heddle(&home, &["show", path]);
    assert_eq!(shown.status, 0, "{shown:?}");
}
