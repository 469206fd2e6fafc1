//! One execution: its steps, and the properties that follow from them without a run of the program.

use crate::{Choice, Module, Object, Operation, Site, TaskId, enabled};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One visible operation by one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    /// The task that executed the step.
    pub task: TaskId,
    /// The operation.
    pub operation: Operation,
    /// The object that the operation acted on: an index into [`Execution::objects`].
    pub object: Option<u32>,
    /// The code location that called the operation.
    pub site: Site,
    /// The result of the operation (a return code, a count), if it has one; else 0.
    pub value: u64,
}

/// A task that became enabled or blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnabledChange {
    /// The first step at whose choice the change is visible.
    pub step: u64,
    /// The task whose state changed.
    pub task: TaskId,
    /// Whether the task is enabled from here on.
    pub enabled: bool,
}

/// A data choice, and the step that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DataChoice {
    /// The step during which the choice was made.
    pub step: u64,
    /// The outcome that was chosen.
    pub taken: u32,
    /// The number of possible outcomes.
    pub of: u32,
}

/// Nanoseconds as text, in seconds.
#[must_use]
pub fn seconds(nanoseconds: u64) -> String {
    format!("{} s", nanoseconds as f64 / 1e9)
}

/// A step whose choice involved a deadline: what expired, or was due while another task ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeadlineNote {
    /// The step.
    pub step: u64,
    /// Whether the choice is a preemption: a sleep, a time limit or a timer expired although another
    /// task could run. If the running task sleeps, a switch away from it is none.
    pub preempts: bool,
    /// If the step is an expiry: a task that could have executed its next step earlier by its clock
    /// and so is late, and by how many nanoseconds.
    pub late: Option<(TaskId, u64)>,
}

/// A task of an asynchronous runtime, such as tokio: a future that the threads of the runtime execute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AsyncTask {
    /// The runtime's own number.
    pub id: u64,
    /// The function that makes the future, or empty.
    pub name: String,
}

/// From a step on, a thread executes another asynchronous task, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AsyncChange {
    /// The first step.
    pub step: u64,
    /// The thread.
    pub task: TaskId,
    /// The number of the asynchronous task; 0 for none.
    pub id: u64,
}

/// Properties of a task apart from its steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The name that the program gave to the thread, or empty.
    pub name: String,
    /// The thread's start function (`main` for T0).
    pub function: String,
    /// The task that created it; none for T0.
    pub parent: Option<TaskId>,
    /// Its pending operation at the end of the execution, if the task had not ended and did not
    /// execute the last step.
    #[serde(default)]
    pub pending: Option<Pending>,
}

/// An operation that a task was about to execute when the execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pending {
    /// The operation.
    pub operation: Operation,
    /// The object that it acts on: an index into [`Execution::objects`].
    pub object: Option<u32>,
    /// The code location that called it.
    pub site: Site,
    /// Whether the task was blocked.
    pub blocked: bool,
}

/// A sequence of steps with everything that was recorded about them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Execution {
    /// The tasks, by number.
    pub tasks: Vec<TaskRecord>,
    /// The modules that sites refer to. The program itself is number 0.
    pub modules: Vec<Module>,
    /// The objects that steps refer to.
    pub objects: Vec<Object>,
    /// The backtrace shown for each distinct site of the steps: function, file and line, innermost
    /// inlined call first.
    pub places: Vec<(Site, Vec<crate::Frame>)>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Data choices, by step.
    pub data: Vec<DataChoice>,
    /// How the enabled set changed, by step. Before the first change it is empty.
    pub enabled: Vec<EnabledChange>,
    /// The steps at whose choice deadlines mattered, in order.
    #[serde(default)]
    pub deadlines: Vec<DeadlineNote>,
    /// The tasks of asynchronous runtimes, by ascending number.
    #[serde(default)]
    pub async_tasks: Vec<AsyncTask>,
    /// Which of them the threads execute, by step.
    #[serde(default)]
    pub async_changes: Vec<AsyncChange>,
}

