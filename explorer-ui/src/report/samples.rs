//! Hand-made traces for tests of reports and exports.

use traces::execution::DataChoice;
use traces::{
    EnabledChange, Execution, Failure, FailureKind, Frame, Header, HistoryEvent, Module, Object,
    ObjectKind, ObjectLocation, Operation, Site, Step, TaskId, TaskRecord, TaskStack, TaskState,
    Trace, WaitEdge,
};

/// Builds an execution step by step.
pub(crate) struct Builder {
    trace: Trace,
    enabled: Vec<TaskId>,
}

impl Builder {
    /// Tasks with these names; main is enabled.
    pub(crate) fn new(names: &[&str]) -> Builder {
        let mut trace = Trace {
            header: Header {
                program: "/home/me/my tests/queue".into(),
                args: vec![b"--size".to_vec(), b"3".to_vec()],
                ..Header::default()
            },
            ..Trace::default()
        };
        trace.execution.modules =
            vec![Module { path: "/home/me/my tests/queue".into(), build_id: "ab".into() }];
        for (index, name) in names.iter().enumerate() {
            trace.execution.tasks.push(TaskRecord {
                name: (*name).to_owned(),
                function: if index == 0 { "main" } else { "worker" }.into(),
                parent: (index > 0).then_some(TaskId::MAIN),
                pending: None,
            });
        }
        let mut builder = Builder { trace, enabled: Vec::new() };
        builder.enable(0, true);
        builder
    }

    /// Enables or disables a task from the next step on.
    pub(crate) fn enable(&mut self, task: u16, enabled: bool) -> &mut Builder {
        let step = self.trace.execution.steps.len() as u64;
        self.trace.execution.enabled.push(EnabledChange { step, task: TaskId(task), enabled });
        self.enabled.retain(|&other| other != TaskId(task));
        self
    }

    fn object(&mut self, kind: ObjectKind, place: ObjectLocation, name: &str) -> u32 {
        let objects = &mut self.trace.execution.objects;
        let known = objects.iter().position(|object| object.name == name && object.kind == kind);
        let index = known.unwrap_or_else(|| {
            objects.push(Object { kind, place, name: name.to_owned() });
            objects.len() - 1
        });
        index as u32
    }

    /// Adds a step on an object of the kind that the operation needs.
    pub(crate) fn step(
        &mut self,
        task: u16,
        operation: Operation,
        name: &str,
        line: u32,
    ) -> &mut Builder {
        self.valued(task, operation, name, line, 0)
    }

    /// Adds a step with a result value.
    pub(crate) fn valued(
        &mut self,
        task: u16,
        operation: Operation,
        name: &str,
        line: u32,
        value: u64,
    ) -> &mut Builder {
        let kind = match operation {
            Operation::Create | Operation::Join | Operation::Start => ObjectKind::Task,
            Operation::Signal | Operation::Wait => ObjectKind::Condition,
            wake if wake.is_condition_wake() => ObjectKind::Condition,
            Operation::Read | Operation::Write | Operation::Update | Operation::Await => {
                ObjectKind::Memory
            }
            Operation::FutexWait | Operation::FutexWoken => ObjectKind::Futex,
            _ => ObjectKind::Mutex,
        };
        let place = match name.strip_prefix('T').and_then(|number| number.parse().ok()) {
            Some(number) if kind == ObjectKind::Task => ObjectLocation::Task(TaskId(number)),
            _ => ObjectLocation::Static(Site { module: 0, offset: 0x4000 }),
        };
        let object = (!name.is_empty()).then(|| self.object(kind, place, name));
        let site = Site { module: 0, offset: u64::from(line) * 16 };
        let execution = &mut self.trace.execution;
        if line > 0 && !execution.places.iter().any(|(known, _)| *known == site) {
            let frame = Frame { file: "src/queue.c".into(), line, ..Frame::default() };
            execution.places.push((site, vec![frame]));
        }
        execution.steps.push(Step { task: TaskId(task), operation, object, site, value });
        self
    }

