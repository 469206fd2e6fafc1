//! Small programs whose correct verdict is known, each explored with default options.
//!
//! A wrong `clean` and a false alarm are the worst answers that Heddle can give. `today` in the manifest
//! lists the programs whose answer is not yet the right one, so that the list can only shrink: an entry
//! that no longer describes the answer fails the test as well.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tests::heddle::{Home, run};
use tests::parallel::check_all;
use traces::report::{Report, Verdict};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    claim: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    file: String,
    flags: Vec<String>,
    expected: Expected,
    #[expect(dead_code, reason = "for those who read the manifest")]
    area: String,
    why: String,
    /// Whether the search of a sound program must be complete.
    #[serde(default)]
    complete: bool,
    /// The answer where it is not the expected one.
    today: Option<Answer>,
    /// The most executions of the search.
    #[serde(default = "executions")]
    executions: u32,
}

/// More than any failure here needs, few enough for a program whose search does not end.
fn executions() -> u32 {
    1000
}

/// The correct verdict for a program, from the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Expected {
    Fails,
    Hangs,
    Sound,
}

/// The verdict that Heddle reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Bug,
    Clean,
    Incomplete,
    Error,
}

impl Answer {
    fn of(report: &Report) -> Answer {
        match report.verdict {
            // A data race is reported beside the verdict.
            Verdict::Clean | Verdict::Incomplete if !report.races.is_empty() => Answer::Bug,
            Verdict::Bug => Answer::Bug,
            Verdict::Clean => Answer::Clean,
            Verdict::Incomplete => Answer::Incomplete,
            _ => Answer::Error,
        }
    }

    /// Whether the answer is right: `incomplete` claims nothing, so it is never a wrong answer, but it is
    /// the right one for a sound program only.
    fn is_right(self, expected: Expected) -> bool {
        match expected {
            Expected::Fails | Expected::Hangs => self == Answer::Bug,
            Expected::Sound => matches!(self, Answer::Clean | Answer::Incomplete),
        }
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("claims")
}

fn manifest() -> Manifest {
    let path = directory().join("manifest.toml");
    let text = std::fs::read_to_string(&path).expect("the manifest is there");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compiles a program into the home; none where the compiler lacks what it needs.
fn compile(claim: &Claim, home: &Home) -> Option<PathBuf> {
    let compiler = match claim.file.rsplit_once('.') {
        Some((_, "rs")) => "rustc",
        Some((_, "cpp")) => "g++",
        _ => "gcc",
    };
    let built = home.path().join(claim.file.replace('.', "-"));
    let output = Command::new(compiler)
        .args(&claim.flags)
        .arg("-o")
        .arg(&built)
        .arg(directory().join(&claim.file))
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    if !output.status.success() {
        println!("SKIPPED: {}: {}", claim.file, String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(built)
}

/// Explores a program: at most so many executions, so that the answer depends on no clock.
fn explore(claim: &Claim, home: &Home, program: &Path) -> (Answer, String) {
    let mut command = home.command(["explore", "--json", "--max-steps", "20000", "--workers", "1"]);
    command.arg("--max-executions").arg(claim.executions.to_string()).arg("--").arg(program);
    let run = run(command, Duration::from_secs(120));
    let mut report: Report = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}\n{}", claim.file, run.stderr));
    let answer = Answer::of(&report);
    let first = report.bugs.drain(..).next().map(|bug| format!("{}: {}", bug.kind, bug.message));
    (answer, first.unwrap_or(report.reason))
}

/// What is wrong with the answer for one program, if anything.
fn check(claim: &Claim) -> Option<String> {
    let lacks = |flag: &String| match flag.as_str() {
        "-mavx2" => !is_x86_feature_detected!("avx2"),
        "-mavx512f" => !is_x86_feature_detected!("avx512f"),
        "-mavx512vl" => !is_x86_feature_detected!("avx512vl"),
        _ => false,
    };
    if let Some(flag) = claim.flags.iter().find(|flag| lacks(flag)) {
        println!("SKIPPED: {}: the processor cannot run code built with {flag}", claim.file);
        return None;
    }
    let home = Home::new();
    let program = compile(claim, &home)?;
    let (answer, detail) = explore(claim, &home, &program);
    let described = format!(
        "{}: expected {:?} ({}), and the answer is {answer:?} ({detail})",
        claim.file, claim.expected, claim.why
    );
    match claim.today {
        None if claim.complete && answer != Answer::Clean => Some(described),
        None if answer.is_right(claim.expected) => None,
        None => Some(described),
        Some(today) if today == answer && !answer.is_right(claim.expected) => None,
        Some(today) => Some(format!("{described}; the manifest's `today` is {today:?}: update it")),
    }
}

#[test]
fn every_claim_gets_the_answer_of_the_manifest() {
    check_all(&manifest().claim, check);
}

#[test]
fn every_program_of_the_directory_is_in_the_manifest_once() {
    let mut listed: Vec<String> = manifest().claim.into_iter().map(|claim| claim.file).collect();
    listed.sort();
    let mut present: Vec<String> = std::fs::read_dir(directory())
        .expect("the directory is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".toml") && !name.ends_with(".h"))
        .collect();
    present.sort();
    assert_eq!(listed, present);
}
