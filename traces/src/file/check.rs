//! Checks that every index in a trace refers to an existing entry.

use super::error::{FileError, MAX_OBJECTS, MAX_PARTS, MAX_STEPS, MAX_TASKS};
use crate::clients::Client;
use crate::memory_change::{self, MemoryChange};
use crate::predicate::Predicate;
use crate::{Execution, Failure, Frame, ObjectLocation, Site, TaskId, Trace};

/// Checks every index of a trace: tasks, objects, modules, and numbers of steps, which ascend.
///
/// [`super::decode`] calls this, so that readers of a trace can rely on its indices; code that
/// records a trace may call it too.
///
/// # Errors
///
/// [`FileError::Malformed`] with the first invalid index, or [`FileError::TooLarge`].
pub fn check(trace: &Trace) -> Result<(), FileError> {
    let execution = &trace.execution;
    let bounds = Bounds {
        tasks: execution.tasks.len(),
        modules: execution.modules.len(),
        objects: execution.objects.len(),
    };
    if execution.steps.len() > MAX_STEPS {
        let count = execution.steps.len();
        return Err(FileError::TooLarge(format!("{count} steps, at most {MAX_STEPS}")));
    }
    sizes(trace)?;
    tables(execution, &bounds)?;
    changes(&trace.header.options.changes)?;
    predicates(&trace.header.options.predicates)?;
    clients(&trace.header.options.clients)?;
    for (index, step) in execution.steps.iter().enumerate() {
        let what = Part("step", index);
        bounds.task(step.task, what)?;
        bounds.object(step.object, what)?;
        bounds.site(Some(step.site), what)?;
    }
    numbers(execution, &bounds)?;
    trace.failure.as_ref().map_or(Ok(()), |found| failure(found, &bounds))
}

/// Checks that what each client does is possible.
fn clients(all: &[Client]) -> Result<(), FileError> {
    let wrong =
        all.iter().enumerate().find_map(|(number, client)| Some((number, client.contradiction()?)));
    wrong.map_or(Ok(()), |(number, what)| {
        Err(FileError::Malformed(format!("client {}: {what}", number + 1)))
    })
}

/// Checks that no table of the trace is larger than the runtime can produce, so that a crafted trace
/// does not make views of it too expensive.
fn sizes(trace: &Trace) -> Result<(), FileError> {
    let Execution { tasks, modules, objects, .. } = &trace.execution;
    let failure = trace.failure.as_ref();
    let parts = |of: fn(&Failure) -> usize| failure.map_or(0, of);
    for (count, most, what) in [
        (tasks.len(), MAX_TASKS, "tasks"),
        (objects.len(), MAX_OBJECTS, "objects"),
        (modules.len(), MAX_PARTS, "modules"),
        (parts(|failure| failure.waits.len()), MAX_PARTS, "waits"),
        (parts(|failure| failure.stacks.len()), MAX_PARTS, "stacks"),
        (parts(|failure| failure.past.len()), MAX_PARTS, "past events"),
    ] {
        if count > most {
            return Err(FileError::TooLarge(format!("{count} {what}, at most {most}")));
        }
    }
    Ok(())
}

fn changes(changes: &[MemoryChange]) -> Result<(), FileError> {
    let large = |what: String| Err(FileError::TooLarge(what));
    if changes.len() > memory_change::MOST {
        return large(format!("{} changes of memory", changes.len()));
    }
    for (index, change) in changes.iter().enumerate() {
        if change.step == 0 {
            return Err(Part("change of memory", index).wrong("names no step"));
        }
        if change.bytes.len() > memory_change::MOST {
            return large(format!("{} bytes of memory changed at once", change.bytes.len()));
        }
    }
    Ok(())
}

fn predicates(predicates: &[Predicate]) -> Result<(), FileError> {
    if predicates.len() > crate::predicate::MOST {
        return Err(FileError::TooLarge(format!("{} predicates", predicates.len())));
    }
    match predicates.iter().position(|one| !one.is_sound()) {
        Some(index) => Err(Part("predicate", index).wrong("has parts that do not fit together")),
        None => Ok(()),
    }
}

fn tables(execution: &Execution, bounds: &Bounds) -> Result<(), FileError> {
    for (index, task) in execution.tasks.iter().enumerate() {
        // Tasks are numbered by creation, so the creator has a lower number.
        if task.parent.is_some_and(|parent| parent.index() >= index) {
            return Err(Part("task", index).wrong("was created by a later one"));
        }
        if let Some(pending) = task.pending {
            bounds.object(pending.object, Part("task", index))?;
            bounds.site(Some(pending.site), Part("task", index))?;
        }
    }
    for (index, object) in execution.objects.iter().enumerate() {
        let what = Part("object", index);
        match object.place {
            ObjectLocation::Task(task) | ObjectLocation::Stack { task, .. } => {
                bounds.task(task, what)?
            }
            ObjectLocation::Static(site) => bounds.site(Some(site), what)?,
            ObjectLocation::Heap { site, .. } => bounds.site(site, what)?,
            ObjectLocation::Descriptor(_) | ObjectLocation::Other(_) => {}
        }
    }
    for (index, (site, frames)) in execution.places.iter().enumerate() {
        bounds.site(Some(*site), Part("place", index))?;
        bounds.frames(frames, Part("place", index))?;
    }
    Ok(())
}