    /// Says that the last step is inside these functions of the library, the innermost first.
    pub(crate) fn inside(&mut self, functions: &[&str]) -> &mut Builder {
        let execution = &mut self.trace.execution;
        let site = execution.steps.last().expect("there is a step").site;
        let place = execution.places.iter_mut().find(|(known, _)| *known == site);
        let (_, frames) = place.expect("the step has a line");
        frames.truncate(1);
        frames.extend(functions.iter().map(|name| Frame {
            function: (*name).to_owned(),
            file: "/rustc/0/library/std.rs".into(),
            inlined: true,
            ..Frame::default()
        }));
        self
    }

    /// Adds a data choice to the last step.
    pub(crate) fn choice(&mut self, taken: u32, of: u32) -> &mut Builder {
        let step = self.trace.execution.steps.len() as u64 - 1;
        self.trace.execution.data.push(DataChoice { step, taken, of });
        self
    }

    /// The trace, without a failure.
    pub(crate) fn done(&self) -> Trace {
        self.trace.clone()
    }

    /// The trace, with a failure.
    pub(crate) fn failed(&self, failure: Failure) -> Trace {
        let mut trace = self.trace.clone();
        trace.header.found_at = 6737;
        trace.header.options.strategy = "random".into();
        trace.failure = Some(failure);
        trace
    }
}

fn frame(function: &str, line: u32) -> Frame {
    Frame { function: function.into(), file: "src/queue.c".into(), line, ..Frame::default() }
}

/// Two tasks, no failure, one preemption and a failed `trylock`.
pub(crate) fn two_tasks() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "producer"]);
    b.step(0, O::Create, "T1", 88).enable(1, true);
    b.step(1, O::Start, "", 12).step(1, O::Lock, "m", 15);
    b.valued(0, O::TryLock, "m", 90, 16);
    b.valued(1, O::Write, "q.len", 17, 1).step(1, O::Unlock, "m", 19).enable(1, false);
    b.step(0, O::Join, "T1", 97).step(0, O::Exit, "", 0);
    b.done()
}

/// Two tasks lock two mutexes in opposite orders; main waits for both.
pub(crate) fn deadlock() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "left", "right"]);
    b.step(0, O::Create, "T1", 30).enable(1, true);
    b.step(0, O::Create, "T2", 31).enable(2, true).enable(0, false);
    b.step(1, O::Start, "", 8).step(1, O::Lock, "fork_a", 9);
    b.step(2, O::Start, "", 18).step(2, O::Lock, "fork_b", 19).enable(1, false).enable(2, false);
    let wait = |task: u16, object: u32, holder: u16, line: u64| WaitEdge {
        task: TaskId(task),
        object: Some(object),
        holder: Some(TaskId(holder)),
        site: Some(Site { module: 0, offset: line * 16 }),
    };
    let stack = |task: u16, what: &str, frames: Vec<Frame>| TaskStack {
        task: TaskId(task),
        state: TaskState::Blocked(what.into()),
        frames,
    };
    let mut trace = b.failed(Failure {
        kind: FailureKind::Deadlock,
        signature: "deadlock:1".into(),
        message: "T1 and T2 wait for each other".into(),
        task: None,
        site: None,
        place: "queue.c:10".into(),
        waits: vec![wait(1, 3, 2, 10), wait(2, 2, 1, 20), wait(0, 0, 1, 33)],
        stacks: vec![
            stack(0, "join T1", vec![frame("main", 33)]),
            stack(1, "lock fork_b, held by T2", vec![frame("eat", 10), frame("left", 5)]),
            stack(
                2,
                "lock fork_a, held by T1",
                vec![
                    Frame {
                        inlined: true,
                        ..frame("take(std::vector<int, std::allocator<int> >&)", 20)
                    },
                    Frame {
                        function: String::new(),
                        file: String::new(),
                        module: "/usr/lib/x86_64-linux-gnu/libc.so.6".into(),
                        site: Some(Site { module: 1, offset: 0x8_9144 }),
                        ..Frame::default()
                    },
                ],
            ),
        ],
        past: vec![],
    });
    for line in [10u32, 20, 33] {
        let site = Site { module: 0, offset: u64::from(line) * 16 };
        trace.execution.places.push((site, vec![frame("", line)]));
    }
    trace
}

