//! Executions that several tests use.

use traces::{Execution, Object, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId};

/// An execution in which these tasks, in this order, lock and unlock one mutex.
pub(super) fn critical_sections(order: &[u16]) -> Execution {
    let step = |task: u16, operation, offset| Step {
        task: TaskId(task),
        operation,
        object: Some(0),
        site: Site { module: 0, offset },
        value: 0,
    };
    Execution {
        objects: vec![Object {
            kind: ObjectKind::Mutex,
            place: ObjectLocation::Other(0),
            name: "m".into(),
        }],
        steps: order
            .iter()
            .flat_map(|&t| [step(t, Operation::Lock, 1), step(t, Operation::Unlock, 2)])
            .collect(),
        ..Default::default()
    }
}
