//! `monitor` commands. The scripts for gdb and lldb are built on them, and any debugger can use
//! them directly.

use super::stop_on::StopOn;
use super::{Seek, Session};
use crate::Error;
use crate::debug::execution::position::{Position, StepPoint};
use crate::debug::execution::{Reason, Stop};
use crate::explain::blocked::BlockedText;
use crate::explain::locks::HeldLocks;
use crate::explain::task_status;
use std::fmt::Write;
use traces::{Execution, Operation, TaskId};

use crate::explain::graph::Relation;

const HELP: &str = "\
when            the current position, the task and the next step
who [OBJECT]    which task holds a lock and which tasks wait for it; by default all such objects
why [TASK]      why a task is blocked
list [A [B]]    the schedule around the current step, or from step A to step B
threads         every task with its next operation
preemptions     the steps that preempt an enabled task
hb              the steps before, after and concurrent with the next step
schedule        the tasks of all steps, on one line
output          the program's output so far
goto POSITION   go to a step (a number), `start`, `end`, `failure`, or a position printed by `when`
next, prev      go to the next or previous preemption
back, forward   return to the position before the last of these commands, and go forward again
stop-on WHAT    make `continue` stop at each preempt, switch, or step; `off`: at none
pick TASK       let this task run next instead; `pick back`: return to the recorded schedule
explore         search from here and go to the first failure found
save [FILE]     save the current schedule as a trace
checkpoint, checkpoints, restart N, delete N
                save this position, list the saved ones, go to one, delete one
keep            make the last change of memory part of another schedule, from here on
diverge         show what happens to a change of memory or registers
A command that moves does so when the program is resumed next: enter `stepi` or
`thread step-inst -m all-threads` after it. In gdb, `sched` commands do both.
";

