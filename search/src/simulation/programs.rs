//! The abstract programs on which strategies are compared.

use super::program::{At, Code, Compare, Program, Value};
use crate::rng::Rng;

/// The index of a variable, mutex or the like with a fixed number.
fn at(number: usize) -> At {
    At(number, None)
}

/// An index computed as a number plus the content of a register.
fn plus(number: usize, register: usize) -> At {
    At(number, Some(register))
}

fn is(number: i64) -> Value {
    Value::Is(number)
}

fn reg(register: usize) -> Value {
    Value::Register(register)
}

/// A program whose main creates the tasks in order, joins them in order, and then executes `last`.
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
        streams: Vec::new(),
        timers: Vec::new(),
        handler: None,
        restarts: false,
        max_steps: 5_000,
        slack: crate::time::SLACK,
        main_last: false,
        counts: false,
    }
}

/// One task writes x, n tasks read it.
#[must_use]
pub fn readers(n: usize) -> Program {
    let write = vec![Code::Store(at(0), is(1))];
    let read = vec![Code::Load(1, at(0))];
    let tasks = std::iter::once((0, 0)).chain((0..n).map(|_| (1, 0))).collect();
    with(vec![write, read], tasks, vec![0], 0, &[])
}

/// n tasks execute `a[j] = a[j-1] + 1` each; one searches for the last zero from the end.
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

/// n tasks take one inode each and search for a free block for it.
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

/// n tasks that access no common object.
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
        streams: Vec::new(),
        timers: Vec::new(),
        handler: None,
        restarts: false,
        max_steps: 5_000,
        slack: crate::time::SLACK,
        main_last: false,
        counts: false,
    }
}

/// k setters write a=1 then b=-1 without a lock; a checker asserts that it sees both or none.
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

/// k writers update one variable under one lock and a second variable under a second lock; a reader
/// asserts that both match.
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

/// One task checks x+1 under one lock while k tasks increment it under another.
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

/// n tasks increment a counter without a lock; main asserts the sum.
#[must_use]
pub fn lost_update(n: usize) -> Program {
    let add = vec![Code::Load(1, at(0)), Code::Sum(1, reg(1), is(1)), Code::Store(at(0), reg(1))];
    let last =
        [Code::Load(1, at(0)), Code::If(reg(1), Compare::Equal, is(n as i64), 3), Code::Fail];
    with(vec![add], vec![(0, 0); n], vec![0], 0, &last)
}

/// Three tasks under one lock: one adds 1, one adds 2, one asserts that the value is below 3.
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

/// A reader checks a pointer and uses it; the other task sets it to null in between.
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

/// The tasks' accesses in a short notation: `r x`, `w x`, `l m`, `u m`; one string for each task.
/// Each read stores its value in a variable of the reader, so that different orders give different
/// results.
///
/// # Panics
///
/// If the text has another form.
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

/// Instructions with jump targets that are not known yet.
#[derive(Default)]
struct Body {
    code: Vec<Code>,
    /// The position of each label, once it is known.
    labels: Vec<usize>,
}

/// The target of jumps to labels whose position is not known yet.
const OPEN: usize = usize::MAX / 2;

impl Body {
    fn label(&mut self) -> usize {
        self.labels.push(0);
        OPEN + self.labels.len() - 1
    }

    fn here(&mut self, label: usize) {
        self.labels[label - OPEN] = self.code.len();
    }

    fn add(&mut self, code: impl IntoIterator<Item = Code>) {
        self.code.extend(code);
    }

    fn done(self) -> Vec<Code> {
        let Body { code, labels } = self;
        let to = |to: usize| if to < OPEN { to } else { labels[to - OPEN] };
        let all = code.into_iter().map(|code| match code {
            Code::Jump(label) => Code::Jump(to(label)),
            Code::If(a, compare, b, label) => Code::If(a, compare, b, to(label)),
            other => other,
        });
        all.collect()
    }
}

