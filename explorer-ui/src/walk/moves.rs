//! Where a walk can go from a position: to other steps of the schedule, or to another schedule in
//! which another task runs next. Pure.

use super::loaded_trace::LoadedTrace;
use crate::report::names::object_name;
use crate::report::rows::Mark;
use replay_core::blocked::{BlockedBy, BlockedText};
use replay_core::task_status::TaskStatus;
use std::collections::HashSet;
use traces::{Choice, Execution, Frame, Site, TaskId};

/// A movement along a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// To the next preemption.
    NextPreemption,
    /// To the previous preemption.
    PreviousPreemption,
    /// To the next step of another task than the step before it.
    NextSwitch,
    /// To the previous one.
    PreviousSwitch,
    /// To the next step at which several tasks are enabled.
    NextChoice,
    /// To the previous one.
    PreviousChoice,
    /// To the step at which the task of this step is preempted.
    UntilPreempted,
    /// To the step at which the task of this step is not enabled, or to the end.
    UntilBlocked,
    /// To the next step on the object of this step.
    NextOnObject,
    /// To the previous one.
    PreviousOnObject,
    /// To the next step of the task of this step.
    NextOfTask,
    /// To the previous one.
    PreviousOfTask,
    /// To the nearest later step of another task that directly depends on this one.
    NextEffect,
    /// To the nearest earlier step of another task on which this one directly depends.
    PreviousCause,
}

impl Movement {
    /// The movements with their names in protocols.
    pub const NAMED: [(&'static str, Movement); 14] = [
        ("next-preemption", Movement::NextPreemption),
        ("previous-preemption", Movement::PreviousPreemption),
        ("next-switch", Movement::NextSwitch),
        ("previous-switch", Movement::PreviousSwitch),
        ("next-choice", Movement::NextChoice),
        ("previous-choice", Movement::PreviousChoice),
        ("until-preempted", Movement::UntilPreempted),
        ("until-blocked", Movement::UntilBlocked),
        ("next-on-object", Movement::NextOnObject),
        ("previous-on-object", Movement::PreviousOnObject),
        ("next-of-task", Movement::NextOfTask),
        ("previous-of-task", Movement::PreviousOfTask),
        ("next-effect", Movement::NextEffect),
        ("previous-cause", Movement::PreviousCause),
    ];

    /// The step it leads to from step `at`.
    ///
    /// # Errors
    /// If there is no such step; the text names what is missing.
    pub fn from(self, loaded: &LoadedTrace, at: usize) -> Result<usize, &'static str> {
        let end = loaded.len();
        let switched = |step: &usize| loaded.mark(*step) != Mark::None;
        let chosen = |step: &usize| loaded.enabled(*step).len() > 1;
        let preemptions = loaded.preemptions().iter().copied();
        let (found, otherwise) = match self {
            Movement::NextPreemption => {
                (preemptions.into_iter().find(|&step| step > at), "no later preemption")
            }
            Movement::PreviousPreemption => {
                (preemptions.into_iter().rfind(|&step| step < at), "no earlier preemption")
            }
            Movement::NextSwitch => ((at + 1..end).find(switched), "no later context switch"),
            Movement::PreviousSwitch => {
                ((0..at.min(end)).rfind(switched), "no earlier context switch")
            }
            Movement::NextChoice => ((at + 1..end).find(chosen), "no later step has a choice"),
            Movement::PreviousChoice => {
                ((0..at.min(end)).rfind(chosen), "no earlier step has a choice")
            }
            Movement::UntilPreempted => {
                (until_preempted(loaded, at), "this task is not preempted later")
            }
            Movement::UntilBlocked => (until_blocked(loaded, at), "this task is not blocked later"),
            Movement::NextOnObject | Movement::PreviousOnObject => (
                on_object(loaded, at, self == Movement::NextOnObject),
                "no other step on this object in that direction",
            ),
            Movement::NextOfTask | Movement::PreviousOfTask => (
                of_task(loaded, at, self == Movement::NextOfTask),
                "this task has no other step in that direction",
            ),
            Movement::NextEffect => (
                neighbours(loaded, at, true).min(),
                "no step of another task is a direct successor of this one",
            ),
            Movement::PreviousCause => (
                neighbours(loaded, at, false).max(),
                "no step of another task is a direct predecessor of this one",
            ),
        };
        found.ok_or(otherwise)
    }
}

/// The step at which the selected step's task is preempted next.
fn until_preempted(loaded: &LoadedTrace, at: usize) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at)?.task;
    let after = |&&step: &&usize| step > at && steps[step - 1].task == task;
    loaded.preemptions().iter().find(after).copied()
}

/// The first later step at which the selected step's task is not enabled, or the end.
fn until_blocked(loaded: &LoadedTrace, at: usize) -> Option<usize> {
    let task = loaded.trace.execution.steps.get(at)?.task;
    (at + 1..=loaded.len()).find(|&step| step == loaded.len() || !loaded.is_enabled(task, step))
}

