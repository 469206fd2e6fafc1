//! Stacks and values of watched expressions, as read from the target at steps of the displayed
//! schedule.

use super::loaded_trace::LoadedTrace;
use replay_core::debug::{Evaluated, OriginLine, ValueWrite};
use replay_core::symbols::{FrameValues, expressions};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use traces::{TaskId, TaskStack};

/// Watched expressions are read at this many steps before and after the cursor, to find where they
/// change.
pub const AROUND: usize = 1000;

/// What is known about the target at steps of one execution.
#[derive(Debug, Default)]
pub struct Inspections {
    /// The execution.
    of: Option<Arc<LoadedTrace>>,
    /// The last request.
    requested: Option<InspectionRequest>,
    stacks: HashMap<usize, Arc<Vec<TaskStack>>>,
    values: HashMap<String, BTreeMap<usize, Evaluated>>,
    origins: HashMap<(String, usize), Origin>,
    writes: HashMap<(String, usize), Writes>,
    locals: HashMap<(usize, TaskId, usize), FrameValues>,
    /// The steps at which every watched expression was read.
    covered: Range<usize>,
    /// Why the target cannot be read.
    pub error: Option<String>,
}

/// The expressions to read, and the steps at which to read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionRequest {
    /// The step for stacks and values.
    pub step: usize,
    /// The expressions.
    pub expressions: Vec<String>,
    /// More steps at which to read the expressions.
    pub around: Range<usize>,
    /// What else to determine of the values at the step.
    pub more: More,
}

/// What to determine of values besides what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum More {
    /// Nothing.
    #[default]
    Nothing,
    /// Where they came from.
    Origins,
    /// All writes to their memory in the execution.
    Writes,
    /// The variables of a frame of a task's stack, from 0 for the innermost.
    Locals(TaskId, usize),
}

/// All writes to the memory of a value; or why they cannot be listed.
pub type Writes = Result<Vec<ValueWrite>, String>;

/// The copies of a value, from the last one backwards, and where it begins; or why it cannot be
/// followed.
pub type Origin = Result<Vec<OriginLine>, String>;

/// The values and stacks that were read.
#[derive(Debug)]
pub enum InspectionResult {
    /// Values and stacks at one step.
    Step {
        /// The step.
        step: usize,
        /// The stacks of all tasks that have not ended.
        stacks: Vec<TaskStack>,
        /// The values, in the order of the requested expressions.
        values: Vec<Evaluated>,
    },
    /// Where the values at a step came from, in the order of the requested expressions.
    Origins(usize, Vec<Origin>),
    /// The writes to the memory where the values are at a step, in the order of the requested
    /// expressions.
    Writes(usize, Vec<Writes>),
    /// The variables of a frame at a step.
    Locals(usize, (TaskId, usize), FrameValues),
    /// At consecutive steps: the first step, and for each step the values.
    Steps(usize, Vec<Vec<Evaluated>>),
    /// The target cannot be read.
    Failed(String),
}

/// One change of a watched expression.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The step that made it.
    pub step: usize,
    /// The value before the step.
    pub from: String,
    /// The value after it.
    pub to: String,
}

impl Inspections {
    /// Forgets everything unless it is about this execution.
    pub fn keep_only(&mut self, loaded: &Arc<LoadedTrace>) {
        if !self.is_of(loaded) {
            *self = Inspections { of: Some(Arc::clone(loaded)), ..Inspections::default() };
        }
    }

