//! Programs with spin loops, compared with every state that they can reach.

use crate::rng::Rng;
use crate::simulation::{At, Code, Compare, Ending, Program, Run, States, Value};
use crate::simulation::{programs, run, runs};
use crate::strategy::checked_dpor::CheckingWalk;
use crate::strategy::dfs::{Dfs, Measure};
use crate::strategy::dpor::Dpor;
use crate::strategy::iterative::Iterative;
use crate::{Coverage, Reduction, Strategy};
use std::collections::BTreeSet;

/// How many programs of each kind are generated.
const SEEDS: u64 = 200;
/// How many random walks of each program are compared with the classes of a search.
const WALKS: u64 = 60;

type Endings = BTreeSet<(Ending, Vec<i64>)>;

/// A loop that waits until a variable has a value, in one of several forms.
fn wait(rng: &mut Rng, variable: usize, value: i64, from: usize) -> Vec<Code> {
    let at = At(variable, None);
    let is = Value::Is;
    match rng.below(7) {
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
        // while (!sem_timedwait(x))
        5 => vec![
            Code::TimedTake(2, variable, 1_000_000),
            Code::If(Value::Register(2), Compare::Equal, is(1), from),
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

/// The mutex that protects a variable in [`locked_wait`].
fn mutex(variable: usize) -> At {
    At(variable, None)
}

/// A loop that looks at a variable under its lock until it has a value, in one of several forms.
fn locked_wait(rng: &mut Rng, variable: usize, value: i64, from: usize) -> Vec<Code> {
    let (at, lock) = (At(variable, None), mutex(variable));
    let is_set = |to| Code::If(Value::Register(1), Compare::Equal, Value::Is(value), to);
    let is_unset = |to| Code::If(Value::Register(1), Compare::Differ, Value::Is(value), to);
    match rng.below(7) {
        // do { lock; a = x; unlock } while (a != value)
        0 => vec![Code::Lock(lock), Code::Load(1, at), Code::Unlock(lock), is_unset(from)],
        // for (;;) { lock; a = x; unlock; if (a == value) break; yield }
        1 => vec![
            Code::Lock(lock),
            Code::Load(1, at),
            Code::Unlock(lock),
            is_set(from + 6),
            Code::Yield,
            Code::Jump(from),
        ],
        // for (;;) { if (!trylock) continue; a = x; unlock; if (a == value) break }
        2 => vec![
            Code::TryLock(2, lock),
            Code::If(Value::Register(2), Compare::Equal, Value::Is(0), from),
            Code::Load(1, at),
            Code::Unlock(lock),
            is_unset(from),
        ],
        // for (;;) { if (trylock) { a = x; unlock; if (a == value) break } yield }
        3 => vec![
            Code::TryLock(2, lock),
            Code::If(Value::Register(2), Compare::Equal, Value::Is(0), from + 5),
            Code::Load(1, at),
            Code::Unlock(lock),
            is_set(from + 7),
            Code::Yield,
            Code::Jump(from),
        ],
        // for (;;) { lock; a = x; unlock; if (a == value && y == value) break; yield }
        4 => vec![
            Code::Lock(lock),
            Code::Load(1, at),
            Code::Unlock(lock),
            is_unset(from + 6),
            Code::Load(2, At(1 - variable, None)),
            Code::If(Value::Register(2), Compare::Equal, Value::Is(value), from + 8),
            Code::Yield,
            Code::Jump(from),
        ],
        // lock; while (x != value) timedwait; unlock
        5 => vec![
            Code::Lock(lock),
            Code::Load(1, at),
            is_set(from + 5),
            Code::TimedWait(2, variable, variable, 1_000_000),
            Code::Jump(from + 1),
            Code::Unlock(lock),
        ],
        // lock; while (x != value) { unlock; yield; lock } unlock
        _ => vec![
            Code::Lock(lock),
            Code::Load(1, at),
            is_set(from + 7),
            Code::Unlock(lock),
            Code::Yield,
            Code::Lock(lock),
            Code::Jump(from + 1),
            Code::Unlock(lock),
        ],
    }
}

/// Programs whose tasks look at variables under locks, set them under locks, and try locks.
fn generate_locked(seed: u64) -> Program {
    let mut rng = Rng::new(seed, 11);
    let tasks = 2 + rng.below(2) as usize;
    let mut bodies = Vec::new();
    // One task in a program waits, or all may.
    let most = if rng.below(3) == 0 { tasks } else { 1 };
    let mut waiting = 0;
    for number in 0..tasks {
        let mut body = Vec::new();
        for _ in 0..1 + rng.below(2) {
            let variable = rng.below(2) as usize;
            let (at, lock) = (At(variable, None), mutex(variable));
            let value = i64::from(1 + rng.below(2));
            match rng.below(5) {
                0 => {
                    body.extend([Code::Lock(lock), Code::Store(at, Value::Is(value))]);
                    match rng.below(4) {
                        0 => body.push(Code::Signal(variable)),
                        1 => body.push(Code::Broadcast(variable)),
                        _ => {}
                    }
                    body.push(Code::Unlock(lock));
                }
                1 => body.push(Code::Store(at, Value::Is(value))),
                // A sleep is such a step as well; it is no part of what the others wait for.
                2 if rng.below(2) == 0 => body.extend([
                    Code::Sleep(5_000_000),
                    Code::Lock(lock),
                    Code::Store(at, Value::Is(value)),
                    Code::Unlock(lock),
                ]),
                2 => {
                    // if (trylock) { result += 1; unlock }
                    let result = At(2 + number, None);
                    body.extend([
                        Code::TryLock(2, lock),
                        Code::If(Value::Register(2), Compare::Equal, Value::Is(0), body.len() + 4),
                        Code::FetchAdd(3, result, Value::Is(1)),
                        Code::Unlock(lock),
                    ]);
                }
                _ if waiting < most => {
                    waiting += 1;
                    let from = body.len();
                    body.extend(locked_wait(&mut rng, variable, value, from));
                }
                _ => body.extend([Code::Lock(lock), Code::Load(3, at), Code::Unlock(lock)]),
            }
        }
        bodies.push(body);
    }
    let each = (0..tasks).map(|body| (body, 0)).collect();
    let mut program = programs::with(bodies, each, vec![0; 2 + tasks], 2, &[]);
    program.conditions = 2;
    program.max_steps = 500;
    program
}

/// The first of the words that are locks in [`generate_with_words`]. The variables before it are data.
const WORD: usize = 5;

/// The word that is the lock of a variable.
fn word(variable: usize) -> At {
    At(WORD + variable, None)
}

/// Acquires a lock that is a word, in one of several forms.
fn lock_word(rng: &mut Rng, variable: usize, from: usize) -> Vec<Code> {
    let (free, held) = (Value::Is(0), Value::Is(1));
    let take = match rng.below(2) {
        0 => Code::CompareSwap(4, word(variable), free, held),
        _ => Code::Exchange(4, word(variable), held),
    };
    let is_taken = |to| Code::If(Value::Register(4), Compare::Equal, free, to);
    match rng.below(2) {
        0 => vec![take, Code::If(Value::Register(4), Compare::Differ, free, from)],
        _ => vec![take, is_taken(from + 4), Code::Yield, Code::Jump(from)],
    }
}

/// A loop that looks at a variable under a lock that is a word, until it has a value.
fn wait_with_word(rng: &mut Rng, variable: usize, value: i64, from: usize) -> Vec<Code> {
    let (free, held) = (Value::Is(0), Value::Is(1));
    let mut code = match rng.below(3) {
        // if (!trylock) { yield; continue }
        0 => vec![
            Code::CompareSwap(4, word(variable), free, held),
            Code::If(Value::Register(4), Compare::Equal, free, from + 4),
            Code::Yield,
            Code::Jump(from),
        ],
        _ => lock_word(rng, variable, from),
    };
    code.extend([Code::Load(1, At(variable, None)), Code::Store(word(variable), free)]);
    let is_set = |to| Code::If(Value::Register(1), Compare::Equal, Value::Is(value), to);
    let next = from + code.len();
    match rng.below(3) {
        0 => code.extend([is_set(next + 2), Code::Jump(from)]),
        1 => code.extend([is_set(next + 3), Code::Yield, Code::Jump(from)]),
        _ => code.extend([is_set(next + 3), Code::Sleep(1_000_000), Code::Jump(from)]),
    }
    code
}

/// Programs like those of [`generate_locked`], whose locks are words that the program changes.
fn generate_with_words(seed: u64) -> Program {
    let mut rng = Rng::new(seed, 13);
    let free = Value::Is(0);
    let tasks = 2 + rng.below(2) as usize;
    let most = if rng.below(3) == 0 { tasks } else { 1 };
    let (mut bodies, mut waiting) = (Vec::new(), 0);
    for number in 0..tasks {
        let (mut body, result) = (Vec::new(), At(2 + number, None));
        for _ in 0..1 + rng.below(2) {
            let variable = rng.below(2) as usize;
            let at = At(variable, None);
            let value = Value::Is(i64::from(1 + rng.below(2)));
            match rng.below(6) {
                0 | 1 => {
                    body.extend(lock_word(&mut rng, variable, body.len()));
                    body.extend([Code::Store(at, value), Code::Store(word(variable), free)]);
                }
                // if (trylock) unlock; else result += 1
                2 => body.extend([
                    Code::Exchange(2, word(variable), Value::Is(1)),
                    Code::If(Value::Register(2), Compare::Equal, free, body.len() + 4),
                    Code::FetchAdd(3, result, Value::Is(1)),
                    Code::Jump(body.len() + 5),
                    Code::Store(word(variable), free),
                ]),
                // result = the word
                3 => body.extend([
                    Code::Load(3, word(variable)),
                    Code::Store(result, Value::Register(3)),
                ]),
                _ if waiting < most => {
                    waiting += 1;
                    let (from, value) = (body.len(), i64::from(1 + rng.below(2)));
                    body.extend(wait_with_word(&mut rng, variable, value, from));
                }
                _ => body.push(Code::Store(at, value)),
            }
        }
        bodies.push(body);
    }
    let each = (0..tasks).map(|body| (body, 0)).collect();
    let mut program = programs::with(bodies, each, vec![0; WORD + 2], 0, &[]);
    program.max_steps = 500;
    program
}

/// Programs with counters, at which loops look, and which loops count their task in and out of.
fn generate_with_counters(seed: u64) -> Program {
    let mut rng = Rng::new(seed, 17);
    let tasks = 2 + rng.below(2) as usize;
    let update = |rng: &mut Rng, variable: usize, by: i64| match rng.below(2) {
        0 => Code::Add(word(variable), by),
        _ => Code::Count(4, word(variable), by),
    };
    let mut bodies = Vec::new();
    for number in 0..tasks {
        let (mut body, result) = (Vec::new(), At(2 + number, None));
        for _ in 0..1 + rng.below(2) {
            let variable = rng.below(2) as usize;
            let at = At(variable, None);
            let value = Value::Is(i64::from(1 + rng.below(2)));
            let from = body.len();
            match rng.below(7) {
                0 => body.push(update(&mut rng, variable, 1)),
                1 => body.push(update(&mut rng, variable, -1)),
                2 => body.push(Code::Store(at, value)),
                3 => body.extend([
                    Code::Load(3, word(variable)),
                    Code::Store(result, Value::Register(3)),
                ]),
                // while (counter != value) {}
                4 => body.extend([
                    Code::Load(1, word(variable)),
                    Code::If(Value::Register(1), Compare::Differ, value, from),
                ]),
                5 => body.extend([
                    Code::Load(1, at),
                    Code::If(Value::Register(1), Compare::Differ, value, from),
                ]),
                // do { counter += 1; counter -= 1; } while (variable != value)
                _ => {
                    let (first, second) =
                        (update(&mut rng, variable, 1), update(&mut rng, variable, -1));
                    let look = Code::Load(1, at);
                    let pause = if rng.below(2) == 0 { Code::Yield } else { Code::Load(5, at) };
                    let again = Code::If(Value::Register(1), Compare::Differ, value, from);
                    body.extend(match rng.below(2) {
                        0 => [first, look, second, pause, again],
                        _ => [first, second, look, pause, again],
                    });
                }
            }
        }
        bodies.push(body);
    }
    let each = (0..tasks).map(|body| (body, 0)).collect();
    let mut variables = vec![0; WORD];
    variables.extend([i64::from(rng.below(3)), i64::from(rng.below(3))]);
    let mut program = programs::with(bodies, each, variables, 0, &[]);
    (program.max_steps, program.counts) = (500, true);
    program
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
                0 => body.push(Code::Store(at, Value::Is(value))),
                1 => {
                    body.push(Code::Store(at, Value::Is(value)));
                    if rng.below(4) == 0 {
                        body.push(Code::FutexWake(variable));
                    }
                }
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
    for seed in 0..SEEDS {
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

/// A poll under a lock waits for what other tasks do under that lock: searches end, and find every
/// ending, also where other tasks try the lock while the poll holds it.
#[test]
fn searches_of_programs_that_poll_under_locks_find_every_ending() {
    let (livelocks, complete) = compare_with_every_state(generate_locked, usize::MAX);
    assert!(livelocks > 20, "{livelocks} of the programs can livelock");
    assert!(complete[0] > 150 && complete[1] > 25, "{complete:?} searches ended");
}

/// The same where the locks are words that are changed and changed back.
#[test]
fn searches_of_programs_that_poll_under_their_own_locks_find_every_ending() {
    let (livelocks, complete) = compare_with_every_state(generate_with_words, WORD);
    assert!(livelocks > 20, "{livelocks} of the programs can livelock");
    assert!(complete[0] > 150 && complete[1] > 25, "{complete:?} searches ended");
}

/// How many of the programs can livelock, and how many searches by `dpor` and `dfs` ended: each of
/// these finds every ending, as far as the first `count` variables show.
fn compare_with_every_state(generate: fn(u64) -> Program, count: usize) -> (u32, [u32; 2]) {
    let shown = |endings: Endings| -> Endings {
        let cut = |(ending, mut variables): (_, Vec<i64>)| {
            variables.truncate(count);
            (ending, variables)
        };
        endings.into_iter().map(cut).collect()
    };
    let whole = Coverage::Complete { bound: None };
    let (mut livelocks, mut complete, mut most) = (0, [0; 2], 0);
    for seed in 0..SEEDS {
        let program = generate(seed);
        let expected = States::of(&program).endings_of(count);
        livelocks += u32::from(expected.iter().any(|(ending, _)| *ending == Ending::Livelock));
        let mut dpor = Dpor::new();
        let mut executions = 0;
        let found: Endings = runs(&program, &mut dpor)
            .take(3_000)
            .inspect(|_| executions += 1)
            .filter_map(|run| run.ending.ok().map(|ending| (ending, run.variables)))
            .collect();
        if dpor.coverage() == whole {
            complete[0] += 1;
            most = most.max(executions);
            assert_eq!(shown(found), expected, "{seed} by dpor: {program:#?}");
        }
        // A program with more classes than this has too many schedules to run all of them.
        if executions > 50 {
            continue;
        }
        let mut dfs = Dfs::new(None);
        let found = within(&program, &mut dfs, 2_000);
        if dfs.coverage() == whole {
            complete[1] += 1;
            assert_eq!(shown(found), expected, "{seed} by dfs: {program:#?}");
        }
    }
    println!("{livelocks} livelocks, complete {complete:?}, at most {most} executions");
    (livelocks, complete)
}

/// Whether a loop waits depends on what its task did and read, and not on when other tasks ran steps
/// that the loop does not see: each random walk ends in a class that the reduction has found.
#[test]
fn executions_of_one_class_agree_on_which_loops_wait() {
    let mut walks = 0;
    for program in (0..SEEDS).flat_map(|seed| {
        let others = [generate_locked(seed), generate_with_words(seed)];
        others.into_iter().chain([generate(seed), generate_with_counters(seed)])
    }) {
        let mut dpor = Dpor::new();
        let mut classes = BTreeSet::new();
        for number in 1..=3_000 {
            if !dpor.begin(number) {
                break;
            }
            run(&program, &mut dpor);
            classes.extend(dpor.equivalence_class());
        }
        if dpor.coverage() != (Coverage::Complete { bound: None }) {
            continue;
        }
        let mut walk = CheckingWalk::within(None);
        for number in 1..=WALKS {
            walk.begin(number);
            let run = run(&program, &mut walk);
            walks += 1;
            let class = walk.equivalence_class();
            assert!(class.is_none_or(|class| classes.contains(&class)), "{run:?} of {program:#?}");
        }
    }
    assert!(walks > 300 * WALKS, "{walks} walks");
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
