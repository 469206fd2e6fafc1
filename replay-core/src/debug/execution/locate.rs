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
        location_of(located.size, located.stored_at(), self.innermost)
    }
}

/// Where a value of this size is, as far as it can be followed from there. `innermost`: it is a variable of
/// the task's innermost function, whose registers are known.
fn location_of(size: Option<u64>, at: StoredAt, innermost: bool) -> Result<Location, String> {
    let len = size.ok_or("the size of its type is unknown")?;
    match at {
        StoredAt::Memory(address) => Ok(Location::Memory { address, len }),
        StoredAt::Register { .. } if !innermost => {
            Err("it is in a register of a calling function: go to a step within that function"
                .to_owned())
        }
        StoredAt::Register { number, offset } => Location::of_register(number, offset, len)
            .ok_or_else(|| {
                format!("it is in register {number} of DWARF, which Heddle does not know")
            }),
        StoredAt::Nowhere => Err("it is a constant, or is computed from other values".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_followed_are_named() {
        let register = StoredAt::Register { number: 0, offset: 0 };
        assert_eq!(
            location_of(Some(8), StoredAt::Memory(0x10), false),
            Ok(Location::Memory { address: 0x10, len: 8 })
        );
        assert!(location_of(Some(8), register, true).is_ok());
        for (size, at, innermost, why) in [
            (None, StoredAt::Memory(0x10), true, "the size of its type is unknown"),
            (
                Some(8),
                register,
                false,
                "it is in a register of a calling function: go to a step within that function",
            ),
            (
                Some(8),
                StoredAt::Register { number: 900, offset: 0 },
                true,
                "it is in register 900 of DWARF, which Heddle does not know",
            ),
            (
                Some(8),
                StoredAt::Nowhere,
                true,
                "it is a constant, or is computed from other values",
            ),
        ] {
            assert_eq!(location_of(size, at, innermost), Err(why.to_owned()));
        }
    }
}
