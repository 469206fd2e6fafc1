//! Descriptors of strategies, for the command line, the explorer and the documentation.

/// A strategy that the user can select by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The name for `--strategy`.
    pub name: &'static str,
    /// What the strategy runs, in a few words: the help text and the explorer's list.
    pub summary: &'static str,
    /// The number that may follow the name after a colon; none if the strategy takes no number.
    pub parameter: Option<Parameter>,
    /// What `--bound` limits; none if the strategy takes no bound.
    pub bound: Option<BoundUnit>,
    /// So many executions of `directed` belong to the learning phase, once an execution of it showed
    /// no new conflict, and a few of `alternate` at its beginning. They find shallow failures, for which
    /// the rest of the phase would be too late. 0: neither.
    pub directed_first: u64,
    /// Whether lists of strategies show it.
    pub listed: bool,
}

/// The number in `--strategy name:number`; it is at least 1 if it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its letter in the help text.
    pub letter: char,
    /// The meaning of the number, for error messages.
    pub meaning: &'static str,
    /// Its value if it is not given.
    pub default: u32,
}

/// The unit of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundUnit {
    /// Switches away from a task that was still enabled.
    Preemptions,
    /// Number of tasks that were passed over although they precede the chosen one in the default
    /// order.
    Delays,
}

impl BoundUnit {
    /// The unit in the singular, for messages.
    #[must_use]
    pub fn singular(self) -> &'static str {
        match self {
            BoundUnit::Preemptions => "preemption",
            BoundUnit::Delays => "delay",
        }
    }
}

/// The user's settings for a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyOptions {
    /// The seed of the whole search.
    pub seed: u64,
    /// The value of [`Descriptor::parameter`].
    pub parameter: u32,
    /// The limit that `--bound` sets.
    pub bound: Option<u32>,
}

impl Descriptor {
    /// A strategy without parameter and bound.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str) -> Descriptor {
        Descriptor { name, summary, parameter: None, bound: None, directed_first: 0, listed: true }
    }

    /// The descriptor with a parameter.
    #[must_use]
    pub const fn with_parameter(
        self,
        letter: char,
        meaning: &'static str,
        default: u32,
    ) -> Descriptor {
        Descriptor { parameter: Some(Parameter { letter, meaning, default }), ..self }
    }

    /// The descriptor with a bound.
    #[must_use]
    pub const fn bounded_by(self, unit: BoundUnit) -> Descriptor {
        Descriptor { bound: Some(unit), ..self }
    }

    /// The descriptor, with so many executions of `directed` in the learning phase.
    #[must_use]
    pub const fn with_directed_first(self, executions: u64) -> Descriptor {
        Descriptor { directed_first: executions, ..self }
    }

    /// The descriptor, left out of lists.
    #[must_use]
    pub const fn unlisted(self) -> Descriptor {
        Descriptor { listed: false, ..self }
    }

    /// The name with its parameter, as in `pct[:D]`.
    #[must_use]
    pub fn usage(&self) -> String {
        match self.parameter {
            Some(parameter) => format!("{}[:{}]", self.name, parameter.letter),
            None => self.name.to_owned(),
        }
    }
}
