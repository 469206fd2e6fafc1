//! Complete searches of abstract programs.

use super::*;
use crate::rng::Rng;
use crate::simulation::generated::classes;
use crate::simulation::{At, Code, Compare, Program, Value, programs, runs};
use crate::strategy::dfs::Dfs;
use std::collections::BTreeSet;

/// The number of executions of a complete search, each of them of a different class.
fn executions(program: &Program) -> usize {
    let mut dpor = Dpor::new();
    let mut count = 0;
    for run in runs(program, &mut dpor) {
        assert!(run.ending.is_ok(), "an execution that turned out to be redundant: {run:?}");
        count += 1;
    }
    assert_eq!(dpor.coverage(), Coverage::Complete { bound: None });
    count
}

#[test]
fn one_execution_for_each_trace() {
    let cases = [
        (programs::readers(8), 256),
        (programs::lastzero(5), 64),
        (programs::lastzero(10), 3_328),
        (programs::indexer(11), 1),
        (programs::indexer(12), 8),
        (programs::indexer(13), 64),
        (programs::indexer(14), 512),
        (programs::filesystem(13), 1),
        (programs::filesystem(14), 2),
        (programs::filesystem(16), 8),
        (programs::filesystem(18), 32),
        (programs::filesystem(19), 64),
        (programs::disjoint(6), 1),
        (programs::locked(3, 1), 6),
        (programs::locked(5, 1), 120),
        (programs::locked(6, 1), 720),
        (programs::locked(2, 2), 6),
        (programs::locked(2, 5), 252),
        (programs::locked(3, 2), 90),
        // Two classes in which all tasks end, and the deadlock.
        (programs::opposite(), 3),
    ];
    for (number, (program, expected)) in cases.iter().enumerate() {
        assert_eq!(executions(program), *expected, "case {number}");
    }
}

/// The classes that a complete search runs, and those of all schedules.
fn compare(main: Vec<Code>, bodies: &[Vec<Code>]) {
    let tasks = (0..bodies.len()).map(|task| (task, 0)).collect();
    let mut program = programs::with(bodies.to_vec(), tasks, vec![0], 2, &[]);
    program.code[0] = main;
    let found: Vec<u64> = classes(&program, Dpor::new()).map(|(class, _)| class).collect();
    let all: BTreeSet<u64> = classes(&program, Dfs::new(None)).map(|(class, _)| class).collect();
    assert_eq!(found.len(), all.len(), "{bodies:?}");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), all, "{bodies:?}");
}

#[test]
fn failures_hide_no_class_of_executions_that_exit_earlier() {
    let (x, lock) = (At(0, None), At(0, None));
    let fail_unless_less = |bound, code: &mut Vec<Code>| {
        let next = code.len() + 2;
        code.push(Code::If(Value::Register(1), Compare::Less, Value::Is(bound), next));
        code.push(Code::Fail);
    };
    // The operation that fails reads something else in another order, and an idle task may not have
    // started when the process exits.
    let mut reads = vec![Code::Load(1, x)];
    fail_unless_less(2, &mut reads);
    let exits = vec![Code::Create(1), Code::Create(2), Code::Create(3), Code::Exit, Code::End];
    let bodies = [vec![Code::Store(x, Value::Is(2))], Vec::new(), reads.clone()];
    compare(exits, &bodies);
    let joins = |count: usize| {
        let all = (1..=count).map(Code::Create).chain((1..=count).map(Code::Join));
        all.chain([Code::End]).collect::<Vec<Code>>()
    };
    let mut swaps = vec![Code::CompareSwap(1, x, Value::Is(0), Value::Is(2))];
    fail_unless_less(2, &mut swaps);
    compare(joins(3), &[swaps.clone(), reads, swaps]);
    // The operation that fails enables another one, which could have come before the failing task
    // took the lock.
    let mut unlocks = vec![Code::Load(1, x), Code::Lock(lock), Code::Unlock(lock)];
    fail_unless_less(0, &mut unlocks);
    let stores = vec![Code::Lock(lock), Code::Store(x, Value::Is(1)), Code::Unlock(lock)];
    compare(joins(2), &[unlocks, stores]);
}

#[test]
fn every_ending_of_every_schedule_is_among_them() {
    let cases = [
        programs::account(),
        programs::opposite(),
        programs::reorder(2),
        programs::lost_update(2),
        programs::pipe_release(true),
        programs::short(&["w a", "w a", "r a"]),
        programs::short(&["l m; r a", "", "w a"]),
        programs::short(&["w a; l m; r a", "l m; w a; u m; w a"]),
    ];
    for (number, program) in cases.iter().enumerate() {
        let all: BTreeSet<_> = runs(program, &mut Dfs::new(Some(3)))
            .map(|run| (run.ending.expect("not given up"), run.variables))
            .collect();
        let found: BTreeSet<_> = runs(program, &mut Dpor::new())
            .filter_map(|run| Some((run.ending.ok()?, run.variables)))
            .collect();
        let missing: Vec<_> = all.difference(&found).collect();
        assert!(missing.is_empty(), "case {number}: {missing:?}");
    }
}

/// A task that locks, tries to lock, and reads whether the mutexes are held.
fn user_of_mutexes(rng: &mut Rng, uses: u64) -> Vec<Code> {
    let mutex = |rng: &mut Rng| At(rng.below(2) as usize, None);
    let x = At(0, None);
    let mut code = Vec::new();
    for _ in 0..uses {
        let lock = mutex(rng);
        match rng.below(4) {
            0 => code.extend([Code::Lock(lock), Code::Peek(1, mutex(rng)), Code::Unlock(lock)]),
            1 => code.extend([Code::Lock(lock), Code::Load(1, x), Code::Unlock(lock)]),
            2 => {
                code.push(Code::TryLock(1, lock));
                let behind = code.len() + 3;
                code.push(Code::If(Value::Register(1), Compare::Less, Value::Is(1), behind));
                code.extend([Code::Store(x, Value::Is(1)), Code::Unlock(lock)]);
            }
            _ => code.extend([Code::Peek(1, lock), Code::Store(x, Value::Register(1))]),
        }
    }
    code
}

#[test]
fn reads_of_the_memory_of_a_mutex_depend_on_its_locks() {
    let mut rng = Rng::new(31, 7);
    let main = |count: usize| {
        let all = (1..=count).map(Code::Create).chain((1..=count).map(Code::Join));
        all.chain([Code::End]).collect::<Vec<Code>>()
    };
    for _ in 0..50 {
        let (count, uses) = if rng.below(2) == 0 { (2, 2) } else { (3, 1) };
        let bodies: Vec<Vec<Code>> = (0..count).map(|_| user_of_mutexes(&mut rng, uses)).collect();
        compare(main(count), &bodies);
    }
}
