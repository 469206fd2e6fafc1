//! Reads stacks and values of expressions at the steps of an execution, without a debugger.

use super::execution::position::Position;
use super::execution::{Execution, Interrupt, OnHit, Reason};
use super::process::tasks::Thread;
use crate::symbols::Registers;
use crate::symbols::expressions::Expression;
use crate::{Error, Target};
use std::sync::Arc;
use traces::wire::{TaskInfo, task_state};
use traces::{Operation, TaskId, TaskStack, TaskState, Trace};

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
            reason => Err(Error::Target(format!(
                "the program did not reach step {}: {reason:?}",
                step + 1
            ))),
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

    fn tasks(&mut self) -> Result<Vec<TaskInfo>, Error> {
        self.execution.live_mut().tasks()
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
        let mut tasks = None;
        let mut seen = Vec::new();
        for expression in expressions {
            let symbols = &self.execution.symbols;
            let memory = self.execution.live().tracee();
            if expression.task.is_none()
                && let Some(value) = symbols.static_value(expression, memory)
            {
                seen.push(Evaluated { task: None, value });
                continue;
            }
            if tasks.is_none() {
                tasks = Some(self.tasks()?);
            }
            seen.push(self.local(expression, tasks.as_deref().unwrap_or_default(), order));
        }
        Ok(seen)
    }

    fn local(&self, expression: &Expression, tasks: &[TaskInfo], order: &[TaskId]) -> Evaluated {
        let symbols = &self.execution.symbols;
        let memory = self.execution.live().tracee();
        let asked: Vec<TaskId> = match expression.task {
            Some(task) => vec![TaskId(task)],
            None => order.to_vec(),
        };
        for task in asked {
            let info = tasks.get(task.index()).filter(|info| info.state != task_state::EXITED);
            let Some(info) = info else { continue };
            let frames = symbols.live(&Registers::from(info), info.exact != 0, memory);
            if let Some(value) = symbols.local_value(expression, &frames, memory) {
                return Evaluated { task: Some(task), value };
            }
        }
        let whose = match expression.task {
            Some(task) => format!("T{task} is in no function with this variable"),
            None => "no such variable here".to_owned(),
        };
        let value = expression.task.and_then(|_| symbols.static_value(expression, memory));
        Evaluated { task: None, value: value.unwrap_or(Err(whose)) }
    }
}
