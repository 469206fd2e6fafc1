//! Real processes against the oracle: generated programs, compiled and searched depth-first. The
//! outcomes and the number of schedules equal those of an independent brute-force enumeration of
//! the same programs.

use std::collections::BTreeSet;
use std::path::Path;
use tests::heddle::Home;
use tests::oracle::exit_status::programs;
use tests::oracle::program::{
    Call, Comparison, Handler, Limit, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use tests::oracle::{Generated, Outcome, Suite, suite};
use tests::parallel::check_all;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn search(home: &Home, binary: &Path, number: usize, bound: Option<u32>) -> Report {
    let mut args: Vec<String> =
        ["explore", "--json", "--keep-going", "--points", "api", "--strategy", "dfs"]
            .map(str::to_owned)
            .to_vec();
    // In the oracle's language only calls are visible operations.
    args.extend(["--max-executions".into(), "0".into()]);
    // The oracle lets every deadline pass at any moment.
    args.extend(["--slack".into(), "inf".into()]);
    if let Some(bound) = bound {
        args.extend(["--bound".into(), bound.to_string()]);
    }
    args.extend(["--".into(), binary.to_string_lossy().into_owned(), number.to_string()]);
    home.heddle(&args).report()
}

fn outcomes(report: &Report) -> BTreeSet<Outcome> {
    let failing: u64 = report.bugs.iter().map(|bug| bug.count).sum();
    let mut seen = BTreeSet::new();
    if failing < report.executions {
        seen.insert(Outcome::Exit(0));
    }
    for bug in &report.bugs {
        seen.insert(match bug.kind {
            kind if kind.is_deadlock() => Outcome::Deadlock,
            FailureKind::Exit => {
                let status = bug.message.strip_prefix("exit status ").and_then(|s| s.parse().ok());
                Outcome::Exit(status.unwrap_or_else(|| panic!("{bug:?}")))
            }
            other => panic!("{other}: {bug:?}"),
        });
    }
    seen
}

/// Compares one search with the oracle, and adds a line for each difference.
fn check(
    home: &Home,
    binary: &Path,
    number: usize,
    generated: &Generated,
    bound: Option<u32>,
) -> Vec<String> {
    let report = search(home, binary, number, bound);
    let expected = match bound {
        None => (generated.outcomes.clone(), generated.schedules),
        Some(_) => (generated.outcomes_within(bound), generated.schedules_within(bound)),
    };
    let mut wrong = Vec::new();
    let mut compare = |what: &str, same: bool, detail: String| {
        if !same {
            wrong.push(format!("program {number}, bound {bound:?}: {what}: {detail}"));
        }
    };
    let seen = outcomes(&report);
    compare("outcomes", seen == expected.0, format!("{seen:?}, and not {:?}", expected.0));
    let classes = report.classes;
    compare("schedules", classes == expected.1, format!("{classes}, not {}", expected.1));
    compare("distinct", report.distinct == classes, report.distinct.to_string());
    compare("complete", report.complete, report.reason.clone());
    compare("bound", report.bound == bound.map(i64::from), format!("{:?}", report.bound));
    let clean = expected.0.iter().all(|outcome| *outcome == Outcome::Exit(0));
    let verdict = if clean { Verdict::Clean } else { Verdict::Bug };
    compare("verdict", report.verdict == verdict, format!("{:?}", report.verdict));
    wrong
}

#[test]
fn depth_first_finds_exactly_the_outcomes_of_generated_programs() {
    let home = Home::new();
    let suite = suite(1, programs(500));
    let binary = suite.compile(home.path()).expect("the generated programs compile");
    let numbered: Vec<(usize, &Generated)> = suite.programs.iter().enumerate().collect();
    check_all(&numbered, |&(number, generated)| {
        let mut wrong = check(&home, &binary, number, generated, None);
        // A bounded search is smaller: every tenth program is searched with each bound.
        for bound in (0..3).filter(|_| number % 40 < 4) {
            wrong.extend(check(&home, &binary, number, generated, Some(bound)));
        }
        (!wrong.is_empty()).then(|| wrong.join("\n"))
    });
}

fn call(call: Call) -> Statement {
    Statement::Call(call, None)
}

/// `to = from`, of shared and local variables.
fn assign(to: u8, from: u8) -> Statement {
    let of = Operand::Variable(Variable::Local(from));
    Statement::Assign(Variable::Shared(to), Value { factor: 1, of, plus: Operand::Constant(0) })
}

fn counts(variable: u8) -> (Variable, Value) {
    let variable = Variable::Shared(variable);
    let (of, plus) = (Operand::Variable(variable), Operand::Constant(1));
    (variable, Value { factor: 1, of, plus })
}

/// Reduced versions of the generated programs that revealed an error in a model or in the oracle.
fn found() -> Vec<Program> {
    let base = |bodies: Vec<Vec<Statement>>| Program {
        moduli: vec![11, 11],
        handles: bodies.len() as u8 - 1,
        may_cancel: true,
        bodies,
        ..Program::default()
    };
    let create = |handle: u8| call(Call::Create { handle, body: handle + 1 });
    let join = call(Call::Join { handle: 0 });
    let (to, value) = counts(0);
    let handler = Some(Handler { restarts: false, to, value });
    let taken = Test { left: Variable::Local(0), comparison: Comparison::NotEqual, right: 0 };
    vec![
        // A wait that does not block is not interrupted by a signal.
        Program {
            semaphores: vec![1],
            handler,
            ..base(vec![
                vec![create(0), call(Call::Kill { handle: 0 }), join.clone()],
                vec![Statement::Call(Call::SemWait(0), Some(0)), assign(1, 0)],
            ])
        },
        // A writer with a pending signal excludes readers nevertheless.
        Program {
            rwlocks: vec![true],
            handler,
            ..base(vec![
                vec![
                    call(Call::ReadLock(0)),
                    create(0),
                    call(Call::Kill { handle: 0 }),
                    Statement::Call(Call::TryReadLock(0), Some(0)),
                    assign(1, 0),
                    Statement::If(taken, vec![call(Call::RwUnlock(0))], Vec::new()),
                    call(Call::RwUnlock(0)),
                    join.clone(),
                ],
                vec![call(Call::WriteLock(0)), call(Call::RwUnlock(0))],
            ])
        },
        // A robust mutex is released after all operations of its owner, in a separate step.
        Program {
            mutexes: vec![MutexKind::Robust],
            ..base(vec![
                vec![
                    create(0),
                    Statement::Call(Call::TryLock(0), Some(0)),
                    assign(0, 0),
                    Statement::Call(Call::Unlock(0), Some(1)),
                    assign(1, 1),
                ],
                vec![call(Call::Lock(0))],
            ])
        },
        // An operation that is done once is one step.
        Program {
            onces: vec![counts(0)],
            ..base(vec![
                vec![create(0), call(Call::Once(0)), join.clone()],
                vec![call(Call::Once(0))],
            ])
        },
        // Two tasks wait for each other, and then one is cancelled.
        Program {
            mutexes: vec![MutexKind::Normal],
            ..base(vec![
                vec![create(1), create(0), call(Call::Cancel { handle: 0 }), join.clone()],
                vec![
                    call(Call::Lock(0)),
                    Statement::Guarded(0, vec![call(Call::Join { handle: 1 })]),
                ],
                vec![call(Call::Lock(0)), call(Call::Unlock(0))],
            ])
        },
        // Four consecutive timeouts are not a loop, even if another task is enabled.
        Program {
            semaphores: vec![0],
            ..base(vec![
                vec![create(0), call(Call::SemPost(0)), join],
                [
                    vec![Statement::Call(Call::SemTimedWait(0, Limit::Unnamed), Some(0)); 4],
                    vec![assign(0, 0)],
                ]
                .concat(),
            ])
        },
    ]
}

#[test]
fn errors_found_by_generated_programs_do_not_return() {
    let home = Home::new();
    let suite = Suite::of(found().into_iter().map(Generated::of).collect());
    let binary = suite.compile(home.path()).expect("the programs compile");
    let wrong = suite.programs.iter().enumerate();
    let wrong =
        wrong.flat_map(|(number, generated)| check(&home, &binary, number, generated, None));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}
