//! The abstract programs that strategies are measured by.

use super::{At, Code, Compare, Program, Value};

/// A variable or the like by its number.
fn at(number: usize) -> At {
    At(number, None)
}

/// One by a number plus the content of a register.
fn plus(number: usize, register: usize) -> At {
    At(number, Some(register))
}

fn is(number: i64) -> Value {
    Value::Is(number)
}

fn reg(register: usize) -> Value {
    Value::Register(register)
}

/// A program whose main creates the tasks in order, joins them in order, and does `last`.
#[must_use]
pub fn with(
    bodies: Vec<Vec<Code>>,
    tasks: Vec<(usize, i64)>,
    variables: Vec<i64>,
    mutexes: usize,
    last: &[Code],
) -> Program {
    let mut main: Vec<Code> = (1..=tasks.len()).map(Code::Create).collect();
    main.extend((1..=tasks.len()).map(Code::Join));
    let base = main.len();
    main.extend(last.iter().map(|&code| match code {
        Code::If(a, compare, b, to) => Code::If(a, compare, b, to + base),
        Code::Jump(to) => Code::Jump(to + base),
        other => other,
    }));
    main.push(Code::End);
    let code = std::iter::once(main).chain(bodies.into_iter().map(|mut body| {
        body.push(Code::End);
        body
    }));
    let tasks = tasks.into_iter().map(|(body, argument)| (body + 1, argument));
    Program {
        code: code.collect(),
        tasks: std::iter::once((0, 0)).chain(tasks).collect(),
        variables,
        mutexes,
        conditions: 0,
        max_steps: 5_000,
    }
}

/// One writes x, n read it.
#[must_use]
pub fn readers(n: usize) -> Program {
    let write = vec![Code::Store(at(0), is(1))];
    let read = vec![Code::Load(1, at(0))];
    let tasks = std::iter::once((0, 0)).chain((0..n).map(|_| (1, 0))).collect();
    with(vec![write, read], tasks, vec![0], 0, &[])
}

/// n tasks, `a[j] = a[j-1] + 1` each; one looks from the end for the last zero.
#[must_use]
pub fn lastzero(n: usize) -> Program {
    let look = vec![
        Code::Sum(1, is(n as i64), is(0)),
        Code::Load(2, plus(0, 1)),
        Code::If(reg(2), Compare::Equal, is(0), 5),
        Code::Sum(1, reg(1), is(-1)),
        Code::Jump(1),
    ];
    let write = vec![
        Code::Sum(1, reg(0), is(-1)),
        Code::Load(2, plus(0, 1)),
        Code::Sum(2, reg(2), is(1)),
        Code::Store(plus(0, 0), reg(2)),
    ];
    let tasks = std::iter::once((0, 0)).chain((1..=n as i64).map(|j| (1, j))).collect();
    with(vec![look, write], tasks, vec![0; n + 1], 0, &[])
}

/// n tasks put four messages each into a hash table by compare-and-swap.
#[must_use]
pub fn indexer(n: usize) -> Program {
    let mut insert = Vec::new();
    for m in 1..=4 {
        let start = insert.len();
        insert.push(Code::Sum(1, reg(0), is(m * 11)));
        // 7 * message, modulo the table's size.
        insert.push(Code::Sum(2, reg(1), reg(1)));
        insert.push(Code::Sum(3, reg(2), reg(2)));
        insert.push(Code::Sum(2, reg(2), reg(1)));
        insert.push(Code::Sum(2, reg(2), reg(3)));
        insert.push(Code::Remainder(2, reg(2), is(128)));
        insert.push(Code::CompareSwap(4, plus(0, 2), is(0), reg(1)));
        insert.push(Code::If(reg(4), Compare::Equal, is(0), start + 10));
        insert.push(Code::Sum(2, reg(2), is(1)));
        insert.push(Code::Jump(start + 5));
    }
    with(vec![insert], (0..n as i64).map(|t| (0, t)).collect(), vec![0; 128], 0, &[])
}

