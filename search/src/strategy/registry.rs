//! The registry of strategies. Everything that lists strategies, creates them or divides their work
//! among workers reads it: the command line (`--strategy`, its help, errors and completions), the
//! explorer's list, [`Frontier`](crate::Frontier) and the runtime.
//!
//! A new strategy is one file in this folder, its `pub mod` line, and one line in the table below:
//!
//! * the file has the struct (plain data: `Debug`, `Clone`, `Serialize`, `Deserialize`), the
//!   [`Descriptor`] with its name, summary, parameter and bound, an implementation of [`Strategy`],
//!   and implementations of [`PrefixReplay`], [`Reduction`] and [`Shareable`], which are empty
//!   unless the strategy needs another implementation than the default;
//! * the line has a name for the variant, the type, the descriptor, and how to create the strategy from
//!   [`StrategyOptions`].
//!
//! The order of the table is the order of lists for the user. A type without a descriptor cannot be
//! selected by name: other strategies or commands create it.
//!
//! [`AnyStrategy`] is an enum and not a trait object, because the runtime keeps its strategy in
//! memory that several processes map: a pointer to code would be valid in one of them only.

use crate::prefix::TrailChoice;
use crate::reduction::pending::PendingOperation;
use crate::strategy::alternate::Alternate;
use crate::strategy::auto::{self, Auto};
use crate::strategy::bounded_dpor::BoundedDpor;
use crate::strategy::checked_dpor::{CheckedDpor, CheckingWalk};
use crate::strategy::descriptor::{Descriptor, StrategyOptions};
use crate::strategy::dfs::{self, Dfs, Measure};
use crate::strategy::directed::{self, Directed};
use crate::strategy::dpor::{self, Dpor};
use crate::strategy::feedback::{self, Feedback};
use crate::strategy::follow::{self, Follow, NonPreemptive};
use crate::strategy::hapset::{self, Hapset};
use crate::strategy::interface::{
    Coverage, Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy,
    forward_strategy,
};
use crate::strategy::iterative::{self, Level};
use crate::strategy::local_search::LocalSearch;
use crate::strategy::pct::{self, Pct};
use crate::strategy::pos::{self, Pos};
use crate::strategy::random::{self, Random};
use crate::strategy::rapos::{self, Rapos};
use crate::strategy::sparse::{self, Sparse};
use crate::strategy::stateless::{self, Stateless};
use crate::strategy::sticky::{self, Sticky};
use crate::strategy::surw::{self, Surw};
use crate::strategy::view::View;
use crate::strategy::when::{self, When};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use traces::wire::Plan;

/// A strategy that can be selected by name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its descriptor.
    pub descriptor: &'static Descriptor,
    create: fn(StrategyOptions) -> AnyStrategy,
}

