//! Programs that change files in their working directory: each execution has a copy of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// A directory with the files that `changes_files.c` expects, and the program beside it.
struct Prepared {
    home: Home,
    work: PathBuf,
}

const PROGRAM: &str = "../program";

fn prepared() -> Prepared {
    let home = Home::new();
    build(&home, "changes_files", "program", &[]);
    let work = home.path().join("work");
    fs::create_dir_all(work.join("below")).expect("writable");
    for (path, text) in
        [("kept", "first\n"), ("removed", ""), ("named", "x"), ("below/plain", "plain")]
    {
        fs::write(work.join(path), text).expect("writable");
    }
    Prepared { home, work }
}

fn heddle(prepared: &Prepared, args: &[&str]) -> Run {
    let mut command = prepared.home.command(args);
    command.current_dir(&prepared.work);
    run(command, BOUND)
}

fn explore(prepared: &Prepared, options: &[&str], program: &[&str]) -> Report {
    let has = |option| options.contains(&option);
    let workers = if has("--workers") { &[][..] } else { &["--workers", "1"] };
    let strategy = if has("--strategy") { &[][..] } else { &["--strategy", "dfs"] };
    heddle(
        prepared,
        &[&["explore", "--json"], workers, strategy, options, &["--"], program].concat(),
    )
    .report()
}