/// n tasks take an inode each and look for a free block for it.
#[must_use]
pub fn filesystem(n: usize) -> Program {
    const INODES: usize = 32;
    const BLOCKS: usize = 26;
    // Mutexes: the inodes', then the blocks'. Variables: the inodes, then the blocks.
    let task = vec![
        Code::Remainder(1, reg(0), is(INODES as i64)),
        Code::Lock(plus(0, 1)),
        Code::Load(2, plus(0, 1)),
        Code::If(reg(2), Compare::Differ, is(0), 16),
        Code::Sum(3, reg(1), reg(1)),
        Code::Remainder(3, reg(3), is(BLOCKS as i64)),
        Code::Lock(plus(INODES, 3)),
        Code::Load(4, plus(INODES, 3)),
        Code::If(reg(4), Compare::Equal, is(0), 12),
        Code::Unlock(plus(INODES, 3)),
        Code::Sum(3, reg(3), is(1)),
        Code::Jump(5),
        Code::Store(plus(INODES, 3), is(1)),
        Code::Sum(5, reg(3), is(1)),
        Code::Store(plus(0, 1), reg(5)),
        Code::Unlock(plus(INODES, 3)),
        Code::Unlock(plus(0, 1)),
    ];
    let variables = vec![0; INODES + BLOCKS];
    with(vec![task], (0..n as i64).map(|t| (0, t)).collect(), variables, INODES + BLOCKS, &[])
}

/// n tasks add 1 to a counter under a lock, each `times` times.
#[must_use]
pub fn locked(n: usize, times: usize) -> Program {
    let once = [
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::Sum(1, reg(1), is(1)),
        Code::Store(at(0), reg(1)),
        Code::Unlock(at(0)),
    ];
    with(vec![once.repeat(times)], vec![(0, 0); n], vec![0], 1, &[])
}

/// n tasks that touch nothing in common.
#[must_use]
pub fn disjoint(n: usize) -> Program {
    let task = vec![Code::Store(plus(0, 0), is(1)), Code::Load(1, plus(0, 0))];
    with(vec![task], (0..n as i64).map(|t| (0, t)).collect(), vec![0; n], 0, &[])
}

/// Two mutexes taken in opposite order.
#[must_use]
pub fn opposite() -> Program {
    let task =
        |a, b| vec![Code::Lock(at(a)), Code::Lock(at(b)), Code::Unlock(at(b)), Code::Unlock(at(a))];
    with(vec![task(0, 1), task(1, 0)], vec![(0, 0), (1, 0)], vec![], 2, &[])
}

/// Depositor, withdrawer and checker under one lock; main ends the process without joining.
#[must_use]
pub fn account() -> Program {
    let change = |flag: usize, by: i64| {
        vec![
            Code::Lock(at(0)),
            Code::Load(1, at(0)),
            Code::Sum(1, reg(1), is(by)),
            Code::Store(at(0), reg(1)),
            Code::Store(at(flag), is(1)),
            Code::Unlock(at(0)),
            Code::End,
        ]
    };
    let check = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(1)),
        Code::If(reg(1), Compare::Equal, is(0), 7),
        Code::Load(1, at(2)),
        Code::If(reg(1), Compare::Equal, is(0), 7),
        Code::Load(1, at(0)),
        Code::Fail,
        Code::Unlock(at(0)),
        Code::End,
    ];
    let main = vec![Code::Create(1), Code::Create(2), Code::Create(3), Code::Exit, Code::End];
    Program {
        code: vec![main, change(1, 100), change(2, -50), check],
        tasks: vec![(0, 0), (1, 0), (2, 0), (3, 0)],
        variables: vec![0; 3],
        mutexes: 1,
        conditions: 0,
        max_steps: 5_000,
    }
}

/// k setters write a=1 then b=-1 without a lock; a checker wants both or none.
#[must_use]
pub fn reorder(k: usize) -> Program {
    let set = vec![Code::Store(at(0), is(1)), Code::Store(at(1), is(-1))];
    let check = vec![
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Differ, is(0), 4),
        Code::Load(2, at(1)),
        Code::If(reg(2), Compare::Equal, is(0), 9),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Differ, is(1), 8),
        Code::Load(2, at(1)),
        Code::If(reg(2), Compare::Equal, is(-1), 9),
        Code::Fail,
    ];
    let tasks = std::iter::repeat_n((0, 0), k).chain([(1, 0)]).collect();
    with(vec![set, check], tasks, vec![0; 2], 0, &[])
}

/// k writers update one thing under one lock and another under a second; a reader wants both to fit.
#[must_use]
pub fn twostage(k: usize) -> Program {
    let write = vec![
        Code::Lock(at(0)),
        Code::Store(at(0), is(1)),
        Code::Unlock(at(0)),
        Code::Lock(at(1)),
        Code::Load(1, at(0)),
        Code::Sum(1, reg(1), is(1)),
        Code::Store(at(1), reg(1)),
        Code::Unlock(at(1)),
    ];
    let read = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Equal, is(0), 11),
        Code::Unlock(at(0)),
        Code::Lock(at(1)),
        Code::Load(2, at(1)),
        Code::Unlock(at(1)),
        Code::Sum(1, reg(1), is(1)),
        Code::If(reg(2), Compare::Equal, reg(1), 12),
        Code::Fail,
        Code::Jump(12),
        Code::Unlock(at(0)),
    ];
    let tasks = std::iter::repeat_n((0, 0), k).chain([(1, 0)]).collect();
    with(vec![write, read], tasks, vec![0; 2], 2, &[])
}

