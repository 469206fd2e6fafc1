//! What the `monitor` commands of [`monitor_commands`] do. The scripts for gdb and lldb are built on
//! them, and any debugger can use them directly.

use super::owed::Owed;
use super::{Seek, Session, monitor_commands};
use crate::Error;
use crate::debug::execution::position::{Position, StepPoint};
use crate::debug::execution::{Reason, Stop};
use crate::explain::blocked::BlockedText;
use crate::explain::graph::Relation;
use crate::explain::locks::{HeldLocks, INFERRED};
use crate::explain::task_status;
use std::collections::BTreeMap;
use std::fmt::Write;
use traces::{Execution, Object, Operation, TaskId};

impl Session<'_> {
    /// Executes one command and returns its answer.
    pub(crate) fn monitor(&mut self, command: &str) -> String {
        // The user gave up waiting for it.
        self.search = None;
        monitor_commands::run(self, command)
    }

    /// The answer to a command of the debugger's script, which gets one packet. So what the command
    /// prints is part of the answer; other text waits for a packet that it may precede.
    pub(crate) fn answer_script(&mut self, command: &str) -> String {
        let waiting = std::mem::take(&mut self.output);
        let said = match command.strip_prefix("now ") {
            Some(command) => self.perform_now(command),
            None => self.monitor(command),
        };
        std::mem::replace(&mut self.output, waiting) + &said
    }

    /// Executes one command, including its move. The last line of the answer is the thread to
    /// select, from 1; 0 if the position has not changed. For debuggers that can discard their
    /// caches.
    fn perform_now(&mut self, command: &str) -> String {
        match command {
            "wait" => return self.wait_for_search(),
            "stop" => {
                self.stop_search();
                return String::new();
            }
            _ => {}
        }
        let text = self.monitor(command);
        match self.seek.take() {
            None => text + "\n0",
            Some(Seek::Satisfy) => match self.begin_search() {
                Ok(()) => self.wait_for_search(),
                Err(error) => format!("[sched] {error}\n\n0"),
            },
            Some(seek) => {
                let done = self.perform(seek);
                self.answer(text, done)
            }
        }
    }

    /// The answer to a command that moved.
    pub(super) fn answer(&mut self, text: String, done: Result<Stop, Error>) -> String {
        let mut said = text + &std::mem::take(&mut self.output);
        match done {
            Ok(stop) => {
                self.stop = stop;
                self.selected = stop.task;
            }
            Err(error) => said.push_str(&format!("[sched] {error}\n")),
        }
        let _ = self.execution.interrupt.take();
        format!("{said}\n{}", u32::from(self.stop.task) + 1)
    }

    /// Executes a pending seek.
    pub(crate) fn perform(&mut self, seek: Seek) -> Result<Stop, Error> {
        self.undivert();
        if seek != Seek::ResumeBack {
            self.owed = Owed::default();
        }
        let stop = match seek {
            Seek::Position(position) => self.execution.go_to(&position)?,
            Seek::Failure => self.execution.go_to_failure()?,
            Seek::End => self.execution.go_to_end()?,
            Seek::Pick(task) => self.pick(task)?,
            Seek::Rejoin => self.rejoin()?,
            Seek::Explore => self.explore()?,
            Seek::Satisfy => self.satisfy()?,
            Seek::Keep(changes) => self.save_changes(&changes)?,
            Seek::StepBack => {
                let task = self.stop.task;
                let stop = self.execution.step_back(task, false)?;
                self.owe_backwards(stop)?
            }
            Seek::ResumeBack => self.back_to_event()?,
            Seek::Next => self.next_preemption(true)?,
            Seek::Previous => self.next_preemption(false)?,
        };
        self.report_move(stop)
    }

    /// Reports to the user where a move has led.
    pub(super) fn report_move(&mut self, mut stop: Stop) -> Result<Stop, Error> {
        if stop.reason == Reason::End {
            let text = format!("[sched] {}\n", self.outcome());
            self.print(&text);
        }
        if stop.reason == Reason::Done {
            stop.task = self.execution.current();
        }
        let text = self.when()?;
        self.print(&format!("[sched] {text}"));
        Ok(stop)
    }

    fn next_preemption(&mut self, forwards: bool) -> Result<Stop, Error> {
        let here = self.execution.at.step;
        let steps = preemptions(&self.execution.trace.execution);
        let found = if forwards {
            steps.into_iter().find(|&step| step > here)
        } else {
            steps.into_iter().rev().find(|&step| step < here)
        };
        match found {
            Some(step) => self.execution.go_to_step(step),
            None if forwards => self.execution.go_to_end(),
            None => {
                self.execution.go_to(&Position::entry(0))?;
                Ok(Stop { task: self.execution.current(), reason: Reason::Begin })
            }
        }
    }

    pub(super) fn seek(&mut self, seek: Seek) -> String {
        self.history.push(self.execution.at.clone());
        self.future.clear();
        self.seek = Some(seek);
        String::new()
    }

    pub(super) fn seek_to(&mut self, place: &str) -> String {
        let last = self.execution.trace.execution.steps.len() as u64;
        let seek = match place {
            "start" => Seek::Position(Position::entry(0)),
            "end" => Seek::End,
            "failure" => Seek::Failure,
            _ => match place.parse::<Position>() {
                Ok(position) if position.step > last => {
                    return format!("the schedule has {last} steps\n");
                }
                Ok(position) if position == Position::chosen(0) => {
                    Seek::Position(Position::entry(0))
                }
                Ok(position) => Seek::Position(position),
                Err(()) => return format!("{place} is not a position: see `monitor help`\n"),
            },
        };
        self.seek(seek)
    }

    pub(super) fn go_in_history(&mut self, back: bool) -> String {
        let here = self.execution.at.clone();
        let (from, to) = match back {
            true => (&mut self.history, &mut self.future),
            false => (&mut self.future, &mut self.history),
        };
        match from.pop() {
            Some(position) => {
                to.push(here);
                self.seek = Some(Seek::Position(position));
                String::new()
            }
            None => "there is no position to go to\n".to_owned(),
        }
    }

    pub(super) fn checkpoint(&mut self) -> Result<String, Error> {
        let number = self.next_checkpoint;
        self.next_checkpoint += 1;
        self.execution.leave_checkpoint()?;
        self.saved_positions.push((number, self.execution.at.clone()));
        let when = self.when()?;
        Ok(format!("Checkpoint {number}: {when}"))
    }

    pub(super) fn checkpoints(&self) -> String {
        if self.saved_positions.is_empty() {
            return "No checkpoints.\n".to_owned();
        }
        self.saved_positions
            .iter()
            .map(|(number, position)| format!("{number}  at {position}\n"))
            .collect()
    }

    pub(super) fn restart_at(&mut self, number: &str) -> String {
        let kept = number.parse::<u64>().ok();
        let found = self.saved_positions.iter().find(|(number, _)| Some(*number) == kept);
        match found.map(|(_, position)| position.clone()) {
            Some(position) => self.seek(Seek::Position(position)),
            None => format!("there is no checkpoint {number}\n"),
        }
    }

    pub(super) fn delete(&mut self, number: &str) -> String {
        let before = self.saved_positions.len();
        self.saved_positions.retain(|(kept, _)| kept.to_string() != number);
        if self.saved_positions.len() < before {
            String::new()
        } else {
            format!("there is no checkpoint {number}\n")
        }
    }

    pub(super) fn when(&mut self) -> Result<String, Error> {
        let at = self.execution.at.clone();
        let execution = &self.execution.trace.execution;
        let total = execution.steps.len();
        let under_way = at.step.checked_sub(1).and_then(|step| execution.steps.get(step as usize));
        let what = match (under_way, &at.place) {
            (_, StepPoint::End) => "the execution is over".to_owned(),
            (Some(step), StepPoint::Chosen) => {
                format!("about to do: {}", describe_step(execution, step))
            }
            (Some(step), StepPoint::Inside(_)) => {
                format!("after: {}", describe_step(execution, step))
            }
            (None, _) => "before main's first operation".to_owned(),
        };
        Ok(format!("step {} of {total}, position {at}: {what}\n", at.step))
    }

    /// The program's output so far.
    pub(super) fn program_output(&self) -> String {
        String::from_utf8_lossy(&self.execution.live().output()).into_owned()
    }

    /// The names of all objects, one on each line.
    pub(super) fn object_names(&self) -> String {
        labels(&self.execution.trace.execution.objects)
            .into_iter()
            .map(|name| name + "\n")
            .collect()
    }

    /// What happens to a change of memory or registers.
    pub(super) fn describe_change(&self) -> String {
        match self.diversion {
            Some(_) => {
                "memory or registers were changed in a copy of the process, which is discarded \
                 when the program resumes, unless `keep` makes a change of memory part of \
                 another schedule\n"
            }
            None => "nothing was changed\n",
        }
        .to_owned()
    }

    /// Requests that the named task runs next; none if the arguments do not name one.
    pub(super) fn pick_named(&mut self, arguments: &[&str]) -> Option<String> {
        let [task] = arguments else { return None };
        let task = task.trim_start_matches(['T', 't']).parse().ok()?;
        Some(self.seek(Seek::Pick(task)))
    }

    /// Requests that the last change of memory becomes part of another schedule.
    pub(super) fn keep_changes(&mut self) -> Result<String, Error> {
        Ok(match self.changes()? {
            Ok(changes) => self.seek(Seek::Keep(changes)),
            Err(why) => why + "\n",
        })
    }

    pub(super) fn list_threads(&mut self) -> Result<String, Error> {
        let threads = self.execution.threads()?.to_vec();
        let execution = &self.execution.trace.execution;
        let mut text = String::new();
        for thread in &threads {
            let here = if thread.task == self.stop.task { '*' } else { ' ' };
            let state = thread.state(execution);
            let _ = writeln!(text, "{here} T{} {} ({state})", thread.task, thread.name);
        }
        Ok(text)
    }

    pub(super) fn enabled(&mut self) -> Result<String, Error> {
        let threads = self.execution.threads()?;
        let able = threads.iter().filter(|thread| !thread.is_blocked());
        let tasks: Vec<String> = able.map(|thread| thread.task.to_string()).collect();
        Ok(tasks.join(" ") + "\n")
    }

    /// The step before which task statuses are computed.
    fn next_step(&self) -> usize {
        let at = &self.execution.at;
        match at.place {
            StepPoint::Chosen => at.step.saturating_sub(1) as usize,
            _ => at.step as usize,
        }
    }

    pub(super) fn why(&mut self, task: Option<&str>) -> Result<String, Error> {
        let wanted = task.map(|task| task.trim_start_matches(['T', 't']).parse::<u16>());
        let wanted = match wanted {
            Some(Ok(task)) => task,
            Some(Err(_)) => return Ok("usage: why TASK, as in `why T2`\n".to_owned()),
            None => self.selected,
        };
        let trace = &self.execution.trace;
        let status = task_status::task_statuses(trace, self.next_step());
        let Some(found) = status.iter().find(|status| status.task.0 == wanted) else {
            return Ok(format!("T{wanted} does not exist: it has ended, or was not created yet\n"));
        };
        Ok(match &found.why {
            Some(why) => format!("T{wanted}: {}\n", BlockedText(why, &trace.execution)),
            None => format!("T{wanted} is enabled\n"),
        })
    }

    pub(super) fn who(&self, object: Option<&str>) -> String {
        let trace = &self.execution.trace;
        let step = self.next_step();
        let locks = HeldLocks::before(&trace.execution, step.min(trace.execution.steps.len()));
        let statuses = task_status::task_statuses(trace, step);
        let mut text = String::new();
        let names = labels(&trace.execution.objects);
        for (number, known) in trace.execution.objects.iter().enumerate() {
            let name = &names[number];
            let is_inferred = locks.is_inferred(number as u32);
            let title = if is_inferred { format!("{INFERRED} {name}") } else { name.clone() };
            if object.is_some_and(|object| known.name != object && name != object) {
                continue;
            }
            let holder = locks.holder(number as u32);
            let waiting = statuses.iter().filter(|status| status.object == Some(number as u32));
            let waiting: Vec<_> = waiting.collect();
            if object.is_none() && holder.is_none() && waiting.iter().all(|it| it.enabled) {
                continue;
            }
            let is_task = waiting.iter().any(|it| it.operation == Some(Operation::Join));
            let _ = match holder {
                _ if is_task => writeln!(text, "{name} has not ended"),
                Some((task, since)) => {
                    writeln!(text, "{title} is held by {task} since step {}", since + 1)
                }
                None => writeln!(text, "{name} is not held"),
            };
            for status in waiting {
                if let Some(operation) = status.operation {
                    let able = if status.enabled { "may" } else { "waits to" };
                    let _ = writeln!(text, "{} {able} {}", status.task, operation.name());
                }
            }
        }
        let Some(object) = object else {
            let none = "nothing is held or waited for\n".to_owned();
            return if text.is_empty() { none } else { text };
        };
        if text.is_empty() {
            text = format!("no object is called {object}; there are: {}\n", names.join(", "));
        }
        text
    }

    pub(super) fn list(&self, range: &[&str]) -> String {
        let execution = &self.execution.trace.execution;
        let total = execution.steps.len();
        let here = self.execution.at.step as usize;
        let bound = |at: usize| range.get(at).and_then(|text| text.parse::<usize>().ok());
        let first = bound(0).unwrap_or(here.saturating_sub(10)).max(1);
        let last = bound(1).unwrap_or(first + 20).min(total).min(first + 500);
        let preempted = preemptions(execution);
        let mut text = String::new();
        for number in first..=last {
            let Some(step) = execution.steps.get(number - 1) else { break };
            let mark = if number == here { '>' } else { ' ' };
            let switch = if preempted.contains(&(number as u64)) { '!' } else { ' ' };
            let _ = writeln!(text, "{mark}{switch}{number:5} {}", describe_step(execution, step));
        }
        text
    }

    pub(super) fn preemptions(&self) -> String {
        let execution = &self.execution.trace.execution;
        let mut text = String::new();
        for step in preemptions(execution) {
            let moved = &execution.steps[step as usize - 1];
            let _ = writeln!(text, "{step:5} {}", describe_step(execution, moved));
        }
        if text.is_empty() { "no task is preempted\n".to_owned() } else { text }
    }

    pub(super) fn schedule(&self) -> String {
        let steps = self.execution.trace.execution.steps.iter();
        let tasks: Vec<String> = steps.map(|step| step.task.0.to_string()).collect();
        tasks.join(" ") + "\n"
    }

    pub(super) fn happens_before(&self) -> String {
        let execution = &self.execution.trace.execution;
        let here = self.next_step();
        if here >= execution.steps.len() {
            return "no step follows\n".to_owned();
        }
        let graph = crate::explain::graph::HappensBefore::of(execution);
        let mut text =
            format!("step {} {}\n", here + 1, describe_step(execution, &execution.steps[here]));
        let mut show = |title: &str, steps: Vec<usize>| {
            let _ = writeln!(text, "{title}: {} steps", steps.len());
            let nearest: Vec<usize> = if title == "before" {
                steps.iter().rev().take(5).rev().copied().collect()
            } else {
                steps.iter().take(5).copied().collect()
            };
            for step in nearest {
                let _ = writeln!(
                    text,
                    "  {:5} {}",
                    step + 1,
                    describe_step(execution, &execution.steps[step])
                );
            }
        };
        for (title, wanted) in [
            ("before", Relation::Before),
            ("concurrent", Relation::Concurrent),
            ("after", Relation::After),
        ] {
            let all = 0..execution.steps.len();
            show(title, all.filter(|&step| graph.relation(step, here) == wanted).collect());
        }
        text
    }
}