macro_rules! registry {
    // `$dollar` is a `$` for the macro that this one defines.
    (($dollar:tt) $($variant:ident($type:ty) [
        $($descriptor:path => $create:expr),*
    ];)*) => {
        /// One of the strategies.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[allow(clippy::large_enum_variant, reason = "a search has few of them, and rarely moves them")]
        pub enum AnyStrategy {
            $(#[doc = concat!("[`", stringify!($type), "`].")] $variant($type),)*
        }

        $(impl From<$type> for AnyStrategy {
            fn from(strategy: $type) -> AnyStrategy {
                AnyStrategy::$variant(strategy)
            }
        })*

        /// All strategies that can be selected by name.
        pub const REGISTRY: &[Entry] =
            &[$($(Entry { descriptor: &$descriptor, create: $create },)*)*];

        macro_rules! forward {
            ($dollar self:ident.$dollar method:ident($dollar ($dollar argument:expr),*)) => {
                match $dollar self {
                    $(AnyStrategy::$variant(strategy) => strategy.$dollar method($dollar ($dollar argument),*),)*
                }
            };
        }

        impl AnyStrategy {
            /// [`Shareable::SHARING`] of the strategy.
            #[must_use]
            pub fn sharing(&self) -> Sharing {
                match self { $(AnyStrategy::$variant(_) => <$type as Shareable>::SHARING,)* }
            }

            /// [`Shareable::MEMORYLESS`] of the strategy.
            #[must_use]
            pub fn is_memoryless(&self) -> bool {
                match self { $(AnyStrategy::$variant(_) => <$type as Shareable>::MEMORYLESS,)* }
            }
        }

        impl AnyStrategy {
            /// [`Shareable::LEARNS`] of the strategy.
            #[must_use]
            pub fn learns(&self) -> bool {
                match self { $(AnyStrategy::$variant(_) => <$type as Shareable>::LEARNS,)* }
            }

            /// See [`Shareable::merge`].
            pub fn merge(&mut self, other: &AnyStrategy) {
                match (self, other) {
                    $((AnyStrategy::$variant(strategy), AnyStrategy::$variant(other)) => {
                        strategy.merge(other);
                    })*
                    _ => {}
                }
            }

            /// See [`PrefixReplay::adopt`]. Searches of different kinds have nothing in common.
            pub(crate) fn take_over(
                &mut self,
                before: &mut AnyStrategy,
                trail: &[TrailChoice],
            ) -> usize {
                match (self, before) {
                    $((AnyStrategy::$variant(strategy), AnyStrategy::$variant(before)) => {
                        strategy.adopt(before, trail)
                    })*
                    _ => 0,
                }
            }

            /// See [`Shareable::must_share`].
            #[must_use]
            pub fn must_share(&self) -> bool {
                forward!(self.must_share())
            }
        }
    };
}

registry! { ($)
    Auto(Auto) [auto::DESCRIPTOR => |it| Auto::new(it.seed).into()];
    Level(Level) [
        iterative::ICB => |_| Level::new(Measure::Preemptions, 0).into(),
        iterative::DELAY => |_| Level::new(Measure::Delays, 0).into()
    ];
    Dfs(Dfs) [dfs::DESCRIPTOR => |it| Dfs::new(it.bound).into()];
    Dpor(Dpor) [dpor::DESCRIPTOR => |it| match it.bound {
        None => Dpor::new().into(),
        Some(bound) => BoundedDpor::new(bound).into(),
    }];
    Stateless(Stateless) [stateless::DESCRIPTOR => |_| Stateless::new().into()];
    Directed(Directed) [directed::DESCRIPTOR => |_| Directed::new().into()];
    Random(Random) [random::DESCRIPTOR => |it| Random::new(it.seed).into()];
    Sticky(Sticky) [sticky::DESCRIPTOR => |it| Sticky::new(it.seed, it.parameter).into()];
    Sparse(Sparse) [sparse::DESCRIPTOR => |it| Sparse::new(it.seed, it.parameter).into()];
    Pct(Pct) [pct::DESCRIPTOR => |it| Pct::new(it.seed, it.parameter).into()];
    Pos(Pos) [pos::DESCRIPTOR => |it| Pos::new(it.seed).into()];
    Rapos(Rapos) [rapos::DESCRIPTOR => |it| Rapos::new(it.seed).into()];
    Surw(Surw) [surw::DESCRIPTOR => |it| Surw::new(it.seed).into()];
    Feedback(Feedback) [feedback::DESCRIPTOR => |it| Feedback::new(it.seed).into()];
    Hapset(Hapset) [hapset::DESCRIPTOR => |it| Hapset::new(it.seed, it.parameter, it.bound).into()];
    When(When) [when::DESCRIPTOR => |it| When::new(it.seed).into()];
    Default(NonPreemptive) [follow::NON_PREEMPTIVE => |_| NonPreemptive.into()];
    Alternate(Alternate) [];
    BoundedDpor(BoundedDpor) [];
    CheckedDpor(CheckedDpor) [];
    CheckingWalk(CheckingWalk) [];
    Follow(Follow) [];
    LocalSearch(LocalSearch) [];
}

forward_strategy!([] AnyStrategy, forward);

fn entry(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.descriptor.name == name)
}

/// [`Descriptor::directed_first`] of the strategy that a plan names.
#[must_use]
pub fn directed_first(plan: &Plan) -> u64 {
    let Plan::Named { name, .. } = plan else { return 0 };
    entry(name).map_or(0, |entry| entry.descriptor.directed_first)
}