/// Two tasks read and write a total; main reads the result.
pub(crate) fn lost_update() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "adder", "adder"]);
    b.step(0, O::Create, "T1", 30).enable(1, true).step(0, O::Create, "T2", 31).enable(2, true);
    b.step(1, O::Start, "", 8).valued(1, O::Read, "total", 9, 0);
    b.step(2, O::Start, "", 8).valued(2, O::Read, "total", 9, 0);
    b.valued(1, O::Write, "total", 10, 1).enable(1, false);
    b.valued(2, O::Write, "total", 10, 1).enable(2, false);
    b.valued(0, O::Read, "total", 40, 1);
    b.failed(Failure {
        kind: FailureKind::Assertion,
        signature: "assertion:40".into(),
        message: "total == 2".into(),
        task: Some(TaskId(0)),
        site: None,
        place: "queue.c:40".into(),
        waits: vec![],
        stacks: vec![],
        past: vec![],
    })
}

/// Eight tasks.
pub(crate) fn eight_tasks() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "a", "b", "c", "d", "e", "f", "logger"]);
    for task in 1..8 {
        b.step(0, O::Create, &format!("T{task}"), 40).enable(task, true);
    }
    for task in (1..8).rev() {
        b.step(task, O::Start, "", 12).step(task, O::Lock, "m", 15).step(task, O::Unlock, "m", 19);
        b.enable(task, false);
    }
    b.done()
}

/// A signal with a data choice, and a wait that timed out.
pub(crate) fn data_choice() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "one", "two"]);
    b.step(0, O::Create, "T1", 1).enable(1, true).step(0, O::Create, "T2", 2).enable(2, true);
    b.step(1, O::Start, "", 9).step(1, O::Wait, "ready", 10).enable(1, false);
    b.step(2, O::Start, "", 9).step(2, O::Wait, "ready", 10).enable(2, false);
    b.step(0, O::Signal, "ready", 3).choice(1, 2).enable(2, true);
    b.valued(2, O::TimedWake, "ready", 10, 110);
    b.done()
}

/// A failed assertion of one task.
pub(crate) fn assertion() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "cons"]);
    b.step(0, O::Create, "T1", 88).enable(1, true);
    b.step(1, O::Start, "", 12).step(1, O::Lock, "m", 33);
    b.failed(Failure {
        kind: FailureKind::Assertion,
        signature: "assertion:34".into(),
        message: "q.len > 0".into(),
        task: Some(TaskId(1)),
        site: None,
        place: "queue.c:34".into(),
        waits: vec![],
        stacks: vec![
            TaskStack {
                task: TaskId(1),
                state: TaskState::Running,
                frames: (0..30).map(|depth| frame(&format!("depth_{depth}"), 34)).collect(),
            },
            TaskStack { task: TaskId(0), state: TaskState::Runnable, frames: vec![] },
        ],
        past: vec![
            HistoryEvent {
                what: "allocated".into(),
                task: TaskId(0),
                step: 0,
                frames: vec![frame("queue_new", 7), frame("main", 30)],
                locks: vec![],
            },
            HistoryEvent {
                what: "freed".into(),
                task: TaskId(1),
                step: 2,
                frames: vec![frame("queue_drop", 12)],
                locks: vec![],
            },
        ],
    })
}

