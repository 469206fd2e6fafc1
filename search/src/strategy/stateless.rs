//! Partial order reduction whose executions need nothing from each other: what is left to run is a list of
//! beginnings, and each of them can be run anywhere.
//!
//! [`crate::strategy::dpor`] keeps, at each step, which alternatives it has run and which it still has
//! to run. Several searches have to share that. Here each equivalence class of executions has exactly one
//! *parent*, another class, which can be computed from the class alone. An execution finds its children by
//! looking at itself only, and each class is found by its parent and by no other. The idea is that of the
//! reverse search of Avis and Fukuda (1996); that it can be applied to partial order reduction was shown by
//! Kokologiannakis, Marmanis, Gladstein and Vafeiadis, "Truly Stateless, Optimal Dynamic Partial Order
//! Reduction" (POPL 2022), for executions as graphs, and by Abdulla, Atig, Das, Jonsson and Sagonas,
//! "Parsimonious Optimal Dynamic Partial Order Reduction" (CAV 2024), for sequences. The rules below are
//! neither's; they are made for operations that wait, that may fail and that end the process.
//!
//! A *configuration* is a set of events that contains, with each event, all those before it. After each
//! configuration one enabled task runs *by default*: the first one, where the end of the process comes
//! last. A class determines a path of configurations (`record.rs`). After a configuration,
//! the next operation of the default task either
//!
//! * runs after everything that has to come before it in this class, and the configuration with all of
//!   that and the operation is next on the path; or
//! * is one that may have to wait, and another task takes what it needs first: then the configuration
//!   with this event and everything before it is next; or
//! * never runs, because the process ends before.
//!
//! These cases exclude each other, and each contains the classes of one configuration. So a child differs
//! from its parent in one place (`children.rs`): one more event comes before the operation of the default
//! task, or before the last event that comes before that; another data choice; one event more or less
//! before the end of the process. An execution adds such a child only if everything else in it happened by
//! default. For a given place and event there is one such execution.
//!
//! The effect of a conditional operation at another place is not always known. Then an execution may turn
//! out to be another one than was meant, and is given up; its class is run as the child of its parent.
//!
//! Read-write locks, time limits, spin loops and test harnesses in main are not known: a search that meets
//! one of them claims nothing.

mod children;
mod record;
mod rules;
mod start;
mod stored;
#[cfg(test)]
mod tests;

use crate::reduction::events::{Clock, Event, Order};
use crate::strategy::descriptor::Descriptor;
use crate::{
    Coverage, Decision, GiveUp, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable,
    Strategy, View,
};
use record::{Data, Record, Step};
use serde::{Deserialize, Serialize};
use start::{Purpose, Start};
use traces::Operation;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("stateless", "as dpor, divided among many machines");

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stateless {
    /// What is left to run, last first.
    #[serde(with = "stored")]
    open: Vec<Start>,
    /// See [`Stateless::want`].
    wanted: usize,
    #[serde(skip)]
    start: Start,
    /// Whether something was not run, or not known.
    holes: bool,
    #[serde(skip)]
    steps: Vec<Step>,
    #[serde(skip)]
    order: Order,
    #[serde(skip)]
    pending: Vec<PendingOperation>,
    /// The number of data choices that the last step has made.
    #[serde(skip)]
    asked: usize,
    /// Whether the execution that ended belongs to another beginning.
    #[serde(skip)]
    redundant: bool,
}

impl Default for Stateless {
    fn default() -> Stateless {
        Stateless {
            open: vec![Start::default()],
            wanted: 0,
            start: Start::default(),
            holes: false,
            steps: Vec::new(),
            order: Order::default(),
            pending: Vec::new(),
            asked: 0,
            redundant: false,
        }
    }
}

impl Stateless {
    /// A search from the start.
    #[must_use]
    pub fn new() -> Stateless {
        Stateless::default()
    }

    /// Gives away every second beginning, as long as some remain.
    pub fn split(&mut self) -> Option<Stateless> {
        if self.open.len() < 2 {
            return None;
        }
        let mut kept = Vec::new();
        let mut open = Vec::new();
        for (at, start) in self.open.drain(..).enumerate() {
            if at % 2 == 0 { kept.push(start) } else { open.push(start) }
        }
        self.open = kept;
        Some(Stateless { open, wanted: self.wanted, ..Stateless::default() })
    }