/// The strategies that lists show, in their order.
pub fn listed() -> impl Iterator<Item = &'static Descriptor> {
    REGISTRY.iter().map(|entry| entry.descriptor).filter(|descriptor| descriptor.listed)
}

/// The names of all listed strategies with their parameters: `auto, directed, ..., pct[:D], ...`.
#[must_use]
pub fn usage() -> String {
    listed().map(Descriptor::usage).collect::<Vec<_>>().join(", ")
}

impl AnyStrategy {
    /// The strategy for a plan. A strategy that runs level by level begins with the lowest.
    #[must_use]
    pub fn new(plan: Plan) -> AnyStrategy {
        match plan {
            Plan::Named { name, parameter, seed, bound } => match entry(&name) {
                Some(entry) => {
                    let default = || entry.descriptor.parameter.map_or(0, |it| it.default);
                    let parameter = parameter.unwrap_or_else(default);
                    (entry.create)(StrategyOptions { seed, parameter, bound })
                }
                // The controller and the runtime have the same registry.
                None => AnyStrategy::nothing(),
            },
            Plan::Departures { most, preemptions } => {
                Dfs::by(Measure::Departures { preemptions }, Some(most)).into()
            }
            Plan::Orders { bound } => CheckedDpor::new(bound).into(),
            Plan::LocalSearch { choices, seed } => LocalSearch::new(&choices, seed).into(),
            Plan::Replay { choices, expected } => Follow::new(choices, expected).into(),
        }
    }

    /// A placeholder that costs nothing to create.
    #[must_use]
    pub fn nothing() -> AnyStrategy {
        AnyStrategy::Default(NonPreemptive)
    }

    /// Lets a search by levels cache the states that it visited in a table that all workers share.
    pub fn share(&mut self, table: &'static [AtomicU64]) {
        if let AnyStrategy::Level(level) = self {
            level.share(table);
        }
    }

    /// Stores no state of the current execution in the shared cache. The caller will run the same
    /// execution again; with its states in the cache, that run would count as redundant.
    pub fn suspend_cache_updates(&mut self) {
        if let AnyStrategy::Level(level) = self {
            level.suspend_cache_updates();
        }
    }

    /// Stores the states that the current execution visited, and from here on all others again.
    pub fn continue_cache_updates(&mut self) {
        if let AnyStrategy::Level(level) = self {
            level.continue_cache_updates();
        }
    }
}

/// A strategy and its parameter, as the user selected them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyChoice {
    name: &'static str,
    parameter: u32,
}

impl From<StrategyChoice> for String {
    /// The text that [`StrategyChoice::parse`] reads.
    fn from(choice: StrategyChoice) -> String {
        match choice.descriptor().parameter {
            // A default may be a number that users cannot write.
            Some(parameter) if parameter.default != choice.parameter => {
                format!("{}:{}", choice.name, choice.parameter)
            }
            _ => choice.name.to_owned(),
        }
    }
}

