//! How events are written down: a search that is handed from one process to another, or kept for later,
//! has tens of thousands of them, and most of what it takes is reading and writing those.

use super::{Access, Event};
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// Task, index, site, operation, the other task, what is true of it, accesses.
#[derive(Serialize, Deserialize)]
pub(super) struct Written(u16, u32, u64, u8, Option<TaskId>, u8, Vec<(u64, u8)>);

const EXITS: u8 = 1;
const CONDITIONAL: u8 = 2;

const ACCESSES: [Access; 9] = [
    Access::Read,
    Access::Write,
    Access::Lock,
    Access::Unlock,
    Access::Take,
    Access::Post(false),
    Access::Post(true),
    Access::Share,
    Access::Unshare,
];

fn code(access: Access) -> u8 {
    ACCESSES.iter().position(|&known| known == access).map_or(u8::MAX, |at| at as u8)
}

impl From<Event> for Written {
    fn from(event: Event) -> Written {
        let accesses = event.accesses().iter().map(|&(object, access)| (object, code(access)));
        let is_true = (u8::from(event.exits) * EXITS) | (u8::from(event.conditional) * CONDITIONAL);
        let Event { task, index, site, operation, other, .. } = event;
        Written(task.0, index, site, operation.code(), other, is_true, accesses.collect())
    }
}

impl TryFrom<Written> for Event {
    type Error = String;

    fn try_from(written: Written) -> Result<Event, String> {
        let Written(task, index, site, operation, other, is_true, accesses) = written;
        let mut event = Event {
            task: TaskId(task),
            index,
            site,
            operation: Operation::from_code(operation)
                .ok_or_else(|| format!("there is no operation {operation}"))?,
            other,
            exits: is_true & EXITS != 0,
            conditional: is_true & CONDITIONAL != 0,
            accesses: [(0, Access::Read); 4],
            len: 0,
        };
        if accesses.len() > event.accesses.len() {
            return Err(format!("an operation with {} accesses", accesses.len()));
        }
        for (object, access) in accesses {
            let known = ACCESSES.get(usize::from(access));
            event.touch(object, *known.ok_or_else(|| format!("there is no access {access}"))?);
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Next;

    #[test]
    fn what_is_read_is_what_was_written() {
        for &operation in Operation::ALL {
            for (writes, value) in [(false, 0), (true, 0), (true, 1)] {
                let next = Next {
                    writes,
                    value,
                    mutex: 7,
                    also: 8,
                    cancellable: true,
                    ..Next::new(TaskId(3), operation, 5, 6)
                };
                let mut event = Event::new(&next, 4);
                event.exits |= writes;
                let read = Event::try_from(Written::from(event)).expect("it is one");
                assert_eq!(read, event);
            }
        }
        let bad = |operation, accesses| Written(0, 0, 0, operation, None, 0, accesses);
        assert!(Event::try_from(bad(255, Vec::new())).is_err());
        assert!(Event::try_from(bad(0, vec![(1, 99)])).is_err());
        assert!(Event::try_from(bad(0, vec![(1, 0); 5])).is_err());
    }
}
