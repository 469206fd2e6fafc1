//! How a page calls the failure: a satisfied predicate is none.

use traces::{FailureKind, Trace};

/// Parts of sentences about executions that have the failure, and about the others.
pub(super) struct Words {
    pub(super) it_fails: &'static str,
    /// After a singular and after a plural.
    pub(super) fails: &'static str,
    pub(super) fail: &'static str,
    pub(super) pass: &'static str,
    pub(super) none_passes: &'static str,
    pub(super) failing_ones: &'static str,
    pub(super) lead_to_it: &'static str,
    pub(super) has_it: &'static str,
    pub(super) the_failure: &'static str,
    pub(super) nearest_passing: &'static str,
    pub(super) both_schedules: &'static str,
    /// Whether the page says from which step on no schedule passes.
    pub(super) counts_schedules: bool,
}

const FAILURE: Words = Words {
    it_fails: "The program fails",
    fails: "fails",
    fail: "fail",
    pass: "pass",
    none_passes: "none passes",
    failing_ones: "failing ones",
    lead_to_it: "lead to the same failure",
    has_it: "has this failure",
    the_failure: "The failure",
    nearest_passing: "nearest passing schedule",
    both_schedules: "Smallest failing and nearest passing schedule",
    counts_schedules: true,
};

const SATISFIED: Words = Words {
    it_fails: "The predicate is satisfied",
    fails: "satisfies it",
    fail: "satisfy it",
    pass: "do not satisfy it",
    none_passes: "all satisfy the predicate",
    failing_ones: "ones that do",
    lead_to_it: "satisfy the predicate",
    has_it: "satisfies it",
    the_failure: "The predicate",
    nearest_passing: "nearest schedule that does not satisfy the predicate",
    both_schedules: "Smallest schedule, and the nearest one that does not satisfy the predicate",
    counts_schedules: false,
};

impl Words {
    /// The words for a trace.
    pub(super) fn of(trace: &Trace) -> &'static Words {
        match &trace.failure {
            Some(failure) if failure.kind == FailureKind::Satisfied => &SATISFIED,
            _ => &FAILURE,
        }
    }
}
