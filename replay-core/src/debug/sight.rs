//! What is to be seen at the steps of an execution without a debugger: every task's stack, and what
//! expressions come to.

use super::execution::position::Position;
use super::execution::{Execution, Interrupt, Notice, Reason};
use super::process::tasks::Thread;
use crate::symbols::Registers;
use crate::symbols::expressions::Expression;
use crate::{Error, Target};
use std::sync::Arc;
use traces::wire::{TaskInfo, task_state};
use traces::{Operation, TaskId, TaskStack, TaskState, Trace};

/// The runtime's own frames are not the program's business.
const RUNTIME: &str = "/heddle-runtime-";

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The task whose variable it is, where it is a local one's.
    pub task: Option<TaskId>,
    /// The value, or why there is none.
    pub value: Result<String, String>,
}

/// A process that stands at a step of an execution and can be had at any other.
///
/// Whoever starts it has to be the thread that uses it.
pub struct Sight {
    execution: Execution,
    interrupt: Arc<Interrupt>,
}

/// Ends what a [`Sight`] does, from another thread.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Interrupt>);

impl Stop {
    /// What runs stops soon.
    pub fn now(&self) {
        self.0.ask();
    }
}

impl Sight {
    /// Starts the program of a trace.
    ///
    /// # Errors
    /// Where the program cannot be run or traced.
    pub fn start(target: &Target, trace: Trace) -> Result<Sight, Error> {
        let interrupt = Arc::<Interrupt>::default();
        let execution = Execution::start(target, trace, Arc::clone(&interrupt))?;
        Ok(Sight { execution, interrupt })
    }

    /// What ends a look that takes too long.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop(Arc::clone(&self.interrupt))
    }

    /// Goes to where a step is about to begin (from 0; the number of steps is the end). Forwards
    /// this is one run; back, one of a copy.
    ///
    /// # Errors
    /// Where the program cannot be traced any more, or goes another way than it was recorded.
    pub fn go_to(&mut self, step: usize) -> Result<(), Error> {
        let steps = self.execution.trace.execution.steps.len();
        let stop = if step >= steps {
            self.execution.go_to_end()?
        } else {
            let to = Position::chosen(step as u64 + 1);
            match self.execution.at == to {
                true => return Ok(()),
                // Not from the end: there nothing goes on.
                false if self.execution.at.step < to.step && self.is_at_a_step() => {
                    self.execution.follow(&to, Notice::Nothing)?
                }
                false => self.execution.go_to(&to)?,
            }
        };
        match stop.reason {
            Reason::Done | Reason::End => Ok(()),
            Reason::Interrupted => Err(Error::Target("the look was given up".into())),
            reason => Err(Error::Target(format!(
                "the program did not come to step {}: {reason:?}",
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
    /// Where the program cannot be traced any more.
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
            // It has not begun: nothing is on its stack but the runtime.
            let site = symbols.site(info.start);
            return site.map(|site| symbols.frames(site, true)).unwrap_or_default();
        }
        let memory = self.execution.live().tracee();
        symbols.stack(&Registers::from(info), info.exact != 0, memory, RUNTIME)
    }

    /// What expressions come to here: over variables with static storage; else over local ones of
    /// the task that an expression names, or of the first of `order` that sees such a variable.
    ///
    /// # Errors
    /// Where the program cannot be traced any more.
    pub fn values(
        &mut self,
        expressions: &[Expression],
        order: &[TaskId],
    ) -> Result<Vec<Seen>, Error> {
        let mut tasks = None;
        let mut seen = Vec::new();
        for expression in expressions {
            let symbols = &self.execution.symbols;
            let memory = self.execution.live().tracee();
            if expression.task.is_none()
                && let Some(value) = symbols.static_value(expression, memory)
            {
                seen.push(Seen { task: None, value });
                continue;
            }
            if tasks.is_none() {
                tasks = Some(self.tasks()?);
            }
            seen.push(self.local(expression, tasks.as_deref().unwrap_or_default(), order));
        }
        Ok(seen)
    }

    fn local(&self, expression: &Expression, tasks: &[TaskInfo], order: &[TaskId]) -> Seen {
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
                return Seen { task: Some(task), value };
            }
        }
        let whose = match expression.task {
            Some(task) => format!("T{task} is in no function with it"),
            None => "no such variable here".to_owned(),
        };
        let value = expression.task.and_then(|_| symbols.static_value(expression, memory));
        Seen { task: None, value: value.unwrap_or(Err(whose)) }
    }
}
