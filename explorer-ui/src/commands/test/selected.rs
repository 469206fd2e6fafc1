//! Commands that select one test of a program with a test harness.

use crate::suites::harness_args::HarnessArgs;
use crate::suites::registry;
use replay_core::{SearchOptions, StrategyChoice, Target};
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use traces::points::Granularity;

/// Whether the command selects one test by its exact name, which the program's harness runs in a thread
/// that it creates for it: then main belongs to the harness. Runs the program once to see that. What does
/// not run once is explored, or refused, as it is.
pub(crate) fn is_in_own_thread(
    command: &[OsString],
    target: &Target,
    interrupted: &AtomicBool,
) -> bool {
    let words: Vec<String> =
        command.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let given = HarnessArgs::parse(words.iter().map(String::as_str));
    let [test] = given.filter.texts.as_slice() else { return false };
    if !given.filter.exact || given.is_for_program {
        return false;
    }
    let Ok(content) = std::fs::read(&target.program) else { return false };
    let Some(framework) = registry::candidates(&content).find(|one| one.name == "libtest") else {
        return false;
    };
    let options = SearchOptions {
        strategy: StrategyChoice::NON_PREEMPTIVE,
        points: Granularity::Api,
        // A thread that waits for another one's store runs until it is interrupted.
        spin_after: Duration::from_millis(100),
        names: false,
        ..SearchOptions::default()
    };
    replay_core::run(target, &options, interrupted)
        .is_ok_and(|trace| (framework.has_own_thread)(&trace.execution.tasks, test))
}