fn numbers(execution: &Execution, bounds: &Bounds) -> Result<(), FileError> {
    let steps = execution.steps.len() as u64;
    let mut last = 0;
    for (index, choice) in execution.data.iter().enumerate() {
        let what = Part("data choice", index);
        if choice.step < last || choice.step >= steps {
            return Err(what.wrong("names no step, or one before its predecessor's"));
        }
        if choice.taken >= choice.of || choice.of < 2 {
            return Err(what.wrong("has fewer than 2 outcomes, or a number beyond them"));
        }
        last = choice.step;
    }
    let mut last = 0;
    for (index, change) in execution.enabled.iter().enumerate() {
        let what = Part("change of the enabled set", index);
        // A change after the last step describes the tasks that are enabled at the end.
        if change.step < last || change.step > steps {
            return Err(what.wrong("names no step, or one before its predecessor's"));
        }
        bounds.task(change.task, what)?;
        last = change.step;
    }
    let mut next = 0;
    for (index, note) in execution.deadlines.iter().enumerate() {
        let what = Part("deadline", index);
        if note.step < next || note.step >= steps {
            return Err(what.wrong("names no step, or one before its predecessor's"));
        }
        note.late.map_or(Ok(()), |(task, _)| bounds.task(task, what))?;
        next = note.step + 1;
    }
    if !execution.async_tasks.is_sorted_by(|one, other| one.id < other.id) {
        return Err(Part("asynchronous task", 0).wrong("is not in the order of the numbers"));
    }
    let mut next = 0;
    for (index, change) in execution.async_changes.iter().enumerate() {
        let what = Part("asynchronous task of a thread", index);
        if change.step < next || change.step >= steps {
            return Err(what.wrong("names no step, or one before its predecessor's"));
        }
        bounds.task(change.task, what)?;
        next = change.step + 1;
    }
    Ok(())
}

fn failure(failure: &Failure, bounds: &Bounds) -> Result<(), FileError> {
    let what = Part("failure", 0);
    failure.task.map_or(Ok(()), |task| bounds.task(task, what))?;
    bounds.site(failure.site, what)?;
    for (index, edge) in failure.waits.iter().enumerate() {
        let what = Part("wait", index);
        bounds.task(edge.task, what)?;
        bounds.object(edge.object, what)?;
        edge.holder.map_or(Ok(()), |holder| bounds.task(holder, what))?;
        bounds.site(edge.site, what)?;
    }
    for (index, stack) in failure.stacks.iter().enumerate() {
        bounds.task(stack.task, Part("stack", index))?;
        bounds.frames(&stack.frames, Part("stack", index))?;
    }
    for (index, past) in failure.past.iter().enumerate() {
        bounds.task(past.task, Part("past event", index))?;
        bounds.frames(&past.frames, Part("past event", index))?;
        for &lock in &past.locks {
            bounds.object(Some(lock), Part("past event", index))?;
        }
    }
    Ok(())
}

/// The numbers of entries that indices may refer to.
struct Bounds {
    tasks: usize,
    modules: usize,
    objects: usize,
}

impl Bounds {
    fn task(&self, task: TaskId, what: Part) -> Result<(), FileError> {
        if task.index() < self.tasks { Ok(()) } else { Err(what.wrong("names no task")) }
    }

    fn object(&self, object: Option<u32>, what: Part) -> Result<(), FileError> {
        match object {
            Some(object) if object as usize >= self.objects => Err(what.wrong("names no object")),
            _ => Ok(()),
        }
    }

    fn site(&self, site: Option<Site>, what: Part) -> Result<(), FileError> {
        match site {
            Some(site) if usize::from(site.module) >= self.modules => {
                Err(what.wrong("names no module"))
            }
            _ => Ok(()),
        }
    }

    fn frames(&self, frames: &[Frame], what: Part) -> Result<(), FileError> {
        frames.iter().try_for_each(|frame| self.site(frame.site, what))
    }
}

/// A part of a trace: what it is, and its number.
#[derive(Clone, Copy)]
struct Part(&'static str, usize);

impl Part {
    #[cold]
    fn wrong(self, how: &str) -> FileError {
        FileError::Malformed(format!("{} {} {how}", self.0, self.1))
    }
}
