//! Programs built with `-fsanitize=thread`: the runtime has every function that their code may
//! call, with the right effect. `probes/include/sanitizer.txt` lists the effect of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::heddle::Home;
use tests::hostile::build;
use tests::targets::program;
use traces::report::{Report, Verdict};

const TABLE: &str = include_str!("../../probes/include/sanitizer.txt");

fn table() -> BTreeMap<&'static str, &'static str> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut table = BTreeMap::new();
    for line in lines {
        let (name, fate) = line.split_once(' ').expect("a name and its treatment");
        assert!(["modelled", "nothing", "unsupported", "absent"].contains(&fate), "{line}");
        assert!(table.insert(name, fate).is_none(), "{name} is listed twice");
    }
    table
}

/// The symbols that a file defines, as `nm` lists them with these options.
fn symbols(file: &Path, options: &[&str]) -> BTreeSet<String> {
    let nm = Command::new("nm").args(options).arg(file).output().expect("nm is there, as gcc is");
    assert!(nm.status.success(), "{}: {nm:?}", file.display());
    let names = String::from_utf8_lossy(&nm.stdout).into_owned();
    let names = names.lines().filter_map(|line| line.split_whitespace().last());
    names.map(|name| name.split('@').next().unwrap_or_default().to_owned()).collect()
}

const EXPORTED: [&str; 2] = ["-D", "--defined-only"];

/// The path of a file that gcc links to programs.
fn linked(name: &str) -> PathBuf {
    let option = format!("-print-file-name={name}");
    let found = Command::new("gcc").arg(option).output().expect("gcc runs");
    PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
}

/// The symbols that a library exports under names of the sanitizer's interface, without its hooks
/// for system calls, coverage and fuzzing, which instrumented code does not call.
fn exported(library: &Path) -> BTreeSet<String> {
    let prefixes =
        ["__tsan_", "__sanitizer_", "Annotate", "WTFAnnotate", "RunningOnV", "ValgrindS"];
    let others = ["__sanitizer_syscall_", "__sanitizer_cov_", "__sanitizer_weak_hook_"];
    let is_one = |name: &String| {
        prefixes.iter().any(|prefix| name.starts_with(prefix))
            && !others.iter().any(|prefix| name.starts_with(prefix))
    };
    symbols(library, &EXPORTED).into_iter().filter(is_one).collect()
}

/// The runtime as a run of a program unpacks it.
fn runtime(home: &Home) -> PathBuf {
    let path = program("increment").build().expect("targets compile");
    home.heddle(["run".as_ref(), "--".as_ref(), path.as_os_str()]);
    let cache = home.path().join("cache/heddle");
    let files = std::fs::read_dir(&cache).expect("the runtime's directory");
    files
        .map(|file| file.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "so"))
        .expect("the runtime")
}

fn explore(home: &Home, name: &str) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let options = ["--keep-going", "--workers", "1", "--max-executions", "200"];
    let mut args = vec!["explore", "--json"];
    args.extend(options);
    args.extend(["--", &path]);
    home.heddle(&args).report()
}

#[test]
fn every_function_of_the_sanitizers_library_is_in_the_table() {
    let library = linked("libtsan.so");
    let names = exported(&library);
    assert!(names.len() > 150, "{} is not understood: {names:?}", library.display());
    let table = table();
    let missing: Vec<_> = names.iter().filter(|name| !table.contains_key(&***name)).collect();
    assert!(missing.is_empty(), "list {missing:?} in sanitizer.txt");
}

#[test]
fn the_runtime_has_the_functions_that_the_table_lists() {
    let home = Home::new();
    let there = table().into_iter().filter(|(_, fate)| *fate != "absent");
    let there: BTreeSet<String> = there.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(exported(&runtime(&home)), there);
}

/// Programs take from the sanitizer's library what libc defines in its static part only: `atexit`. A
/// program that called it ended before main.
#[test]
fn the_runtime_has_what_the_sanitizers_library_defines_in_place_of_libcs_static_part() {
    let home = Home::new();
    let library = symbols(&linked("libtsan.so"), &EXPORTED);
    let fixed = symbols(&linked("libc_nonshared.a"), &["--defined-only"]);
    let both: BTreeSet<String> = library.intersection(&fixed).cloned().collect();
    assert!(both.contains("atexit"), "{both:?}");
    let missing: Vec<_> = both.difference(&symbols(&runtime(&home), &EXPORTED)).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let path = build(&home, "at_exit", "at_exit", &["-fsanitize=thread"]);
    let run = home.heddle(["run", "--", &path.to_string_lossy()]);
    assert_eq!((run.status, run.stdout.contains("last\nfirst\n")), (0, true), "{run:?}");
}

#[test]
fn every_access_function_reports_exactly_its_access() {
    let home = Home::new();
    let report = explore(&home, "sanitizer_accesses");
    let source = std::fs::read_to_string(tests::targets::sources().join("sanitizer_accesses.c"))
        .expect("its source");
    let is_call = |line: &str| line.starts_with("    ") && line.contains("(__");
    let calls: Vec<(usize, &str)> = source
        .lines()
        .enumerate()
        .filter(|(_, line)| is_call(line) && !line.contains("cells"))
        .map(|(at, line)| (at + 1, line.trim()))
        .collect();
    assert!(calls.len() > 60, "{calls:?}");
    for (line, call) in &calls {
        let place = format!("sanitizer_accesses.c:{line}");
        let races = report.races.iter().filter(|race| {
            let after = race.split_once(&place).map(|(_, rest)| rest);
            after.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        let races: Vec<_> = races.collect();
        // The value that a constructor stores is there already, so this is not a write.
        assert_eq!(races.len(), 1, "{call}: {races:?}");
        let reads = !call.contains("write") && !call.contains("update") && !call.contains("store");
        let verb = if reads { "read" } else { "w" };
        assert!(races[0].contains(&format!("T1 {verb}")), "{call}: {races:?}");
    }
    assert_eq!(report.races.len(), calls.len(), "{report:#?}");
    assert_eq!(explore(&home, "sanitizer_accesses_locked").races, Vec::<String>::new());
}

#[test]
fn every_atomic_does_what_the_instruction_does() {
    let report = explore(&Home::new(), "sanitizer_atomics");
    assert_eq!((report.verdict, report.bugs), (Verdict::Clean, vec![]));
}

#[test]
fn race_annotations_of_a_program_are_respected() {
    let home = Home::new();
    let races = explore(&home, "sanitizer_annotated").races;
    assert_eq!(races.len(), 1, "{races:?}");
    assert!(races[0].contains("accesses to unmeant"), "{races:?}");
}