impl Session<'_> {
    /// Executes one command and returns its answer.
    pub(crate) fn monitor(&mut self, command: &str) -> String {
        let mut words = command.split_ascii_whitespace();
        let what = words.next().unwrap_or("help");
        let rest: Vec<&str> = words.collect();
        let done = match (what, rest.as_slice()) {
            ("help", _) => Ok(HELP.to_owned()),
            ("when", _) => self.when(),
            ("who", objects) => Ok(self.who(objects.first().copied())),
            ("why", tasks) => self.why(tasks.first().copied()),
            ("list", range) => Ok(self.list(range)),
            ("threads", _) => self.list_threads(),
            ("preemptions", _) => Ok(self.preemptions()),
            ("hb", _) => Ok(self.happens_before()),
            ("schedule", _) => Ok(self.schedule()),
            ("output", _) => {
                Ok(String::from_utf8_lossy(&self.execution.live().output()).into_owned())
            }
            ("goto", [place]) => Ok(self.seek_to(place)),
            ("next", _) => Ok(self.seek(Seek::Next)),
            ("prev", _) => Ok(self.seek(Seek::Previous)),
            ("pick", ["back"]) => Ok(self.seek(Seek::Rejoin)),
            ("pick", [task]) => Ok(match task.trim_start_matches(['T', 't']).parse() {
                Ok(task) => self.seek(Seek::Pick(task)),
                Err(_) => "usage: pick TASK, as in `pick T2`, or `pick back`\n".to_owned(),
            }),
            ("explore", []) => Ok(self.seek(Seek::Explore)),
            ("keep", []) => self.changes().map(|changes| match changes {
                Ok(changes) => self.seek(Seek::Keep(changes)),
                Err(why) => why + "\n",
            }),
            ("save", file) => self.save(file.first().copied()),
            ("back", _) => Ok(self.go_in_history(true)),
            ("forward", _) => Ok(self.go_in_history(false)),
            ("checkpoint", _) => self.checkpoint(),
            ("checkpoints", _) => Ok(self.checkpoints()),
            ("restart", [number]) => Ok(self.restart_at(number)),
            ("delete", [number]) => Ok(self.delete(number)),
            ("stop-on", [what]) => Ok(match StopOn::named(what) {
                Some(what) => {
                    self.stop_on = what;
                    String::new()
                }
                None => "usage: stop-on preempt, switch, step, or off\n".to_owned(),
            }),
            ("position", _) => Ok(format!("{}\n", self.execution.at)),
            ("task", _) => Ok(format!("{}\n", self.stop.task)),
            ("enabled", _) => self.enabled(),
            ("objects", _) => {
                let objects = &self.execution.trace.execution.objects;
                Ok(objects.iter().map(|object| object.name.clone() + "\n").collect())
            }
            ("reverse", ["step", ..]) => Ok(self.seek(Seek::StepBack)),
            ("reverse", ["continue", ..]) => Ok(self.seek(Seek::ResumeBack)),
            ("cancel", _) => {
                self.seek = None;
                Ok(String::new())
            }
            ("diverge", _) => Ok(match self.diversion {
                Some(_) => {
                    "memory or registers were changed in a copy of the process, which is discarded \
                     when the program resumes, unless `keep` makes a change of memory part of \
                     another schedule\n"
                }
                None => "nothing was changed\n",
            }
            .to_owned()),
            _ => Ok(refused(command, what)),
        };
        done.unwrap_or_else(|error: Error| format!("{error}\n"))
    }

    /// Executes one command, including its move. The last line of the answer is the thread to
    /// select, from 1; 0 if the position has not changed. For debuggers that can discard their
    /// caches.
    pub(crate) fn perform_now(&mut self, command: &str) -> String {
        let text = self.monitor(command);
        let Some(seek) = self.seek.take() else { return text + "\n0" };
        let done = self.perform(seek);
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
        let mut stop = match seek {
            Seek::Position(position) => self.execution.go_to(&position)?,
            Seek::Failure => self.execution.go_to_failure()?,
            Seek::End => self.execution.go_to_end()?,
            Seek::Pick(task) => self.pick(task)?,
            Seek::Rejoin => self.rejoin()?,
            Seek::Explore => self.explore()?,
            Seek::Keep(changes) => self.save_changes(&changes)?,
            Seek::StepBack => {
                let task = self.stop.task;
                self.execution.step_back(task, false)?
            }
            Seek::ResumeBack => self.execution.resume_back()?,
            Seek::Next => self.next_preemption(true)?,
            Seek::Previous => self.next_preemption(false)?,
        };
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

    fn seek(&mut self, seek: Seek) -> String {
        self.history.push(self.execution.at.clone());
        self.future.clear();
        self.seek = Some(seek);
        String::new()
    }

    fn seek_to(&mut self, place: &str) -> String {
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

    fn go_in_history(&mut self, back: bool) -> String {
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

    fn checkpoint(&mut self) -> Result<String, Error> {
        let number = self.next_kept;
        self.next_kept += 1;
        self.execution.leave_checkpoint()?;
        self.kept.push((number, self.execution.at.clone()));
        let when = self.when()?;
        Ok(format!("Checkpoint {number}: {when}"))
    }

    fn checkpoints(&self) -> String {
        if self.kept.is_empty() {
            return "No checkpoints.\n".to_owned();
        }
        self.kept.iter().map(|(number, position)| format!("{number}  at {position}\n")).collect()
    }

    fn restart_at(&mut self, number: &str) -> String {
        let kept = number.parse::<u64>().ok();
        let found = self.kept.iter().find(|(number, _)| Some(*number) == kept);
        match found.map(|(_, position)| position.clone()) {
            Some(position) => self.seek(Seek::Position(position)),
            None => format!("there is no checkpoint {number}\n"),
        }
    }

    fn delete(&mut self, number: &str) -> String {
        let before = self.kept.len();
        self.kept.retain(|(kept, _)| kept.to_string() != number);
        if self.kept.len() < before {
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

    fn list_threads(&mut self) -> Result<String, Error> {
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

    fn enabled(&mut self) -> Result<String, Error> {
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

    fn why(&mut self, task: Option<&str>) -> Result<String, Error> {
        let wanted = task.map(|task| task.trim_start_matches(['T', 't']).parse::<u16>());
        let wanted = match wanted {
            Some(Ok(task)) => task,
            Some(Err(_)) => return Ok("usage: why TASK, as in `why T2`\n".to_owned()),
            None => self.selected,
        };
        let trace = &self.execution.trace;
        let standing = task_status::task_statuses(trace, self.next_step());
        let Some(found) = standing.iter().find(|standing| standing.task.0 == wanted) else {
            return Ok(format!("T{wanted} does not exist: it has ended, or was not created yet\n"));
        };
        Ok(match &found.why {
            Some(why) => format!("T{wanted}: {}\n", BlockedText(why, &trace.execution)),
            None => format!("T{wanted} is enabled\n"),
        })
    }

    fn who(&self, object: Option<&str>) -> String {
        let trace = &self.execution.trace;
        let step = self.next_step();
        let locks = HeldLocks::before(&trace.execution, step.min(trace.execution.steps.len()));
        let standings = task_status::task_statuses(trace, step);
        let mut text = String::new();
        for (number, known) in trace.execution.objects.iter().enumerate() {
            if object.is_some_and(|object| known.name != object) {
                continue;
            }
            let holder = locks.holder(number as u32);
            let waiting =
                standings.iter().filter(|standing| standing.object == Some(number as u32));
            let waiting: Vec<_> = waiting.collect();
            if object.is_none() && holder.is_none() && waiting.iter().all(|it| it.enabled) {
                continue;
            }
            let name = &known.name;
            let is_task = waiting.iter().any(|it| it.operation == Some(Operation::Join));
            let _ = match holder {
                _ if is_task => writeln!(text, "{name} has not ended"),
                Some((task, since)) => {
                    writeln!(text, "{name} is held by {task} since step {}", since + 1)
                }
                None => writeln!(text, "{name} is not held"),
            };
            for standing in waiting {
                if let Some(operation) = standing.operation {
                    let able = if standing.enabled { "may" } else { "waits to" };
                    let _ = writeln!(text, "{} {able} {}", standing.task, operation.name());
                }
            }
        }
        let Some(object) = object else {
            let none = "nothing is held or waited for\n".to_owned();
            return if text.is_empty() { none } else { text };
        };
        if text.is_empty() {
            let names: Vec<&str> =
                trace.execution.objects.iter().map(|object| object.name.as_str()).collect();
            text = format!("no object is called {object}; there are: {}\n", names.join(", "));
        }
        text
    }

    fn list(&self, range: &[&str]) -> String {
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

    fn preemptions(&self) -> String {
        let execution = &self.execution.trace.execution;
        let mut text = String::new();
        for step in preemptions(execution) {
            let moved = &execution.steps[step as usize - 1];
            let _ = writeln!(text, "{step:5} {}", describe_step(execution, moved));
        }
        if text.is_empty() { "no task is preempted\n".to_owned() } else { text }
    }

    fn schedule(&self) -> String {
        let steps = self.execution.trace.execution.steps.iter();
        let tasks: Vec<String> = steps.map(|step| step.task.0.to_string()).collect();
        tasks.join(" ") + "\n"
    }

    fn happens_before(&self) -> String {
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

/// The answer to an unknown or incomplete command.
fn refused(command: &str, what: &str) -> String {
    let named = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let names_command = |line: &&str| named(line).split([' ', ',']).any(|word| word == what);
    match HELP.lines().find(names_command) {
        Some(line) => format!("wrong arguments: {command}\n{line}\n"),
        None => format!("no such command: {command}\n{HELP}"),
    }
}

/// The steps, from 1, that begin with a preemption.
fn preemptions(execution: &Execution) -> Vec<u64> {
    let marks = execution.preemptions();
    marks.into_iter().map(|step| step as u64 + 1).collect()
}

/// A step as text.
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