    /// As long as there are fewer beginnings than this, the oldest is run first, below which the most is
    /// left; then the newest.
    pub fn want(&mut self, beginnings: usize) {
        self.wanted = beginnings;
    }

    /// The number of beginnings that are left to run.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether something was not run, or not known, so that the search is not complete.
    #[must_use]
    pub fn has_holes(&self) -> bool {
        self.holes
    }

    /// Whether the execution that ended is not counted, because another one is of its class.
    #[must_use]
    pub fn is_redundant(&self) -> bool {
        self.redundant
    }

    /// Adds the children of the execution that ended.
    fn look(&mut self, failed: bool) {
        let mut steps = std::mem::take(&mut self.steps);
        let exits = failed || steps.last().is_some_and(|last| last.event.exits);
        let record = Record::new(&mut steps, &self.pending, &self.order, exits);
        match record.path() {
            Some(path) if children::is_meant(&record, &path, &self.start) => {
                children::children(&record, &path, &mut self.open);
            }
            Some(_) => self.redundant = true,
            None => self.holes = true,
        }
        self.steps = steps;
    }
}

impl Strategy for Stateless {
    fn begin(&mut self, _: u64) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let few = self.open.len() < self.wanted;
        let start = if few { self.open.remove(0) } else { self.open.pop().unwrap_or_default() };
        self.start = start;
        self.restart();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        let at = self.steps.len();
        if self.start.purpose == Purpose::OnlyExit && at == self.start.steps.len() {
            self.redundant = true;
            return Decision::GiveUp(GiveUp::Redundant);
        }
        let default = || {
            let ends = |operation: &&Operation| **operation != Operation::ExitNow;
            let at = view.operations.iter().position(|operation| ends(&operation)).unwrap_or(0);
            view.enabled[at]
        };
        let task = self.start.steps.get(at).map_or_else(default, |given| given.task);
        let Some(next) = view.next(task).filter(|_| view.enabled.contains(&task)) else {
            self.holes = true;
            return Decision::GiveUp(GiveUp::Redundant);
        };
        self.holes |= view.tasks.iter().any(|next| !rules::is_known(next));
        self.holes |= !view.expiries.is_empty();
        let event = Event::new(next, self.order.count(task));
        let mut before = Clock::new();
        self.order.before(&event, &mut before);
        let clock = self.order.step(&event).clone();
        let tasks = view.tasks.to_vec();
        self.steps.push(Step { event, before, clock, data: Data::new(), tasks });
        self.asked = 0;
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let at = self.steps.len().saturating_sub(1);
        let given = self.start.steps.get(at).and_then(|given| given.data.get(self.asked));
        let taken = given.map_or(0, |&(taken, _)| taken).min(of - 1);
        self.asked += 1;
        if let Some(step) = self.steps.last_mut() {
            step.data.push((taken, of));
        }
        self.order.note(u64::from(taken));
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        let stuck = !self.pending.iter().any(|next| next.enabled);
        match outcome {
            Outcome::Passed => self.look(false),
            Outcome::Failed => self.look(!stuck),
            Outcome::Cut => self.holes = true,
            Outcome::GivenUp => {}
        }
    }

    fn active_part(&self) -> &'static str {
        "stateless"
    }

    fn coverage(&self) -> Coverage {
        match self.open.is_empty() && !self.holes {
            true => Coverage::Complete { bound: None },
            false => Coverage::Open,
        }
    }
}

impl Shareable for Stateless {}

impl PrefixReplay for Stateless {
    fn restart(&mut self) {
        self.steps.clear();
        self.order.clear();
        self.pending.clear();
        self.asked = 0;
        self.redundant = false;
    }
}

impl Reduction for Stateless {
    fn needs_pending(&self) -> bool {
        true
    }

    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        let last = self.steps.last().map(|step| step.event.task);
        self.order.see(tasks, last);
        self.holes |= tasks.iter().any(|next| !rules::is_known(next));
        self.pending.clear();
        self.pending.extend_from_slice(tasks);
    }

    fn equivalence_class(&self) -> Option<u64> {
        (!self.redundant).then(|| self.order.hash())
    }

    fn invalidate_coverage(&mut self) {
        self.holes = true;
    }
}
