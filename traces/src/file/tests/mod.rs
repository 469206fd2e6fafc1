//! Round trips, damaged files, and the size of repetitive traces.

mod arbitrary;
mod crafted;

use super::*;
use crate::execution::DataChoice;
use crate::memory_change::{MemoryChange, MemoryLocation};
use crate::{EnabledChange, ObjectKind, ObjectLocation, Operation, Step, TaskId};
use arbitrary::trace;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

const KEY: Key = [7; 32];
const OTHER: Key = [8; 32];

/// The file with a correct checksum for its current bytes, as an attacker would send it.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 64;
    let checksum = blake3::hash(&bytes[..body]);
    bytes[body..body + 32].copy_from_slice(checksum.as_bytes());
    bytes
}

proptest! {
    #[test]
    fn a_trace_comes_back(trace in trace(), key in option::of(Just(KEY))) {
        let bytes = encode(&trace, key.as_ref());
        let decoded = decode(&bytes).unwrap();
        prop_assert_eq!(&decoded.trace, &trace);
        prop_assert_eq!(decoded.written_with(&KEY), key.is_some());
        prop_assert!(!decoded.written_with(&OTHER));
        prop_assert_eq!(encode(&trace, key.as_ref()), bytes, "the same trace, the same bytes");
    }

    #[test]
    fn a_flipped_byte_is_noticed(trace in trace(), at in any::<Index>(), flip in 1..=255u8) {
        let mut bytes = encode(&trace, Some(&KEY));
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        match decode(&bytes) {
            // Only the mark is outside the checksum, and it does not affect the trace.
            Ok(decoded) => {
                prop_assert!(at >= bytes.len() - 32);
                prop_assert_eq!(&decoded.trace, &trace);
                prop_assert!(!decoded.written_with(&KEY));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_forged_file_is_refused_or_sensible(
        trace in trace(),
        flips in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = encode(&trace, Some(&KEY));
        for (at, to) in flips {
            let at = at.index(bytes.len() - 64);
            bytes[at] = to;
        }
        if let Ok(decoded) = decode(&resealed(bytes)) {
            prop_assert!(check(&decoded.trace).is_ok());
            prop_assert!(!decoded.written_with(&KEY) || decoded.trace == trace);
        }
    }

    #[test]
    fn forged_steps_are_refused_or_sensible(
        trace in trace(),
        flips in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = steps::write(&trace.execution);
        for (at, to) in flips {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Ok(recorded) = steps::read(&bytes) {
            prop_assert!(recorded.steps.len() <= bytes.len() * 8);
        }
    }

    #[test]
    fn anything_else_is_no_trace(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(&bytes).is_err());
        let mut with_start = container::MAGIC.to_vec();
        with_start.extend(VERSION.to_le_bytes());
        with_start.extend(bytes);
        prop_assert!(decode(&with_start).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_missing_end_is_noticed_wherever_it_begins(trace in trace()) {
        let bytes = encode(&trace, Some(&KEY));
        for len in 0..bytes.len() {
            let error = decode(&bytes[..len]).unwrap_err();
            let expected = if len == 0 { FileError::Empty } else { container::CUT };
            prop_assert_eq!(error, expected, "at {}", len);
        }
    }
}

/// The smallest trace in which every table has an entry.
fn small() -> Trace {
    let site = Site { module: 0, offset: 16 };
    let step =
        Step { task: TaskId(0), operation: Operation::Yield, object: Some(0), site, value: 1 };
    Trace {
        execution: Execution {
            tasks: vec![TaskRecord::default()],
            modules: vec![Module { path: "/p".into(), build_id: String::new() }],
            objects: vec![Object {
                kind: ObjectKind::Mutex,
                place: ObjectLocation::Static(site),
                name: "m".into(),
            }],
            steps: vec![step; 3],
            data: vec![DataChoice { step: 1, taken: 0, of: 2 }],
            enabled: vec![EnabledChange { step: 0, task: TaskId(0), enabled: true }],
            ..Default::default()
        },
        ..Default::default()
    }
}

#[test]
fn a_loop_takes_few_bytes() {
    let mut trace = small();
    let step = trace.execution.steps[0];
    trace.execution.steps = (0..1_000_000)
        .map(|at| {
            let site = Site { module: 0, offset: at % 6 * 4 };
            Step { site, value: u64::from(at % 3 == 0), ..step }
        })
        .collect();
    let bytes = encode(&trace, None);
    assert!(bytes.len() < 20_000, "{} bytes", bytes.len());
    assert_eq!(decode(&bytes).unwrap().trace, trace);
}

#[test]
fn only_traces_with_changed_memory_have_the_current_version() {
    let version = |trace: &Trace| encode(trace, None)[container::MAGIC.len()];
    let mut trace = small();
    assert_eq!(version(&trace), 1);
    let change =
        MemoryChange { step: 2, at: MemoryLocation::Heap(8), bytes: vec![1], name: String::new() };
    trace.header.options.changes = vec![change.clone()];
    let bytes = encode(&trace, None);
    assert_eq!(u32::from(version(&trace)), VERSION);
    assert_eq!(decode(&bytes).unwrap().trace, trace);
    trace.header.options.changes = vec![MemoryChange { step: 0, ..change }];
    assert!(matches!(decode(&encode(&trace, None)), Err(FileError::Malformed(_))));
}
