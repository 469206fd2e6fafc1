//! The manifest is consistent with the programs, and programs are rebuilt when necessary.

use super::*;
use std::collections::BTreeSet;

#[test]
fn patterns() {
    for (pattern, text, expected) in [
        ("", "", true),
        ("*", "anything", true),
        ("a*c", "abc", true),
        ("a*c", "ac", true),
        ("a*c", "acd", false),
        ("*b*", "abc", true),
        ("*b*b*", "abc", false),
        ("ab*ba", "aba", false),
        ("abc", "abcd", false),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} and {text}");
    }
}

#[test]
fn the_manifest_is_consistent() {
    let names: BTreeSet<_> = programs().iter().map(|program| &program.name).collect();
    assert_eq!(names.len(), programs().len(), "a name occurs twice");
    let files = programs().iter().map(|program| program.file.clone());
    // Some are claims, of which another test knows the verdict only.
    let (claims, listed): (BTreeSet<_>, BTreeSet<_>) =
        files.partition(|file| file.starts_with("../claims/"));
    assert!(claims.iter().all(|file| sources().join(file).is_file()), "{claims:?}");
    let there: BTreeSet<_> = fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // Files shared by several programs are not programs.
        .filter(|name| name != "manifest.toml" && name != "classic.rs" && !name.ends_with(".h"))
        .collect();
    assert_eq!(listed, there);
    for program in programs() {
        let verdict = match program.bug {
            // A program without a failure may still use what a search cannot observe.
            None if program.verdict == Verdict::Incomplete => Verdict::Incomplete,
            None => Verdict::Clean,
            Some(FailureKind::Unsupported) => Verdict::Unsupported,
            Some(_) => Verdict::Bug,
        };
        assert_eq!(program.verdict, verdict, "{}", program.name);
        let incomplete = program.verdict == Verdict::Incomplete;
        assert!(!incomplete || !program.notes.is_empty(), "{}: why incomplete?", program.name);
        assert!(!program.native.is_empty(), "{}", program.name);
    }
}

/// Builds one program, runs it a few times, and lists the differences from the manifest.
fn check(program: &Program) -> Vec<String> {
    // If a hang is one of the outcomes, mistaking a slow run for a hang is harmless.
    let hangs = program.native.iter().any(|outcome| outcome == "hang");
    let bound = Duration::from_secs(if hangs { 1 } else { 30 });
    let mut wrong = Vec::new();
    for _ in 0..3 {
        let run = match program.run(bound) {
            Ok(run) => run,
            Err(error) => return vec![error.to_string()],
        };
        if !program.native.contains(&run.outcome) {
            wrong.push(format!("{} ended with {}", program.name, run.outcome));
        }
        let ended = run.outcome.parse::<i32>().is_ok();
        if let Some(expected) = &program.stdout
            && ended
            && run.stdout != *expected
        {
            wrong.push(format!("{} printed {:?}", program.name, run.stdout));
        }
    }
    wrong
}

#[test]
fn every_program_is_built_and_behaves_natively_as_the_manifest_says() {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || {
        let take = || programs().get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        std::iter::from_fn(take).flat_map(check).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_is_built_once() {
    let program = program("increment");
    let built = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(|| program.build().unwrap())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let time = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let before = time(&built[0]);
    assert_eq!(time(&program.build().unwrap()), before);
}
