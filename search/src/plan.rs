//! Every strategy behind one type.
//!
//! An enum and no trait object: the runtime keeps its strategy in memory that several processes
//! map, where a pointer to code would be worth nothing.

use crate::dfs::Dfs;
use crate::follow::{Follow, NonPreemptive};
use crate::random::Random;
use crate::{Coverage, Decision, Outcome, Strategy, View};
use traces::wire::Plan;

/// One of the strategies.
#[derive(Debug, Clone)]
pub enum Any {
    /// [`NonPreemptive`].
    Default(NonPreemptive),
    /// [`Random`].
    Random(Random),
    /// [`Dfs`].
    Dfs(Dfs),
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
            Plan::Replay { choices, expected } => Any::Follow(Follow::new(choices, expected)),
        }
    }
}

macro_rules! forward {
    ($self:ident, $strategy:ident => $call:expr) => {
        match $self {
            Any::Default($strategy) => $call,
            Any::Random($strategy) => $call,
            Any::Dfs($strategy) => $call,
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

    fn coverage(&self) -> Coverage {
        forward!(self, strategy => strategy.coverage())
    }
}
