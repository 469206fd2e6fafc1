//! The programs with known bugs, from their unmodified binaries. Programs with few threads fail
//! under a uniform random walk; programs with many threads fail in a schedule written by hand;
//! programs without a bug have no reported failure.
//!
//! A schedule is a list of moves. `T2` runs T2 until it blocks or ends, unless a later move stops
//! it; `T2 to write b` stops T2 before its next operation with that name on that object, `T2 to 3
//! write b` before the third one.

use explorer_ui::commands;
use explorer_ui::console::{Console, When};
use replay_core::runner::{RunOutcome, Runner};
use replay_core::{Observer, Progress, SearchOptions};
use std::sync::atomic::AtomicBool;
use tests::heddle::Home;
use tests::rows::ROWS;
use tests::targets::{Program, matches, program};
use traces::report::{Bug, Report};
use traces::{Choice, Execution, Step, TaskId, Trace};

/// The largest number of tasks of a program that a uniform walk must break.
const FEW: u32 = 6;

/// Further programs with few threads, not measured with other tools, that a uniform walk must
/// break.
const WALKED: &[(&str, &[&str])] = &[
    ("arithmetic", &[]),
    ("abba_main", &[]),
    ("dinner", &["3"]),
    ("never_released", &[]),
    ("never_signalled", &[]),
    ("never_signalled_twice", &["2"]),
    ("bank", &[]),
    ("lost_update", &["3"]),
    ("work_stealing_two", &["2"]),
    ("global_string", &[]),
    ("shared_index", &["5"]),
    ("triangular", &["5"]),
    ("freed", &[]),
    ("freed_twice", &[]),
    ("divided", &[]),
    ("random_locks", &["3"]),
    ("random_locks", &["5"]),
    ("order_in_state", &[]),
    ("deny", &[]),
    ("swapped", &[]),
];

/// Programs without a bug.
const SILENT: &[(&str, &[&str])] = &[
    ("account_fixed", &[]),
    ("order_fixed", &[]),
    ("indexer", &["13"]),
    ("philosophers_ordered", &["5"]),
    ("increment_locked", &["3", "1"]),
    ("work_stealing_fixed", &["4"]),
];

/// Programs with many threads, or that a random walk rarely breaks: arguments, a failing schedule,
/// and the failure.
const GIVEN: &[(&str, &[&str], &[&str])] = &[
    // The last task that counts runs last.
    ("dinner_seven", &["7"], &["T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7"]),
    // The last task takes no lock.
    ("blocks", &[], &["T0", "T27"]),
    ("reorder", &["9"], &["T0", "T1 to write b", "T10"]),
    ("reorder", &["9", "checker first"], &["T0", "T2 to write b", "T1"]),
    // All tasks that main created read the same index.
    ("shared_index", &["16"], &["T0"]),
    ("twostage", &["20"], &["T0", "T1 to lock second_guard", "T21"]),
    ("twostage", &["50"], &["T0", "T1 to lock second_guard", "T51"]),
    ("twostage", &["100"], &["T0", "T1 to lock second_guard", "T101"]),
    // Bytes fetched between the sum and the reset are never counted.
    ("downloader", &["5"], &["T0", "T1 to write just_now", "T2", "T1"]),
    ("downloader", &["10"], &["T0", "T1 to write just_now", "T2", "T1"]),
    // One task holds the second lock and requests the first; the other task, in reverse order.
    ("random_locks", &["7"], &["T0", "T1 to lock lock[0]", "T3"]),
    // Both workers end before main counts them.
    ("scanner", &[], &["T0 to lock guard", "T1", "T2"]),
    ("safestack", &["2"], SAFESTACK),
];

/// T3 reads the head; then its cell is taken, returned and becomes the head again (ABA). T3's
/// update then links a cell that T2 owns.
const SAFESTACK: &[&str] = &[
    "T0",
    "T3 to update cells[0].next",
    "T2 to 2 update head",
    "T1 to 2 update head",
    "T3 to update head",
    "T2 to update count",
    "T3 to update count",
    "T2 to read cells[1].value",
    "T3",
    "T1",
    "T2",
];

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
    fn bug(&mut self, _: &Bug, _: &Trace) {}
    fn note(&mut self, _: &str) {}
}

/// The operation and object of a step, in the notation of moves.
fn said(execution: &Execution, step: &Step) -> String {
    let object = step.object.and_then(|object| execution.objects.get(object as usize));
    format!("{} {}", step.operation.name(), object.map_or("", |object| &object.name))
}

