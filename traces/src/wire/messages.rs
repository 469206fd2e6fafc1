//! What the runtime has found.

use crate::points::{Learned, LearningResult, ModuleAddress};
use crate::{Choice, FailureKind};
use serde::{Deserialize, Serialize};

/// What the runtime has to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeMessage {
    /// A failure that was not seen before.
    Found(FoundFailure),
    /// An execution left the schedule that it was to follow.
    Diverged {
        /// Its number.
        execution: u64,
        /// The step, from 0.
        step: u64,
        /// What was expected and what came.
        what: String,
    },
    /// Learning is over.
    Learned {
        /// What it came to.
        lesson: LearningResult,
        /// Whether that is what was known before ([`super::Job::lesson`]).
        known: bool,
    },
}

/// Something that happened earlier in an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// What: allocated, freed (a block), or an access to memory in words.
    pub what: String,
    /// Who did it.
    pub task: u16,
    /// How many steps there were before it.
    pub step: u64,
    /// Return addresses, innermost first.
    pub stack: Vec<u64>,
}

/// A failure as the runtime tells of it: raw addresses, to be understood by the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFailure {
    /// What kind.
    pub kind: FailureKind,
    /// The same for executions that fail alike, in this process and its forks.
    pub key: u64,
    /// The number of the execution, from 1.
    pub execution: u64,
    /// Which part of the strategy found it; empty where it has no parts.
    pub part: String,
    /// Whose step it was.
    pub task: Option<u16>,
    /// Where: an address in code (a return address unless `exact`), or 0.
    pub address: u64,
    /// Whether `address` is the very instruction.
    pub exact: bool,
    /// The signal of a crash, the status of an exit.
    pub number: i32,
    /// The address that a fault touched.
    pub fault: u64,
    /// Further places in code that belong to it, each with what happened there: return addresses.
    pub places: Vec<(String, u64)>,
    /// The block of the program's heap that it is about: its ordinal.
    pub block: Option<u64>,
    /// What happened to that block before, if it was watched ([`super::Job::watch`]); the two accesses of a race,
    /// the earlier first, where it was recorded for that.
    pub past: Vec<HistoryEvent>,
    /// What the runtime has to say in words: the assertion's text, the call that is not modelled.
    pub detail: String,
    /// The schedule.
    pub choices: Vec<Choice>,
    /// How many of its switches were preemptions.
    pub preemptions: u32,
    /// The tasks of the cycle, for a deadlock that has one, each waiting for the next.
    pub cycle: Vec<u16>,
    /// What was known of the program's accesses to memory when the execution began.
    pub learned: Box<Learned>,
    /// The two places of a race, or of a conflict.
    pub race: Option<Box<(ModuleAddress, ModuleAddress)>>,
    /// It is a conflict of accesses of which it is not known whether they are atomic, and no failure: what
    /// they touch.
    pub conflict: Option<Box<ModuleAddress>>,
    /// It is no failure either, but what a delayed store could lead to: `race` has the store and the load.
    pub delayed: bool,
}
