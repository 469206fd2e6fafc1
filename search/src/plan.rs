//! Every strategy behind one type.
//!
//! An enum and no trait object: the runtime keeps its strategy in memory that several processes
//! map, where a pointer to code would be worth nothing.

use crate::auto::Auto;
use crate::checked::Checked;
use crate::dfs::{Dfs, Measure};
use crate::directed::Directed;
use crate::dpor::Dpor;
use crate::follow::{Follow, NonPreemptive};
use crate::iterated::Iterated;
use crate::pct::Pct;
use crate::pos::Pos;
use crate::random::Random;
use crate::sticky::Sticky;
use crate::{Coverage, Decision, Next, Outcome, Strategy, View};
use traces::wire::Plan;

/// One of the strategies.
#[derive(Debug, Clone)]
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
    /// [`Iterated`].
    Iterated(Checked<Iterated>),
    /// [`Iterated`] by delays, which relies on no picture of the program.
    Delay(Iterated),
    /// [`Dpor`].
    Dpor(Checked<Dpor>),
    /// [`Directed`].
    Directed(Directed),
    /// [`Auto`].
    Auto(Checked<Auto>),
    /// [`Follow`].
    Follow(Follow),
}

impl Any {
    /// The strategy for a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Any {
        match plan {
            Plan::Default => Any::Default(NonPreemptive),
            Plan::Random { seed } => Any::Random(Random::new(seed)),
            Plan::Dfs { bound, after } => Any::Dfs(Dfs::after(bound, after)),
            Plan::Sticky { seed, weight } => Any::Sticky(Sticky::new(seed, weight)),
            Plan::Pct { seed, depth } => Any::Pct(Pct::new(seed, depth)),
            Plan::Pos { seed } => Any::Pos(Pos::new(seed)),
            Plan::Icb { bound } => {
                Any::Iterated(Checked::new(Iterated::new(Measure::Preemptions, bound)))
            }
            Plan::Delay { bound } => Any::Delay(Iterated::new(Measure::Delays, bound)),
            Plan::Dpor => Any::Dpor(Checked::new(Dpor::new())),
            Plan::Directed => Any::Directed(Directed::new()),
            Plan::Auto { seed } => Any::Auto(Checked::new(Auto::new(seed))),
            Plan::Replay { choices, expected } => Any::Follow(Follow::new(choices, expected)),
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
            Any::Iterated($strategy) => $call,
            Any::Delay($strategy) => $call,
            Any::Dpor($strategy) => $call,
            Any::Directed($strategy) => $call,
            Any::Auto($strategy) => $call,
            Any::Follow($strategy) => $call,
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

    fn detailed(&self) -> bool {
        forward!(self, strategy => strategy.detailed())
    }

    fn left(&mut self, tasks: &[Next]) {
        forward!(self, strategy => strategy.left(tasks));
    }

    fn checks(&self) -> u64 {
        forward!(self, strategy => strategy.checks())
    }

    fn part(&self) -> &'static str {
        forward!(self, strategy => strategy.part())
    }

    fn coverage(&self) -> Coverage {
        forward!(self, strategy => strategy.coverage())
    }
}