/// The steps, from 1, that begin with a preemption.
fn preemptions(execution: &Execution) -> Vec<u64> {
    let marks = execution.preemptions();
    marks.into_iter().map(|step| step as u64 + 1).collect()
}

/// A step as text.
/// The names of objects. Those of one name are numbered, in the order of their first steps.
fn labels(objects: &[Object]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    objects.iter().for_each(|object| *counts.entry(&object.name).or_default() += 1);
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let label = |object: &'_ Object, number: usize| match counts[object.name.as_str()] {
        1 => object.name.clone(),
        _ => format!("{}#{number}", object.name),
    };
    objects
        .iter()
        .map(|object| {
            let number = numbers.entry(&object.name).or_default();
            *number += 1;
            label(object, *number)
        })
        .collect()
}

fn describe_step(execution: &Execution, step: &traces::Step) -> String {
    let name = |task: TaskId| {
        let record = execution.tasks.get(task.index());
        let name = record.map_or("", |record| record.name.as_str());
        let function = record.map_or("", |record| record.function.as_str());
        if name.is_empty() { function.to_owned() } else { name.to_owned() }
    };
    let object = step.object.and_then(|object| execution.objects.get(object as usize));
    let object = object.map_or_else(String::new, |object| format!(" {}", object.name));
    format!(
        "{} {} {}{object}  {}",
        step.task,
        name(step.task),
        step.operation.name(),
        execution.place(step.site)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{ObjectKind, ObjectLocation};

    #[test]
    fn objects_of_one_name_are_distinguished() {
        let named = |name: &str| Object {
            kind: ObjectKind::Mutex,
            place: ObjectLocation::Descriptor(3),
            name: name.to_owned(),
        };
        let objects = ["node->lock", "jobs", "node->lock"].map(named);
        assert_eq!(labels(&objects), ["node->lock#1", "jobs", "node->lock#2"]);
    }
}
