//! Happens-before, by vector clocks over one execution.
//!
//! A step happens before another if it comes earlier in the same task; if it created the task of
//! the other; if its task was joined by the other; or if both act on one object and at least one
//! changes it; and if a chain of these leads from one to the other. For objects this is
//! conservative: two operations that may not commute are ordered as they are in the trace, so two
//! steps that are called concurrent can always be reversed.

use crate::{Execution, ObjectKind, ObjectLocation, Operation, Step, TaskId};

/// The happens-before order of the steps of one execution.
///
/// A clock is stored only at steps at which a task learned of another task's steps, so the memory
/// is proportional to the number of such steps times the number of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// For each step: its task, its number within the task from 1, and its row.
    steps: Vec<(u16, u32, u32)>,
    /// Rows with one number for each task: how many of its steps came before. The number of the
    /// row's own task may be outdated, since order within a task needs no clock.
    rows: Vec<u32>,
    tasks: usize,
}

/// The value of a lock step on a robust mutex whose owner ended (`EOWNERDEAD`).
const OWNER_DIED: u64 = 130;

/// The clocks that accesses to one object pass on.
#[derive(Clone, Default)]
struct Handed {
    /// The join over accesses that changed it.
    writes: Vec<u32>,
    /// The join over all accesses.
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
        let mut held = LocksByTask::new(tasks);
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
            // First the step joins the clocks of all objects, then it updates them: a step is
            // atomic.
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
    /// If the execution has no such step.
    #[must_use]
    pub fn before(&self, i: usize, j: usize) -> bool {
        let ((task, number, _), (other, limit, row)) = (self.steps[i], self.steps[j]);
        if task == other {
            return number < limit;
        }
        self.rows[row as usize * self.tasks + usize::from(task)] >= number
    }

    /// How many steps of each task happened before a step, including the step itself.
    ///
    /// # Panics
    /// If the execution has no such step.
    #[must_use]
    pub fn vector(&self, step: usize) -> Vec<u32> {
        let (task, number, row) = self.steps[step];
        let start = row as usize * self.tasks;
        let mut vector = self.rows[start..start + self.tasks].to_vec();
        vector[usize::from(task)] = number;
        vector
    }

    /// Whether the two steps differ and neither happens before the other.
    ///
    /// # Panics
    /// If the execution has no such step.
    #[must_use]
    pub fn concurrent(&self, i: usize, j: usize) -> bool {
        i != j && !self.before(i, j) && !self.before(j, i)
    }
}

/// Joins `other` into `clock`; returns whether the clock changed.
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
        ObjectLocation::Task(task) => Some(task.index()),
        _ => None,
    }
}

/// The task that a step created.
#[must_use]
pub fn created_by(execution: &Execution, step: &Step) -> Option<usize> {
    if step.operation == Operation::Create { task_object(execution, step) } else { None }
}

/// The task that a step joined. Its clock is that of its last step.
#[must_use]
pub fn joined(execution: &Execution, step: &Step) -> Option<usize> {
    let done = step.operation == Operation::Join && step.value == 0;
    if done { task_object(execution, step) } else { None }
}

/// The locks that each task holds, and how often.
///
/// A wait on a condition variable releases a mutex and locks it again, but its step names only the
/// condition variable. It counts as a change of every mutex that the task holds: for other tasks
/// this adds no order that the unlock of these mutexes would not add.
#[derive(Debug, Clone)]
pub struct LocksByTask(Vec<Vec<(u32, u32)>>);

impl LocksByTask {
    /// For this number of tasks, none of which holds a lock.
    #[must_use]
    pub fn new(tasks: usize) -> LocksByTask {
        LocksByTask(vec![Vec::new(); tasks])
    }

    /// The locks that a task holds after the steps so far.
    pub fn of(&self, task: TaskId) -> impl Iterator<Item = u32> + '_ {
        self.0.get(task.index()).into_iter().flatten().map(|&(mutex, _)| mutex)
    }

    /// The objects that the next step acts on, and whether it changes them.
    ///
    /// # Panics
    /// If the step's task is not below the number of tasks.
    pub fn accesses(&mut self, execution: &Execution, step: &Step) -> Vec<(u32, bool)> {
        let held = &mut self.0[step.task.index()];
        let mut accesses = Vec::new();
        if step.operation == Operation::Wait || step.operation.is_condition_wake() {
            accesses.extend(held.iter().map(|(mutex, _)| (*mutex, true)));
        }
        let Some(object) = step.object else { return accesses };
        accesses.push((object, step.operation.is_write()));
        let kind = execution.objects.get(object as usize).map(|object| object.kind);
        let is_lock =
            matches!(kind, Some(ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock));
        // A robust mutex is acquired even if its owner ended.
        let done = step.value == 0 || (step.operation.acquires_lock() && step.value == OWNER_DIED);
        if is_lock && done {
            let at = held.iter().position(|(lock, _)| *lock == object);
            match at {
                Some(at) if step.operation.acquires_lock() => held[at].1 += 1,
                None if step.operation.acquires_lock() => held.push((object, 1)),
                Some(at) if step.operation.releases_lock() && held[at].1 > 1 => held[at].1 -= 1,
                Some(at) if step.operation.releases_lock() => drop(held.swap_remove(at)),
                _ => {}
            }
        }
        accesses
    }
}

/// The step since which a task holds a lock that it holds at the end; counted from 0.
///
/// A wait on a condition variable releases a mutex for a while. Its steps do not say which mutex;
/// it is known if the task holds no other.
#[must_use]
pub fn held_since(execution: &Execution, holder: TaskId, lock: u32) -> Option<usize> {
    let mut held = LocksByTask::new(execution.tasks.len().max(holder.index() + 1));
    let mut since = None;
    for (number, step) in execution.steps.iter().enumerate() {
        if step.task != holder {
            continue;
        }
        let had = held.of(holder).any(|it| it == lock);
        held.accesses(execution, step);
        let mut has = held.of(holder);
        let again =
            step.operation.is_condition_wake() && has.next() == Some(lock) && has.next().is_none();
        match held.of(holder).any(|it| it == lock) {
            true if !had || again => since = Some(number),
            true => {}
            false => since = None,
        }
    }
    since
}

/// The step after which a task was blocked until the end: its last, counted from 0.
#[must_use]
pub fn waits_since(execution: &Execution, task: TaskId) -> Option<usize> {
    execution.steps.iter().rposition(|step| step.task == task)
}

#[cfg(test)]
mod tests;