/// Names in other scripts, with escapes, and far too long.
pub(crate) fn strange_names() -> Trace {
    use Operation as O;
    let long = "a_very_long_name_that_no_column_can_hold_because_it_never_ends";
    let mut b = Builder::new(&["", "消費者スレッド", "\u{1b}[2Jevil\nname\u{202e}"]);
    b.step(0, O::Create, "T1", 88).enable(1, true).step(0, O::Create, "T2", 89).enable(2, true);
    b.step(1, O::Start, "", 0).step(1, O::Lock, "鍵", 15).step(1, O::Unlock, "鍵", 16);
    b.valued(2, O::TryLock, long, 15, 16).step(2, O::Yield, "", 99);
    b.done()
}

/// A task with a run of steps that no other task can observe.
pub(crate) fn silent_run() -> Trace {
    use Operation as O;
    let mut b = Builder::new(&["", "worker"]);
    b.step(0, O::Create, "T1", 88).enable(1, true).step(1, O::Start, "", 12);
    for _ in 0..20 {
        b.step(1, O::Lock, "own", 15).step(1, O::Unlock, "own", 16);
    }
    b.step(0, O::Lock, "shared", 90).step(1, O::Lock, "shared", 91);
    b.done()
}

/// A trace without steps.
pub(crate) fn empty() -> Trace {
    Trace { execution: Execution::default(), ..Trace::default() }
}

/// Two tasks and a lock of Rust's standard library, for which one of them has to wait.
pub(crate) fn contended_word() -> Trace {
    use Operation as O;
    const LOCK: [&str; 2] = [
        "<core::sync::atomic::AtomicU32>::compare_exchange",
        "std::sync::poison::mutex::Mutex<T>::lock",
    ];
    const UNLOCK: [&str; 2] = [
        "<core::sync::atomic::AtomicU32>::swap",
        "<std::sync::poison::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop",
    ];
    let mut b = Builder::new(&["", "one", "two"]);
    b.step(0, O::Create, "T1", 3).enable(1, true);
    b.step(0, O::Create, "T2", 4).enable(2, true);
    b.step(1, O::Start, "T1", 9);
    b.valued(1, O::Update, "app::BANK", 10, 1).inside(&LOCK);
    b.step(2, O::Start, "T2", 9);
    // The attempt fails; then it spins, announces that it waits, and waits.
    for _ in 0..4 {
        b.valued(2, O::Await, "app::BANK", 20, 1).inside(&LOCK);
    }
    b.valued(2, O::Update, "app::BANK", 20, 2).inside(&LOCK);
    b.step(2, O::FutexWait, "app::BANK", 20).enable(2, false);
    b.valued(1, O::Update, "app::BANK", 12, 0).inside(&UNLOCK).enable(2, true);
    b.step(2, O::FutexWoken, "app::BANK", 20).inside(&LOCK);
    b.valued(2, O::Update, "app::BANK", 20, 2).inside(&LOCK);
    b.valued(2, O::Update, "app::BANK", 22, 0).inside(&UNLOCK);
    // A flag that the program waits for itself.
    for _ in 0..5 {
        b.valued(2, O::Await, "app::DONE", 24, 0);
    }
    b.valued(1, O::Write, "app::DONE", 14, 1);
    b.done()
}

/// A word of memory that two tasks use as a lock, in a program without names.
pub(crate) fn inferred_lock() -> Trace {
    use Operation as O;
    const WORD: &str = "queue+0x4000";
    let mut b = Builder::new(&["", "one"]);
    b.step(0, O::Create, "T1", 3).enable(1, true);
    b.step(1, O::Start, "T1", 9);
    b.valued(1, O::Update, WORD, 10, 1);
    b.valued(0, O::Update, WORD, 20, 1);
    b.valued(0, O::Update, WORD, 21, 2);
    b.step(0, O::FutexWait, WORD, 22).enable(0, false);
    b.valued(1, O::Update, WORD, 12, 0).enable(0, true);
    b.step(0, O::FutexWoken, WORD, 22);
    b.valued(0, O::Update, WORD, 23, 2);
    b.valued(0, O::Update, WORD, 25, 0);
    b.done()
}
