//! Arbitrary consistent traces.

use crate::clients::{Action, ActionKind, Answer, Client};
use crate::execution::DataChoice;
use crate::memory_change::{MemoryChange, MemoryLocation};
use crate::points::{Learned, ModuleAddress, StartPoint};
use crate::predicate::{CodeAddress, Predicate, Purpose, Role, Slot, ThreadMatch};
use crate::trace::{EnvironmentUse, Options};
use crate::{
    AsyncChange, AsyncTask, DeadlineNote, EnabledChange, Execution, Failure, FailureKind, Frame,
    Header, HistoryEvent, Module, Object, ObjectKind, ObjectLocation, Operation, Site, Step,
    TaskId, TaskRecord, TaskStack, TaskState, Trace, WaitEdge,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The largest number of tasks, modules and objects of an arbitrary trace.
const MANY: usize = 5;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z/.:]{0,12}", any::<String>()]
}

fn task() -> impl Strategy<Value = TaskId> {
    (0..MANY as u16).prop_map(TaskId)
}

fn site() -> impl Strategy<Value = Site> {
    let offset = prop_oneof![0..4u64, any::<u64>()];
    (0..MANY as u16, offset).prop_map(|(module, offset)| Site { module, offset })
}

fn object() -> impl Strategy<Value = Option<u32>> {
    option::of(0..MANY as u32)
}

fn frame() -> impl Strategy<Value = Frame> {
    let lines = (any::<u32>(), any::<u32>(), any::<bool>());
    (text(), text(), lines, option::of(site()), text()).prop_map(
        |(function, file, (line, column, inlined), site, module)| Frame {
            function,
            file,
            line,
            column,
            inlined,
            site,
            module,
        },
    )
}

fn header() -> impl Strategy<Value = Header> {
    let spots = || vec((any::<u16>(), any::<u64>()), 0..3);
    let learned = (spots(), spots()).prop_map(|(sites, words)| {
        let spots = |from: Vec<(u16, u64)>| {
            from.into_iter().map(|(module, offset)| ModuleAddress { module, offset }).collect()
        };
        Learned { sites: spots(sites), words: spots(words) }
    });
    let limits = (any::<u64>(), any::<u64>(), any::<(u32, u32, u32)>(), any::<Option<u64>>());
    let memory = prop_oneof![
        any::<u64>().prop_map(MemoryLocation::Program),
        any::<u64>().prop_map(MemoryLocation::Heap),
        any::<(u16, u64)>().prop_map(|(task, below)| MemoryLocation::Stack { task, below }),
    ];
    let change = (1..u64::MAX, memory, vec(any::<u8>(), 0..9), text())
        .prop_map(|(step, at, bytes, name)| MemoryChange { step, at, bytes, name });
    let changes = vec(change, 0..3);
    let code = || vec(any::<u8>(), 0..5);
    let predicate = (text(), text(), any::<u64>(), code(), code()).prop_map(
        |(text, module, offset, condition, local)| Predicate {
            text,
            roles: vec![Role {
                text: module.clone(),
                thread: ThreadMatch::Number(offset as u16),
                places: vec![CodeAddress { module: module.clone(), offset }],
                own: vec![condition.clone()],
                before_write: offset % 2 == 0,
                extents: Vec::new(),
            }],
            slots: vec![Slot::Base(module), Slot::Local { role: 0, code: vec![local] }],
            condition: condition.clone(),
            purpose: [
                Purpose::Satisfy,
                Purpose::Always,
                Purpose::Never,
                Purpose::Through,
                Purpose::Visit,
                Purpose::Start,
            ][offset as usize % 6],
            until: condition.clone(),
            shared: vec![condition],
        },
    );
    let client =
        (text(), vec(any::<u8>(), 0..9), any::<bool>()).prop_map(|(command, bytes, ended)| {
            let saw_end = ended;
            let answer = Answer { bytes: bytes.clone(), ended };
            let action = |received, kind| Action { received, kind };
            Client {
                command,
                actions: vec![
                    action(Vec::new(), ActionKind::Connect(bytes.clone())),
                    action(vec![(0, answer.len())], ActionKind::Send { connection: 0, bytes }),
                    action(Vec::new(), ActionKind::End { connection: 0 }),
                    action(Vec::new(), ActionKind::Signal(15)),
                ],
                answers: vec![answer],
                saw_end,
                together: !ended,
                waits: !ended,
                failed: i32::from(ended),
            }
        });
    let start_at =
        prop_oneof![Just(None), Just(Some(StartPoint::Idle)), Just(Some(StartPoint::Site))];
    let served = (vec(client, 0..2), start_at);
    let extra = (changes, vec(predicate, 0..2), any::<(bool, bool)>(), served);
    let options = (text(), any::<u64>(), text(), text(), limits, learned, extra).prop_map(
        |(
            strategy,
            seed,
            points,
            reset,
            (max_steps, max_memory, (spurious, reuse, short_counts), slack),
            learned,
            (changes, predicates, (own_files, main_last), (clients, start_at)),
        )| {
            Options {
                strategy,
                seed,
                points,
                reset,
                max_steps,
                learned,
                race: None,
                max_memory,
                spurious,
                reuse,
                short_counts,
                slack,
                changes,
                own_files,
                predicates,
                main_last,
                clients,
                start_at,
            }
        },
    );
    let bytes = || vec(any::<u8>(), 0..6);
    let names = (vec(text(), 0..3), vec(text(), 0..3));
    let lists = (vec(bytes(), 0..3), vec((bytes(), bytes()), 0..3), names);
    let named = (text(), bytes());
    (text(), named, text(), lists, text(), options, any::<u64>()).prop_map(
        |(heddle, program, build_id, (args, env, (left_out, unread)), cwd, options, found_at)| {
            let (program, name) = program;
            Header {
                heddle,
                program,
                name,
                build_id,
                args,
                env,
                left_out,
                unread,
                environment_use: EnvironmentUse::Named,
                cwd,
                options,
                found_at,
            }
        },
    )
}