    fn is_of(&self, loaded: &Arc<LoadedTrace>) -> bool {
        self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, loaded))
    }

    /// Records a request; false if the same request was made last.
    pub fn record_request(&mut self, request: &InspectionRequest) -> bool {
        let new = self.requested.as_ref() != Some(request);
        if new {
            self.requested = Some(request.clone());
        }
        new
    }

    /// The stacks at a step, if they were read.
    #[must_use]
    pub fn stacks(&self, step: usize) -> Option<&[TaskStack]> {
        self.stacks.get(&step).map(|stacks| &***stacks)
    }

    /// The value of an expression at a step, if it was read.
    #[must_use]
    pub fn value(&self, expression: &str, step: usize) -> Option<&Evaluated> {
        self.values.get(expression)?.get(&step)
    }

    /// Where the value of an expression at a step came from, if that was requested.
    #[must_use]
    pub fn origin(&self, expression: &str, step: usize) -> Option<&Origin> {
        self.origins.get(&(expression.to_owned(), step))
    }

    /// The writes to the memory of an expression at a step, if they were requested.
    #[must_use]
    pub fn writes(&self, expression: &str, step: usize) -> Option<&Writes> {
        self.writes.get(&(expression.to_owned(), step))
    }

    /// The variables of a frame at a step, if they were requested.
    #[must_use]
    pub fn locals(&self, step: usize, (task, frame): (TaskId, usize)) -> Option<&FrameValues> {
        self.locals.get(&(step, task, frame))
    }

    /// Whether the steps around this one were read, so that changes are known.
    #[must_use]
    pub fn covers(&self, step: usize) -> bool {
        self.covered.contains(&step)
    }

    /// The known changes of an expression, in ascending order of steps.
    pub fn changes(&self, expression: &str) -> impl DoubleEndedIterator<Item = Change> + '_ {
        let known = self.values.get(expression);
        let pairs = known.into_iter().flat_map(|known| known.iter().zip(known.iter().skip(1)));
        pairs.filter_map(|((&step, before), (&next, after))| {
            let changed = next == step + 1 && before.value != after.value;
            changed.then(|| Change { step, from: value_text(before), to: value_text(after) })
        })
    }

    /// Stores a result; results for other executions are dropped.
    pub fn store(
        &mut self,
        of: &Arc<LoadedTrace>,
        expressions: &[String],
        result: InspectionResult,
    ) {
        if !self.is_of(of) {
            return;
        }
        match result {
            InspectionResult::Failed(why) => self.error = Some(why),
            InspectionResult::Step { step, stacks, values } => {
                self.error = None;
                self.stacks.insert(step, Arc::new(stacks));
                self.store_values(expressions, step, values);
            }
            InspectionResult::Origins(step, origins) => {
                let known = expressions.iter().map(|one| (one.clone(), step));
                self.origins.extend(known.zip(origins));
            }
            InspectionResult::Writes(step, writes) => {
                let known = expressions.iter().map(|one| (one.clone(), step));
                self.writes.extend(known.zip(writes));
            }
            InspectionResult::Locals(step, (task, frame), values) => {
                self.locals.insert((step, task, frame), values);
            }
            InspectionResult::Steps(from, steps) => {
                let end = from + steps.len();
                for (step, values) in (from..).zip(steps) {
                    self.store_values(expressions, step, values);
                }
                self.covered = match self.covered.end == from {
                    true => self.covered.start..end,
                    false => from..end,
                };
            }
        }
    }

    fn store_values(&mut self, expressions: &[String], step: usize, values: Vec<Evaluated>) {
        for (expression, value) in expressions.iter().zip(values) {
            self.values.entry(expression.clone()).or_default().insert(step, value);
        }
    }

    /// Prefixes each watched local variable with the task in which it was found, so that it keeps
    /// meaning that task's variable at other steps.
    pub fn qualify(&mut self, watched: &mut [String], step: usize) {
        for expression in watched {
            let seen = self.value(expression, step).cloned();
            if let Some(task) = seen.as_ref().and_then(|seen| seen.task)
                && expressions::parse(expression).is_ok_and(|parsed| parsed.task.is_none())
            {
                *expression = format!("{task}:{expression}");
                if let Some(seen) = seen {
                    self.values.entry(expression.clone()).or_default().insert(step, seen);
                }
            }
        }
    }
}

/// A value, or in parentheses why there is none.
fn value_text(seen: &Evaluated) -> String {
    match &seen.value {
        Ok(value) => value.clone(),
        Err(why) => format!("({why})"),
    }
}