impl Execution {
    /// Takes over the names that another execution gives to the same objects, so that an object has
    /// one name when both executions are shown together.
    pub fn call_like(&mut self, other: &Execution) {
        let key = |object: &Object| (object.kind, object.place);
        let names: HashMap<_, &String> =
            other.objects.iter().map(|object| (key(object), &object.name)).collect();
        for object in &mut self.objects {
            if let Some(&name) = names.get(&key(object)) {
                object.name.clone_from(name);
            }
        }
    }

    /// The schedule: all choices, in order. The program and the schedule together determine the
    /// execution.
    pub fn choices(&self) -> impl Iterator<Item = Choice> + '_ {
        let mut data = self.data.iter().peekable();
        self.steps.iter().enumerate().flat_map(move |(index, step)| {
            let mut made = vec![Choice::Task(step.task)];
            while let Some(choice) = data.next_if(|choice| choice.step == index as u64) {
                made.push(Choice::Data { taken: choice.taken, of: choice.of });
            }
            made
        })
    }

    /// The choices of an execution without predicates that does the same: without the steps at
    /// which tasks arrive at sites of predicates and depart from them.
    pub fn choices_without_sites(&self) -> Vec<Choice> {
        let mut choices = self.choices().peekable();
        let mut left = Vec::new();
        for step in &self.steps {
            let site = matches!(step.operation, Operation::Site | Operation::Depart);
            left.extend(choices.next().filter(|_| !site));
            while let Some(data) = choices.next_if(|it| matches!(it, Choice::Data { .. })) {
                left.push(data);
            }
        }
        left
    }

    /// The steps at which a wait ended by a spurious wake-up (`--spurious`).
    pub fn spurious(&self) -> impl Iterator<Item = usize> + '_ {
        let began = |choice: &&DataChoice| {
            let step = self.steps.get(choice.step as usize);
            let waits =
                |step: &Step| matches!(step.operation, Operation::Wait | Operation::FutexWait);
            choice.taken == 1 && step.is_some_and(waits)
        };
        self.data.iter().filter(began).map(|choice| choice.step as usize)
    }

    /// Calls `visit` with each step and the tasks that were enabled there, in ascending order.
    pub fn for_each_step(&self, mut visit: impl FnMut(usize, &Step, &[TaskId])) {
        let mut able: Vec<TaskId> = Vec::new();
        let mut changes = self.enabled.iter().peekable();
        for (index, step) in self.steps.iter().enumerate() {
            while let Some(change) = changes.next_if(|change| change.step <= index as u64) {
                match (able.binary_search(&change.task), change.enabled) {
                    (Err(at), true) => able.insert(at, change.task),
                    (Ok(at), false) => drop(able.remove(at)),
                    _ => {}
                }
            }
            visit(index, step, &able);
        }
    }

    /// The digest of the enabled set at each step. Replay compares it.
    #[must_use]
    pub fn enabled_digests(&self) -> Vec<u32> {
        let mut digests = Vec::with_capacity(self.steps.len());
        let mut digest = 0;
        let mut changes = self.enabled.iter().peekable();
        for index in 0..self.steps.len() as u64 {
            while let Some(change) = changes.next_if(|change| change.step <= index) {
                digest ^= enabled::word(change.task);
            }
            digests.push(digest);
        }
        digests
    }

    /// The steps that are preemptions: the scheduler switched away from a task that was still
    /// enabled.
    ///
    /// A switch away from a task whose last operation was a yield, a sleep, a wait, a time-out or
    /// an exit is not a preemption. Where there are deadlines, see [`DeadlineNote::preempts`].
    #[must_use]
    pub fn preemptions(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut notes = self.deadlines.iter().peekable();
        let mut last: Option<&Step> = None;
        self.for_each_step(|index, step, enabled| {
            let preempts = last.is_some_and(|last| {
                last.task != step.task
                    && !last.operation.yielded_or_timed_out(last.value)
                    && enabled.binary_search(&last.task).is_ok()
            });
            let note = notes.next_if(|note| note.step == index as u64);
            if note.map_or(preempts, |note| note.preempts) {
                found.push(index);
            }
            last = Some(&self.steps[index]);
        });
        found
    }

    /// The asynchronous task that a thread executes at a step, if it executes one.
    #[must_use]
    pub fn async_task_at(&self, step: usize, task: TaskId) -> Option<&AsyncTask> {
        let until = self.async_changes.partition_point(|change| change.step <= step as u64);
        let own = self.async_changes[..until].iter().rfind(|change| change.task == task)?;
        self.async_task(own.id)
    }

    /// The asynchronous task with this number.
    #[must_use]
    pub fn async_task(&self, id: u64) -> Option<&AsyncTask> {
        let at = self.async_tasks.binary_search_by_key(&id, |one| one.id).ok()?;
        Some(&self.async_tasks[at])
    }

    /// The note on the deadlines at a step.
    #[must_use]
    pub fn deadline_at(&self, step: usize) -> Option<&DeadlineNote> {
        let at = self.deadlines.binary_search_by_key(&(step as u64), |note| note.step);
        at.ok().map(|at| &self.deadlines[at])
    }

    /// The number of switches between tasks.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.steps.windows(2).filter(|pair| pair[0].task != pair[1].task).count()
    }

    /// A site as text: `queue.c:41`, or the most precise description that is known.
    #[must_use]
    pub fn place(&self, site: Site) -> String {
        match self.places.iter().find(|(at, _)| *at == site).and_then(|(_, frames)| frames.first())
        {
            Some(frame) => frame.place(),
            None => self.unnamed_place(site),
        }
    }

    /// A site as text, by its module and offset alone.
    #[must_use]
    pub fn unnamed_place(&self, site: Site) -> String {
        let module = self.modules.get(usize::from(site.module));
        let module = module.map(|module| module.path.clone()).unwrap_or_default();
        crate::Frame { site: Some(site), module, ..Default::default() }.place()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(task: u16, operation: Operation) -> Step {
        Step {
            task: TaskId(task),
            operation,
            object: None,
            site: Site { module: 0, offset: 0 },
            value: 0,
        }
    }

    fn change(step: u64, task: u16, enabled: bool) -> EnabledChange {
        EnabledChange { step, task: TaskId(task), enabled }
    }

    #[test]
    fn leaving_an_enabled_task_is_a_preemption_unless_it_yielded() {
        let execution = Execution {
            steps: vec![
                step(0, Operation::Create),
                step(1, Operation::Start), // main was enabled: a preemption
                step(1, Operation::Yield),
                step(0, Operation::Lock),   // T1 yielded: none
                step(1, Operation::Unlock), // main is blocked here: none
            ],
            enabled: vec![change(0, 0, true), change(1, 1, true), change(4, 0, false)],
            ..Default::default()
        };
        assert_eq!(execution.preemptions(), [1]);
        assert_eq!(execution.switches(), 3);
        let note = |step, preempts| DeadlineNote { step, preempts, late: None };
        let deadlines = vec![note(1, false), note(3, true)];
        assert_eq!(Execution { deadlines, ..execution.clone() }.preemptions(), [3]);
        let sets = [vec![0], vec![0, 1], vec![0, 1], vec![0, 1], vec![1]];
        let digests: Vec<u32> =
            sets.iter().map(|set| enabled::digest(set.iter().map(|&t| TaskId(t)))).collect();
        assert_eq!(execution.enabled_digests(), digests);
    }

    #[test]
    fn data_choices_follow_the_step_that_made_them() {
        let execution = Execution {
            steps: vec![step(0, Operation::Signal), step(1, Operation::Wake)],
            data: vec![DataChoice { step: 0, taken: 1, of: 3 }],
            ..Default::default()
        };
        let choices: Vec<Choice> = execution.choices().collect();
        assert_eq!(
            choices,
            [Choice::Task(TaskId(0)), Choice::Data { taken: 1, of: 3 }, Choice::Task(TaskId(1))]
        );
    }

    #[test]
    fn an_object_has_one_name_in_executions_shown_together() {
        let object = |ordinal: u64, name: &str| Object {
            kind: crate::ObjectKind::Memory,
            place: crate::ObjectLocation::Heap { ordinal, offset: 0, size: 8, site: None },
            name: name.into(),
        };
        let all = |objects: Vec<Object>| Execution { objects, ..Default::default() };
        let mut other = all(vec![object(2, "q->len"), object(3, "heap block #3")]);
        other.call_like(&all(vec![object(1, "one"), object(2, "main::q->len")]));
        assert_eq!(other.objects, [object(2, "main::q->len"), object(3, "heap block #3")]);
    }
}