impl Serialize for StrategyChoice {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        String::from(*self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for StrategyChoice {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<StrategyChoice, D::Error> {
        let text = String::deserialize(from)?;
        StrategyChoice::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl StrategyChoice {
    /// The non-preemptive schedule: `run` without a strategy.
    pub const NON_PREEMPTIVE: StrategyChoice = StrategyChoice::of(&follow::NON_PREEMPTIVE);
    /// `auto`.
    pub const AUTO: StrategyChoice = StrategyChoice::of(&auto::DESCRIPTOR);
    /// `when`.
    pub const WHEN: StrategyChoice = StrategyChoice::of(&when::DESCRIPTOR);
    /// `random`.
    pub const RANDOM: StrategyChoice = StrategyChoice::of(&random::DESCRIPTOR);
    /// `dfs`.
    pub const DFS: StrategyChoice = StrategyChoice::of(&dfs::DESCRIPTOR);
    /// `dpor`.
    pub const DPOR: StrategyChoice = StrategyChoice::of(&dpor::DESCRIPTOR);
    /// `stateless`.
    pub const STATELESS: StrategyChoice = StrategyChoice::of(&stateless::DESCRIPTOR);
    /// `icb`.
    pub const ICB: StrategyChoice = StrategyChoice::of(&iterative::ICB);

    /// The strategy with the default of its parameter.
    #[must_use]
    pub const fn of(descriptor: &'static Descriptor) -> StrategyChoice {
        let parameter = match descriptor.parameter {
            Some(parameter) => parameter.default,
            None => 0,
        };
        StrategyChoice { name: descriptor.name, parameter }
    }

    /// The choice that `text` names, as in `pct:3`.
    ///
    /// # Errors
    /// A message for the user if no listed strategy has the name, or the parameter does not fit.
    pub fn parse(text: &str) -> Result<StrategyChoice, String> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let found = listed().find(|descriptor| descriptor.name == name);
        let descriptor =
            found.ok_or_else(|| format!("unknown strategy; the strategies are: {}", usage()))?;
        match (descriptor.parameter, value) {
            (_, None) => Ok(StrategyChoice::of(descriptor)),
            (None, Some(_)) => Err(format!("{name} takes no parameter")),
            (Some(parameter), Some(value)) => match value.parse() {
                Ok(number) if number > 0 => {
                    Ok(StrategyChoice { name: descriptor.name, parameter: number })
                }
                _ => Err(format!("{name} takes {}: a number of 1 or more", parameter.meaning)),
            },
        }
    }

    /// The name, without the parameter.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The descriptor of the strategy.
    ///
    /// # Panics
    /// Never: a choice is made from a descriptor of the registry.
    #[must_use]
    pub fn descriptor(self) -> &'static Descriptor {
        entry(self.name).map(|entry| entry.descriptor).expect("the strategy is in the registry")
    }

    /// Whether `--bound` has an effect on the strategy.
    #[must_use]
    pub fn is_bounded(self) -> bool {
        self.descriptor().bound.is_some()
    }

    /// Whether no execution of the strategy has to repeat a part of an earlier one.
    #[must_use]
    pub fn repeats_nothing(self) -> bool {
        AnyStrategy::new(self.plan(0, None)).sharing() == Sharing::ByNumber
    }

    /// The plan that the runtime creates the strategy from.
    #[must_use]
    pub fn plan(self, seed: u64, bound: Option<u32>) -> Plan {
        let bound = bound.filter(|_| self.is_bounded());
        Plan::Named { name: self.name.to_owned(), parameter: Some(self.parameter), seed, bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{programs, runs};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_entry_creates_a_strategy_that_runs() {
        let mut names = BTreeSet::new();
        for Entry { descriptor, .. } in REGISTRY {
            assert!(names.insert(descriptor.name), "{} is not unique", descriptor.name);
            assert!(!descriptor.summary.is_empty());
            let mut strategy = AnyStrategy::new(StrategyChoice::of(descriptor).plan(1, None));
            let run = runs(&programs::locked(2, 1), &mut strategy).next().expect("one execution");
            assert!(run.ending.is_ok(), "{}: {run:?}", descriptor.name);
        }
    }

    #[test]
    fn listed_names_are_parsed_and_parameters_checked() {
        for descriptor in listed() {
            let choice = StrategyChoice::parse(descriptor.name).expect("the name is listed");
            assert_eq!(choice, StrategyChoice::of(descriptor));
            assert_eq!(StrategyChoice::parse(&String::from(choice)), Ok(choice));
            let with = StrategyChoice::parse(&format!("{}:7", descriptor.name));
            assert_eq!(with.is_ok(), descriptor.parameter.is_some(), "{}", descriptor.name);
            if let Ok(with) = with {
                assert_eq!(StrategyChoice::parse(&String::from(with)), Ok(with));
            }
            assert!(StrategyChoice::parse(&format!("{}:0", descriptor.name)).is_err());
        }
        let unknown = StrategyChoice::parse("chess").expect_err("there is no such strategy");
        assert!(unknown.contains("pct[:D]") && !unknown.contains("default"), "{unknown}");
        assert!(StrategyChoice::parse("default").is_err(), "it is not listed");
    }
}
