//! Real processes against the oracle: generated programs, compiled, and searched depth first. The
//! outcomes and the number of schedules are exactly those of an independent brute force over the
//! same programs.

use std::collections::BTreeSet;
use std::path::Path;
use tests::heddle::Home;
use tests::oracle::program::{
    Call, Comparison, Handler, Limit, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use tests::oracle::{Generated, Outcome, Suite, suite};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// How many programs; `HEDDLE_ORACLE_PROGRAMS=5000` compares more of them.
fn programs() -> usize {
    let asked = std::env::var("HEDDLE_ORACLE_PROGRAMS").ok();
    asked.map_or(500, |count| count.parse().expect("HEDDLE_ORACLE_PROGRAMS is a number"))
}

/// They are shared out among so many tests, which run side by side.
const PARTS: usize = 4;

fn search(home: &Home, binary: &Path, number: usize, bound: Option<u32>) -> Report {
    let mut args: Vec<String> =
        ["explore", "--json", "--keep-going", "--points", "api", "--strategy", "dfs"]
            .map(str::to_owned)
            .to_vec();
    // What the oracle's language calls visible is calls alone.
    args.extend(["--max-executions".into(), "0".into()]);
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

/// Compares one search with what the oracle says, as lines where they differ.
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
    let executions = report.executions;
    compare("schedules", executions == expected.1, format!("{executions}, not {}", expected.1));
    compare("distinct", report.distinct == executions, report.distinct.to_string());
    compare("complete", report.complete, report.reason.clone());
    compare("bound", report.bound == bound.map(i64::from), format!("{:?}", report.bound));
    let clean = expected.0.iter().all(|outcome| *outcome == Outcome::Exit(0));
    let verdict = if clean { Verdict::Clean } else { Verdict::Bug };
    compare("verdict", report.verdict == verdict, format!("{:?}", report.verdict));
    wrong
}

fn check_part(part: usize) {
    let home = Home::new();
    let suite = suite(1, programs());
    let binary = suite.compile(home.path()).expect("the generated programs compile");
    let mut wrong = Vec::new();
    for (number, generated) in suite.programs.iter().enumerate().skip(part).step_by(PARTS) {
        wrong.extend(check(&home, &binary, number, generated, None));
        // A bound is a smaller search: every tenth program shows it at each.
        for bound in (0..3).filter(|_| (number / PARTS).is_multiple_of(10)) {
            wrong.extend(check(&home, &binary, number, generated, Some(bound)));
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn depth_first_finds_exactly_the_outcomes_of_generated_programs_part_1() {
    check_part(0);
}

#[test]
fn depth_first_finds_exactly_the_outcomes_of_generated_programs_part_2() {
    check_part(1);
}

#[test]
fn depth_first_finds_exactly_the_outcomes_of_generated_programs_part_3() {
    check_part(2);
}

#[test]
fn depth_first_finds_exactly_the_outcomes_of_generated_programs_part_4() {
    check_part(3);
}

fn call(call: Call) -> Statement {
    Statement::Call(call, None)
}

/// `to = from`, of shared and local variables.
fn tell(to: u8, from: u8) -> Statement {
    let of = Operand::Variable(Variable::Local(from));
    Statement::Assign(Variable::Shared(to), Value { factor: 1, of, plus: Operand::Constant(0) })
}

fn counts(variable: u8) -> (Variable, Value) {
    let variable = Variable::Shared(variable);
    let (of, plus) = (Operand::Variable(variable), Operand::Constant(1));
    (variable, Value { factor: 1, of, plus })
}

/// The smallest programs of what generated ones found wrong, in the model or in the oracle.
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
        // A wait that need not wait is not interrupted by a signal.
        Program {
            semaphores: vec![1],
            handler,
            ..base(vec![
                vec![create(0), call(Call::Kill { handle: 0 }), join.clone()],
                vec![Statement::Call(Call::SemWait(0), Some(0)), tell(1, 0)],
            ])
        },
        // A writer that is to handle a signal keeps readers out all the same.
        Program {
            rwlocks: vec![true],
            handler,
            ..base(vec![
                vec![
                    call(Call::ReadLock(0)),
                    create(0),
                    call(Call::Kill { handle: 0 }),
                    Statement::Call(Call::TryReadLock(0), Some(0)),
                    tell(1, 0),
                    Statement::If(taken, vec![call(Call::RwUnlock(0))], Vec::new()),
                    call(Call::RwUnlock(0)),
                    join.clone(),
                ],
                vec![call(Call::WriteLock(0)), call(Call::RwUnlock(0))],
            ])
        },
        // A robust mutex is given up after all that its owner did, as a step of its own.
        Program {
            mutexes: vec![MutexKind::Robust],
            ..base(vec![
                vec![
                    create(0),
                    Statement::Call(Call::TryLock(0), Some(0)),
                    tell(0, 0),
                    Statement::Call(Call::Unlock(0), Some(1)),
                    tell(1, 1),
                ],
                vec![call(Call::Lock(0))],
            ])
        },
        // What is done once is one step.
        Program {
            onces: vec![counts(0)],
            ..base(vec![
                vec![create(0), call(Call::Once(0)), join.clone()],
                vec![call(Call::Once(0))],
            ])
        },
        // Two that wait for each other, of whom one is cancelled then.
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
        // Four limits of time in a row are no loop, though somebody else could move.
        Program {
            semaphores: vec![0],
            ..base(vec![
                vec![create(0), call(Call::SemPost(0)), join],
                [
                    vec![Statement::Call(Call::SemTimedWait(0, Limit::Unnamed), Some(0)); 4],
                    vec![tell(0, 0)],
                ]
                .concat(),
            ])
        },
    ]
}

#[test]
fn what_generated_programs_found_stays_mended() {
    let home = Home::new();
    let suite = Suite::of(found().into_iter().map(Generated::of).collect());
    let binary = suite.compile(home.path()).expect("the programs compile");
    let wrong = suite.programs.iter().enumerate();
    let wrong =
        wrong.flat_map(|(number, generated)| check(&home, &binary, number, generated, None));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}