fn on_object(loaded: &LoadedTrace, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let object = steps.get(at)?.object?;
    let same = |&step: &usize| steps[step].object == Some(object);
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The next or previous step of the selected step's task; at the end, of the last step's task.
fn of_task(loaded: &LoadedTrace, at: usize, forward: bool) -> Option<usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).or(steps.last())?.task;
    let same = |&step: &usize| steps[step].task == task;
    if forward { (at + 1..steps.len()).find(same) } else { (0..at).rfind(same) }
}

/// The direct successors or predecessors of a step in other tasks.
fn neighbours(loaded: &LoadedTrace, at: usize, after: bool) -> impl Iterator<Item = usize> {
    let steps = &loaded.trace.execution.steps;
    let task = steps.get(at).map(|step| step.task);
    let links = match (task, after) {
        (None, _) => Vec::new(),
        (Some(_), true) => loaded.graph().effects(at),
        (Some(_), false) => loaded.graph().causes(at),
    };
    links.into_iter().map(|link| link.step).filter(move |&step| Some(steps[step].task) != task)
}

/// What it takes to let a task run next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// The schedule has it that way: the next position.
    Follows(usize),
    /// Another schedule begins with these choices, and continues at this step.
    Run(Vec<Choice>, usize),
    /// The task is not enabled; why.
    Blocked(String),
}

/// Lets a task run next at step `at`.
#[must_use]
pub fn pick(loaded: &LoadedTrace, at: usize, status: &TaskStatus) -> Picked {
    if !status.enabled {
        return Picked::Blocked(format!("{} is not enabled: {}", status.task, why(loaded, status)));
    }
    if status.next == Some(at) {
        return Picked::Follows(at + 1);
    }
    let mut choices = loaded.before(at).to_vec();
    choices.push(Choice::Task(status.task));
    Picked::Run(choices, at + 1)
}

/// Why a task is not enabled.
#[must_use]
pub fn why(loaded: &LoadedTrace, status: &TaskStatus) -> String {
    let why = status.why.as_ref();
    let text = why.map(|why| BlockedText(why, &loaded.trace.execution).to_string());
    text.unwrap_or_else(|| BlockedText(&BlockedBy::Unknown, &loaded.trace.execution).to_string())
}

/// The position in `statuses` of the task with this number (`2`, `T2`) or with this text in its
/// name.
#[must_use]
pub fn task_called(loaded: &LoadedTrace, statuses: &[TaskStatus], name: &str) -> Option<usize> {
    let tasks = &loaded.trace.execution.tasks;
    let number = name.trim_start_matches(['T', 't']).parse::<u16>().ok();
    let is = |task: TaskId| match (number, tasks.get(task.index())) {
        (Some(number), _) => task == TaskId(number),
        (None, Some(record)) => !name.is_empty() && record.name.contains(name),
        (None, None) => false,
    };
    statuses.iter().position(|one| is(one.task))
}

/// The steps on an object with exactly this name or, if there is none, on those whose name contains
/// it.
#[derive(Debug)]
pub struct OnObject {
    /// By the object's index.
    matching: Vec<bool>,
}

impl OnObject {
    /// None if no object is called so.
    #[must_use]
    pub fn called(loaded: &LoadedTrace, text: &str) -> Option<OnObject> {
        let trace = &loaded.trace;
        let wanted = text.to_lowercase();
        let names: Vec<String> = (0..trace.execution.objects.len() as u32)
            .map(|index| object_name(trace, Some(index)).unwrap_or_default().to_lowercase())
            .collect();
        if wanted.is_empty() || !names.iter().any(|name| name.contains(&wanted)) {
            return None;
        }
        let exact = names.contains(&wanted);
        let is = |name: &String| if exact { *name == wanted } else { name.contains(&wanted) };
        Some(OnObject { matching: names.iter().map(is).collect() })
    }

    /// Whether the step is on such an object.
    #[must_use]
    pub fn has(&self, loaded: &LoadedTrace, step: usize) -> bool {
        let index = loaded.trace.execution.steps[step].object;
        index.and_then(|index| self.matching.get(index as usize)).copied().unwrap_or(false)
    }
}

/// The steps at a source line.
#[derive(Debug)]
pub struct AtLine {
    sites: HashSet<Site>,
}

impl AtLine {
    /// `file` is a path or its end.
    #[must_use]
    pub fn of(loaded: &LoadedTrace, file: &str, line: u32) -> AtLine {
        let Execution { places, .. } = &loaded.trace.execution;
        let in_directory = format!("/{file}");
        let matches = |frames: &[Frame]| {
            frames.iter().any(|frame| {
                let same = frame.file == file || frame.file.ends_with(&in_directory);
                same && frame.line == line
            })
        };
        let sites = places.iter().filter(|(_, frames)| matches(frames)).map(|(site, _)| *site);
        AtLine { sites: sites.collect() }
    }

    /// Whether the step is at the line.
    #[must_use]
    pub fn has(&self, loaded: &LoadedTrace, step: usize) -> bool {
        !self.sites.is_empty() && self.sites.contains(&loaded.trace.execution.steps[step].site)
    }
}
