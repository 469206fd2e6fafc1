//! Every strategy behind one type.
//!
//! An enum and no trait object: the runtime keeps its strategy in memory that several processes
//! map, where a pointer to code would be worth nothing.

use crate::auto::Auto;
use crate::bounded::Bounded;
use crate::checked::{Checked, Walk};
use crate::dfs::{Dfs, Measure};
use crate::directed::Directed;
use crate::dpor::Dpor;
use crate::feedback::Feedback;
use crate::follow::{Follow, NonPreemptive};
use crate::hapset::Hapset;
use crate::iterated::Level;
use crate::near::Near;
use crate::pct::Pct;
use crate::pos::Pos;
use crate::random::Random;
use crate::sticky::Sticky;
use crate::surw::Surw;
use crate::{Coverage, Decision, Next, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use traces::wire::Plan;

/// One of the strategies.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is not moved")]
pub enum Any {
    /// [`NonPreemptive`].
    Default(NonPreemptive),
    /// [`Random`].
    Random(Random),
    /// [`Dfs`].
    Dfs(Dfs),
    /// [`Sticky`].
    Sticky(Sticky),
    /// [`Pct`].
    Pct(Pct),
    /// [`Pos`].
    Pos(Pos),
    /// [`Level`].
    Level(Level),
    /// [`Dpor`].
    Dpor(Dpor),
    /// [`Bounded`].
    Bounded(Bounded),
    /// [`Checked`].
    Checked(Checked),
    /// [`Surw`].
    Surw(Surw),
    /// [`Feedback`].
    Feedback(Feedback),
    /// [`Hapset`].
    Hapset(Hapset),
    /// [`Directed`].
    Directed(Directed),
    /// [`Auto`].
    Auto(Auto),
    /// [`Walk`].
    Walk(Walk),
    /// [`Follow`].
    Follow(Follow),
    /// [`Near`].
    Near(Near),
}

impl Any {
    /// The strategy for a plan; of one that has levels, the lowest.
    #[must_use]
    pub fn new(plan: Plan) -> Any {
        match plan {
            Plan::Default => Any::Default(NonPreemptive),
            Plan::Random { seed } => Any::Random(Random::new(seed)),
            Plan::Dfs { bound } => Any::Dfs(Dfs::new(bound)),
            Plan::Sticky { seed, weight } => Any::Sticky(Sticky::new(seed, weight)),
            Plan::Pct { seed, depth } => Any::Pct(Pct::new(seed, depth)),
            Plan::Pos { seed } => Any::Pos(Pos::new(seed)),
            Plan::Icb { .. } => Any::Level(Level::new(Measure::Preemptions, 0)),
            Plan::Delay { .. } => Any::Level(Level::new(Measure::Delays, 0)),
            Plan::Departures { most, preemptions } => {
                Any::Dfs(Dfs::by(Measure::Departures { preemptions }, Some(most)))
            }
            Plan::Dpor { bound: None } => Any::Dpor(Dpor::new()),
            Plan::Dpor { bound: Some(bound) } => Any::Bounded(Bounded::new(bound)),
            Plan::Orders { bound } => Any::Checked(Checked::new(bound)),
            Plan::Surw { seed } => Any::Surw(Surw::new(seed)),
            Plan::Feedback { seed } => Any::Feedback(Feedback::new(seed)),
            Plan::Hapset { seed, walks, bound } => Any::Hapset(Hapset::new(seed, walks, bound)),
            Plan::Directed => Any::Directed(Directed::new()),
            Plan::Auto { seed } => Any::Auto(Auto::new(seed)),
            Plan::Near { choices, seed } => Any::Near(Near::new(&choices, seed)),
            Plan::Replay { choices, expected } => Any::Follow(Follow::new(choices, expected)),
        }
    }

    /// A strategy that does nothing of interest, where one has to stand.
    #[must_use]
    pub fn nothing() -> Any {
        Any::Default(NonPreemptive)
    }

    /// From here on it remembers in this table what was seen, if that is shared by all that search.
    pub fn share(&mut self, table: &'static [AtomicU64]) {
        if let Any::Level(level) = self {
            level.share(table);
        }
    }

    /// The execution that was begun is only tried: nothing is remembered where others see it.
    pub fn only_look(&mut self) {
        if let Any::Level(level) = self {
            level.only_look();
        }
    }
}

impl Any {
    /// Whether an execution depends on none before it: nothing that was learned of the program since
    /// makes what the strategy knows wrong.
    #[must_use]
    pub fn is_memoryless(&self) -> bool {
        matches!(
            self,
            Any::Default(_)
                | Any::Random(_)
                | Any::Sticky(_)
                | Any::Pct(_)
                | Any::Pos(_)
                | Any::Surw(_)
                | Any::Feedback(_)
                | Any::Follow(_)
        )
    }
}

macro_rules! forward {
    ($self:ident, $strategy:ident => $call:expr) => {
        match $self {
            Any::Default($strategy) => $call,
            Any::Random($strategy) => $call,
            Any::Dfs($strategy) => $call,
            Any::Sticky($strategy) => $call,
            Any::Pct($strategy) => $call,
            Any::Pos($strategy) => $call,
            Any::Level($strategy) => $call,
            Any::Dpor($strategy) => $call,
            Any::Bounded($strategy) => $call,
            Any::Checked($strategy) => $call,
            Any::Surw($strategy) => $call,
            Any::Feedback($strategy) => $call,
            Any::Hapset($strategy) => $call,
            Any::Directed($strategy) => $call,
            Any::Auto($strategy) => $call,
            Any::Walk($strategy) => $call,
            Any::Follow($strategy) => $call,
            Any::Near($strategy) => $call,
        }
    };
}

impl Strategy for Any {
    fn begin(&mut self, number: u64) -> bool {
        forward!(self, strategy => strategy.begin(number))
    }

    #[inline]
    fn choose(&mut self, view: &View<'_>) -> Decision {
        forward!(self, strategy => strategy.choose(view))
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        forward!(self, strategy => strategy.choose_data(of))
    }

    fn end(&mut self, outcome: Outcome) {
        forward!(self, strategy => strategy.end(outcome));
    }

    fn again(&mut self) {
        forward!(self, strategy => strategy.again());
    }

    fn expected(&self) -> Option<u32> {
        forward!(self, strategy => strategy.expected())
    }

    fn fell_short(&self) -> bool {
        forward!(self, strategy => strategy.fell_short())
    }

    fn detailed(&self) -> bool {
        forward!(self, strategy => strategy.detailed())
    }

    #[inline]
    fn looks(&self) -> bool {
        forward!(self, strategy => strategy.looks())
    }

    fn wants_frames(&self) -> bool {
        forward!(self, strategy => strategy.wants_frames())
    }

    fn left(&mut self, tasks: &[Next]) {
        forward!(self, strategy => strategy.left(tasks));
    }

    fn class(&self) -> Option<u64> {
        forward!(self, strategy => strategy.class())
    }

    fn is_full(&self) -> bool {
        forward!(self, strategy => strategy.is_full())
    }

    fn doubt(&mut self) {
        forward!(self, strategy => strategy.doubt());
    }

    fn part(&self) -> &'static str {
        forward!(self, strategy => strategy.part())
    }

    fn coverage(&self) -> Coverage {
        forward!(self, strategy => strategy.coverage())
    }
}
