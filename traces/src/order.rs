//! Happens-before, by vector clocks over one execution.
//!
//! A step happens before another where it comes earlier in the same task, where it created the
//! task, where the task that it belongs to was joined, or where both act on one object and at
//! least one of them changes it; and where a chain of these leads from one to the other. For
//! objects this is on the safe side: any two operations that may not commute are ordered as
//! they stood in the trace, so what is called concurrent could have come the other way round.

use crate::{Execution, ObjectKind, Operation, Place, Step, TaskId};

/// The order of the steps of one execution.
///
/// A task's clock is stored only where it learned of another task, so memory goes with the
/// number of such steps times the number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// For each step its task, its number within the task from 1, and its row.
    steps: Vec<(u16, u32, u32)>,
    /// Rows of one number for each task: how many of its steps came before. A row's own task has
    /// an outdated number, as order within a task needs no clock.
    rows: Vec<u32>,
    tasks: usize,
}

/// What a lock of a robust mutex comes to whose owner ended (`EOWNERDEAD`).
const OWNER_DIED: u64 = 130;

/// What the accesses to one object hand on.
#[derive(Clone, Default)]
struct Handed {
    /// By those that changed it.
    writes: Vec<u32>,
    /// By all.
    all: Vec<u32>,
}

impl Clocks {
    /// The clocks of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Clocks {
        let last = |of: &dyn Fn(&Step) -> usize| execution.steps.iter().map(of).max().unwrap_or(0);
        let tasks = execution.tasks.len().max(last(&|step| step.task.index() + 1));
        let objects = last(&|step| step.object.map_or(0, |object| object as usize + 1));

        let mut clocks = Clocks {
            steps: Vec::with_capacity(execution.steps.len()),
            rows: vec![0; tasks],
            tasks,
        };
        let mut now = vec![vec![0; tasks]; tasks];
        let mut row = vec![0; tasks];
        let mut created = vec![Vec::new(); tasks];
        let mut handed = vec![Handed::default(); objects];
        let mut held = Held::new(tasks);
        for step in &execution.steps {
            let task = step.task.index();
            let mut clock = std::mem::take(&mut now[task]);
            clock[task] += 1;

            let mut learned = false;
            if clock[task] == 1 {
                learned |= join(&mut clock, &created[task]);
            }
            if let Some(ended) = joined(execution, step) {
                learned |= now.get(ended).is_some_and(|ended| join(&mut clock, ended));
            }
            // First all that it learns, then all that it hands on: a step is one moment.
            let accesses = held.accesses(execution, step);
            for &(object, write) in &accesses {
                let Handed { writes, all } = &handed[object as usize];
                learned |= join(&mut clock, if write { all } else { writes });
            }
            for &(object, write) in &accesses {
                let Handed { writes, all } = &mut handed[object as usize];
                if write {
                    writes.clone_from(&clock);
                    all.clone_from(&clock);
                } else {
                    join(all, &clock);
                }
            }
            if let Some(child) = created_by(execution, step).and_then(|at| created.get_mut(at)) {
                child.clone_from(&clock);
            }

            if learned {
                row[task] = (clocks.rows.len() / tasks) as u32;
                clocks.rows.extend(&clock);
            }
            clocks.steps.push((step.task.0, clock[task], row[task]));
            now[task] = clock;
        }
        clocks
    }

    /// Whether step `i` happens before step `j`. No step happens before itself.
    ///
    /// # Panics
    /// Where the execution has no such step.
    #[must_use]
    pub fn before(&self, i: usize, j: usize) -> bool {
        let ((task, number, _), (other, limit, row)) = (self.steps[i], self.steps[j]);
        if task == other {
            return number < limit;
        }
        self.rows[row as usize * self.tasks + usize::from(task)] >= number
    }

    /// How many steps of each task came before a step, itself among them.
    ///
    /// # Panics
    /// Where the execution has no such step.
    #[must_use]
    pub fn vector(&self, step: usize) -> Vec<u32> {
        let (task, number, row) = self.steps[step];
        let start = row as usize * self.tasks;
        let mut vector = self.rows[start..start + self.tasks].to_vec();
        vector[usize::from(task)] = number;
        vector
    }

    /// Whether neither step happens before the other, and they are two.
    ///
    /// # Panics
    /// Where the execution has no such step.
    #[must_use]
    pub fn concurrent(&self, i: usize, j: usize) -> bool {
        i != j && !self.before(i, j) && !self.before(j, i)
    }
}