/// A deque with the THE protocol, one owner and some thieves. The owner checks for a thief before
/// it announces that it takes the item, so that one item is taken twice.
#[must_use]
pub fn work_stealing(thieves: usize, items: usize) -> Program {
    const HEAD: At = At(0, None);
    const TAIL: At = At(1, None);
    let item = |register| plus(2, register);
    let taken = move |register| plus(2 + items, register);
    // Takes the item in register 3, unless the register is empty.
    let take = |body: &mut Body| {
        let over = body.label();
        body.add([
            Code::If(reg(3), Compare::Less, is(0), over),
            Code::FetchAdd(5, taken(3), is(1)),
            Code::If(reg(5), Compare::Equal, is(0), over),
            Code::Fail,
        ]);
        body.here(over);
    };
    let pop = |body: &mut Body| {
        let (fast, slow, none) = (body.label(), body.label(), body.label());
        let over = body.label();
        body.add([
            Code::Load(1, TAIL),
            Code::Sum(1, reg(1), is(-1)),
            Code::Load(2, HEAD),
            Code::If(reg(1), Compare::Less, reg(2), slow),
        ]);
        body.here(fast);
        body.add([Code::Store(TAIL, reg(1)), Code::Load(3, item(1)), Code::Jump(over)]);
        body.here(slow);
        body.add([
            Code::Lock(at(0)),
            Code::Load(2, HEAD),
            Code::If(reg(1), Compare::Less, reg(2), none),
            Code::Unlock(at(0)),
            Code::Jump(fast),
        ]);
        body.here(none);
        body.add([
            Code::Sum(4, reg(1), is(1)),
            Code::Store(TAIL, reg(4)),
            Code::Unlock(at(0)),
            Code::Sum(3, is(-1), is(0)),
        ]);
        body.here(over);
        take(body);
    };
    // In each round the owner pushes an item, and after every second round takes one; at the end it
    // takes the rest.
    let mut owner = Body::default();
    let (again, taking, over) = (owner.label(), owner.label(), owner.label());
    owner.add([Code::Sum(6, is(0), is(0))]);
    owner.here(again);
    owner.add([
        Code::If(is(2 * items as i64 - 1), Compare::Less, reg(6), over),
        Code::If(is(items as i64 - 1), Compare::Less, reg(6), taking),
        Code::Load(1, TAIL),
        Code::Store(item(1), reg(6)),
        Code::FetchAdd(1, TAIL, is(1)),
        Code::Remainder(7, reg(6), is(2)),
        Code::Sum(6, reg(6), is(1)),
        Code::If(reg(7), Compare::Equal, is(0), again),
        Code::Sum(6, reg(6), is(-1)),
    ]);
    owner.here(taking);
    pop(&mut owner);
    owner.add([Code::Sum(6, reg(6), is(1)), Code::Jump(again)]);
    owner.here(over);
    let mut thief = Body::default();
    let (again, back, kept, over) = (thief.label(), thief.label(), thief.label(), thief.label());
    thief.add([Code::Sum(6, is(0), is(0))]);
    thief.here(again);
    thief.add([
        Code::If(reg(6), Compare::Equal, is(items as i64), over),
        Code::Lock(at(0)),
        Code::Load(1, HEAD),
        Code::Sum(2, reg(1), is(1)),
        Code::Store(HEAD, reg(2)),
        Code::Load(4, TAIL),
        Code::Sum(3, is(-1), is(0)),
        Code::If(reg(4), Compare::Less, reg(2), back),
        Code::Load(3, item(1)),
        Code::Jump(kept),
    ]);
    thief.here(back);
    thief.add([Code::Store(HEAD, reg(1))]);
    thief.here(kept);
    thief.add([Code::Unlock(at(0))]);
    take(&mut thief);
    thief.add([Code::Sum(6, reg(6), is(1)), Code::Jump(again)]);
    thief.here(over);
    let tasks = std::iter::once((0, 0)).chain(std::iter::repeat_n((1, 0), thieves)).collect();
    with(vec![owner.done(), thief.done()], tasks, vec![0; 2 + 2 * items], 1, &[])
}

/// A pool of workers: a worker that finds no task checks once more whether the pool is closed, and
/// then waits; the pool may be closed in between.
#[must_use]
pub fn thread_pool(workers: usize, count: usize) -> Program {
    let mut work = Body::default();
    let (again, idle, wait, go_on, over) =
        (work.label(), work.label(), work.label(), work.label(), work.label());
    work.here(again);
    work.add([
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Equal, is(0), idle),
        Code::Sum(1, reg(1), is(-1)),
        Code::Store(at(0), reg(1)),
        Code::Unlock(at(0)),
        Code::Jump(again),
    ]);
    work.here(idle);
    work.add([
        Code::Unlock(at(0)),
        Code::Lock(at(0)),
        Code::Load(1, at(1)),
        Code::Unlock(at(0)),
        Code::If(reg(1), Compare::Differ, is(0), over),
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Equal, is(0), wait),
        Code::Jump(go_on),
    ]);
    work.here(wait);
    work.add([Code::Wait(0, 0)]);
    work.here(go_on);
    work.add([Code::Unlock(at(0)), Code::Jump(again)]);
    work.here(over);
    let mut program = with(vec![work.done()], vec![(0, 0); workers], vec![0; 2], 1, &[]);
    program.conditions = 1;
    let one_more = [
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::Sum(1, reg(1), is(1)),
        Code::Store(at(0), reg(1)),
        Code::Signal(0),
        Code::Unlock(at(0)),
    ];
    let close =
        [Code::Lock(at(0)), Code::Store(at(1), is(1)), Code::Broadcast(0), Code::Unlock(at(0))];
    let main = one_more.repeat(count).into_iter().chain(close);
    program.code[0].splice(workers..workers, main);
    program
}

