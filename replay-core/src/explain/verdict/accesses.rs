//! The interleaving of accesses that most likely made an execution fail, from the recording alone:
//! operations of one task between two operations of another that a serial execution would keep
//! together, or the value that the failing task read last.
//!
//! The unserialisable interleavings of three accesses are those of Lu et al., "AVIO: Detecting
//! Atomicity Violations via Access Interleaving Invariants", 2006. A candidate counts more if a
//! preemption makes it possible and if the failing task read the object last.

use super::pattern::{Moment, Pattern};
use std::collections::HashMap;
use traces::{Execution, Failure, Object, ObjectKind, Operation, TaskId, Trace};

/// How many of the failing task's last reads are examined.
const READS: usize = 6;

/// The pattern of accesses; none if the execution has no accesses to shared objects.
pub(super) fn pattern(trace: &Trace, failure: &Failure) -> Option<Pattern> {
    let accesses = Accesses::of(&trace.execution, failure);
    let three = accesses.three().into_iter().chain(accesses.two_objects(&trace.execution));
    let two = accesses.early_read().into_iter().chain(accesses.last_write());
    let best = three.chain(two).max_by_key(|candidate| (candidate.score, candidate.steps));
    let moment = |at: usize| Moment::of(trace, at);
    let Candidate { shape, .. } = best?;
    Some(match shape {
        Shape::Between { outer: (first, last), inner: (one, other) } => Pattern::Between {
            inner: (moment(one), moment(other)),
            outer: (moment(first), last.map_or_else(|| accesses.missing(trace, first), moment)),
        },
        Shape::Early { read, write } => Pattern::Orders(vec![(moment(read), moment(write))]),
        Shape::Last { read, write } => {
            Pattern::LastWrite { read: moment(read), write: moment(write) }
        }
    })
}

/// The steps of a pattern.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Steps of one task between two of another; the last of these may not have been executed.
    Between { outer: (usize, Option<usize>), inner: (usize, usize) },
    /// The failing task read an object before another task wrote it for the first time.
    Early { read: usize, write: usize },
    /// The failing task read what another task wrote last.
    Last { read: usize, write: usize },
}

/// A pattern that the execution has.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: u32,
    /// Among equal scores, the latest pattern counts, and of these the closest one.
    steps: (usize, usize),
    shape: Shape,
}

/// An access to a shared object.
#[derive(Debug, Clone, Copy)]
struct Access {
    step: usize,
    task: TaskId,
    object: u32,
    reads: bool,
    writes: bool,
    /// The acquisition of a lock stands for the critical section that it begins.
    section: bool,
}

struct Accesses {
    all: Vec<Access>,
    preemptions: Vec<usize>,
    steps: Vec<TaskId>,
    /// The last memory reads of the failing task, the latest first: step and object.
    reads: Vec<(usize, u32)>,
}

impl Accesses {
    fn of(execution: &Execution, failure: &Failure) -> Accesses {
        let all: Vec<Access> =
            (0..execution.steps.len()).filter_map(|at| access(execution, at)).collect();
        let failing = failure.task.or_else(|| execution.steps.last().map(|step| step.task));
        let own = all.iter().rev().filter(|one| Some(one.task) == failing && one.reads);
        let memory = own.clone().any(|one| !one.section);
        // Only the last read of each object decides. Without memory accesses, critical sections
        // stand for what they read.
        let mut reads: Vec<(usize, u32)> = Vec::new();
        for read in own.filter(|one| one.section != memory).take(READS * 4) {
            if !reads.iter().any(|&(_, object)| object == read.object) {
                reads.push((read.step, read.object));
            }
        }
        reads.truncate(READS);
        let steps = execution.steps.iter().map(|step| step.task).collect();
        Accesses { all, preemptions: execution.preemptions(), steps, reads }
    }

    /// Whether `task` was preempted after step `from` and before step `to`.
    fn preempted(&self, task: TaskId, from: usize, to: usize) -> bool {
        let first = self.preemptions.partition_point(|&at| at <= from);
        let mut inside = self.preemptions[first..].iter().take_while(|&&at| at <= to);
        inside.any(|&at| self.steps[at - 1] == task)
    }

    /// How much an object has to do with the failure.
    fn relevance(&self, object: u32) -> u32 {
        match self.reads.iter().position(|read| read.1 == object) {
            Some(0) => 8,
            Some(1) => 5,
            Some(_) => 3,
            None => 0,
        }
    }

    /// Unserialisable interleavings of three accesses to one object.
    fn three(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut objects: HashMap<u32, Seen> = HashMap::new();
        for access in &self.all {
            let seen = objects.entry(access.object).or_default();
            if let Some(&first) = seen.last.get(&access.task)
                && let Some((inner, weight)) = seen.between(&first, access)
            {
                let moved = self.preempted(access.task, first.step, inner);
                let score = weight + 4 * u32::from(moved) + self.relevance(access.object);
                found.push(Candidate {
                    score,
                    steps: (access.step, usize::MAX - (access.step - first.step)),
                    shape: Shape::Between {
                        outer: (first.step, Some(access.step)),
                        inner: (inner, inner),
                    },
                });
            }
            seen.take(access);
        }
        found
    }

