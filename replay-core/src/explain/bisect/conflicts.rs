//! Which pairs of steps change places when a stretch of one task moves, and whether locks, creations and
//! joins allow it. The time does not depend on the length of the stretch: a long execution has
//! thousands of stretches to compare. Pure.

use std::collections::HashMap;
use std::ops::Range;
use traces::{Execution, Operation, Step, TaskId};

/// The steps of a task within a range move before all others there, or after them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// The first step of the range.
    pub(super) from: usize,
    /// The step after its last.
    pub(super) to: usize,
    /// The task.
    pub(super) task: TaskId,
    /// Whether they move before the others.
    pub(super) first: bool,
}

/// From a task's acquisition of a lock to its release.
#[derive(Debug, Clone, Copy)]
struct Section {
    task: TaskId,
    lock: usize,
    unlock: usize,
    object: Option<u32>,
}

/// The locks that each task holds along an execution.
#[derive(Debug, Default)]
struct Holds {
    /// The acquisitions that are not released yet, the latest one last.
    held: HashMap<TaskId, Vec<(usize, Option<u32>)>>,
    /// The lock that a task released to wait, and acquires again.
    waits: HashMap<TaskId, Option<u32>>,
}

/// What a step does to locks.
#[derive(Debug, Clone, Copy)]
enum Change {
    Acquires(Option<u32>),
    Releases(Section),
    None,
}

impl Holds {
    /// Notes a step. A wait on a condition variable releases the lock that its task acquired last, and the
    /// second half of the wait acquires it again: a trace does not record which lock it is, and programs
    /// wait with the innermost one.
    fn after(&mut self, at: usize, step: &Step) -> Change {
        use Operation as O;
        let task = step.task;
        let held = self.held.entry(task).or_default();
        let released = match step.operation {
            O::Lock => {
                held.push((at, step.object));
                return Change::Acquires(step.object);
            }
            O::Wake | O::TimedWake | O::SpuriousWake => {
                let Some(object) = self.waits.remove(&task) else { return Change::None };
                held.push((at, object));
                return Change::Acquires(object);
            }
            O::Unlock => held.iter().position(|&(_, object)| object == step.object),
            O::Wait => held.len().checked_sub(1),
            _ => None,
        };
        let Some(released) = released else { return Change::None };
        let (lock, object) = held.remove(released);
        if step.operation == O::Wait {
            self.waits.insert(task, object);
        }
        Change::Releases(Section { task, lock, unlock: at, object })
    }
}

/// The pairs of steps whose order matters, and what cannot be reversed.
pub(super) struct Conflicts {
    /// The task of each step.
    tasks: Vec<TaskId>,
    /// Dependent steps, ascending.
    pairs: Vec<(u32, u32)>,
    /// Pairs of creation and first step, and of last step and join.
    fixed: Vec<(usize, usize)>,
    /// For each place at which stretches begin and end, the sections that it lies in.
    open: HashMap<usize, Vec<Section>>,
    /// The steps that acquire each lock: by anyone, and by each task.
    locks: HashMap<Option<u32>, Vec<usize>>,
    locks_of: HashMap<(Option<u32>, TaskId), Vec<usize>>,
    /// Whether a lock is acquired within its own section, so that no stretch can be moved.
    nested: bool,
}

fn within(steps: &[usize], range: &Range<usize>) -> usize {
    let before = |end: usize| steps.partition_point(|&step| step < end);
    before(range.end.max(range.start)) - before(range.start)
}

