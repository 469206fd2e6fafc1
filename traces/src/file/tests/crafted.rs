//! Invalid files of every kind, and the error that each gives.

use super::super::*;
use super::small;
use crate::execution::DataChoice;
use crate::{
    AsyncChange, AsyncTask, EnabledChange, FailureKind, HistoryEvent, ObjectLocation, Operation,
    TaskId, TaskStack, TaskState, WaitEdge,
};

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let whole = encode(&small(), None);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        bytes
    };
    let half = whole.len() / 2;
    let not_a_trace = "this is not a Heddle trace; name a file that ends in .heddle";
    let cut = "the trace is cut short (its end is missing); copy it again, or record it again";
    let cases: [(Vec<u8>, &str); 9] = [
        (Vec::new(), "the file is empty; record the trace again"),
        (b"\x7fELF\x02\x01\x01".to_vec(), not_a_trace),
        (b"{\"heddle\":1}".to_vec(), not_a_trace),
        (whole[..half].to_vec(), cut),
        (
            changed(&|bytes| bytes[half] ^= 1),
            "the trace is damaged (its checksum is wrong); copy it again, or record it again",
        ),
        (
            changed(&|bytes| bytes.push(0)),
            "the trace is damaged (something follows its end); copy it again, or record it again",
        ),
        (
            changed(&|bytes| bytes[8..12].fill(0)),
            "the trace is damaged (its format version is 0); copy it again, or record it again",
        ),
        (
            changed(&|bytes| bytes[8] = 3),
            "this trace has format version 3, and this Heddle reads versions up to 2; update heddle",
        ),
        (changed(&|bytes| bytes.truncate(12)), cut),
    ];
    for (bytes, message) in cases {
        assert_eq!(decode(&bytes).unwrap_err().to_string(), message);
    }
}

#[test]
fn every_index_is_checked() {
    type MemoryChange<T> = fn(&mut T);
    const FAR: Site = Site { module: 1, offset: 0 };
    let failing: fn(&mut Trace) -> &mut Failure = |trace| {
        trace.failure.insert(Failure {
            kind: FailureKind::Deadlock,
            signature: String::new(),
            message: String::new(),
            task: None,
            site: None,
            place: String::new(),
            waits: vec![WaitEdge { task: TaskId(0), object: None, holder: None, site: None }],
            stacks: vec![TaskStack {
                task: TaskId(0),
                state: TaskState::Running,
                frames: vec![Frame::default()],
            }],
            past: vec![HistoryEvent {
                what: String::new(),
                task: TaskId(0),
                step: 0,
                frames: vec![Frame::default()],
                locks: vec![],
            }],
        })
    };
    let cases: &[(&str, MemoryChange<Trace>)] = &[
        ("step 2 names no task", |t| t.execution.steps[2].task = TaskId(1)),
        ("step 0 names no object", |t| t.execution.steps[0].object = Some(1)),
        ("step 1 names no module", |t| t.execution.steps[1].site = FAR),
        ("task 0 was created by a later one", |t| t.execution.tasks[0].parent = Some(TaskId(0))),
        ("object 0 names no task", |t| {
            t.execution.objects[0].place = ObjectLocation::Task(TaskId(1))
        }),
        ("object 0 names no module", |t| {
            t.execution.objects[0].place = ObjectLocation::Static(FAR)
        }),
        ("object 0 names no task", |t| {
            t.execution.objects[0].place = ObjectLocation::Stack { task: TaskId(9), below: 0 };
        }),
        ("place 0 names no module", |t| t.execution.places.push((FAR, vec![]))),
        ("data choice 0 names no step, or one before its predecessor's", |t| {
            t.execution.data[0].step = 3
        }),
        ("data choice 0 has fewer than 2 outcomes, or a number beyond them", |t| {
            t.execution.data[0].taken = 2
        }),
        ("data choice 0 has fewer than 2 outcomes, or a number beyond them", |t| {
            t.execution.data[0].of = 1
        }),
        ("change of the enabled set 0 names no task", |t| t.execution.enabled[0].task.0 = 1),
        ("change of the enabled set 0 names no step, or one before its predecessor's", |t| {
            t.execution.enabled[0].step = 4
        }),
        ("asynchronous task 0 is not in the order of the numbers", |t| {
            let task = |id| AsyncTask { id, name: String::new() };
            t.execution.async_tasks = vec![task(2), task(1)];
        }),
        ("asynchronous task of a thread 0 names no step, or one before its predecessor's", |t| {
            let change = AsyncChange { step: 3, task: TaskId(0), id: 1 };
            t.execution.async_changes = vec![change];
        }),
        ("asynchronous task of a thread 0 names no task", |t| {
            let change = AsyncChange { step: 0, task: TaskId(1), id: 1 };
            t.execution.async_changes = vec![change];
        }),
        ("steps: the numbers of steps do not ascend", |t| {
            let first = t.execution.enabled[0];
            t.execution.enabled.insert(0, EnabledChange { step: 2, ..first });
        }),
        ("steps: the numbers of steps do not ascend", |t| {
            let first = t.execution.data[0];
            t.execution.data.push(DataChoice { step: 0, ..first });
        }),
    ];
    let failures: &[(&str, MemoryChange<Failure>)] = &[
        ("failure 0 names no task", |f| f.task = Some(TaskId(1))),
        ("failure 0 names no module", |f| f.site = Some(FAR)),
        ("wait 0 names no task", |f| f.waits[0].task = TaskId(1)),
        ("wait 0 names no object", |f| f.waits[0].object = Some(1)),
        ("wait 0 names no task", |f| f.waits[0].holder = Some(TaskId(1))),
        ("wait 0 names no module", |f| f.waits[0].site = Some(FAR)),
        ("stack 0 names no task", |f| f.stacks[0].task = TaskId(1)),
        ("stack 0 names no module", |f| f.stacks[0].frames[0].site = Some(FAR)),
        ("past event 0 names no task", |f| f.past[0].task = TaskId(1)),
        ("past event 0 names no object", |f| f.past[0].locks = vec![1]),
        ("past event 0 names no module", |f| f.past[0].frames[0].site = Some(FAR)),
    ];
    let mut sound = small();
    failing(&mut sound);
    assert_eq!(check(&sound), Ok(()));
    let mut wrong: Vec<(&str, Trace)> = Vec::new();
    for (what, change) in cases {
        let mut trace = small();
        change(&mut trace);
        wrong.push((what, trace));
    }
    for (what, change) in failures {
        let mut trace = small();
        change(failing(&mut trace));
        wrong.push((what, trace));
    }
    for (what, trace) in wrong {
        assert!(check(&trace).is_err(), "{what}");
        let bytes = encode(&trace, None);
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(error.contains(what), "{error:?} is not {what:?}");
    }
}