fn objects() -> impl Strategy<Value = Vec<Object>> {
    use ObjectKind::*;
    let kind = select(vec![Task, Mutex, Condition, Semaphore, Futex, Once, Descriptor, Memory]);
    let heap = (any::<u64>(), any::<u64>(), any::<u64>(), option::of(site()));
    let place = prop_oneof![
        task().prop_map(ObjectLocation::Task),
        any::<i32>().prop_map(ObjectLocation::Descriptor),
        site().prop_map(ObjectLocation::Static),
        heap.prop_map(|(ordinal, offset, size, site)| ObjectLocation::Heap {
            ordinal,
            offset,
            size,
            site
        }),
        (task(), any::<u64>()).prop_map(|(task, below)| ObjectLocation::Stack { task, below }),
        any::<u32>().prop_map(ObjectLocation::Other),
    ];
    vec((kind, place, text()).prop_map(|(kind, place, name)| Object { kind, place, name }), MANY)
}

fn execution() -> impl Strategy<Value = Execution> {
    let step = (
        task(),
        select(Operation::ALL),
        object(),
        site(),
        prop_oneof![
            3 => Just(0), 1 => 1..100u64, 1 => any::<u64>()
        ],
    )
        .prop_map(|(task, operation, object, site, value)| Step {
            task,
            operation,
            object,
            site,
            value,
        });
    let record = (text(), text(), any::<Option<Index>>());
    let tables = (
        vec(record, MANY),
        vec((text(), text()).prop_map(|(path, build_id)| Module { path, build_id }), MANY),
        objects(),
        vec((site(), vec(frame(), 0..3)), 0..3),
    );
    let data = vec((any::<Index>(), any::<u32>(), 2..u32::MAX), 0..6);
    let enabled = vec((any::<Index>(), task(), any::<bool>()), 0..20);
    (tables, vec(step, 0..40), data, enabled).prop_map(
        |((tasks, modules, objects, places), steps, data, enabled)| {
            let parent = |at: usize, of: Option<Index>| {
                of.filter(|_| at > 0).map(|of| TaskId(of.index(at) as u16))
            };
            let tasks = tasks.into_iter().enumerate().map(|(at, (name, function, of))| {
                TaskRecord { name, function, parent: parent(at, of), pending: None }
            });
            let mut data: Vec<_> = data
                .into_iter()
                .filter(|_| !steps.is_empty())
                .map(|(at, taken, of)| DataChoice {
                    step: at.index(steps.len()) as u64,
                    taken: taken % of,
                    of,
                })
                .collect();
            data.sort_by_key(|choice| choice.step);
            let mut enabled: Vec<_> = enabled
                .into_iter()
                .map(|(at, task, enabled)| EnabledChange {
                    step: at.index(steps.len() + 1) as u64,
                    task,
                    enabled,
                })
                .collect();
            enabled.sort_by_key(|change| change.step);
            let tasks: Vec<TaskRecord> = tasks.collect();
            let note = |step: usize| DeadlineNote {
                step: step as u64,
                preempts: step.is_multiple_of(2),
                late: Some((TaskId(0), step as u64 + 1)).filter(|_| !tasks.is_empty()),
            };
            let deadlines = (0..steps.len()).step_by(3).map(note).collect();
            let async_task = |id| AsyncTask { id, name: format!("task {id}") };
            let async_tasks: Vec<_> = (1..=(steps.len() % 3) as u64).map(async_task).collect();
            let change = |step: usize| AsyncChange {
                step: step as u64,
                task: TaskId(0),
                id: step as u64 % 3,
            };
            let changed = (0..steps.len()).step_by(4).filter(|_| !tasks.is_empty());
            let async_changes = changed.map(change).collect();
            Execution {
                tasks,
                modules,
                objects,
                places,
                steps,
                data,
                enabled,
                deadlines,
                async_tasks,
                async_changes,
            }
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    use TaskState::*;
    let state = prop_oneof![Just(Running), Just(Runnable), text().prop_map(Blocked), Just(Exited)];
    let stack = (task(), state, vec(frame(), 0..3)).prop_map(|(task, state, frames)| TaskStack {
        task,
        state,
        frames,
    });
    let wait = (task(), object(), option::of(task()), option::of(site()))
        .prop_map(|(task, object, holder, site)| WaitEdge { task, object, holder, site });
    let texts = (text(), text(), text());
    let past =
        (text(), task(), any::<u64>(), vec(frame(), 0..3), vec(0..MANY as u32, 0..2)).prop_map(
            |(what, task, step, frames, locks)| HistoryEvent { what, task, step, frames, locks },
        );
    let lists = (vec(wait, 0..3), vec(stack, 0..3), vec(past, 0..3));
    (select(FailureKind::ALL), texts, option::of(task()), option::of(site()), lists).prop_map(
        |(kind, (signature, message, place), task, site, (waits, stacks, past))| Failure {
            kind,
            signature,
            message,
            task,
            site,
            place,
            waits,
            stacks,
            past,
        },
    )
}

pub(super) fn trace() -> impl Strategy<Value = Trace> {
    (header(), execution(), option::of(failure()), vec(any::<u8>(), 0..30)).prop_map(
        |(header, execution, failure, output)| Trace { header, execution, failure, output },
    )
}
