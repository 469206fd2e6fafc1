//! `heddle runner`: what cargo starts instead of a test program.

use super::test::harness;
use crate::cli::arguments::{ExploreArgs, RunnerArgs, SuiteArgs};
use crate::commands::explore;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::suites::harness_args::HarnessArgs;
use crate::suites::is_documentation;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the verb.
///
/// # Errors
/// If the program cannot be started or searched, or no test matches an exact name.
pub fn main(args: RunnerArgs, console: &Console) -> Result<Status, Problem> {
    let (program, words) =
        args.command.split_first().ok_or_else(|| Problem::Usage("no program".into()))?;
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let given = HarnessArgs::parse(texts.iter().map(String::as_str));
    let runs_documentation = std::fs::read(program).is_ok_and(|content| is_documentation(&content));
    if runs_documentation {
        console.note(
            "heddle: the tests in documentation are one program here, which takes no test's name: they are run and \
             not searched",
        );
    }
    if given.is_for_program || runs_documentation {
        let error = Command::new(program).args(words).exec();
        let name = program.to_string_lossy();
        return Err(Problem::Usage(format!("{name} cannot be started: {error}")));
    }
    let suite = SuiteArgs {
        max_time: args.max_time,
        out: args.out.clone(),
        jobs: given.threads,
        no_fail_fast: true,
        ..SuiteArgs::default()
    };
    let interrupted = interrupt::flag();
    match harness::run(program, &given, suite, &interrupted, console)? {
        Some(status) => Ok(status),
        // Without the harness the program is one test, with the arguments that it was given.
        None => {
            let mut explored = ExploreArgs { command: args.command, ..ExploreArgs::default() };
            explored.search.max_time = args.max_time;
            explored.search.program.out = args.out;
            explore::main(explored, console)
        }
    }
}
