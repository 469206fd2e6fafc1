//! Delayed stores: whether a processor with store buffers (x86-TSO) could go on from an execution in a
//! way that no sequentially consistent execution equals.
//!
//! What is run is sequentially consistent. Burckhardt and Musuvathi ("Effective program verification for
//! relaxed memory models", 2008) showed that this is enough: a program has an execution with delayed
//! stores that is not sequentially consistent just if one of its consistent ones has a *borderline*, a
//! load that could have read something older. For that a store that the load comes after, by the order
//! that programs and conflicts make, must not come before it by what is left of that order when a store
//! need no longer come before its task's later loads. Both orders are kept as vector clocks.
//!
//! Departs from the paper in one thing: of each task a clock has two entries, for stores and for all
//! else, since a load may be known to another task while its own earlier stores are not.

use std::collections::BTreeMap;

/// What an event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A plain load, or an atomic one: alike to the processor.
    Load,
    /// A store that may be delayed.
    Store,
    /// Reads and writes at once, or writes with all earlier stores done: a locked instruction, and what
    /// the threads library does.
    Update,
    /// Waits until all earlier stores are done.
    Fence,
}

/// One event of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub task: usize,
    /// What.
    pub act: Act,
    /// Which memory; of no meaning for a fence.
    pub object: u64,
}

/// A way to go on that no sequentially consistent execution equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Borderline {
    /// The store that is delayed, as an index into the events.
    pub store: usize,
    /// The load that reads something older meanwhile.
    pub load: usize,
    /// The store whose value it misses.
    pub missed: usize,
}

/// How many stores, and how many other events, of each task are known.
type Clock = Vec<[usize; 2]>;

fn join(into: &mut Clock, from: &Clock) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = [mine[0].max(theirs[0]), mine[1].max(theirs[1])];
    }
}

/// What an order knows of an object.
struct Memory {
    /// What comes before whoever reads what was written last.
    written: Clock,
    /// What comes before whoever writes next.
    used: Clock,
    /// Whose delayed store was last: that task reads it while nobody else can.
    delayed: Option<usize>,
}

/// One of the two orders, as far as it is known at some event.
struct Order {
    /// What comes before a task's next load, and before its next event of another sort.
    tasks: Vec<[Clock; 2]>,
    objects: BTreeMap<u64, Memory>,
    /// Whether a store need not come before its task's later loads.
    relaxed: bool,
}

impl Order {
    fn new(tasks: usize, relaxed: bool) -> Order {
        let none = vec![[0; 2]; tasks];
        let tasks = vec![[none.clone(), none]; tasks];
        Order { tasks, objects: BTreeMap::new(), relaxed }
    }

    /// What comes before the event by its own task's earlier ones.
    fn before(&self, event: &Event) -> &Clock {
        &self.tasks[event.task][usize::from(event.act != Act::Load)]
    }

    /// The event happens; it is its task's `own`-th store or other event.
    fn happens(&mut self, event: &Event, own: usize) {
        let mut clock = self.before(event).clone();
        let memory = self.objects.get(&event.object).filter(|_| event.act != Act::Fence);
        match memory {
            Some(memory) if event.act != Act::Load => join(&mut clock, &memory.used),
            Some(memory) if memory.delayed != Some(event.task) => join(&mut clock, &memory.written),
            _ => {}
        }
        clock[event.task][usize::from(event.act != Act::Store)] = own;
        let [for_loads, for_others] = &mut self.tasks[event.task];
        join(for_others, &clock);
        match event.act {
            Act::Store if self.relaxed => {}
            // All that was delayed is done.
            Act::Update | Act::Fence => *for_loads = for_others.clone(),
            Act::Store | Act::Load => join(for_loads, &clock),
        }
        if event.act == Act::Fence {
            return;
        }
        let none = vec![[0; 2]; clock.len()];
        let memory = self.objects.entry(event.object).or_insert_with(|| Memory {
            written: none.clone(),
            used: none,
            delayed: None,
        });
        join(&mut memory.used, &clock);
        if event.act != Act::Load {
            memory.written = clock;
            let delayed = self.relaxed && event.act == Act::Store;
            memory.delayed = delayed.then_some(event.task);
        }
    }
}

/// The borderlines of an execution, each pair of a delayed store and a load once.
#[must_use]
pub fn borderlines(events: &[Event]) -> Vec<Borderline> {
    let tasks = events.iter().map(|event| event.task + 1).max().unwrap_or(0);
    let (mut strict, mut relaxed) = (Order::new(tasks, false), Order::new(tasks, true));
    let mut counts = vec![[0usize; 2]; tasks];
    // For each event which of its task's stores, or other events, it is.
    let mut numbers = Vec::with_capacity(events.len());
    let mut writes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let count = &mut counts[event.task][usize::from(event.act != Act::Store)];
        *count += 1;
        numbers.push(*count);
        if event.act == Act::Load {
            let (before, left) = (strict.before(event), relaxed.before(event));
            let within = |clock: &Clock, at: usize| {
                let other: &Event = &events[at];
                clock[other.task][usize::from(other.act != Act::Store)] >= numbers[at]
            };
            let written = writes.get(&event.object).map_or(&[][..], |writes| writes);
            // What it wrote itself it reads, or what came later.
            let others = written.iter().rev().take_while(|&&at| events[at].task != event.task);
            let missed =
                others.copied().filter(|&at| within(before, at) && !within(left, at)).last();
            if let Some(missed) = missed {
                let delayed = |&at: &usize| {
                    events[at].act == Act::Store && within(before, at) && !within(left, at)
                };
                let stores = || (0..at).rev().filter(delayed);
                let own = stores().find(|&at| events[at].task == event.task);
                if let Some(store) = own.or_else(|| stores().next()) {
                    found.push(Borderline { store, load: at, missed });
                }
            }
        }
        if matches!(event.act, Act::Store | Act::Update) {
            writes.entry(event.object).or_default().push(at);
        }
        strict.happens(event, numbers[at]);
        relaxed.happens(event, numbers[at]);
    }
    found
}

#[cfg(test)]
mod tests;
