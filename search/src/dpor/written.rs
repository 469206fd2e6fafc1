//! How a search is written down. A few hundred operations stand on its path and in its trees, each of
//! them thousands of times: so each is written once, and by its number from there on.

use super::{Dpor, Frame, Handed};
use crate::astray::Renewals;
use crate::events::{Event, Map};
use crate::wakeup::{Node, from_list, listed};
use serde::{Deserialize, Serialize, Serializer};
use traces::TaskId;

/// A tree as [`listed`].
type Tree = Vec<(u32, u32)>;

/// A place: the event, who could move, who waits, who sleeps here and elsewhere, the tree, the tree
/// below, data choices, the digest.
#[derive(Serialize, Deserialize)]
struct Place(
    u32,
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
pub(super) struct Written<H> {
    events: Vec<Event>,
    path: Vec<Place>,
    trunk: Vec<usize>,
    known: usize,
    handed: H,
    depth: usize,
    fresh: usize,
    asked: usize,
    redundant: bool,
    started: bool,
    exhausted: bool,
    holes: bool,
    renewals: Renewals,
    renewed: Option<usize>,
}

/// The events, each once.
#[derive(Default)]
struct Table {
    events: Vec<Event>,
    /// By task and index: the numbers of those that there are.
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
            self.events.push(*event);
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

    fn place(&mut self, frame: &Frame) -> Place {
        Place(
            self.number(&frame.event),
            frame.enabled.clone(),
            frame.patient,
            self.numbers(&frame.sleep),
            self.numbers(&frame.elsewhere),
            self.tree(&frame.tree),
            self.tree(&frame.below),
            frame.data.clone(),
            frame.digest,
        )
    }
}

impl Serialize for Dpor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut table = Table::default();
        let path = self.path.iter().map(|frame| table.place(frame)).collect();
        let written = Written {
            path,
            events: table.events,
            trunk: self.trunk.clone(),
            known: self.known,
            handed: &self.handed,
            depth: self.depth,
            fresh: self.fresh,
            asked: self.asked,
            redundant: self.redundant,
            started: self.started,
            exhausted: self.exhausted,
            holes: self.holes,
            renewals: self.renewals,
            renewed: self.renewed,
        };
        written.serialize(to)
    }
}

fn one(events: &[Event], number: u32) -> Result<Event, String> {
    let found = events.get(number as usize).copied();
    found.ok_or_else(|| format!("there is no operation {number}"))
}

fn all(events: &[Event], numbers: &[u32]) -> Result<Vec<Event>, String> {
    numbers.iter().map(|&number| one(events, number)).collect()
}

fn tree(events: &[Event], list: Tree) -> Result<Vec<Node>, String> {
    let list = list.into_iter().map(|(number, then)| Ok((one(events, number)?, then)));
    from_list(list.collect::<Result<_, String>>()?).ok_or_else(|| "a tree lacks branches".into())
}

fn frame(events: &[Event], place: Place) -> Result<Frame, String> {
    let Place(event, enabled, patient, sleep, elsewhere, here, below, data, digest) = place;
    Ok(Frame {
        patient,
        sleep: all(events, &sleep)?,
        elsewhere: all(events, &elsewhere)?,
        tree: tree(events, here)?,
        below: tree(events, below)?,
        data,
        ..Frame::new(one(events, event)?, enabled, digest)
    })
}

impl TryFrom<Written<Handed>> for Dpor {
    type Error = String;

    fn try_from(written: Written<Handed>) -> Result<Dpor, String> {
        let events = written.events;
        let path = written.path.into_iter().map(|place| frame(&events, place));
        Ok(Dpor {
            path: path.collect::<Result<_, String>>()?,
            trunk: written.trunk,
            known: written.known,
            handed: written.handed,
            depth: written.depth,
            fresh: written.fresh,
            asked: written.asked,
            yields: Default::default(),
            redundant: written.redundant,
            started: written.started,
            exhausted: written.exhausted,
            holes: written.holes,
            renewals: written.renewals,
            renewed: written.renewed,
            ..Dpor::default()
        })
    }
}
