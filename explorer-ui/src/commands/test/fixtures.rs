//! The fixtures of CTest: programs that run once before the tests that need what they make, and others that
//! run after all.

use super::child;
use super::search::Test;
use crate::suites::{Outcome, Program, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long such a program may run.
const TIME: Duration = Duration::from_secs(60);

/// Runs what sets up the fixtures of these tests. Returns the tests that can run, and the results of those
/// whose fixtures failed.
pub(super) fn set_up(
    programs: &[Program],
    tests: Vec<Test>,
    interrupted: &AtomicBool,
) -> (Vec<Test>, Vec<Outcome>) {
    let mut needed = needed(programs, tests.iter().flat_map(|test| &test.program.fixtures.needs));
    let mut failed: BTreeMap<String, String> = BTreeMap::new();
    // A program may itself need fixtures: it runs after those that set them up.
    while !needed.is_empty() {
        let waits = |program: &Program| {
            let others = needed.iter().filter(|other| other.name != program.name);
            let mut made = others.flat_map(|other| &other.fixtures.sets_up);
            made.any(|fixture| program.fixtures.needs.contains(fixture))
        };
        // Programs that need each other have no order.
        let at = needed.iter().position(|program| !waits(program)).unwrap_or(0);
        let program = needed.remove(at);
        if let Err(why) = run(program, TIME, interrupted) {
            let why = format!("its fixture is missing: {} {why}", program.name);
            failed.extend(program.fixtures.sets_up.iter().map(|name| (name.clone(), why.clone())));
        }
    }
    let missing =
        |test: &Test| test.program.fixtures.needs.iter().find_map(|name| failed.get(name));
    let outcomes: Vec<Outcome> = tests
        .iter()
        .filter_map(|test| Some(test.outcome(Verdict::Error, missing(test)?)))
        .collect();
    (tests.into_iter().filter(|test| missing(test).is_none()).collect(), outcomes)
}

/// Runs what cleans up these fixtures. A failure changes no test's result.
pub(super) fn clean_up(
    programs: &[Program],
    used: &BTreeSet<String>,
    interrupted: &AtomicBool,
) -> Vec<String> {
    let cleans = |program: &&Program| program.fixtures.cleans_up.iter().any(|it| used.contains(it));
    let failed = programs.iter().filter(cleans).filter_map(|program| {
        let why = run(program, TIME, interrupted).err()?;
        Some(format!("{} {why}", program.name))
    });
    failed.collect()
}

/// The programs that set up these fixtures, and those that they need.
fn needed<'a>(
    programs: &'a [Program],
    names: impl Iterator<Item = &'a String>,
) -> Vec<&'a Program> {
    let mut names: BTreeSet<&String> = names.collect();
    loop {
        let makes =
            |program: &&Program| program.fixtures.sets_up.iter().any(|it| names.contains(it));
        let found: Vec<&Program> = programs.iter().filter(makes).collect();
        let before = names.len();
        names.extend(found.iter().flat_map(|program| &program.fixtures.needs));
        if names.len() == before {
            return found;
        }
    }
}

fn run(program: &Program, time: Duration, interrupted: &AtomicBool) -> Result<(), String> {
    // Without a disabled one CTest runs the tests, too.
    let command = program.command.split_first().filter(|_| program.disabled.is_none());
    let Some((first, rest)) = command else { return Ok(()) };
    let mut command = Command::new(first);
    command.args(rest).current_dir(&program.directory);
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    let ended = child::run(&mut command, time, interrupted)
        .map_err(|error| format!("cannot be started: {error}"))?;
    match ended.status {
        Some(status) if status.success() => Ok(()),
        status => {
            let how =
                status.map_or_else(|| "no exit status in time".to_owned(), |it| it.to_string());
            Err(format!("ended with {how}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::programs::Fixtures;

    fn program(name: &str, needs: &[&str], sets_up: &[&str]) -> Program {
        let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect();
        Program {
            name: name.to_owned(),
            fixtures: Fixtures {
                needs: texts(needs),
                sets_up: texts(sets_up),
                ..Fixtures::default()
            },
            ..Program::default()
        }
    }

    #[test]
    fn a_program_that_does_not_end_makes_no_fixture() {
        let command = ["/bin/sh", "-c", "sleep 600"].map(Into::into).to_vec();
        let program = Program { command, directory: "/".into(), ..program("base", &[], &["base"]) };
        let ended = run(&program, Duration::from_millis(20), &AtomicBool::new(false));
        assert_eq!(ended, Err("ended with no exit status in time".to_owned()));
    }

    #[test]
    fn fixtures_of_fixtures_are_needed() {
        let programs = [
            program("table", &["base"], &["table"]),
            program("other", &[], &["other"]),
            program("base", &[], &["base"]),
        ];
        let names = ["table".to_owned()];
        let needed = needed(&programs, names.iter());
        let names: Vec<&str> = needed.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["table", "base"]);
    }
}
