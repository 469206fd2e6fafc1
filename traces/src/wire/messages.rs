//! Messages from the runtime to the controller.

use crate::points::{Learned, LearningResult, ModuleAddress};
use crate::{Choice, FailureKind};
use serde::{Deserialize, Serialize};

/// A message from the runtime to the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeMessage {
    /// A failure that was not seen before.
    Found(FoundFailure),
    /// An execution diverged from the schedule that it should follow.
    Diverged {
        /// The number of the execution.
        execution: u64,
        /// The step, from 0.
        step: u64,
        /// What was expected and what happened.
        what: String,
    },
    /// What the clients of a live execution did.
    Recorded(Vec<RecordedClient>),
    /// The learning phase is over.
    Learned {
        /// The result of the learning phase.
        result: LearningResult,
        /// Whether the result equals the earlier one in [`super::Job::earlier_learning`].
        known: bool,
    },
}

/// A client that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedClient {
    /// The exit status of its command, more than 128 after a signal; none if it had not ended.
    pub status: Option<i32>,
    /// What it did.
    pub client: crate::clients::Client,
}

/// An earlier event of an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// What happened: `allocated` or `freed` (a block), `panicked`, or a description of a memory access.
    pub what: String,
    /// The task that did it.
    pub task: u16,
    /// The number of steps before it.
    pub step: u64,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
}

/// A failure as the runtime reports it, with raw addresses that the controller resolves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A hash that is equal for executions that fail in the same way, in this process and its
    /// forks.
    pub key: u64,
    /// The number of the execution, from 1.
    pub execution: u64,
    /// The part of the strategy that found it; empty if the strategy has no parts.
    pub part: String,
    /// The task that executed the failing step, if the failure belongs to one.
    pub task: Option<u16>,
    /// The code address (a return address unless `exact`), or 0.
    pub address: u64,
    /// Whether `address` is the address of the instruction itself.
    pub exact: bool,
    /// The signal of a crash, or the status of an exit.
    pub number: i32,
    /// The memory address that caused a fault.
    pub fault: u64,
    /// Further return addresses that belong to the failure, each with a description.
    pub places: Vec<(String, u64)>,
    /// The ordinal of the heap block in question.
    pub block: Option<u64>,
    /// Earlier events of that block, if they were recorded ([`super::Job::watch`]), or the two
    /// accesses of a race, the earlier first.
    pub past: Vec<HistoryEvent>,
    /// Details as text: the message of an assertion, the call that is not modelled.
    pub detail: String,
    /// The schedule.
    pub choices: Vec<Choice>,
    /// The number of its preemptions.
    pub preemptions: u32,
    /// For a deadlock with a cycle: the tasks of the cycle, each waiting for the next.
    pub cycle: Vec<u16>,
    /// The learned points when the execution began.
    pub learned: Box<Learned>,
    /// What its clients did, if they ran in the execution ([`super::Job::live`]).
    pub clients: Box<[crate::clients::Client]>,
    /// Whether the execution is one of the learning phase that also showed new scheduling points, or that
    /// predicates did not lead: the search will describe the failure better.
    pub unsettled: bool,
    /// The two sites of a race or a conflict.
    pub race: Option<Box<(ModuleAddress, ModuleAddress)>>,
    /// Set if this is no failure but a conflict, that is, accesses that may or may not be atomic:
    /// the memory that they access.
    pub conflict: Option<Box<ModuleAddress>>,
    /// For a conflict, in the order of `race`: the return addresses of the calls that led to each of
    /// the two sites, innermost first. Those that are not known are empty.
    pub callers: Box<[Vec<ModuleAddress>]>,
    /// Set if this is no failure but a possible effect of a delayed store: `race` has the store and
    /// the load.
    pub delayed: bool,
}
