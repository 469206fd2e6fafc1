//! The search against all schedules and against `dpor`.

use super::*;
use crate::simulation::generated::{Generated, number_of_programs};
use crate::simulation::{At, Code, Compare, Program, Value, harness, programs, run};
use crate::strategy::dpor::Dpor;
use traces::compact;

const SEED: u64 = 11;

/// What a complete search runs.
#[derive(Debug, Default)]
struct Found {
    /// The class of each execution that is counted, sorted.
    classes: Vec<u64>,
    redundant: usize,
    is_complete: bool,
}

/// Runs a complete search as one piece, or as many pieces: after `each` executions every piece is stored,
/// read and divided.
fn found(program: &Program, each: Option<usize>) -> Found {
    let mut found = Found { is_complete: true, ..Found::default() };
    let mut pieces = vec![Stateless::new()];
    while let Some(mut search) = pieces.pop() {
        let mut left = each.unwrap_or(usize::MAX);
        while left > 0 && search.begin(1) {
            left -= 1;
            let ending = run(program, &mut search).ending;
            match search.equivalence_class().filter(|_| ending.is_ok()) {
                Some(class) => found.classes.push(class),
                None => found.redundant += 1,
            }
        }
        if search.open() > 0 {
            pieces.extend(search.split());
            let stored = compact::encode(&search);
            pieces.push(compact::decode(&stored).expect("it was stored"));
        } else {
            found.is_complete &= search.coverage() == Coverage::Complete { bound: None };
        }
    }
    found.classes.sort_unstable();
    found
}

#[test]
fn each_class_is_run_once_whatever_the_pieces() {
    let cases = [
        (programs::readers(8), 256),
        (programs::lastzero(3), 12),
        (programs::lastzero(5), 64),
        (programs::lastzero(8), 11 << 6),
        (programs::lastzero(10), 3_328),
        (programs::indexer(13), 64),
        (programs::indexer(14), 512),
        (programs::filesystem(18), 32),
        (programs::filesystem(19), 64),
        (programs::disjoint(6), 1),
        (programs::locked(5, 1), 120),
        (programs::locked(2, 5), 252),
        (programs::locked(3, 2), 90),
        (programs::opposite(), 3),
    ];
    for (number, (program, expected)) in cases.iter().enumerate() {
        let alone = found(program, None);
        assert_eq!((alone.classes.len(), alone.redundant), (*expected, 0), "case {number}");
        assert!(alone.is_complete, "case {number}");
        let mut distinct = alone.classes.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), *expected, "case {number}");
        assert_eq!(found(program, Some(3)).classes, alone.classes, "case {number}");
    }
}

/// Whether tasks wait as for descriptors, which this strategy does not follow.
fn waits_for_descriptors(program: &Program) -> bool {
    program.code.iter().flatten().any(|code| matches!(code, Code::Ready(_)))
}

/// The same for streams and counters.
fn uses_streams_or_counters(program: &Program) -> bool {
    let is = |code: &Code| {
        matches!(
            code,
            Code::Send(..) | Code::Receive(..) | Code::Shut(_) | Code::Add(..) | Code::Count(..)
        )
    };
    program.code.iter().flatten().any(is)
}

#[test]
fn generated_programs_have_exactly_the_classes_of_all_schedules() {
    let (mut executions, mut redundant) = (0, 0);
    for number in 0..number_of_programs(300) {
        let generated = Generated::new(SEED, number);
        let run = found(&generated.program, None);
        if waits_for_descriptors(&generated.program) {
            assert!(!run.is_complete, "program {number}");
            continue;
        }
        // A failure may come before the first operation on a stream or a counter in each execution.
        if !run.is_complete && uses_streams_or_counters(&generated.program) {
            continue;
        }
        assert_eq!(run.classes, generated.within(None), "program {number}");
        assert!(run.is_complete, "program {number}");
        executions += run.classes.len();
        redundant += run.redundant;
    }
    println!("{executions} executions, {redundant} redundant");
    // Conditional operations whose effect at another place is not known.
    assert!(redundant * 50 <= executions, "{redundant} of {executions} are redundant");
}

/// The program of these tasks over one variable and one mutex, which main creates and joins.
fn program(bodies: &[Vec<Code>]) -> Program {
    let tasks = (0..bodies.len()).map(|task| (task, 0)).collect();
    programs::with(bodies.to_vec(), tasks, vec![0], 1, &[])
}

#[test]
fn small_programs_that_distinguish_the_rules() {
    let x = At(0, None);
    let read = || vec![Code::Load(1, x)];
    let write = || vec![Code::Store(x, Value::Is(1))];
    let swap = |to| vec![Code::CompareSwap(1, x, Value::Is(0), Value::Is(to))];
    let fail = |mut code: Vec<Code>, bound: i64| {
        let next = code.len() + 2;
        code.push(Code::If(Value::Register(1), Compare::Less, Value::Is(bound), next));
        code.push(Code::Fail);
        code
    };
    let cases = [
        // A read that conflicts with a write, and not with the read that the write comes before.
        vec![read(), read(), write()],
        vec![read(), read(), write(), write()],
        vec![read(), read(), write(), read()],
        // The first operation is a write or a read, depending on the one before it.
        vec![swap(2), swap(1), read()],
        vec![[swap(1), read()].concat(), swap(1)],
        // Several operations may end the process, each before the others.
        vec![fail(read(), 1), fail(swap(2), 2), swap(2)],
        vec![fail(read(), 0), fail(read(), 0), write()],
        vec![fail(swap(1), 1), fail(swap(2), 1), fail(read(), 2)],
    ];
    for (number, bodies) in cases.iter().enumerate() {
        let program = program(bodies);
        let run = found(&program, None);
        let all =
            crate::simulation::generated::classes(&program, crate::strategy::dfs::Dfs::new(None));
        let mut all: Vec<u64> = all.map(|(class, _)| class).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(run.classes, all, "case {number}");
        assert!(run.is_complete, "case {number}");
    }
}

#[test]
fn a_search_that_meets_what_it_does_not_know_claims_nothing() {
    let mut unknown: Vec<Program> = (0..20).map(|number| harness::program(SEED, number)).collect();
    let (x, lock) = (At(0, None), At(0, None));
    let locks = vec![Code::TimedLock(1, lock, 5), Code::Unlock(lock)];
    unknown.push(program(&[locks.clone(), locks]));
    let spins =
        vec![Code::Load(1, x), Code::If(Value::Register(1), Compare::Equal, Value::Is(0), 0)];
    unknown.push(program(&[spins, vec![Code::Store(x, Value::Is(1))]]));
    for (number, program) in unknown.iter().enumerate() {
        assert!(!found(program, None).is_complete, "case {number}");
    }
}

#[test]
fn a_larger_search_has_the_executions_of_dpor() {
    let program = programs::lastzero(12);
    let mut dpor = Dpor::new();
    let executions = crate::simulation::runs(&program, &mut dpor).count();
    let run = found(&program, Some(500));
    assert_eq!((run.classes.len(), run.redundant), (executions, 0));
    let mut classes = run.classes;
    classes.dedup();
    assert_eq!(classes.len(), executions);
}
