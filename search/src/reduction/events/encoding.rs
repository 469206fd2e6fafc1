//! A compact encoding of events. A stored search, or one that is passed to another process,
//! contains tens of thousands of events, which dominate its size and the time to read and write it.

use super::access::Access;
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// Task, index, site, operation, the other task, the flags, the accesses.
#[derive(Serialize, Deserialize)]
pub(super) struct Encoded(
    pub(super) u16,
    pub(super) u32,
    pub(super) u64,
    pub(super) u8,
    pub(super) Option<TaskId>,
    pub(super) u8,
    pub(super) Vec<(u64, u8)>,
);

pub(super) const EXITS: u8 = 1;
pub(super) const CONDITIONAL: u8 = 2;
pub(super) const WAITS: u8 = 4;
pub(super) const USES_UP: u8 = 8;

pub(super) const ACCESSES: [Access; 13] = [
    Access::Read,
    Access::Write,
    Access::Lock,
    Access::Unlock,
    Access::Take,
    Access::Post(false),
    Access::Post(true),
    Access::Share,
    Access::Unshare,
    Access::Add,
    Access::Raise,
    Access::Lower(false),
    Access::Lower(true),
];

pub(super) fn code(access: Access) -> u8 {
    ACCESSES.iter().position(|&known| known == access).map_or(u8::MAX, |at| at as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PendingOperation;
    use crate::reduction::events::Event;
    use crate::reduction::pending::Counting;
    use traces::Operation;
    use traces::compact::Unreadable;

    #[test]
    fn events_survive_encoding_and_decoding() {
        for &operation in Operation::ALL {
            for (writes, value, further) in
                [(false, 0, 0), (true, 0, 1), (true, 1, 9), (true, 3, 0)]
            {
                let next = PendingOperation {
                    writes,
                    value,
                    mutex: 7,
                    counting: if writes { Counting::Lowers } else { Counting::None },
                    further_objects: (8..8 + further).collect(),
                    cancellable: true,
                    ..PendingOperation::new(TaskId(3), operation, 5, 6)
                };
                let mut event = Event::new(&next, 4);
                event.exits |= writes;
                let read =
                    Event::try_from(Encoded::from(event.clone())).expect("the encoding is valid");
                assert_eq!(read, event);
            }
        }
        let bad = |operation, accesses| Encoded(0, 0, 0, operation, None, 0, accesses);
        assert_eq!(Event::try_from(bad(255, Vec::new())), Err(Unreadable));
        assert_eq!(Event::try_from(bad(0, vec![(1, 99)])), Err(Unreadable));
    }
}
