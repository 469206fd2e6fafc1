//! The encoding of a search. Its path and trees contain a few hundred distinct operations, each of
//! them thousands of times, so each operation is written once and then referred to by its number.

use super::node::PathNode;
use crate::reduction::events::{Event, Map};
use crate::reduction::wakeup::{Node, from_list, listed};
use serde::{Deserialize, Serialize};
use traces::TaskId;
use traces::compact::Unreadable;

/// A tree as [`listed`].
type Tree = Vec<(u32, u32)>;

/// A node: the event, the enabled tasks, those that are not due, the disabled task that yielded too often, the sleep set
/// here and elsewhere, the tree, the tree below, data choices, the digest.
#[derive(Serialize, Deserialize)]
pub(super) struct EncodedNode(
    u32,
    Vec<TaskId>,
    Vec<TaskId>,
    Option<TaskId>,
    Vec<u32>,
    Vec<u32>,
    Tree,
    Tree,
    Vec<(u32, u32)>,
    u32,
);

/// See [`Dpor`].
#[derive(Serialize, Deserialize)]
pub(super) struct Encoded<H, P> {
    pub(super) events: Vec<Event>,
    pub(super) path: Vec<EncodedNode>,
    pub(super) trunk: Vec<usize>,
    pub(super) known: usize,
    pub(super) outgoing: H,
    pub(super) progress: P,
    pub(super) fresh: usize,
    pub(super) redundant: bool,
    pub(super) rebuilt_at: Option<usize>,
}

/// The table of events, each of which it contains once.
#[derive(Default)]
pub(super) struct Table {
    pub(super) events: Vec<Event>,
    /// By task and index: the numbers of the events in the table.
    numbers: Map<u64, Vec<u32>>,
}

impl Table {
    fn number(&mut self, event: &Event) -> u32 {
        let key = u64::from(event.task.0) << 32 | u64::from(event.index);
        let same = self.numbers.entry(key).or_default();
        let known = same.iter().copied().find(|&number| self.events[number as usize] == *event);
        known.unwrap_or_else(|| {
            let number = self.events.len() as u32;
            same.push(number);
            self.events.push(event.clone());
            number
        })
    }

    fn numbers(&mut self, events: &[Event]) -> Vec<u32> {
        events.iter().map(|event| self.number(event)).collect()
    }

    fn tree(&mut self, nodes: &[Node]) -> Tree {
        let list = listed(nodes).into_iter();
        list.map(|(event, then)| (self.number(event), then)).collect()
    }

    /// The event and the data choices of a node.
    pub(super) fn event_of(&mut self, frame: &PathNode) -> EncodedNode {
        let PathNode { event, data, digest, .. } = frame;
        let bare = PathNode::new(event.clone(), Vec::new(), *digest);
        self.place(&PathNode { data: data.clone(), ..bare })
    }

    pub(super) fn place(&mut self, frame: &PathNode) -> EncodedNode {
        EncodedNode(
            self.number(&frame.event),
            frame.enabled.clone(),
            frame.not_due.clone(),
            frame.deferred,
            self.numbers(&frame.sleep),
            self.numbers(&frame.elsewhere),
            self.tree(&frame.tree),
            self.tree(&frame.below),
            frame.data.clone(),
            frame.digest,
        )
    }
}

fn one(events: &[Event], number: u32) -> Result<Event, Unreadable> {
    events.get(number as usize).cloned().ok_or(Unreadable)
}

fn all(events: &[Event], numbers: &[u32]) -> Result<Vec<Event>, Unreadable> {
    numbers.iter().map(|&number| one(events, number)).collect()
}

fn tree(events: &[Event], list: Tree) -> Result<Vec<Node>, Unreadable> {
    let list = list.into_iter().map(|(number, then)| Ok((one(events, number)?, then)));
    from_list(list.collect::<Result<_, Unreadable>>()?).ok_or(Unreadable)
}

pub(super) fn frame(events: &[Event], place: EncodedNode) -> Result<PathNode, Unreadable> {
    let EncodedNode(event, enabled, not_due, deferred, sleep, elsewhere, here, below, data, digest) =
        place;
    Ok(PathNode {
        not_due,
        deferred,
        sleep: all(events, &sleep)?,
        elsewhere: all(events, &elsewhere)?,
        tree: tree(events, here)?,
        below: tree(events, below)?,
        data,
        ..PathNode::new(one(events, event)?, enabled, digest)
    })
}
