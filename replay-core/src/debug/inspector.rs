//! Reads stacks and values of expressions at the steps of an execution, without a debugger.

use super::dataflow::Location;
use super::described_origin::{LARGEST, OriginLine};
use super::execution::position::{Access, Position, watched_pieces};
use super::execution::{Execution, Interrupt, OnHit, Reason};
use super::process::tasks::Thread;
use crate::symbols::expressions::Expression;
use crate::symbols::{FrameValues, Registers};
use crate::{Error, Target};
use std::sync::Arc;
use traces::wire::TaskInfo;
use traces::{Operation, TaskId, TaskStack, TaskState, Trace};

/// How many writes before and after a position are listed at most: the process stops at each.
const MOST_WRITES: usize = 10_000;
/// Frames of the runtime's library are hidden from the user.
const RUNTIME: &str = "/heddle-runtime-";

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluated {
    /// The task whose local variable it is; none for a static variable.
    pub task: Option<TaskId>,
    /// The value, or why it cannot be read.
    pub value: Result<String, String>,
}

/// A write to the memory of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueWrite {
    /// The step that it belongs to, from 1; 0 is before the first.
    pub step: u64,
    /// The task that wrote.
    pub task: TaskId,
    /// The function and line that wrote.
    pub frame: Option<traces::Frame>,
    /// The contents before.
    pub before: u64,
    /// The contents afterwards.
    pub after: u64,
}

/// A process at a step of an execution, which can be moved to any other step.
///
/// It must be used by the thread that started it.
pub struct Inspector {
    execution: Execution,
    interrupt: Arc<Interrupt>,
}

/// Stops an [`Inspector`] from another thread.
#[derive(Debug, Clone)]
pub struct StopInspector(Arc<Interrupt>);

impl StopInspector {
    /// Requests the stop.
    pub fn stop(&self) {
        self.0.request();
    }
}

impl Inspector {
    /// Starts the program of a trace.
    ///
    /// # Errors
    /// If the program cannot be run or traced.
    pub fn start(target: &Target, trace: Trace) -> Result<Inspector, Error> {
        let interrupt = Arc::<Interrupt>::default();
        let execution = Execution::start(target, trace, Arc::clone(&interrupt))?;
        Ok(Inspector { execution, interrupt })
    }

    /// A handle that stops a slow request.
    #[must_use]
    pub fn stop(&self) -> StopInspector {
        StopInspector(Arc::clone(&self.interrupt))
    }

    /// Goes to a step that is about to begin (from 0; the number of steps is the end). Going
    /// forwards continues the process, going back runs a copy.
    ///
    /// # Errors
    /// If the program can no longer be traced, or diverges from the recording.
    pub fn go_to(&mut self, step: usize) -> Result<(), Error> {
        let steps = self.execution.trace.execution.steps.len();
        let stop = if step >= steps {
            self.execution.go_to_end()?
        } else {
            let to = Position::chosen(step as u64 + 1);
            match self.execution.at == to {
                true => return Ok(()),
                // The process cannot continue from the end.
                false if self.execution.at.step < to.step && self.is_at_a_step() => {
                    self.execution.follow(&to, OnHit::Nothing)?
                }
                false => self.execution.go_to(&to)?,
            }
        };
        match stop.reason {
            Reason::Done | Reason::End => Ok(()),
            Reason::Interrupted => Err(Error::Target("interrupted".into())),
            reason => Err(Error::Target(not_reached(step, reason))),
        }
    }

    fn is_at_a_step(&self) -> bool {
        self.execution.at == Position::chosen(self.execution.at.step)
    }

