//! What a trace contains of the user's environment, and who can read it.

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
    // The program does not read it.
    assert!(!text.contains("harmless-value"));
    let shown = heddle(&home, &["show", "--environment", &trace]);
    assert_eq!(shown.status, 0, "{shown:?}");
    let unread = "HARMLESS (not read by the program; value replaced)\n";
    assert!(shown.stdout.contains(unread), "{shown:?}");
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

/// What a program reads by name is kept, also by names that only the C library has; so is everything if
/// it reads the environment as a whole.
#[test]
fn a_trace_keeps_the_values_that_the_program_reads() {
    let whole = "All values are kept because the program refers to the environment as a whole.\n";
    let differs = "All values are kept because the execution was not the same without them.\n";
    for (flags, is_kept, note) in [
        (&[][..], false, None),
        (&["-DWHOLE"], true, Some(whole)),
        // The third argument of main, compared with a name that no constant contains.
        (&["-DTHIRD"], true, Some(differs)),
    ] {
        let home = Home::new();
        build(&home, "reads_environment", "program", flags);
        let mut command = home.command(["explore", "--json", "--", "./program"]);
        let given = [("READ_BY_NAME", "kept"), ("HARMLESS", "harmless-value"), ("TZ", "Etc/GMT+3")];
        command.envs(given).env("MY_TOKEN", SECRET);
        let report = run(command, BOUND).report();
        let trace = report.bugs[0].trace.clone().expect("a trace");
        let text = bytes(&home, &trace);
        assert_eq!(text.contains("harmless-value"), is_kept, "{flags:?}");
        assert!(!text.contains(SECRET), "{flags:?}");
        let shown = heddle(&home, &["show", "--environment", &trace]);
        assert_eq!(shown.status, 0, "{shown:?}");
        for line in ["READ_BY_NAME=kept\n", "TZ=Etc/GMT+3\n", "MY_TOKEN (value not recorded)\n"] {
            assert!(shown.stdout.contains(line), "{flags:?}: {line}: {shown:?}");
        }
        for known in [whole, differs] {
            assert_eq!(shown.stdout.contains(known), note == Some(known), "{flags:?}: {shown:?}");
        }
        // In another environment, and what is made from the trace.
        let again = heddle(&home, &["replay", "--times", "10", &trace]);
        assert_eq!(again.status, 1, "{flags:?}: {again:?}");
        let shrunk = heddle(&home, &["shrink", "-o", "small.heddle", &trace]);
        assert!([0, 1].contains(&shrunk.status), "{flags:?}: {shrunk:?}");
        let small = heddle(&home, &["show", "--environment", "small.heddle"]);
        // The present environment has no secret to leave out.
        let expected = shown.stdout.replace("MY_TOKEN (value not recorded)\n", "");
        assert_eq!(small.stdout, expected, "{flags:?}");
        assert_eq!(bytes(&home, "small.heddle").contains("harmless-value"), is_kept, "{flags:?}");
    }
}
