//! Programs with spin loops, compared with every state that they can reach.

use crate::rng::Rng;
use crate::simulation::{At, Code, Compare, Ending, Program, Run, States, Value};
use crate::simulation::{programs, runs};
use crate::strategy::dfs::{Dfs, Measure};
use crate::strategy::dpor::Dpor;
use crate::strategy::iterative::Iterative;
use crate::{Coverage, Strategy};
use std::collections::BTreeSet;

type Endings = BTreeSet<(Ending, Vec<i64>)>;

/// A loop that waits until a variable has a value, in one of several forms.
fn wait(rng: &mut Rng, variable: usize, value: i64, from: usize) -> Vec<Code> {
    let at = At(variable, None);
    let is = Value::Is;
    match rng.below(6) {
        // while (x != value) yield
        0 => vec![
            Code::Load(1, at),
            Code::If(Value::Register(1), Compare::Equal, is(value), from + 4),
            Code::Yield,
            Code::Jump(from),
        ],
        // while (x != value);
        1 => {
            vec![Code::Load(1, at), Code::If(Value::Register(1), Compare::Differ, is(value), from)]
        }
        // while (!compare_exchange(x, value, value + 1))
        2 => vec![
            Code::CompareSwap(1, at, is(value), is(value + 1)),
            Code::If(Value::Register(1), Compare::Differ, is(value), from),
        ],
        // while (x != value && y != value);
        3 => vec![
            Code::Load(1, at),
            Code::If(Value::Register(1), Compare::Equal, is(value), from + 4),
            Code::Load(2, At(1 - variable, None)),
            Code::If(Value::Register(2), Compare::Differ, is(value), from),
        ],
        // do { a = x; b = y } while (a != x || a != value)
        4 => vec![
            Code::Load(1, at),
            Code::Load(2, At(1 - variable, None)),
            Code::Load(4, at),
            Code::If(Value::Register(1), Compare::Differ, Value::Register(4), from),
            Code::If(Value::Register(1), Compare::Differ, is(value), from),
        ],
        // while (x != value && y != value) yield
        _ => vec![
            Code::Load(1, at),
            Code::If(Value::Register(1), Compare::Equal, is(value), from + 6),
            Code::Load(2, At(1 - variable, None)),
            Code::If(Value::Register(2), Compare::Equal, is(value), from + 6),
            Code::Yield,
            Code::Jump(from),
        ],
    }
}

fn generate(seed: u64) -> Program {
    let mut rng = Rng::new(seed, 7);
    let tasks = 2 + rng.below(2) as usize;
    let mut bodies = Vec::new();
    for _ in 0..tasks {
        let mut body = Vec::new();
        for _ in 0..1 + rng.below(2) {
            let variable = rng.below(2) as usize;
            let at = At(variable, None);
            let value = i64::from(rng.below(3));
            match rng.below(5) {
                0 | 1 => body.push(Code::Store(at, Value::Is(value))),
                2 => {
                    // Stores the value that was read, so that different executions give different
                    // results.
                    body.push(Code::Load(3, at));
                    body.push(Code::Store(At(2 + bodies.len(), None), Value::Register(3)));
                }
                _ => {
                    let from = body.len();
                    body.extend(wait(&mut rng, variable, value, from));
                }
            }
        }
        bodies.push(body);
    }
    let each = (0..tasks).map(|body| (body, 0)).collect();
    programs::with(bodies, each, vec![0; 2 + tasks], 0, &[])
}

/// The endings that a search finds within the given number of executions.
fn within(program: &Program, strategy: &mut impl Strategy, most: usize) -> Endings {
    let kept = |run: Run| run.ending.ok().map(|ending| (ending, run.variables));
    runs(program, strategy).take(most).filter_map(kept).collect()
}

#[test]
fn searches_of_programs_that_spin_end_and_find_every_ending() {
    let whole = Coverage::Complete { bound: None };
    let (mut livelocks, mut ended) = (0, [0; 2]);
    for seed in 0..200 {
        let program = generate(seed);
        let expected = States::of(&program).endings();
        livelocks += u32::from(expected.iter().any(|(ending, _)| *ending == Ending::Livelock));
        let mut dpor = Dpor::new();
        assert_eq!(within(&program, &mut dpor, 5_000), expected, "{seed} by dpor: {program:#?}");
        assert_eq!(dpor.coverage(), whole, "{seed}");
        // Most programs have too many schedules to run all of them.
        let mut dfs = Dfs::new(None);
        let found = within(&program, &mut dfs, 2_000);
        if dfs.coverage() == whole {
            ended[0] += 1;
            assert_eq!(found, expected, "{seed} by dfs: {program:#?}");
        }
        let mut icb = Iterative::new(Measure::Preemptions, None);
        let found = within(&program, &mut icb, 2_000);
        if icb.coverage() == whole {
            ended[1] += 1;
            assert_eq!(found, expected, "{seed} by icb: {program:#?}");
        }
    }
    assert!(livelocks > 20, "{livelocks} of the programs can livelock");
    assert!(ended.iter().all(|&ended| ended > 20), "{ended:?} searches ended");
}

/// A task that yields while it makes progress is not blocked: this failure needs it to finish all
/// its work before the other task checks.
#[test]
fn a_task_that_yields_between_portions_may_continue() {
    let mut work = Vec::new();
    for _ in 0..5 {
        work.push(Code::FetchAdd(1, At(0, None), Value::Is(1)));
        work.push(Code::Yield);
    }
    let look = vec![
        Code::Load(1, At(0, None)),
        Code::If(Value::Register(1), Compare::Less, Value::Is(5), 3),
        Code::Fail,
    ];
    let program = programs::with(vec![work, look], vec![(0, 0), (1, 0)], vec![0], 0, &[]);
    let expected = States::of(&program).endings();
    assert!(expected.iter().any(|(ending, _)| *ending == Ending::Assertion));
    assert_eq!(within(&program, &mut Dfs::new(None), 10_000), expected);
    let found = within(&program, &mut Dpor::new(), 10_000);
    assert!(found.iter().any(|(ending, _)| *ending == Ending::Assertion), "{found:?}");
}

/// Each iteration reaches another state, so that no task is blocked permanently; yet the search
/// ends, and does not claim to be complete.
#[test]
fn a_loop_that_counts_its_iterations_is_followed_only_for_a_while() {
    let counts = vec![
        Code::Sum(2, Value::Register(2), Value::Is(1)),
        Code::Load(1, At(0, None)),
        Code::If(Value::Register(1), Compare::Equal, Value::Is(0), 0),
    ];
    let sets = vec![Code::Store(At(0, None), Value::Is(1))];
    let program = programs::with(vec![counts, sets], vec![(0, 0), (1, 0)], vec![0], 0, &[]);
    let mut dpor = Dpor::new();
    let executions = runs(&program, &mut dpor).take(10_000).count();
    assert!((50..1_000).contains(&executions), "{executions} executions");
    assert_eq!(dpor.coverage(), Coverage::Open);
}