/// Workers add to a counter without a lock; a reporter adds it to the sum and resets it.
#[must_use]
pub fn downloader(workers: usize) -> Program {
    let report = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::Store(at(1), reg(1)),
        Code::Store(at(0), is(0)),
        Code::Unlock(at(0)),
    ];
    let fetch = vec![Code::Load(1, at(0)), Code::Sum(1, reg(1), is(1)), Code::Store(at(0), reg(1))];
    let last = [
        Code::Load(1, at(0)),
        Code::Load(2, at(1)),
        Code::Sum(1, reg(1), reg(2)),
        Code::If(reg(1), Compare::Equal, is(workers as i64), 5),
        Code::Fail,
    ];
    let tasks = std::iter::once((0, 0)).chain(std::iter::repeat_n((1, 0), workers)).collect();
    with(vec![report, fetch], tasks, vec![0; 2], 1, &last)
}

/// Consumers take blocks from a queue, and a writer empties what they fill. Main joins the writer
/// and frees the queue while a consumer may still use it. If `joined`, main joins all tasks, and
/// the remaining bug is that the length of the output and the output have separate locks.
#[must_use]
pub fn compressor(joined: bool) -> Program {
    const BLOCKS: i64 = 2;
    // Variables: the next block, the length, whether the queue was freed, the output.
    let mut consumer = Body::default();
    let (again, alive, over) = (consumer.label(), consumer.label(), consumer.label());
    consumer.here(again);
    consumer.add([
        Code::Load(1, at(2)),
        Code::If(reg(1), Compare::Equal, is(0), alive),
        Code::Fail,
    ]);
    consumer.here(alive);
    consumer.add([
        Code::Lock(at(0)),
        Code::FetchAdd(1, at(0), is(1)),
        Code::Unlock(at(0)),
        Code::If(is(BLOCKS - 1), Compare::Less, reg(1), over),
        Code::Lock(at(1)),
        Code::FetchAdd(2, at(1), is(1)),
        Code::Unlock(at(1)),
        Code::Lock(at(2)),
        Code::Store(plus(3, 2), is(1)),
        Code::Unlock(at(2)),
        Code::Jump(again),
    ]);
    consumer.here(over);
    let mut writer = Body::default();
    let (again, good, over) = (writer.label(), writer.label(), writer.label());
    writer.add([Code::Lock(at(1)), Code::Load(1, at(1)), Code::Unlock(at(1))]);
    writer.here(again);
    writer.add([Code::If(reg(2), Compare::Equal, reg(1), over), Code::Lock(at(2))]);
    if joined {
        writer.add([
            Code::Load(3, plus(3, 2)),
            Code::If(reg(3), Compare::Differ, is(0), good),
            Code::Fail,
        ]);
    }
    writer.here(good);
    writer.add([Code::Unlock(at(2)), Code::Sum(2, reg(2), is(1)), Code::Jump(again)]);
    writer.here(over);
    let tasks = vec![(0, 0), (0, 0), (1, 0)];
    let mut program = with(vec![consumer.done(), writer.done()], tasks, vec![0; 5], 3, &[]);
    let joins: &[usize] = if joined { &[3, 1, 2] } else { &[3] };
    let free = joins.iter().map(|&task| Code::Join(task));
    let free = free.chain([Code::Store(at(2), is(1)), Code::Exit]);
    program.code[0].splice(3.., free.chain([Code::End]));
    program
}

/// Workers decrement a counter, and the last one signals main, which initialises the counter when
/// they are already running.
#[must_use]
pub fn scanner(workers: usize) -> Program {
    let scan = vec![
        Code::Lock(at(0)),
        Code::Load(1, at(0)),
        Code::Sum(1, reg(1), is(-1)),
        Code::Store(at(0), reg(1)),
        Code::If(reg(1), Compare::Differ, is(0), 6),
        Code::Signal(0),
        Code::Unlock(at(0)),
    ];
    let mut program = with(vec![scan], vec![(0, 0); workers], vec![0], 1, &[]);
    program.conditions = 1;
    let base = workers;
    let wait = [
        Code::Lock(at(0)),
        Code::Store(at(0), is(workers as i64)),
        Code::Load(1, at(0)),
        Code::If(reg(1), Compare::Equal, is(0), base + 6),
        Code::Wait(0, 0),
        Code::Jump(base + 2),
        Code::Unlock(at(0)),
    ];
    program.code[0].splice(base..base, wait);
    program
}

/// The same program, with main creating the tasks in another order: `order` lists the tasks of the
/// original program in the order of their creation.
///
/// # Panics
///
/// If `order` is not a permutation of the tasks.
#[must_use]
pub fn created(program: &Program, order: &[usize]) -> Program {
    assert_eq!(order.len() + 1, program.tasks.len(), "the order names all tasks but main");
    let now = |task: usize| {
        let place = order.iter().position(|&other| other == task);
        place.expect("every task is created") + 1
    };
    let mut other = program.clone();
    for (place, &task) in order.iter().enumerate() {
        other.tasks[place + 1] = program.tasks[task];
    }
    for code in other.code.iter_mut().flatten() {
        if let Code::Join(task) = code {
            *task = now(*task);
        }
    }
    other
}

/// A random order of the program's tasks for [`created`].
#[must_use]
pub fn shuffled(program: &Program, seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed, 0);
    let mut order: Vec<usize> = (1..program.tasks.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.below(last as u32 + 1) as usize);
    }
    order
}