/// Contents and permissions of the files below a directory, without the traces.
fn files(directory: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("readable") {
        let entry = entry.expect("readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let metadata = entry.metadata().expect("readable");
        if metadata.is_dir() {
            if name != "heddle-out" {
                let below = files(&entry.path()).into_iter();
                found.extend(below.map(|(path, what)| (format!("{name}/{path}"), what)));
            }
        } else {
            let content = fs::read(entry.path()).expect("readable");
            found.insert(name, (metadata.permissions().mode(), content));
        }
    }
    found
}

/// Whether this machine lets a process mount a directory for itself; prints why not.
fn may_mount(name: &str, report: &Report) -> bool {
    let refused = report.notes.iter().find(|note| note.contains("mounts are not permitted"));
    if let Some(why) = refused {
        println!("SKIPPED: {name}: {why}");
    }
    refused.is_none()
}

#[test]
fn each_execution_finds_the_files_that_the_first_one_found() {
    let home = prepared();
    let before = files(&home.work);
    let report = explore(&home, &[], &[PROGRAM]);
    if !may_mount("each_execution_finds_the_files_that_the_first_one_found", &report) {
        return;
    }
    assert_eq!((report.verdict, report.diverged), (Verdict::Clean, 0), "{report:?}");
    assert!(report.executions > 1, "{report:?}");
    let note = "the program changes files in its working directory: each execution had its own";
    assert!(report.notes.iter().any(|line| line.starts_with(note)), "{report:?}");
    assert_eq!(files(&home.work), before, "the files themselves are unchanged");
    // The same for every reset, number of workers, and without waiting for the first change.
    for options in [
        &["--reset", "fork"][..],
        &["--reset", "exec"],
        &["--workers", "2"],
        &["--scratch"],
        &["--scratch=always", "--strategy", "dpor"],
    ] {
        let other = explore(&home, options, &[PROGRAM]);
        assert_eq!((other.verdict, other.diverged), (Verdict::Clean, 0), "{options:?} {other:?}");
        if !options.contains(&"dpor") {
            assert_eq!(other.classes, report.classes, "{options:?}");
        }
    }
    assert_eq!(files(&home.work), before);
}

#[test]
fn a_failure_that_depends_on_files_replays_and_shrinks() {
    let home = prepared();
    let before = files(&home.work);
    let report = explore(&home, &[], &[PROGRAM, "fails"]);
    if !may_mount("a_failure_that_depends_on_files_replays_and_shrinks", &report) {
        return;
    }
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.bugs[0].message.contains("strcmp(order"), "{report:?}");
    let trace = report.bugs[0].trace.clone().expect("recorded");
    let replayed = heddle(&home, &["replay", "--times", "3", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    assert!(replayed.stdout.contains("3 times") || replayed.stdout.contains("strcmp(order"));
    let shrunk = heddle(&home, &["shrink", &trace]);
    assert_eq!(shrunk.status, 0, "{shrunk:?}");
    assert_eq!(files(&home.work), before);
}

#[test]
fn on_request_executions_share_the_files() {
    let home = prepared();
    let report = explore(&home, &["--scratch=never"], &[PROGRAM]);
    assert_eq!(report.verdict, Verdict::Bug, "an execution found what another left: {report:?}");
    assert!(home.work.join("made/log").exists());
}

#[test]
fn run_leaves_what_the_program_leaves_unless_asked_otherwise() {
    let home = prepared();
    let before = files(&home.work);
    let probe = explore(&home, &[], &[PROGRAM]);
    if !may_mount("run_leaves_what_the_program_leaves_unless_asked_otherwise", &probe) {
        return;
    }
    let private = heddle(&home, &["run", "--scratch", "--", PROGRAM]);
    assert_eq!(private.status, 0, "{private:?}");
    assert_eq!(files(&home.work), before);
    let shared = heddle(&home, &["run", "--", PROGRAM]);
    assert_eq!(shared.status, 0, "{shared:?}");
    assert_eq!(fs::read(home.work.join("kept")).expect("there"), b"second");
    assert!(home.work.join("linked").exists() && !home.work.join("removed").exists());
}

#[test]
fn a_directory_that_is_too_large_is_shared_with_a_note() {
    const MOST: usize = 10_000;
    let home = prepared();
    let many = home.work.join("many");
    fs::create_dir(&many).expect("writable");
    for number in 0..=MOST {
        fs::write(many.join(number.to_string()), "").expect("writable");
    }
    let report = explore(&home, &["--max-executions", "1"], &[PROGRAM]);
    if !may_mount("a_directory_that_is_too_large_is_shared_with_a_note", &report) {
        return;
    }
    let note = report.notes.iter().find(|note| note.contains("more than 10000 files"));
    assert!(
        note.is_some_and(|note| note.contains("executions see what earlier ones left")),
        "{report:?}"
    );
    let refused = heddle(&home, &["explore", "--scratch", "--", PROGRAM]);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(refused.stderr.contains("--scratch=never"), "{refused:?}");
}

/// Executions then share the files: a search is complete only if each of them finds the same.
#[test]
fn a_directory_that_cannot_be_copied_and_differs_is_not_clean() {
    const MOST: usize = 10_000;
    for (way, differs) in [("exclusive", true), ("appended", true), ("written", false)] {
        let home = Home::new();
        build(&home, "leaves_files", "program", &[]);
        let work = home.path().join("work");
        fs::create_dir_all(work.join("many")).expect("writable");
        for number in 0..=MOST {
            fs::write(work.join("many").join(number.to_string()), "").expect("writable");
        }
        let prepared = Prepared { home, work };
        let report = explore(&prepared, &[], &[PROGRAM, way, "left"]);
        assert!(
            report.notes.iter().any(|note| note.contains("executions see what earlier ones left")),
            "{way}: {report:?}"
        );
        let names = |note: &String| note.contains("left` changed");
        assert_eq!(report.notes.iter().any(names), differs, "{way}: {report:?}");
        assert_eq!(report.complete, !differs, "{way}: {report:?}");
    }
}

#[test]
fn bad_choices_are_refused() {
    let home = prepared();
    let refused = heddle(&home, &["explore", "--scratch=maybe", "--", "/bin/true"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("the choices are: auto, always, never"), "{refused:?}");
}

/// Ways to change a file elsewhere, and whether later executions can notice it.
const ELSEWHERE: [(&str, bool); 8] = [
    ("exclusive", true),
    ("directory", true),
    ("relative", true),
    ("looked", true),
    ("appended", true),
    ("written", false),
    ("temporary", false),
    ("renamed", false),
];

/// Files outside of the working directory are shared by all executions: a search is complete only if each
/// of them begins with the same files.
#[test]
fn a_file_that_executions_leave_elsewhere_is_named_and_nothing_is_clean() {
    for reset in ["auto", "fork", "exec"] {
        for (way, differs) in ELSEWHERE {
            let home = Home::new();
            build(&home, "leaves_files", "program", &[]);
            let elsewhere = Home::new();
            let path = elsewhere.path().join("file").to_string_lossy().into_owned();
            let options = ["--strategy", "dfs", "--workers", "1", "--reset", reset];
            let program = ["--", "./program", way, &path];
            let report =
                home.heddle([&["explore", "--json"], &options[..], &program].concat()).report();
            let names =
                |note: &String| note.contains(&format!("the program leaves `{path}` changed"));
            assert_eq!(report.notes.iter().any(names), differs, "{way}, {reset}: {report:?}");
            assert_eq!(report.complete, !differs, "{way}, {reset}: {report:?}");
            let expected = if differs { Verdict::Incomplete } else { Verdict::Clean };
            // The only execution without the file may find the race.
            if report.verdict != Verdict::Bug {
                assert_eq!(report.verdict, expected, "{way}, {reset}: {report:?}");
            }
        }
    }
}

/// An execution that fails or is given up removes nothing; a later one would not find what the first one found.
#[test]
fn what_an_execution_created_that_did_not_end_is_removed() {
    for reset in ["auto", "fork", "exec"] {
        for strategy in ["dfs", "auto"] {
            let home = Home::new();
            build(&home, "deadlocks_with_a_file", "program", &[]);
            let elsewhere = Home::new();
            let path = elsewhere.path().join("made").to_string_lossy().into_owned();
            // With --keep-going a failure is recorded while the search continues, with the same path.
            let options = ["--strategy", strategy, "--workers", "1", "--reset", reset];
            let program = ["--", "./program", &path];
            let report =
                home.heddle([&["explore", "--json"], &options[..], &program].concat()).report();
            let kinds: Vec<_> = report.bugs.iter().map(|bug| bug.kind).collect();
            assert_eq!(kinds, [FailureKind::Deadlock], "{strategy}, {reset}: {report:?}");
            assert!(!report.notes.iter().any(|note| note.contains(&path)), "{report:?}");
            assert!(!Path::new(&path).exists(), "{strategy}, {reset}: {path} is left");
        }
    }
}