impl Conflicts {
    /// Only steps in `interest` are compared; stretches begin and end at `cuts`, ascending.
    pub(super) fn of(execution: &Execution, interest: &[usize], cuts: &[usize]) -> Conflicts {
        let steps = &execution.steps;
        let mut conflicts = Conflicts {
            tasks: steps.iter().map(|step| step.task).collect(),
            pairs: Vec::new(),
            fixed: Vec::new(),
            open: HashMap::new(),
            locks: HashMap::new(),
            locks_of: HashMap::new(),
            nested: false,
        };
        let mut holds = Holds::default();
        let mut sections = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            if let Some(child) = traces::order::created_by(execution, step)
                && let Some(first) = (at..steps.len()).find(|&j| steps[j].task.index() == child)
            {
                conflicts.fixed.push((at, first));
            }
            if let Some(ended) = traces::order::joined(execution, step)
                && let Some(last) = (0..at).rev().find(|&j| steps[j].task.index() == ended)
            {
                conflicts.fixed.push((last, at));
            }
            match holds.after(at, step) {
                Change::Acquires(object) => {
                    conflicts.locks.entry(object).or_default().push(at);
                    conflicts.locks_of.entry((object, step.task)).or_default().push(at);
                }
                Change::Releases(section) => sections.push(section),
                Change::None => {}
            }
        }
        for section in sections {
            let inside = section.lock + 1..section.unlock;
            conflicts.nested |= within(&conflicts.locks[&section.object], &inside) > 0;
            // The place before step `cut` is in the section after its lock and up to its unlock.
            let first = cuts.partition_point(|&cut| cut <= section.lock);
            let end = cuts.partition_point(|&cut| cut <= section.unlock);
            for cut in &cuts[first..end] {
                conflicts.open.entry(*cut).or_default().push(section);
            }
        }
        for (index, &at) in interest.iter().enumerate() {
            let step = &steps[at];
            let Some(object) = step.object else { continue };
            for &later in &interest[index + 1..] {
                let other = &steps[later];
                let dependent = other.object == Some(object)
                    && other.task != step.task
                    && (other.operation.is_write() || step.operation.is_write());
                if dependent {
                    conflicts.pairs.push((at as u32, later as u32));
                }
            }
        }
        conflicts
    }

    /// The pairs that a move reverses; none if the order is impossible.
    pub(super) fn reversed(&self, plan: Move) -> Vec<(u32, u32)> {
        let Move { from, to, task, first } = plan;
        // The steps of the task move before the others of the range, or after them.
        let turned = |a: usize, b: usize| {
            let (moves, stays) = if first { (b, a) } else { (a, b) };
            a >= from && b < to && self.tasks[moves] == task && self.tasks[stays] != task
        };
        let is_fixed = self.fixed.iter().any(|&(a, b)| turned(a, b));
        if self.nested || is_fixed || self.is_entered(from..to, task, first) {
            return Vec::new();
        }
        let begin = self.pairs.partition_point(|&(a, _)| (a as usize) < from);
        let pairs = self.pairs[begin..].iter().copied();
        let pairs = pairs.take_while(|&(a, _)| (a as usize) < to);
        pairs.filter(|&(a, b)| turned(a as usize, b as usize)).collect()
    }

    /// Whether a lock would be acquired while another task holds it. A section within the range moves, or
    /// stays, as a whole. One that a border of the range divides is entered if its part outside stays
    /// where it is and acquisitions of others get between the parts.
    fn is_entered(&self, range: Range<usize>, task: TaskId, first: bool) -> bool {
        let open = |at: usize| self.open.get(&at).into_iter().flatten();
        let acquired = |section: &Section, steps: Range<usize>| {
            let own = self.locks_of.get(&(section.object, task));
            let own = own.map_or(0, |steps_of| within(steps_of, &steps));
            let all = within(&self.locks[&section.object], &steps);
            // Acquisitions by those that change places with the section's task.
            if section.task == task { all > own } else { own > 0 }
        };
        let divided_by_end = open(range.end)
            .filter(|section| section.lock >= range.start && first == (section.task == task))
            .any(|section| acquired(section, range.start..section.lock));
        let divided_by_start = open(range.start)
            .filter(|section| section.unlock < range.end && first != (section.task == task))
            .any(|section| acquired(section, section.unlock + 1..range.end));
        divided_by_end || divided_by_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::Site;

    /// Random tasks that acquire and release two locks, wait with them, and access two words.
    fn generated(seed: u64, length: usize) -> Execution {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let mut held: [Option<u16>; 2] = [None; 2];
        let mut waits: [Option<usize>; 3] = [None; 3];
        let mut steps = Vec::new();
        let site = Site { module: 0, offset: 1 };
        while steps.len() < length {
            let (task, mut object) = (random(3) as u16, random(2));
            let own = usize::from(task);
            // With one lock held, the wait is with that lock.
            let is_only = held[1 - object] != Some(task);
            let operation = match (random(4), held[object], waits[own]) {
                (_, _, Some(lock)) if held[lock].is_none() => {
                    object = lock;
                    waits[own] = None;
                    Operation::Wake
                }
                (_, _, Some(_)) => continue,
                (0, ..) => Operation::Write,
                (1, None, _) => Operation::Lock,
                (1, Some(owner), _) if owner == task => Operation::Unlock,
                (2, Some(owner), _) if owner == task && is_only => {
                    waits[own] = Some(object);
                    Operation::Wait
                }
                _ => Operation::Read,
            };
            match operation {
                Operation::Lock | Operation::Wake => held[object] = Some(task),
                Operation::Unlock | Operation::Wait => held[object] = None,
                _ => {}
            }
            let word = matches!(operation, Operation::Read | Operation::Write);
            let is_condition = matches!(operation, Operation::Wait | Operation::Wake);
            let object = match (word, is_condition) {
                (true, _) => object as u32 + 2,
                (_, true) => 4,
                _ => object as u32,
            };
            steps.push(Step {
                task: TaskId(task),
                operation,
                object: Some(object),
                site,
                value: 0,
            });
        }
        for (object, owner) in held.into_iter().enumerate() {
            let (operation, object) = (Operation::Unlock, Some(object as u32));
            steps.extend(owner.map(|task| Step {
                task: TaskId(task),
                operation,
                object,
                site,
                value: 0,
            }));
        }
        Execution { steps, ..Execution::default() }
    }

    /// The same by the order of all steps.
    fn by_order(execution: &Execution, conflicts: &Conflicts, plan: Move) -> Vec<(u32, u32)> {
        let Move { from, to, task, first } = plan;
        let steps = &execution.steps;
        let (own, others): (Vec<usize>, Vec<usize>) =
            (from..to).partition(|&at| steps[at].task == task);
        let parts = if first { [own, others] } else { [others, own] };
        let order: Vec<usize> =
            (0..from).chain(parts.into_iter().flatten()).chain(to..steps.len()).collect();
        let mut owner: HashMap<Option<u32>, TaskId> = HashMap::new();
        let mut waits: HashMap<TaskId, Option<u32>> = HashMap::new();
        for &at in &order {
            let step = &steps[at];
            let acquired = match step.operation {
                Operation::Lock => Some(step.object),
                Operation::Wake => waits.remove(&step.task),
                _ => None,
            };
            if acquired.is_some_and(|lock| owner.insert(lock, step.task).is_some()) {
                return Vec::new();
            }
            let own = owner.iter().find(|(_, task)| **task == step.task).map(|(lock, _)| *lock);
            match step.operation {
                Operation::Unlock if owner.remove(&step.object) != Some(step.task) => {
                    return Vec::new();
                }
                Operation::Wait => {
                    let Some(lock) = own else { return Vec::new() };
                    owner.remove(&lock);
                    waits.insert(step.task, lock);
                }
                _ => {}
            }
        }
        let mut at = vec![0; order.len()];
        for (position, &step) in order.iter().enumerate() {
            at[step] = position;
        }
        let turned = |&(a, b): &(u32, u32)| at[a as usize] > at[b as usize];
        conflicts.pairs.iter().copied().filter(turned).collect()
    }

    #[test]
    fn the_result_is_that_of_the_order_of_all_steps() {
        let (mut possible, mut impossible) = (0, 0);
        for seed in 1..60 {
            let execution = generated(seed, 24);
            let all: Vec<usize> = (0..execution.steps.len()).collect();
            let cuts: Vec<usize> = (0..=execution.steps.len()).collect();
            let conflicts = Conflicts::of(&execution, &all, &cuts);
            for from in 0..24 {
                for to in from + 1..=24 {
                    for (task, first) in (0..6).map(|at| (TaskId(at / 2), at % 2 == 0)) {
                        let plan = Move { from, to, task, first };
                        let expected = by_order(&execution, &conflicts, plan);
                        assert_eq!(conflicts.reversed(plan), expected, "{plan:?} of {seed}");
                        match expected.is_empty() {
                            true => impossible += 1,
                            false => possible += 1,
                        }
                    }
                }
            }
        }
        assert!(possible > 1000 && impossible > 1000, "{possible} and {impossible}");
    }

    #[test]
    fn a_lock_in_its_own_section_keeps_all_stretches_in_place() {
        let mut execution = crate::explain::fixtures::critical_sections(&[1, 2, 1]);
        let again = execution.steps[0];
        execution.steps.insert(1, again);
        let cuts: Vec<usize> = (0..=execution.steps.len()).collect();
        let all: Vec<usize> = (0..execution.steps.len()).collect();
        let conflicts = Conflicts::of(&execution, &all, &cuts);
        let plan = Move { from: 3, to: 7, task: TaskId(2), first: false };
        assert!(conflicts.nested && conflicts.reversed(plan).is_empty());
    }
}
