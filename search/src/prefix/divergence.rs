//! Executions that diverge from the prefix that they should repeat.
//!
//! A strategy that repeats a prefix relies on the program to be deterministic. If the program
//! diverges (it stores something on disk, or another process was faster or slower), the execution
//! continues to its end without preemptions, since it may still show a failure; then the prefix is
//! tried again. If it diverges each time, it is pruned with everything that would have followed,
//! and the search reports that. Searches that follow a path (`dfs`, the levels of `icb`, `dpor`)
//! then explore what the program does now at the point of divergence ([`Rebuilds`]), because an
//! earlier execution may have set something up.

use crate::Divergence;
use serde::{Deserialize, Serialize};

/// How often a prefix that diverged is retried.
const TRIES: u32 = 2;

/// How often one search discards a subtree because the program behaves differently. Without this
/// limit, the search of a program that always diverges would not end.
const RENEWALS: u32 = 100;

/// Counts how often the subtree below a node was discarded because the program behaves differently
/// there.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Rebuilds {
    count: u32,
    /// Whether the last execution discarded the subtree below the node at which it diverged. Then the
    /// next execution explores that node again.
    due: bool,
}

impl Rebuilds {
    /// Called when an execution is pruned because it left its prefix. Returns whether the subtree
    /// below the point of divergence is explored anew.
    pub(crate) fn rebuild(&mut self) -> bool {
        self.due = self.count < RENEWALS;
        self.count += u32::from(self.due);
        self.due
    }

    /// Called when an execution begins. Returns whether it explores a discarded subtree anew,
    /// instead of taking the next branch.
    pub(crate) fn take(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// The number of discarded subtrees.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Adds the count of a search that was a part of this one.
    pub(crate) fn of_part(self) -> Rebuilds {
        Rebuilds { due: false, ..self }
    }
}

/// Whether the current execution repeats its prefix.
#[derive(Debug, Clone, Default)]
pub(crate) struct PrefixCheck {
    left: Option<Divergence>,
    /// How often the current prefix has diverged.
    tries: u32,
    /// Whether the next execution retries the same prefix.
    again: bool,
}

/// The outcome of a prefix at the end of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefixOutcome {
    /// The execution repeated it.
    Repeated,
    /// The execution diverged; the prefix is tried again.
    Retry,
    /// The execution diverged too often; the prefix is pruned.
    Pruned,
}

impl PrefixCheck {
    /// Called when an execution begins. Returns whether it retries the previous prefix.
    pub(crate) fn begin(&mut self) -> bool {
        self.left = None;
        let again = std::mem::take(&mut self.again);
        if !again {
            self.tries = 0;
        }
        again
    }

    /// Records that the running execution has left its prefix.
    pub(crate) fn diverge(&mut self, divergence: Divergence) {
        self.left = Some(divergence);
    }

    /// Whether the running execution, or the last one, left its prefix.
    #[inline]
    pub(crate) fn has_diverged(&self) -> bool {
        self.left.is_some()
    }

    /// Whether the next execution retries the same prefix.
    pub(crate) fn will_retry(&self) -> bool {
        self.again
    }

    /// Called when the execution ends.
    pub(crate) fn end(&mut self) -> PrefixOutcome {
        match self.left {
            None => PrefixOutcome::Repeated,
            Some(_) if self.tries < TRIES => {
                self.tries += 1;
                self.again = true;
                PrefixOutcome::Retry
            }
            Some(_) => PrefixOutcome::Pruned,
        }
    }

    /// The divergence of the prefix that was pruned with the last execution, if one was.
    pub(crate) fn pruned(&self) -> Option<&Divergence> {
        self.left.as_ref().filter(|_| !self.again)
    }

    /// Cancels a pending retry; returns whether there was one.
    pub(crate) fn abandon_retry(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }
}

#[cfg(test)]
mod tests {
    use crate::prefix::Prefixed;
    use crate::simulation::generated::classes;
    use crate::simulation::{Program, Run, programs, run};
    use crate::strategy::dfs::Measure;
    use crate::strategy::iterative::Level;
    use crate::{AnyStrategy, Coverage, Strategy};
    use std::collections::BTreeSet;
    use traces::wire::Plan;