/// What is refused in the options, and the message for it.
#[test]
fn changes_and_predicates_are_checked() {
    use crate::memory_change::{MOST, MemoryChange, MemoryLocation};
    use crate::predicate::{Predicate, Purpose};
    let change = |step, len| MemoryChange {
        step,
        at: MemoryLocation::Heap(8),
        bytes: vec![1; len],
        name: String::new(),
    };
    // A search for a state needs a thread whose state it is.
    let without_roles = Predicate {
        text: String::new(),
        roles: Vec::new(),
        slots: Vec::new(),
        condition: Vec::new(),
        shared: Vec::new(),
        purpose: Purpose::Satisfy,
        until: Vec::new(),
    };
    let too_large = "record it again with a lower --max-steps";
    let cases: [(Vec<MemoryChange>, Vec<Predicate>, String); 4] = [
        (
            vec![change(0, 1)],
            vec![],
            "the trace is inconsistent (change of memory 0 names no step); it was not written by \
             Heddle: record it again"
                .to_owned(),
        ),
        (
            vec![change(1, 1); MOST + 1],
            vec![],
            format!("the trace is too large ({} changes of memory); {too_large}", MOST + 1),
        ),
        (
            vec![change(1, MOST + 1)],
            vec![],
            format!("the trace is too large ({} bytes of memory changed at once); {too_large}", MOST + 1),
        ),
        (
            vec![],
            vec![without_roles],
            "the trace is inconsistent (predicate 0 has parts that do not fit together); it was not \
             written by Heddle: record it again"
                .to_owned(),
        ),
    ];
    for (changes, predicates, message) in cases {
        let mut trace = small();
        trace.header.options.changes = changes;
        trace.header.options.predicates = predicates;
        assert_eq!(check(&trace).unwrap_err().to_string(), message);
    }
}