    /// The failing task read two objects between another task's writes to them. The second write
    /// may be the pending operation of that task.
    fn two_objects(&self, execution: &Execution) -> Vec<Candidate> {
        let mut found = Vec::new();
        for &(late, second) in &self.reads {
            for &(early, first) in self.reads.iter().filter(|read| read.0 < late) {
                let reader = self.steps[late];
                let at = self.all.partition_point(|one| one.step < early);
                let before = self.all[..at]
                    .iter()
                    .rev()
                    .find(|one| one.object == first && one.writes && one.task != reader);
                let Some(before) = before else { continue };
                let own =
                    |one: &&Access| one.object == second && one.writes && one.task == before.task;
                let after = self.all[at..].iter().filter(own).find(|one| one.step > late);
                let record = execution.tasks.get(before.task.index());
                let pending = record.and_then(|record| record.pending).is_some_and(|next| {
                    let writes = next.operation == Operation::Write
                        || next.operation == Operation::Update
                        || next.operation.acquires_lock();
                    next.object == Some(second) && writes
                });
                let written = self.all[..at].iter().filter(own).any(|one| one.step > before.step);
                if written || (after.is_none() && !pending) {
                    continue;
                }
                let moved = self.preempted(before.task, before.step, early);
                let end = after.map_or(self.steps.len(), |after| after.step);
                found.push(Candidate {
                    score: 2 + 4 * u32::from(moved) + self.relevance(second),
                    steps: (late, usize::MAX - (end - before.step)),
                    shape: Shape::Between {
                        outer: (before.step, after.map(|after| after.step)),
                        inner: (early, late),
                    },
                });
            }
        }
        found
    }

    /// A read of the failing task before the first write of another task.
    fn early_read(&self) -> Option<Candidate> {
        let early = |&(read, object): &(usize, u32)| {
            let mut others = self.all.iter().filter(|one| {
                one.object == object && one.writes && !one.section && one.task != self.steps[read]
            });
            let write = others.next()?.step;
            let score = 3 + self.relevance(object);
            let steps = (read, usize::MAX - write);
            let shape = Shape::Early { read, write };
            (write > read).then_some(Candidate { score, steps, shape })
        };
        self.reads.iter().find_map(early)
    }

    /// The last read of the failing task, and what it read.
    fn last_write(&self) -> Option<Candidate> {
        self.reads.iter().find_map(|&(read, object)| {
            let at = self.all.partition_point(|one| one.step < read);
            let mut writes = self.all[..at].iter().rev().filter(|one| one.writes && !one.section);
            let write = writes.find(|one| one.object == object)?;
            let other = write.task != self.steps[read];
            let shape = Shape::Last { read, write: write.step };
            let steps = (read, usize::MAX - write.step);
            other.then_some(Candidate { score: self.relevance(object) / 2, steps, shape })
        })
    }

    /// The end of a stretch that was not executed: the pending operation of its task.
    fn missing(&self, trace: &Trace, first: usize) -> Moment {
        let task = self.steps[first];
        let record = trace.execution.tasks.get(task.index());
        let begun = Moment::of(trace, first);
        match record.and_then(|record| record.pending) {
            Some(next) => Moment {
                operation: next.operation,
                object: next.object,
                site: next.site,
                step: None,
                ..begun
            },
            None => begun,
        }
    }
}

/// The last accesses to an object.
#[derive(Default)]
struct Seen {
    last: HashMap<TaskId, Access>,
    /// The last writes, and the last reads, each of two different tasks.
    writes: [Option<Access>; 2],
    reads: [Option<Access>; 2],
}

impl Seen {
    /// The access of another task that does not fit between two of one task, with its weight.
    fn between(&self, first: &Access, last: &Access) -> Option<(usize, u32)> {
        let foreign = |of: &[Option<Access>; 2]| {
            let mut of = of.iter().flatten();
            of.find(|one| one.task != last.task && one.step > first.step).map(|one| one.step)
        };
        if first.section || last.section {
            let both = first.section && last.section;
            return foreign(&self.writes).filter(|_| both).map(|at| (at, 1));
        }
        // A lost update says most; an atomic update is no pair of a read and a write.
        let atomic = |one: &Access| one.reads && one.writes;
        let weight = match (first.reads && !first.writes, last.writes && !last.reads) {
            (true, true) => 4,
            _ if atomic(first) && atomic(last) => 1,
            _ => 3,
        };
        if (first.reads || last.reads)
            && let Some(at) = foreign(&self.writes)
        {
            return Some((at, weight));
        }
        let both = first.writes && last.writes;
        foreign(&self.reads).filter(|_| both).map(|at| (at, 2))
    }

    fn take(&mut self, access: &Access) {
        self.last.insert(access.task, *access);
        let enter = |list: &mut [Option<Access>; 2]| {
            if list[0].is_none_or(|one| one.task != access.task) {
                list[1] = list[0];
            }
            list[0] = Some(*access);
        };
        if access.writes {
            enter(&mut self.writes);
        }
        if access.reads {
            enter(&mut self.reads);
        }
    }
}

/// The access of a step, if it is one to an object that may be shared.
fn access(execution: &Execution, at: usize) -> Option<Access> {
    let step = &execution.steps[at];
    let object = step.object?;
    let known = execution.objects.get(object as usize)?;
    let (reads, writes) = match step.operation {
        Operation::Read | Operation::Await => (true, false),
        Operation::Write => (false, true),
        Operation::Update => (true, true),
        operation if operation.acquires_lock() && step.value == 0 => (true, true),
        _ => return None,
    };
    let section = known.kind != ObjectKind::Memory;
    (!is_of_library(known)).then_some(Access {
        step: at,
        task: step.task,
        object,
        reads,
        writes,
        section,
    })
}

/// Variables of Rust's standard library, such as its thread counters, say nothing about a program.
fn is_of_library(object: &Object) -> bool {
    object.kind == ObjectKind::Memory && object.name.starts_with("std::")
}