    fn strategies() -> [AnyStrategy; 5] {
        [
            AnyStrategy::new(Plan::bounded("dfs", None)),
            AnyStrategy::Level(Level::new(Measure::Preemptions, 30)),
            AnyStrategy::new(Plan::bounded("dpor", None)),
            AnyStrategy::new(Plan::bounded("dpor", Some(30))),
            AnyStrategy::new(Plan::seeded("hapset", 0)),
        ]
    }

    fn ending(run: Run) -> String {
        format!("{:?} {:?}", run.ending, run.variables)
    }

    /// Runs a search of a program that is `other` in the executions whose numbers (from 0) match,
    /// and `program` in the rest. Returns the endings of `other` that were seen, the number of
    /// classes, the number of pruned prefixes, and the coverage that the search claims.
    fn search(
        strategy: &AnyStrategy,
        programs: [&Program; 2],
        is_first: impl Fn(usize) -> bool,
    ) -> (BTreeSet<String>, usize, Coverage) {
        let part = strategy.active_part().to_owned();
        let mut strategy = Prefixed::new(Vec::new(), strategy.clone());
        let (mut endings, mut pruned) = (BTreeSet::new(), 0);
        for at in 0.. {
            if !strategy.begin(at as u64 + 1) {
                break;
            }
            assert!(at < 50_000, "{part} does not end");
            let first = is_first(at);
            let run = run(programs[usize::from(!first)], &mut strategy);
            pruned += usize::from(strategy.pruned().is_some());
            if !first && run.ending.is_ok() && !strategy.has_diverged() {
                endings.insert(ending(run));
            }
        }
        (endings, pruned, strategy.coverage())
    }

    /// A strategy that continues from a path explores what the program does after the change, and
    /// claims no coverage.
    #[test]
    fn the_changed_behaviour_of_a_program_is_searched() {
        for (before, now) in [
            (programs::short(&["w a", "r a"]), programs::short(&["w a", "r a", "w a"])),
            (programs::short(&["w a", "w a", "w a"]), programs::short(&["w a; w b", "r a; w b"])),
            (programs::locked(3, 1), programs::locked(2, 2)),
            (programs::short(&["w a; w a", "w a", ""]), programs::opposite()),
        ] {
            let mut all =
                classes(&now, crate::strategy::dfs::Dfs::new(None)).map(|(_, run)| ending(run));
            let all: BTreeSet<String> = all.by_ref().collect();
            for strategy in strategies() {
                let part = strategy.active_part();
                let mut noticed = 0;
                for changes in 1..6 {
                    let (seen, pruned, coverage) =
                        search(&strategy, [&before, &now], |at| at < changes);
                    // The search may have been complete before the change.
                    if pruned == 0 {
                        continue;
                    }
                    noticed += 1;
                    let what = format!("{part}, the first {changes}, {pruned} pruned");
                    assert_eq!(coverage, Coverage::Open, "{what}");
                    // These strategies are incomplete for unchanged programs, too.
                    let leaves_out = matches!(strategy, AnyStrategy::Hapset(_)) && !seen.is_empty();
                    assert!(leaves_out || seen == all, "{what}: {seen:?} of {all:?}");
                }
                assert!(noticed > 0, "{part} of {now:?}");
            }
        }
    }

    /// Every strategy terminates on a program that changes its behaviour every few executions.
    #[test]
    fn a_search_of_a_program_that_keeps_changing_ends() {
        let programs = [&programs::locked(2, 2), &programs::locked(3, 1)];
        for strategy in strategies() {
            for period in [3, 4] {
                let (_, pruned, coverage) = search(&strategy, programs, |at| at / period % 2 == 0);
                assert!(pruned > 0, "{} every {period}", strategy.active_part());
                assert_eq!(coverage, Coverage::Open, "{} every {period}", strategy.active_part());
            }
        }
    }
}