/// The columns of steps, each with one mistake.
#[test]
fn every_mistake_in_the_columns_has_its_message() {
    let sound = steps::write(&small().execution);
    // The numbers of the columns of `small`: the count of steps, the dictionary, and so on.
    let changed = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        bytes
    };
    let long = [&[0xff; 9][..], &[2]].concat();
    let cases: [(&[u8], &str); 9] = [
        (&sound[..sound.len() - 1], "steps: a column is too short"),
        (&[&sound[..], &[0]].concat(), "steps: bytes are left over"),
        (&long, "steps: a number has more than 64 bits"),
        (&changed(1, 9), "9 different steps, at most 3"),
        (&changed(2, 255), "steps: there is no operation 255"),
        (&[&sound[..2], &[254, 1], &sound[3..]].concat(), "steps: there is no operation 254"),
        (
            &[&sound[..4], &[0xff, 0xff, 7], &sound[5..]].concat(),
            "steps: the number 131071 is out of range",
        ),
        (&changed(6, 3), "steps: no such width of a column"),
        (&changed(9, 7), "steps: step 0 has an invalid dictionary index"),
    ];
    for (bytes, what) in cases {
        let error = match steps::read(bytes) {
            Ok(_) => panic!("accepted: {what}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(what), "{error:?} is not {what:?}");
    }
}

/// Changes each byte of the columns to each other value, and to numbers that are too large.
#[test]
fn numbers_that_fit_no_column_are_named() {
    let sound = steps::write(&small().execution);
    let mut said = std::collections::BTreeSet::new();
    for at in 0..sound.len() {
        let (before, after) = (&sound[..at], &sound[at + 1..]);
        let bytes = (0..=255).map(|byte| vec![byte]);
        for changed in bytes.chain([vec![0xff, 0xff, 0xff, 0xff, 0x7f]]) {
            let read = steps::read(&[before, &changed, after].concat());
            said.extend(read.err().map(|error| error.to_string()));
        }
    }
    for what in ["steps: a value belongs to no step", " changes of the enabled set"] {
        assert!(said.iter().any(|message| message.contains(what)), "{what}: {said:#?}");
    }
}

/// A file with the given content of each section and the expanded length that the section claims.
fn forged(sections: [(&[u8; 4], &[u8], usize); 4]) -> Vec<u8> {
    let mut writer = container::Writer::new(VERSION);
    for (tag, stored, full) in sections {
        writer.frame(tag, stored, full);
    }
    writer.seal(None)
}

#[test]
fn wrong_lengths_allocate_no_memory() {
    let head = pack(&Header::default());
    let trace = small();
    let Execution { tasks, modules, objects, places, deadlines, .. } = &trace.execution;
    let tables = pack(&TablesRef {
        tasks,
        modules,
        objects,
        places,
        deadlines,
        async_tasks: &[],
        async_changes: &[],
        failure: &None,
    });
    let steps = steps::write(&trace.execution);
    let zeros = lz4_flex::block::compress(&vec![0; 300 << 20]);
    let mut endless = Vec::new();
    columns::write_number(&mut endless, MAX_STEPS as u64);
    columns::write_number(&mut endless, 1);
    endless.extend([Operation::Yield.code(), 0, 0, 0, 1]);
    let mut countless = Vec::new();
    columns::write_number(&mut countless, u64::MAX);
    let array = [0xdd, 0xff, 0xff, 0xff, 0xff];
    let nested = vec![0x91; 100_000];

    let file = |tables: (&[u8], usize), steps: (&[u8], usize)| {
        forged([
            (container::HEAD, &head, head.len()),
            (container::TABLES, tables.0, tables.1),
            (container::STEPS, steps.0, steps.1),
            (container::OUTPUT, &[], 0),
        ])
    };
    let plain = |bytes: &'static str| (bytes.as_bytes(), bytes.len());
    let (good, fine) = ((&tables[..], tables.len()), (&steps[..], steps.len()));
    assert!(decode(&file(good, fine)).is_ok());
    let cases = [
        ("expanding beyond the limit", file(good, (&zeros, 300 << 20))),
        ("more than the bytes can give", file(good, (&steps, 200 << 20))),
        ("as long as can be", file(good, (&steps, usize::MAX))),
        ("less than there is", file(good, (&zeros, 100))),
        ("more than there is", file(good, (&zeros[..1000], 1001))),
        ("no compressed data", file(good, (&steps, steps.len() + 1))),
        ("more steps than columns", file(good, (&endless, endless.len()))),
        ("too many steps", file(good, (&countless, countless.len()))),
        ("an array with no end", file((&array, array.len()), fine)),
        ("arrays in arrays", file((&nested, nested.len()), fine)),
        ("text for tables", file(plain("tables"), fine)),
        ("no tables", file(plain(""), fine)),
        ("no steps", file(good, plain(""))),
        ("bytes left over", file((&[&tables[..], &[0]].concat(), tables.len() + 1), fine)),
        ("sections exchanged", {
            forged([
                (container::TABLES, &tables, tables.len()),
                (container::HEAD, &head, head.len()),
                (container::STEPS, &steps, steps.len()),
                (container::OUTPUT, &[], 0),
            ])
        }),
    ];
    let mut said = Vec::new();
    for (what, bytes) in cases {
        match decode(&bytes) {
            Err(error @ (FileError::Malformed(_) | FileError::TooLarge(_))) => {
                said.push(format!("{what}: {error}"));
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    for part in [
        "no compressed data: the trace is inconsistent (section STEP does not expand)",
        "(the tables: ",
    ] {
        assert!(said.iter().any(|message| message.contains(part)), "{part}: {said:#?}");
    }
}
