//! The failure of a parked process, and what tasks wait for.

use super::{RUNTIME, Reader, user_frames_first};
use crate::explain::{locks, signature};
use crate::symbols::{self, ProcessMemory, Registers, is_user_frame};
use traces::PANICKED;
use traces::order::LocksByTask;
use traces::wire::{FoundFailure, NO_TASK, TaskInfo, task_state};
use traces::{Failure, FailureKind, Frame, TaskId, TaskStack, TaskState, WaitEdge};

impl Reader<'_> {
    pub(super) fn failure(
        &mut self,
        found: &FoundFailure,
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) -> Failure {
        let stacks: Vec<TaskStack> = tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.state != task_state::EXITED)
            .map(|(number, task)| TaskStack {
                task: TaskId(number as u16),
                state: match task.state {
                    task_state::RUNNING => TaskState::Running,
                    task_state::RUNNABLE => TaskState::Runnable,
                    _ => TaskState::Blocked(self.blocked(task)),
                },
                frames: self.symbols.stack(
                    &Registers::from(task),
                    task.exact != 0,
                    memory,
                    RUNTIME,
                ),
            })
            .collect();
        let mut waits = self.waits(found, tasks, memory);
        self.name_ends(&waits);
        locks::name_word_locks(&mut waits, &self.execution);
        let own =
            |stack: &TaskStack| stack.frames.iter().find(|frame| is_user_frame(frame)).cloned();
        // A deadlock without a cycle is reported at the first of the tasks that wait.
        let is_harness = |task: &TaskId| self.main_last && *task == TaskId::MAIN;
        let of_test = waits.first().map(|edge| edge.task);
        let task = found.task.map(TaskId).map(|task| match of_test {
            Some(of_test) if is_harness(&task) => of_test,
            _ => task,
        });
        let of_task = stacks.iter().find(|stack| Some(stack.task) == task);
        let frame = match found.kind {
            // The site in user code, not the site in the library that detected the failure.
            FailureKind::Assertion
            | FailureKind::Abort
            | FailureKind::UncaughtException
            | FailureKind::Crash
            | FailureKind::StackOverflow
            | FailureKind::Spin
            | FailureKind::Livelock
            | FailureKind::DoubleFree
            | FailureKind::ThreadMisuse
            | FailureKind::SignalUnsafe
            | FailureKind::Unsupported => of_task.and_then(own),
            kind if kind.is_deadlock() || kind.is_lock_misuse() => of_task.and_then(own),
            // Some misuses of the heap are detected late; then the site of the `free` is reported
            // instead.
            FailureKind::UseAfterFree if found.exact => of_task.and_then(own),
            // A library's function that ends the process, such as that of Rust, was called by the user's.
            FailureKind::Exit if !self.is_user_site(found.address) => of_task.and_then(own),
            // Rust raises all panics in its library. The stack of a panic in a crate's code is in the past.
            FailureKind::Panic => {
                let panicked = found.past.iter().rfind(|past| past.what == PANICKED);
                panicked.and_then(|past| self.callers(past).find(is_user_frame))
            }
            _ => None,
        };
        let frame = frame.or_else(|| self.frame_at(found.address, found, of_task));
        let place = frame.as_ref().map(Frame::place).unwrap_or_default();
        // The stack of a panic, and of a check that the exit status reports, no longer exists: the message has
        // the place.
        // Where main belongs to the harness, its place in user code is made by the compiler.
        let is_main_of_harness = self.main_last && task == Some(TaskId::MAIN);
        let printed = match found.kind {
            FailureKind::Panic => panicked_at(&found.detail),
            FailureKind::Assertion if found.number != 0 && is_main_of_harness => {
                Some(checked_at(&found.detail).unwrap_or_default())
            }
            FailureKind::Assertion if found.number != 0 => checked_at(&found.detail),
            _ => None,
        };
        let place = printed.unwrap_or(place);
        let site = frame.and_then(|frame| frame.site).or_else(|| self.symbols.site(found.address));
        let mut failure = Failure {
            kind: found.kind,
            signature: String::new(),
            message: String::new(),
            task,
            site,
            place,
            waits,
            stacks,
            past: found.past.iter().map(|past| self.past(past)).collect(),
        };
        failure.message = signature::message(found, &failure, &self.execution);
        let mut places = vec![failure.place.clone()];
        for (what, address) in &found.places {
            let first = self.frame_at(*address, found, None);
            // A task inside a library: where user code called it.
            let of_task = || {
                let mut stacks = failure.stacks.iter();
                let names =
                    |stack: &&TaskStack| what.split(' ').next() == Some(&stack.task.to_string());
                own(stacks.find(names)?)
            };
            let place = match first {
                Some(frame) if is_user_frame(&frame) => Some(frame.place()),
                first => of_task().or(first).map(|frame| frame.place()),
            };
            let place = place.unwrap_or_else(|| "an unknown location".to_owned());
            failure.message.push_str(&format!("; {what} at {place}"));
            places.push(place);
        }
        failure.signature = signature::signature(found, &failure, &self.execution);
        if found.kind == FailureKind::Race {
            // The order of the two accesses does not matter: it is the same race.
            places.sort();
            failure.signature = format!("race {}", places.join(" "));
        }
        failure
    }

    /// The frame at an address in which the user looks for it: the nearest one in the user's code, of
    /// what the code there is inlined in and of its callers. These are known from the stack of an event
    /// of the failure's history, and from that of the task that failed. Without one, the first frame.
    fn frame_at(
        &self,
        address: u64,
        found: &FoundFailure,
        of_task: Option<&TaskStack>,
    ) -> Option<Frame> {
        let site = self.symbols.site(address)?;
        let exact = found.exact && address == found.address;
        let inlined = user_frames_first(self.symbols.frames(site, exact));
        if inlined.first().is_some_and(is_user_frame) {
            return inlined.into_iter().next();
        }
        let event = found.past.iter().rfind(|past| past.stack.first() == Some(&address));
        let callers = event.into_iter().flat_map(|event| self.callers(event));
        // The task may be at the instruction itself, whose site is the address behind it.
        let is_at = |one: &Frame| inlined.first().is_some_and(|first| first.is_at_line_of(one));
        let of_task = of_task.filter(|stack| stack.frames.iter().any(is_at));
        let of_task = of_task.into_iter().flat_map(|stack| stack.frames.clone());
        let own = callers.chain(of_task).find(is_user_frame);
        own.or_else(|| inlined.into_iter().next())
    }

    /// Whether the code at this address, or what it is inlined in, is the user's.
    pub(super) fn is_user_site(&self, address: u64) -> bool {
        let site = self.symbols.site(address);
        site.is_some_and(|site| self.symbols.frames(site, false).iter().any(is_user_frame))
    }

    /// The frames of an earlier event, the innermost first.
    fn callers(&self, past: &traces::wire::HistoryEvent) -> impl Iterator<Item = Frame> {
        past.stack.iter().flat_map(|&address| {
            let site = self.symbols.site(address);
            site.map(|site| self.symbols.frames(site, false)).unwrap_or_default()
        })
    }

    /// An earlier event of the failure's history, with names.
    pub(super) fn past(&self, past: &traces::wire::HistoryEvent) -> traces::HistoryEvent {
        let task = TaskId(past.task);
        let mut held = LocksByTask::new(self.execution.tasks.len().max(task.index() + 1));
        for step in self.execution.steps.iter().take(past.step as usize) {
            held.accesses(&self.execution, step);
        }
        let mut frames: Vec<Frame> = self.callers(past).collect();
        // The innermost frames of a panic are those that print it.
        let own = frames.iter().position(is_user_frame).filter(|_| past.what == PANICKED);
        frames.drain(..own.unwrap_or(0));
        traces::HistoryEvent {
            what: past.what.clone(),
            task,
            step: past.step,
            frames,
            locks: held.of(task).collect(),
        }
    }

    pub(super) fn waits(
        &self,
        found: &FoundFailure,
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) -> Vec<WaitEdge> {
        if !found.kind.is_deadlock() {
            return Vec::new();
        }
        let members: Vec<u16> = if found.cycle.is_empty() {
            (0..tasks.len() as u16)
                .filter(|&number| tasks[usize::from(number)].state == task_state::BLOCKED)
                .collect()
        } else {
            found.cycle.clone()
        };
        // The main of a test harness waits for the end of the test, in every deadlock.
        let is_of_test = |number: &u16| !self.main_last || *number != 0;
        let has_others = members.iter().any(is_of_test);
        members
            .into_iter()
            .filter(|number| !has_others || is_of_test(number))
            .filter_map(|number| {
                let task = tasks.get(usize::from(number))?;
                Some(WaitEdge {
                    task: TaskId(number),
                    object: task.object.checked_sub(1),
                    holder: (task.holder != NO_TASK).then_some(TaskId(task.holder as u16)),
                    site: Some(self.user_site(task, memory)),
                })
            })
            .collect()
    }
}

/// The location in the message of a Rust panic: `src/queue.rs:41:9` becomes `queue.rs:41`.
fn panicked_at(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" panicked at ")?;
    let (file, rest) = rest.split_once(".rs:")?;
    let line = rest.split_once(':')?.0;
    let plain = !file.contains(['\'', '"', ' ']) && line.bytes().all(|byte| byte.is_ascii_digit());
    let own = plain && !symbols::is_library(&format!("{file}.rs"));
    own.then(|| format!("{}.rs:{line}", file.rsplit('/').next().unwrap_or_default()))
}

/// The location in the message of a failed check of a test framework: `src/queue_test.cpp:41: Expected ...`
/// becomes `queue_test.cpp:41`.
fn checked_at(message: &str) -> Option<String> {
    let (file, rest) = message.split_once(':')?;
    let (line, _) = rest.split_once(": ")?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_line.then(|| format!("{}:{line}", file.rsplit('/').next().unwrap_or_default()))
}
