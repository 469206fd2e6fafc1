//! For generated C programs that end with their outcome as the exit status: random numbers to
//! generate them from, and the outcomes that a search reports.

use std::collections::BTreeSet;
use traces::FailureKind;
use traces::report::Report;

/// A deterministic pseudo-random generator (splitmix64).
#[derive(Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// A number from 0 to `end` - 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }
}

/// The number of programs to generate; `HEDDLE_ORACLE_PROGRAMS=1000` sets it.
///
/// # Panics
/// If that is no number.
#[must_use]
pub fn programs(usual: usize) -> usize {
    asked("HEDDLE_ORACLE_PROGRAMS").unwrap_or(usual)
}

/// How many programs are left out before the first; `HEDDLE_ORACLE_SKIPS=4000` sets it.
///
/// # Panics
/// If that is no number.
#[must_use]
pub fn skips() -> usize {
    asked("HEDDLE_ORACLE_SKIPS").unwrap_or(0)
}

fn asked(variable: &str) -> Option<usize> {
    let asked = std::env::var(variable).ok()?;
    Some(asked.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// The outcomes that a search found. Each outcome is a failure, so that none is inferred from the
/// absence of others: the status is the outcome plus one.
///
/// # Panics
/// If the search found a failure of another kind.
#[must_use]
pub fn found(report: &Report) -> BTreeSet<u32> {
    let status = |message: &str| message.strip_prefix("exit status ")?.parse::<u32>().ok();
    let ends = report.bugs.iter().map(|bug| match bug.kind {
        FailureKind::Exit => status(&bug.message).unwrap_or_else(|| panic!("{bug:?}")) - 1,
        other => panic!("{other}: {bug:?}"),
    });
    ends.collect()
}