/// One checks x+1 under one lock while k increment it under another.
#[must_use]
pub fn wronglock(k: usize) -> Program {
    let check = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::Load(2, at(0)),
        Code::Sum(2, reg(2), is(1)),
        Code::Store(at(0), reg(2)),
        Code::Load(2, at(0)),
        Code::Sum(1, reg(1), is(1)),
        Code::If(reg(2), Compare::Equal, reg(1), 9),
        Code::Fail,
        Code::Unlock(at(0)),
    ];
    let write = vec![
        Code::Lock(at(1)),
        Code::Load(1, at(0)),
        Code::Sum(1, reg(1), is(1)),
        Code::Store(at(0), reg(1)),
        Code::Unlock(at(1)),
    ];
    let tasks = std::iter::once((0, 0)).chain(std::iter::repeat_n((1, 0), k)).collect();
    with(vec![check, write], tasks, vec![0], 2, &[])
}

/// n tasks read, add and write without a lock; main wants all of it.
#[must_use]
pub fn lost_update(n: usize) -> Program {
    let add = vec![Code::Load(1, at(0)), Code::Sum(1, reg(1), is(1)), Code::Store(at(0), reg(1))];
    let last =
        [Code::Load(1, at(0)), Code::If(reg(1), Compare::Equal, is(n as i64), 3), Code::Fail];
    with(vec![add], vec![(0, 0); n], vec![0], 0, &last)
}

/// +1, +2 and "below 3" under one lock.
#[must_use]
pub fn lazy() -> Program {
    let add = |by| {
        vec![
            Code::Lock(at(0)),
            Code::Load(1, at(0)),
            Code::Sum(1, reg(1), is(by)),
            Code::Store(at(0), reg(1)),
            Code::Unlock(at(0)),
        ]
    };
    let check = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Less, is(3), 4),
        Code::Fail,
        Code::Unlock(at(0)),
    ];
    with(vec![add(1), add(2), check], vec![(0, 0), (1, 0), (2, 0)], vec![0], 1, &[])
}

/// A reader looks whether a pointer is set and uses it; the other sets it to null in between.
#[must_use]
pub fn pipe_release(reader_first: bool) -> Program {
    let reader = vec![
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Equal, is(0), 5),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Differ, is(0), 5),
        Code::Fail,
    ];
    let release = vec![Code::Store(at(0), is(0))];
    let bodies = vec![reader, release];
    let tasks = if reader_first { vec![(0, 0), (1, 0)] } else { vec![(1, 0), (0, 0)] };
    with(bodies, tasks, vec![1], 0, &[])
}

/// The tasks' accesses, written shortly: `r x`, `w x`, `l m`, `u m`; one string for each task. What
/// was read ends up in a variable of the reader's own, so that orders show.
///
/// # Panics
/// If the text is of another form.
#[must_use]
pub fn short(tasks: &[&str]) -> Program {
    let mut variables = vec![0; 8];
    let mut bodies = Vec::new();
    for (number, text) in tasks.iter().enumerate() {
        let mut body = Vec::new();
        for (index, word) in text.split(';').map(str::trim).filter(|w| !w.is_empty()).enumerate() {
            let (verb, name) = word.split_once(' ').expect("a verb and a name");
            let object = usize::from(name.as_bytes()[0] - b'a') % 8;
            match verb {
                "r" => {
                    body.push(Code::Load(1, at(object)));
                    body.push(Code::Sum(2, reg(1), is(0)));
                    body.push(Code::Store(at(variables.len()), reg(2)));
                    variables.push(-1);
                }
                "w" => {
                    let value = (number * 10 + index + 1) as i64;
                    body.push(Code::Store(at(object), is(value)));
                }
                "l" => body.push(Code::Lock(at(object))),
                "u" => body.push(Code::Unlock(at(object))),
                other => panic!("no such verb: {other}"),
            }
        }
        bodies.push(body);
    }
    let tasks = (0..bodies.len()).map(|body| (body, 0)).collect();
    with(bodies, tasks, variables, 8, &[])
}
