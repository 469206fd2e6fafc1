//! Delayed stores: whether a processor with store buffers (x86-TSO) could continue an execution in
//! a way that is not sequentially consistent.
//!
//! Heddle runs sequentially consistent executions. Burckhardt and Musuvathi ("Effective program
//! verification for relaxed memory models", 2008) showed that these suffice: a program has an
//! execution with delayed stores that is not sequentially consistent if and only if one of its
//! sequentially consistent executions has a *borderline*, a load that could have read an older
//! value. That is the case if a store comes before the load in the order of the sequentially
//! consistent execution, but not in the relaxed order, in which a store need not come before later
//! loads of the same task. Both orders are kept as vector clocks.
//!
//! One difference from the paper: a clock has two entries for each task, for stores and for all
//! other events, since a later load of a task may happen before an event that the task's earlier
//! stores do not happen before.

use std::collections::BTreeMap;

/// The effect of an event on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryEffect {
    /// A plain or atomic load, which the processor treats alike.
    Load,
    /// A store that may be delayed.
    Store,
    /// Reads and writes atomically, or writes after all earlier stores are visible: a locked
    /// instruction, and the functions of the thread library.
    Update,
    /// Waits until all earlier stores are visible.
    Fence,
}

/// One event of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The task.
    pub task: usize,
    /// The effect.
    pub act: MemoryEffect,
    /// The memory; meaningless for a fence.
    pub object: u64,
}

/// A continuation that is not sequentially consistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Borderline {
    /// The store that is delayed, as an index into the events.
    pub store: usize,
    /// The load that reads an older value meanwhile.
    pub load: usize,
    /// The store whose value the load misses.
    pub missed: usize,
}

/// By task: the number of its stores, and of its other events, that happened before.
type Clock = Vec<[usize; 2]>;

fn join(into: &mut Clock, from: &Clock) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        *mine = [mine[0].max(theirs[0]), mine[1].max(theirs[1])];
    }
}

/// The clocks of an object in one order.
struct ObjectClocks {
    /// The events that happen before a read of the last written value.
    written: Clock,
    /// The events that happen before the next write.
    used: Clock,
    /// The task of the last delayed store: only that task can read its value.
    delayed: Option<usize>,
}

/// One of the two orders, up to an event.
struct Order {
    /// By task: the events that happen before its next load, and before its next event of another
    /// kind.
    tasks: Vec<[Clock; 2]>,
    objects: BTreeMap<u64, ObjectClocks>,
    /// Whether a store need not come before its task's later loads.
    relaxed: bool,
}

impl Order {
    fn new(tasks: usize, relaxed: bool) -> Order {
        let none = vec![[0; 2]; tasks];
        let tasks = vec![[none.clone(), none]; tasks];
        Order { tasks, objects: BTreeMap::new(), relaxed }
    }

    /// The events that happen before this one because of earlier events of the same task.
    fn before(&self, event: &Event) -> &Clock {
        &self.tasks[event.task][usize::from(event.act != MemoryEffect::Load)]
    }

    /// Executes the event, which is its task's `own`-th store or other event.
    fn happens(&mut self, event: &Event, own: usize) {
        let mut clock = self.before(event).clone();
        let memory = self.objects.get(&event.object).filter(|_| event.act != MemoryEffect::Fence);
        match memory {
            Some(memory) if event.act != MemoryEffect::Load => join(&mut clock, &memory.used),
            Some(memory) if memory.delayed != Some(event.task) => join(&mut clock, &memory.written),
            _ => {}
        }
        clock[event.task][usize::from(event.act != MemoryEffect::Store)] = own;
        let [for_loads, for_others] = &mut self.tasks[event.task];
        join(for_others, &clock);
        match event.act {
            MemoryEffect::Store if self.relaxed => {}
            // All delayed stores are visible now.
            MemoryEffect::Update | MemoryEffect::Fence => *for_loads = for_others.clone(),
            MemoryEffect::Store | MemoryEffect::Load => join(for_loads, &clock),
        }
        if event.act == MemoryEffect::Fence {
            return;
        }
        let none = vec![[0; 2]; clock.len()];
        let memory = self.objects.entry(event.object).or_insert_with(|| ObjectClocks {
            written: none.clone(),
            used: none,
            delayed: None,
        });
        join(&mut memory.used, &clock);
        if event.act != MemoryEffect::Load {
            memory.written = clock;
            let delayed = self.relaxed && event.act == MemoryEffect::Store;
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
    // For each event its number among its task's stores, or among its task's other events.
    let mut numbers = Vec::with_capacity(events.len());
    let mut writes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let count = &mut counts[event.task][usize::from(event.act != MemoryEffect::Store)];
        *count += 1;
        numbers.push(*count);
        if event.act == MemoryEffect::Load {
            let (before, left) = (strict.before(event), relaxed.before(event));
            let within = |clock: &Clock, at: usize| {
                let other: &Event = &events[at];
                clock[other.task][usize::from(other.act != MemoryEffect::Store)] >= numbers[at]
            };
            let written = writes.get(&event.object).map_or(&[][..], |writes| writes);
            // The load reads its own task's store, or a later one.
            let others = written.iter().rev().take_while(|&&at| events[at].task != event.task);
            let missed =
                others.copied().filter(|&at| within(before, at) && !within(left, at)).last();
            if let Some(missed) = missed {
                let delayed = |&at: &usize| {
                    events[at].act == MemoryEffect::Store && within(before, at) && !within(left, at)
                };
                let stores = || (0..at).rev().filter(delayed);
                let own = stores().find(|&at| events[at].task == event.task);
                if let Some(store) = own.or_else(|| stores().next()) {
                    found.push(Borderline { store, load: at, missed });
                }
            }
        }
        if matches!(event.act, MemoryEffect::Store | MemoryEffect::Update) {
            writes.entry(event.object).or_default().push(at);
        }
        strict.happens(event, numbers[at]);
        relaxed.happens(event, numbers[at]);
    }
    found
}

#[cfg(test)]
mod tests;
