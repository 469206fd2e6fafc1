use super::*;
use crate::simulation::execution::Ending;
use crate::simulation::generated::{classes, number_of_programs};
use crate::strategy::bounded_dpor::BoundedDpor;
use crate::strategy::dfs::{Dfs, Measure};
use crate::strategy::dpor::Dpor;
use crate::strategy::iterative::Iterative;
use crate::{Coverage, Strategy};
use std::collections::{BTreeMap, BTreeSet};

const SEED: u64 = 31;
const SLACKS: [Slack; 3] = [Some(0), Some(SECOND), None];

/// The classes that a strategy runs, and whether it claims to have run all within its bound.
fn found<S: Strategy>(program: &Program, mut strategy: S) -> (BTreeSet<u64>, bool) {
    let found = classes(program, &mut strategy).map(|(class, _)| class).collect();
    (found, matches!(strategy.coverage(), Coverage::Complete { .. }))
}

#[test]
fn executions_of_programs_with_timers_end_within_their_bound() {
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for slack in SLACKS {
        for number in 0..number_of_programs(100) {
            let Some(timed) = timed(SEED, number, slack) else { continue };
            let (programs, schedules) = counts.entry(slack).or_insert((0, 0));
            *programs += 1;
            *schedules += timed.schedules;
            let is_cut = timed.classes.values().any(|((ending, _), _)| *ending == Ending::Cut);
            // Whether the step that a handler interrupts could happen is not known: the base may fall after it. And the
            // class of an execution does not show which step that was.
            let is_exact = timed.program.handler.is_none();
            let falls = is_exact && timed.base_falls;
            let contradicts = is_exact && timed.contradicts;
            if contradicts || falls || is_cut {
                wrong.push((timed.schedules, slack, number, contradicts, falls, is_cut));
            }
        }
    }
    println!("programs, schedules: {counts:?}");
    wrong.sort();
    assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

#[test]
fn strategies_run_every_class_of_programs_with_timers_at_every_slack() {
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for slack in SLACKS {
        for number in 0..number_of_programs(100) {
            let Some(timed) = timed(SEED, number, slack) else { continue };
            // The test above reports those that do not end.
            if timed.classes.values().any(|((ending, _), _)| *ending == Ending::Cut) {
                continue;
            }
            let program = &timed.program;
            let handles = program.handler.is_some();
            *counts.entry((slack, handles)).or_insert(0) += 1;
            let mut check = |name, bound: u32, (found, claims): (BTreeSet<u64>, bool)| {
                let within = timed.classes.iter().filter(|(_, (_, least))| *least <= bound);
                let expected: BTreeSet<u64> = within.map(|(&class, _)| class).collect();
                // A reduction does not know what handlers do, and claims nothing about programs that have any.
                let must_claim = name == "icb" || !handles;
                let is_right = found == expected || !claims && found.is_subset(&expected);
                if !is_right || must_claim && !claims {
                    let sizes = (timed.schedules, expected.len(), found.len());
                    wrong.push((sizes, number, slack, handles, name, bound, claims));
                }
            };
            check("dpor", u32::MAX, found(program, Dpor::new()));
            for bound in 0..=2 {
                check("bounded dpor", bound, found(program, BoundedDpor::new(bound)));
                let icb = Iterative::new(Measure::Preemptions, Some(bound));
                check("icb", bound, found(program, icb));
            }
        }
    }
    println!("programs by slack and whether they handle signals: {counts:?}");
    wrong.sort();
    assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), &wrong[..wrong.len().min(40)]);
}

/// A program whose main creates the workers, arms a timer, and joins the workers.
fn with_timer(workers: &[&[Code]], notice: Notice, times: [u64; 2], handler: &[Code]) -> Program {
    let timer = workers.len() + 1;
    let mut main: Vec<Code> = (1..timer).map(Code::Create).collect();
    main.extend([Code::Arm(0, timer, times), Code::Create(timer)]);
    main.extend((1..timer).map(Code::Join));
    main.push(Code::Exit);
    let expiration = &[Code::Expire(0), Code::Again][..];
    let bodies = workers.iter().chain([&expiration]).map(|body| body.to_vec()).collect();
    let tasks = (0..timer).map(|body| (body, 0)).collect();
    let mut program = programs::with(bodies, tasks, vec![0; 7], 0, &[]);
    program.code[0] = [&main[..], &[Code::End]].concat();
    program.timers = vec![notice];
    if !handler.is_empty() {
        program.handler = Some(program.code.len());
        program.code.push([handler, &[Code::End]].concat());
    }
    program
}

/// One of two tasks takes the signal, and the other waits without end: either may be the one that takes it.
#[test]
fn each_of_two_tasks_may_take_the_only_signal() {
    let wait = |value| [Code::SignalWait(2, None), Code::Store(At(0, None), Value::Is(value))];
    let program = with_timer(&[&wait(1), &wait(2)], Notice::Process, [SECOND, 0], &[]);
    for slack in SLACKS {
        let program = Program { slack, ..program.clone() };
        let all = found(&program, Dfs::new(None)).0;
        assert_eq!(all.len(), 2);
        assert_eq!(found(&program, Dpor::new()), (all.clone(), true));
        assert_eq!(found(&program, BoundedDpor::new(2)), (all, true));
    }
}

