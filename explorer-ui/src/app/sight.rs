//! What was seen in the program at steps of the schedule that is shown: stacks, and what watched
//! expressions come to.

use super::loaded::Loaded;
use super::model::{Effect, Model, Pane};
use replay_core::debug::Seen;
use replay_core::symbols::expressions;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use traces::TaskStack;

/// So many steps before and after the cursor are looked at for changes.
pub const AROUND: usize = 1000;

/// What was seen, and of what.
#[derive(Debug, Default)]
pub struct Sights {
    /// The execution in which it was.
    of: Option<Arc<Loaded>>,
    /// What was asked last.
    asked: Option<Asked>,
    stacks: HashMap<usize, Arc<Vec<TaskStack>>>,
    values: HashMap<String, BTreeMap<usize, Seen>>,
    /// Where every expression was looked at.
    covered: Range<usize>,
    /// Why nothing can be seen.
    pub trouble: Option<String>,
}

/// What is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// At which step.
    pub step: usize,
    /// The expressions.
    pub expressions: Vec<String>,
    /// The steps at which they are to be looked at, too.
    pub around: Range<usize>,
}

/// What came of it.
#[derive(Debug)]
pub enum Sighted {
    /// At one step.
    Step {
        /// Which.
        step: usize,
        /// Every task that has not ended.
        stacks: Vec<TaskStack>,
        /// The expressions, in the order in which they were asked for.
        values: Vec<Seen>,
    },
    /// At several steps: from which on, and the expressions at each.
    Steps(usize, Vec<Vec<Seen>>),
    /// Nothing can be seen.
    Trouble(String),
}

/// One change of a watched expression.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The step that made it.
    pub step: usize,
    /// What it was.
    pub from: String,
    /// What it is from there on.
    pub to: String,
}

impl Sights {
    /// The stacks at a step.
    #[must_use]
    pub fn stacks(&self, step: usize) -> Option<&[TaskStack]> {
        self.stacks.get(&step).map(|stacks| &***stacks)
    }

    /// What an expression comes to at a step.
    #[must_use]
    pub fn value(&self, expression: &str, step: usize) -> Option<&Seen> {
        self.values.get(expression)?.get(&step)
    }

    /// Where an expression is known to have changed, ascending.
    pub fn changes(&self, expression: &str) -> impl DoubleEndedIterator<Item = Change> + '_ {
        let known = self.values.get(expression);
        let pairs = known.into_iter().flat_map(|known| known.iter().zip(known.iter().skip(1)));
        pairs.filter_map(|((&step, before), (&next, after))| {
            let changed = next == step + 1 && before.value != after.value;
            changed.then(|| Change { step, from: told(before), to: told(after) })
        })
    }

    /// Takes in what was seen in an execution.
    pub fn take(&mut self, of: &Arc<Loaded>, expressions: &[String], seen: Sighted) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, of)) {
            return;
        }
        match seen {
            Sighted::Trouble(why) => self.trouble = Some(why),
            Sighted::Step { step, stacks, values } => {
                self.trouble = None;
                self.stacks.insert(step, Arc::new(stacks));
                self.keep(expressions, step, values);
            }
            Sighted::Steps(from, steps) => {
                let end = from + steps.len();
                for (step, values) in (from..).zip(steps) {
                    self.keep(expressions, step, values);
                }
                self.covered = match self.covered.end == from {
                    true => self.covered.start..end,
                    false => from..end,
                };
            }
        }
    }

    fn keep(&mut self, expressions: &[String], step: usize, values: Vec<Seen>) {
        for (expression, value) in expressions.iter().zip(values) {
            self.values.entry(expression.clone()).or_default().insert(step, value);
        }
    }
}

/// A value, or why there is none.
#[must_use]
pub fn told(seen: &Seen) -> String {
    match &seen.value {
        Ok(value) => value.clone(),
        Err(why) => format!("({why})"),
    }
}

/// Asks for what the pane shows and is not known yet.
pub fn want(model: &mut Model) -> Option<Effect> {
    let loaded = Arc::clone(&model.spot.loaded);
    let (step, end) = (model.spot.cursor, loaded.len());
    if !model.sights.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, &loaded)) {
        model.sights = Sights { of: Some(Arc::clone(&loaded)), ..Sights::default() };
    }
    // The end of a failing execution is known from when it was recorded.
    let recorded = step >= end && loaded.trace.failure.is_some();
    let wanted = match model.pane {
        Pane::Stacks => !recorded && !model.sights.stacks.contains_key(&step),
        Pane::Values => {
            let known = |one: &String| {
                model.sights.value(one, step).is_some() && model.sights.covered.contains(&step)
            };
            !model.expressions.iter().all(known)
        }
        _ => false,
    };
    if !wanted || model.live.is_err() {
        return None;
    }
    let watches = model.pane == Pane::Values;
    let asked = Asked {
        step,
        expressions: if watches { model.expressions.clone() } else { Vec::new() },
        around: match watches {
            true => step.saturating_sub(AROUND)..step.saturating_add(AROUND).min(end) + 1,
            false => 0..0,
        },
    };
    if model.sights.asked.as_ref() == Some(&asked) {
        return None;
    }
    model.sights.asked = Some(asked.clone());
    Some(Effect::See(asked))
}

/// A local variable is watched in the task in which it was found first.
pub fn settle(model: &mut Model, step: usize) {
    for expression in &mut model.expressions {
        let seen = model.sights.value(expression, step).cloned();
        if let Some(task) = seen.as_ref().and_then(|seen| seen.task)
            && expressions::parse(expression).is_ok_and(|read| read.task.is_none())
        {
            *expression = format!("{task}:{expression}");
            if let Some(seen) = seen {
                let known = model.sights.values.entry(expression.clone()).or_default();
                known.insert(step, seen);
            }
        }
    }
}
