//! Where the value of an expression is at the current position, without a debugger.

use super::Execution;
use crate::Error;
use crate::debug::dataflow::Location;
use crate::symbols::expressions::Expression;
use crate::symbols::{Located, StoredAt};
use traces::TaskId;

/// The value of an expression, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The task whose local variable it is; none for a static variable.
    pub(crate) task: Option<TaskId>,
    /// Whether it is a variable of the task's innermost frame, whose registers are the task's.
    pub(crate) innermost: bool,
    /// The value, or why it cannot be read.
    pub(crate) located: Result<Located, String>,
}

impl Execution {
    /// The value of an expression: of a static variable; else of a local variable of the task that
    /// the expression names, or of the first task in `order` that has such a variable.
    pub(crate) fn locate(
        &mut self,
        expression: &Expression,
        order: &[TaskId],
    ) -> Result<Found, Error> {
        let of_static = |located| Found { task: None, innermost: false, located };
        if expression.task.is_none()
            && let Some(located) = self.symbols.locate_static(expression, self.live().tracee())
        {
            return Ok(of_static(located));
        }
        self.threads()?;
        if let Some(found) = self.locate_local(expression, order) {
            return Ok(found);
        }
        let why = match expression.task {
            Some(task) => format!("T{task} is in no function with this variable"),
            None => "no such variable here".to_owned(),
        };
        let of_named = expression
            .task
            .and_then(|_| self.symbols.locate_static(expression, self.live().tracee()));
        Ok(of_static(of_named.unwrap_or(Err(why))))
    }

    fn locate_local(&self, expression: &Expression, order: &[TaskId]) -> Option<Found> {
        let memory = self.live().tracee();
        let threads = self.known_threads();
        let named = expression.task.map(TaskId);
        let asked = named.as_ref().map_or(order, std::slice::from_ref);
        asked.iter().find_map(|&task| {
            let thread = threads.iter().find(|thread| thread.task == task.0)?;
            let frames = self.symbols.live(&thread.values.general(), true, memory);
            let (frame, located) = self.symbols.locate_local(expression, &frames, memory)?;
            Some(Found { task: Some(task), innermost: frame == 0, located })
        })
    }
}

impl Found {
    /// The value as text, or why it cannot be read.
    pub(crate) fn value(self) -> Result<String, String> {
        self.located.map(|located| located.value)
    }

    /// Where the value is, as far as it can be followed from there.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub(crate) fn location(&self) -> Result<Location, String> {
        let located = self.located.as_ref().map_err(Clone::clone)?;
        let len = located.size.ok_or("the size of its type is unknown")?;
        match located.stored_at() {
            StoredAt::Memory(address) => Ok(Location::Memory { address, len }),
            StoredAt::Register { .. } if !self.innermost => {
                Err("it is in a register of a calling function: go to a step within that function"
                    .to_owned())
            }
            StoredAt::Register { number, offset } => Location::of_register(number, offset, len)
                .ok_or_else(|| format!("the register {number} of its description is unknown")),
            StoredAt::Nowhere => {
                Err("it is a constant, or is computed from other values".to_owned())
            }
        }
    }
}