/// The choices of the first `steps` steps.
fn beginning(execution: &Execution, steps: usize) -> Vec<Choice> {
    let mut left = steps;
    let within = |choice: &Choice| match (choice, left) {
        (Choice::Task(_), 0) => false,
        (Choice::Task(_), _) => {
            left -= 1;
            true
        }
        (Choice::Data { .. }, _) => true,
    };
    execution.choices().take_while(within).collect()
}

/// Parses a move: the task, and the operation to stop before with its ordinal.
fn parsed(text: &str) -> (u16, Option<(usize, &str)>) {
    let (task, until) =
        text.split_once(" to ").map_or((text, None), |(task, what)| (task, Some(what)));
    let task = task.trim_start_matches('T').parse().unwrap_or_else(|_| panic!("no task: {text}"));
    let until = until.map(|what| match what.split_once(' ') {
        Some((count, rest)) if count.parse::<usize>().is_ok() => (count.parse().unwrap_or(1), rest),
        _ => (1, what),
    });
    (task, until)
}

/// Follows the moves; after them no task is preempted.
fn follow(walk: &Runner, moves: &[&str]) -> Trace {
    let run = |choices: Vec<Choice>, text: &str| {
        let walked = walk.run(choices, &AtomicBool::new(false)).expect("the program runs");
        let RunOutcome::Ran(trace) = walked else { panic!("{text}: {walked:?}") };
        *trace
    };
    let mut trace = run(Vec::new(), "main");
    let mut at = 0;
    for text in moves {
        let (task, until) = parsed(text);
        let mut choices = beginning(&trace.execution, at);
        choices.push(Choice::Task(TaskId(task)));
        trace = run(choices, text);
        let execution = &trace.execution;
        let own = execution.steps[at..].iter().take_while(|step| step.task.0 == task).count();
        let Some((count, pattern)) = until else {
            at += own;
            continue;
        };
        let met =
            (at..at + own).filter(|&at| matches(pattern, &said(execution, &execution.steps[at])));
        let does = || -> Vec<String> {
            execution.steps[at..at + own].iter().map(|step| said(execution, step)).collect()
        };
        at = met.clone().nth(count - 1).unwrap_or_else(|| panic!("{text}: {:#?}", does()));
    }
    trace
}

#[test]
fn programs_with_many_threads_fail_in_a_hand_written_schedule() {
    let home = Home::new();
    let console = Console::new(When::Never);
    for &(name, args, moves) in GIVEN {
        let known = program(name);
        let path = known.build().expect("targets compile").into_os_string();
        let command: Vec<_> = [path].into_iter().chain(args.iter().map(Into::into)).collect();
        let target =
            commands::target(&command, false, None, &console).expect("it can be run under control");
        let flag = AtomicBool::new(false);
        let options = SearchOptions { out: home.path().join("out"), ..SearchOptions::default() };
        let options = replay_core::learn(&target, &options, &flag, &mut Silent).expect("learned");
        let walk = Runner::new(target, options);
        let trace = follow(&walk, moves);
        let failure = trace.failure.as_ref().unwrap_or_else(|| panic!("{name} {args:?} passes"));
        assert_eq!(Some(failure.kind), known.bug, "{name} {args:?}: {failure:?}");
        assert!(known.message_matches(&failure.message), "{name} {args:?}: {failure:?}");
        let again = walk.run(trace.execution.choices().collect(), &flag).expect("it runs");
        let RunOutcome::Ran(again) = again else { panic!("{name} {args:?}: {again:?}") };
        assert_eq!(again.failure.as_ref(), Some(failure), "{name} {args:?}");
    }
}

fn walked(program: &Program, args: &[&str], most: &str) -> Report {
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let options = ["explore", "--json", "--strategy", "random", "--max-executions", most];
    let args = [&options[..], &["--workers", "1", "--", &path], args].concat();
    Home::new().heddle(args).report()
}

#[test]
fn a_uniform_walk_finds_every_bug_within_its_budget() {
    let measured = ROWS.iter().filter(|row| row.threads <= FEW).map(|row| (row.target, row.args));
    for (name, args) in measured.chain(WALKED.iter().copied()) {
        let report = walked(program(name), args, "50000");
        assert!(report.threads <= u64::from(FEW), "{name} {args:?}: {report:?}");
        let found = report.bugs.iter().any(|bug| bug.found_at > 0);
        assert!(found, "{name} {args:?}: {report:?}");
    }
}

#[test]
fn programs_without_a_bug_have_no_failure() {
    for &(name, args) in SILENT {
        let report = walked(program(name), args, "5000");
        let said = (report.bugs.len(), report.races.len(), report.executions);
        assert_eq!(said, (0, 0, 5000), "{name} {args:?}: {report:?}");
    }
}