/// Takes up what `other` knows; whether that was anything new.
fn join(clock: &mut Vec<u32>, other: &[u32]) -> bool {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    let mut learned = false;
    for (mine, &theirs) in clock.iter_mut().zip(other) {
        learned |= *mine < theirs;
        *mine = theirs.max(*mine);
    }
    learned
}

fn task_object(execution: &Execution, step: &Step) -> Option<usize> {
    match execution.objects.get(step.object? as usize)?.place {
        Place::Task(task) => Some(task.index()),
        _ => None,
    }
}

/// The task that a step created.
#[must_use]
pub fn created_by(execution: &Execution, step: &Step) -> Option<usize> {
    if step.operation == Operation::Create { task_object(execution, step) } else { None }
}

/// The task that a step waited for, and that has ended. Its clock is that of its last step.
#[must_use]
pub fn joined(execution: &Execution, step: &Step) -> Option<usize> {
    let done = step.operation == Operation::Join && step.value == 0;
    if done { task_object(execution, step) } else { None }
}

/// The locks that each task has, and how often.
///
/// A wait for a condition releases a mutex and takes it again, but its step names the condition.
/// It counts as a change of every mutex the task has: for the others that says nothing that
/// their unlocking would not say.
#[derive(Debug, Clone)]
pub struct Held(Vec<Vec<(u32, u32)>>);

impl Held {
    /// For so many tasks, none of which has anything.
    #[must_use]
    pub fn new(tasks: usize) -> Held {
        Held(vec![Vec::new(); tasks])
    }

    /// The mutexes that a task has after the steps so far.
    pub fn of(&self, task: TaskId) -> impl Iterator<Item = u32> + '_ {
        self.0.get(task.index()).into_iter().flatten().map(|&(mutex, _)| mutex)
    }

    /// The objects that the next step acts on, and whether it changes them.
    ///
    /// # Panics
    /// Where the step's task is beyond those that there is room for.
    pub fn accesses(&mut self, execution: &Execution, step: &Step) -> Vec<(u32, bool)> {
        let held = &mut self.0[step.task.index()];
        let mut accesses = Vec::new();
        if step.operation == Operation::Wait || step.operation.wakes() {
            accesses.extend(held.iter().map(|(mutex, _)| (*mutex, true)));
        }
        let Some(object) = step.object else { return accesses };
        accesses.push((object, step.operation.is_write()));
        let kind = execution.objects.get(object as usize).map(|object| object.kind);
        let is_lock =
            matches!(kind, Some(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock));
        // A robust mutex whose owner ended is taken all the same.
        let done = step.value == 0 || (step.operation.takes() && step.value == OWNER_DIED);
        if is_lock && done {
            let at = held.iter().position(|(lock, _)| *lock == object);
            match at {
                Some(at) if step.operation.takes() => held[at].1 += 1,
                None if step.operation.takes() => held.push((object, 1)),
                Some(at) if step.operation.gives_back() && held[at].1 > 1 => held[at].1 -= 1,
                Some(at) if step.operation.gives_back() => drop(held.swap_remove(at)),
                _ => {}
            }
        }
        accesses
    }
}

/// The step since which a task has a lock that it has in the end; counted from 0.
///
/// A wait for a condition gives a mutex back for a while. Its steps do not say which; it is known where
/// the task has no other.
#[must_use]
pub fn held_since(execution: &Execution, holder: TaskId, lock: u32) -> Option<usize> {
    let mut held = Held::new(execution.tasks.len().max(holder.index() + 1));
    let mut since = None;
    for (number, step) in execution.steps.iter().enumerate() {
        if step.task != holder {
            continue;
        }
        let had = held.of(holder).any(|it| it == lock);
        held.accesses(execution, step);
        let mut has = held.of(holder);
        let again = step.operation.wakes() && has.next() == Some(lock) && has.next().is_none();
        match held.of(holder).any(|it| it == lock) {
            true if !had || again => since = Some(number),
            true => {}
            false => since = None,
        }
    }
    since
}

/// The step after which a task came to wait: its last, counted from 0.
#[must_use]
pub fn waits_since(execution: &Execution, task: TaskId) -> Option<usize> {
    execution.steps.iter().rposition(|step| step.task == task)
}

#[cfg(test)]
mod tests;