/// A task handles a signal that arrived before the task began when it begins, without a separate step. The orders of
/// arrival and beginning are one state for what the reductions know.
#[test]
fn a_signal_may_arrive_before_its_task_begins() {
    let worker = [
        Code::Sleep(3 * SECOND / 2),
        Code::TimedTake(2, SEMAPHORE, SECOND),
        Code::Store(RESULT, Value::Register(2)),
    ];
    let handler = [Code::Store(At(1, None), Value::Is(5)), Code::Post(SEMAPHORE)];
    let program = with_timer(&[&worker], Notice::Task(1), [SECOND / 5, 0], &handler);
    for slack in SLACKS {
        let program = Program { slack, ..program.clone() };
        let timed = Timed::of(program).expect("it has few schedules");
        for bound in 0..=4 {
            let within = timed.classes.iter().filter(|(_, (_, least))| *least <= bound);
            let icb = Iterative::new(Measure::Preemptions, Some(bound));
            let expected = within.map(|(&class, _)| class).collect();
            assert_eq!(found(&timed.program, icb), (expected, true), "{slack:?}, {bound}");
        }
        let (found, claims) = found(&timed.program, Dpor::new());
        assert!(found.iter().all(|class| timed.classes.contains_key(class)) && !claims);
    }
}

/// Where the handler interrupts its task, and whether it ends the wait, shows in no order of operations.
#[test]
fn a_handler_may_end_a_wait_or_come_before_it() {
    let store = |value| Code::Store(At(0, None), Value::Is(value));
    let worker = [store(2), Code::Disarm(0), Code::Pause];
    let handler = [Code::Disarm(0), store(5)];
    let program = with_timer(&[&worker], Notice::Task(1), [SECOND / 2; 2], &handler);
    let program = Program { slack: Some(SECOND), max_steps: 83, ..program };
    let timed = Timed::of(program).expect("it has few schedules");
    for (bound, classes) in [(0, 1), (1, 6), (2, 19), (3, 39)] {
        let within = timed.classes.iter().filter(|(_, (_, least))| *least <= bound);
        let expected: BTreeSet<u64> = within.map(|(&class, _)| class).collect();
        assert_eq!(expected.len(), classes, "{bound}");
        let icb = Iterative::new(Measure::Preemptions, Some(bound));
        assert_eq!(found(&timed.program, icb), (expected, true), "{bound}");
    }
}

/// What a task waits for is there since the timer expired again, and not since an earlier time.
#[test]
fn a_task_that_waits_for_a_timer_again_is_late_since_that_expired_again() {
    let wanted = Wanted { register: 1, of: [DESCRIPTOR; 2], takes: true, limit: None };
    let reads = [Code::Ready(wanted), Code::Ready(wanted), Code::Ready(wanted)];
    // The third expiration is at 6 s. The sleep ends half a second later, and within the slack.
    let later = [
        Code::Sleep(13 * SECOND / 2),
        Code::ReadNow(1, DESCRIPTOR),
        Code::Store(RESULT, Value::Register(1)),
    ];
    let count = Notice::Count(DESCRIPTOR);
    let program = with_timer(&[&reads, &later], count, [2 * SECOND; 2], &[]);
    let ends = |slack| {
        let program = Program { slack, max_steps: 60, ..program.clone() };
        let runs = classes(&program, Dfs::new(None)).map(|(_, run)| run);
        runs.map(|run| {
            assert!(!run.base_fell && run.ending != Ok(Ending::Cut));
            run.variables[RESULT.0]
        })
        .collect::<BTreeSet<i64>>()
    };
    assert_eq!(ends(Some(0)), BTreeSet::from([0]));
    assert_eq!(ends(Some(SECOND)), BTreeSet::from([0, 1]));
}

/// Two timers that expire in turn do not keep a task from what one of them does.
#[test]
fn two_timers_in_turn_get_no_further_ahead_than_one() {
    let wanted = Wanted { register: 1, of: [DESCRIPTOR; 2], takes: true, limit: None };
    let count = Notice::Count(DESCRIPTOR);
    let mut program = with_timer(&[&[Code::Ready(wanted)]], count, [SECOND, SECOND], &[]);
    program.timers.push(Notice::Count(DESCRIPTOR + 1));
    program.code.push(vec![Code::Expire(1), Code::Again, Code::End]);
    program.tasks.push((3, 0));
    program.code[0].splice(1..1, [Code::Arm(1, 3, [SECOND / 2, SECOND]), Code::Create(3)]);
    let program = Program { max_steps: 40, slack: Some(0), ..program };
    let all: Vec<_> = classes(&program, Dfs::new(None)).take(5_000).collect();
    assert!(all.len() < 5_000);
    assert!(all.iter().all(|(_, run)| run.ending == Ok(Ending::Passed)));
}