    /// Every task that has not ended, with its stack.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn stacks(&mut self) -> Result<Vec<TaskStack>, Error> {
        let threads = self.execution.threads()?.to_vec();
        let execution = &self.execution.trace.execution;
        let stack = |thread: &Thread| TaskStack {
            task: TaskId(thread.task),
            state: match thread.is_blocked() {
                true => TaskState::Blocked(thread.operation(execution)),
                false => TaskState::Runnable,
            },
            frames: self.frames(&thread.info),
        };
        Ok(threads.iter().map(stack).collect())
    }

    fn frames(&self, info: &TaskInfo) -> Vec<traces::Frame> {
        let symbols = &self.execution.symbols;
        if info.operation == u32::from(Operation::Start.code()) && info.start != 0 {
            // The task has not begun: only the runtime has frames on its stack.
            let site = symbols.site(info.start);
            return site.map(|site| symbols.frames(site, true)).unwrap_or_default();
        }
        let memory = self.execution.live().tracee();
        symbols.stack(&Registers::from(info), info.exact != 0, memory, RUNTIME)
    }

    /// The values of expressions: of static variables; else of local variables of the task that an
    /// expression names, or of the first task in `order` that has such a variable.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn values(
        &mut self,
        expressions: &[Expression],
        order: &[TaskId],
    ) -> Result<Vec<Evaluated>, Error> {
        let values = expressions.iter().map(|expression| {
            let found = self.execution.locate(expression, order)?;
            Ok(Evaluated { task: found.task, value: found.value() })
        });
        values.collect()
    }

    /// The variables of a frame of a task's stack, from 0 for the innermost, without those of the
    /// runtime. Inlined calls have no separate frame.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn frame_values(&mut self, task: TaskId, frame: usize) -> Result<FrameValues, Error> {
        self.execution.threads()?;
        let execution = &self.execution;
        let thread = execution.known_threads().iter().find(|thread| thread.task == task.0);
        let Some(thread) = thread else { return Ok(Vec::new()) };
        let memory = execution.live().tracee();
        let mut frames = execution.symbols.live(&thread.values.general(), true, memory);
        frames.retain(|live| !execution.live().is_runtime(live.frame.address));
        let found = frames.get(frame).map(|live| execution.symbols.frame_values(live, memory));
        Ok(found.unwrap_or_default())
    }

    /// Where the value of an expression at the current step came from: the copies, from the last
    /// one backwards, and where it begins; or why it cannot be followed.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn origin(
        &mut self,
        expression: &Expression,
        order: &[TaskId],
    ) -> Result<(Evaluated, Result<Vec<OriginLine>, String>), Error> {
        let found = self.execution.locate(expression, order)?;
        let location = found.location();
        let evaluated = Evaluated { task: found.task, value: found.value() };
        let location = match location {
            Ok(location) if location.len() > LARGEST => Err(format!(
                "it has {} bytes: choose a part of it, of at most {LARGEST} bytes",
                location.len()
            )),
            location => location,
        };
        let lines = match location {
            Ok(location) => {
                let task = evaluated.task.unwrap_or(TaskId::MAIN).0;
                let origin = self.execution.origin(location, task)?;
                Ok(self.execution.describe_origin(&origin))
            }
            Err(why) => Err(why),
        };
        Ok((evaluated, lines))
    }

    /// Every write in the execution to the memory where the value of an expression is at the current
    /// step, in order; or why they cannot be listed.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn writes(
        &mut self,
        expression: &Expression,
        order: &[TaskId],
    ) -> Result<Result<Vec<ValueWrite>, String>, Error> {
        let watches = match self.execution.locate(expression, order)?.location() {
            Ok(Location::Memory { address, len }) => watched_pieces(address, len, Access::Write)
                .ok_or_else(|| format!("{len} bytes are more than can be watched at once")),
            Ok(Location::Register { .. }) => Err("it is in a register, not in memory".to_owned()),
            Err(why) => Err(why),
        };
        let watches = match watches {
            Ok(watches) => watches,
            Err(why) => return Ok(Err(why)),
        };
        let history = self.execution.writes_to(&watches, MOST_WRITES)?;
        if history.cut {
            return Ok(Err("interrupted".to_owned()));
        }
        if history.has_later {
            let why = format!("it is written more than {MOST_WRITES} times: use gdb or lldb");
            return Ok(Err(why));
        }
        let mut contents = history.before.clone();
        let writes = history.writes.iter().map(|write| {
            let part = watches.iter().position(|watch| *watch == write.watch).unwrap_or(0);
            ValueWrite {
                step: write.position.step,
                task: TaskId(write.task),
                frame: self.execution.frame_at(write.near),
                before: std::mem::replace(&mut contents[part], write.value),
                after: write.value,
            }
        });
        let writes = writes.collect();
        Ok(Ok(writes))
    }

    /// For a failure by an access to memory that is not there: the pointer, and where it came from.
    ///
    /// # Errors
    /// If the program can no longer be traced.
    pub fn pointer_origin(&mut self) -> Result<Option<(String, Vec<OriginLine>)>, Error> {
        let stop = self.execution.go_to_failure()?;
        let is_access = matches!(stop.reason, Reason::Signal(libc::SIGSEGV | libc::SIGBUS));
        if !is_access || !self.execution.live().is_faulting() {
            return Ok(None);
        }
        let task = self.execution.current();
        let Some(pointer) = self.execution.bad_pointer()? else { return Ok(None) };
        let what = match pointer.address.wrapping_sub(pointer.value) {
            0 => format!("{:#x}", pointer.value),
            _ => format!("{:#x}, which is {:#x} and an offset", pointer.address, pointer.value),
        };
        let origin = self.execution.origin(pointer.location, task)?;
        Ok(Some((what, self.execution.describe_origin(&origin))))
    }
}

/// The message if the program stopped before a step.
fn not_reached(step: usize, reason: Reason) -> String {
    let why = match reason {
        Reason::Signal(signal) => format!("signal {signal} stopped it before"),
        Reason::Gone(_) => "its process ended before".to_owned(),
        _ => "it stopped before".to_owned(),
    };
    format!("the program did not reach step {}: {why}", step + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_not_reached_has_a_reason() {
        assert_eq!(
            not_reached(3, Reason::Signal(11)),
            "the program did not reach step 4: signal 11 stopped it before"
        );
        let ended = Reason::Gone(crate::debug::process::tracee::WaitStatus::Exited(0));
        assert_eq!(
            not_reached(3, ended),
            "the program did not reach step 4: its process ended before"
        );
        assert_eq!(
            not_reached(3, Reason::Breakpoint),
            "the program did not reach step 4: it stopped before"
        );
    }
}
