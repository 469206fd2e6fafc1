//! Commands that would search nothing: a tool that starts tests in other processes, or the name of a test
//! that does not exist.

use super::discover;
use crate::exit::Problem;
use crate::report::text::{clean, quote};
use crate::suites::Program;
use crate::suites::harness_args::HarnessArgs;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Tools, the first words of their arguments with which they run tests (none: any), and what to
/// run instead.
const TOOLS: [(&str, &[&str], &str); 4] = [
    (
        "cargo",
        &["test", "t", "nextest", "bench"],
        "run `cargo heddle test`, or name the program that `cargo test --no-run` prints",
    ),
    ("cargo", &["run", "r"], "run `cargo heddle run`, or name the program below target/"),
    ("ctest", &[], "run `heddle test` on the build directory"),
    ("meson", &["test"], "run `heddle test` on the build directory"),
];

/// Refuses a command that runs tests in other processes than its own, and one that names a test of
/// Rust's harness that does not exist: the harness would run none, and report success.
///
/// # Errors
/// If the command is one of these.
pub(crate) fn check(command: &[OsString]) -> Result<(), Problem> {
    let Some((program, words)) = command.split_first() else { return Ok(()) };
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(problem) = other_process(Path::new(program), &words) {
        return Err(Problem::Usage(problem));
    }
    if !words.iter().any(|word| word == "--exact") {
        return Ok(());
    }
    let given = HarnessArgs::parse(words.iter().map(String::as_str));
    if given.is_for_program || given.filter.texts.is_empty() {
        return Ok(());
    }
    let listed = Program {
        command: vec![program.clone()],
        directory: std::env::current_dir().unwrap_or_default(),
        ..Program::default()
    };
    let suite = discover::list(listed, &AtomicBool::new(false));
    let Ok(tests) = &suite.tests else { return Ok(()) };
    let is_harness = suite.framework.is_some_and(|framework| framework.name == "libtest");
    let is_there = |name: &String| tests.iter().any(|test| test.name == *name);
    if !is_harness || given.filter.texts.iter().any(is_there) {
        return Ok(());
    }
    let program = program.to_string_lossy();
    Err(Problem::Usage(format!(
        "{} has no test with the exact name {}; `heddle test --list {}` prints the names",
        clean(&program),
        clean(&given.filter.texts.join(", ")),
        quote(&program),
    )))
}

/// Why a command of one of the tools is refused.
fn other_process(program: &Path, words: &[String]) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    // `cargo +nightly test`
    let first = words.iter().find(|word| !word.starts_with('+'));
    let (name, _, instead) = TOOLS.iter().find(|(tool, verbs, _)| {
        let runs = verbs.is_empty() || first.is_some_and(|first| verbs.contains(&first.as_str()));
        *tool == name && runs
    })?;
    let verb = first.filter(|_| *name != "ctest").map(|verb| format!(" {verb}"));
    let verb = clean(&verb.unwrap_or_default());
    Some(format!(
        "`{name}{verb}` starts programs in other processes, which are not explored: {instead}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_start_tests_are_refused() {
        let check = |line: &str| check(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for refused in ["cargo test", "/usr/bin/cargo +nightly test -q", "ctest", "meson test -C b"]
        {
            let problem = check(refused).expect_err(refused).to_string();
            assert!(problem.contains("heddle test"), "{problem}");
        }
        let run = check("cargo run").expect_err("another process").to_string();
        assert!(run.contains("`cargo heddle run`"), "{run}");
        for taken in ["cargo build", "cargo", "./test", "meson setup b", "/bin/true --exact x"] {
            assert!(check(taken).is_ok(), "{taken}");
        }
    }
}
