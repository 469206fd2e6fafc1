//! Executions that leave their beginning.
//!
//! A strategy that repeats how an execution began counts on the program doing the same again. Where it does
//! not (it keeps something on disk, another process was quicker or slower this time), the execution
//! runs on to its end with nobody preempted, as it may fail all the same; then the beginning is tried
//! again. Where it is left each time, it is pruned with everything that would have followed, and the
//! search says so. What goes on from a path (`dfs`, the levels of `icb`, `dpor`) then runs what follows
//! where the path was left with what the program does now ([`Renewals`]): it may have set something up.

use crate::Divergence;
use serde::{Deserialize, Serialize};

/// How often a beginning that was left is tried again.
const TRIES: u32 = 2;

/// How often a search goes on from where the program did something else than before: one that does so
/// each time would have no end.
const RENEWALS: u32 = 100;

/// How often what follows a place was thrown away, since the program does something else there now.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Renewals {
    count: u32,
    /// Whether that happened in the execution that ended: what follows the place now is to be run.
    due: bool,
}

impl Renewals {
    /// An execution that left its beginning is pruned; whether what follows is run anew.
    pub(crate) fn renew(&mut self) -> bool {
        self.due = self.count < RENEWALS;
        self.count += u32::from(self.due);
        self.due
    }

    /// An execution begins: whether it is to find out what follows, instead of trying the next branch.
    pub(crate) fn take(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// How many there were.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Those of a search that was a part of this one.
    pub(crate) fn of_part(self) -> Renewals {
        Renewals { due: false, ..self }
    }
}

/// Whether the execution that runs is the one that was begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Astray {
    left: Option<Divergence>,
    /// How often the beginning at hand was left before.
    tries: u32,
    /// Whether it is to be tried again.
    again: bool,
}

/// What becomes of a beginning at the end of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was repeated.
    Repeated,
    /// It was left, and is tried again.
    Tried,
    /// It was left once too often.
    Pruned,
}

impl Astray {
    /// An execution begins: whether it is the one before, once more.
    pub(crate) fn begin(&mut self) -> bool {
        self.left = None;
        let again = std::mem::take(&mut self.again);
        if !again {
            self.tries = 0;
        }
        again
    }

    /// The execution that runs has left its beginning.
    pub(crate) fn leave(&mut self, divergence: Divergence) {
        self.left = Some(divergence);
    }

    /// Whether the execution that runs, or ran last, left its beginning.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        self.left.is_some()
    }

    /// Whether the next execution is to be the one before, once more.
    pub(crate) fn is_to_try_again(&self) -> bool {
        self.again
    }

    /// The execution is over.
    pub(crate) fn end(&mut self) -> Became {
        match self.left {
            None => Became::Repeated,
            Some(_) if self.tries < TRIES => {
                self.tries += 1;
                self.again = true;
                Became::Tried
            }
            Some(_) => Became::Pruned,
        }
    }

    /// How the beginning was left that was pruned with the execution that ended, if one was.
    pub(crate) fn pruned(&self) -> Option<&Divergence> {
        self.left.as_ref().filter(|_| !self.again)
    }

    /// It is not tried again after all; whether it was to be.
    pub(crate) fn abandon(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }
}

#[cfg(test)]
mod tests {
    use crate::dfs::Measure;
    use crate::iterated::Level;
    use crate::prefix::Prefixed;
    use crate::simulate::generated::classes;
    use crate::simulate::{Program, Run, programs, run};
    use crate::{Any, Coverage, Strategy};
    use std::collections::BTreeSet;
    use traces::wire::Plan;

    fn strategies() -> [Any; 5] {
        [
            Any::new(Plan::Dfs { bound: None }),
            Any::Level(Level::new(Measure::Preemptions, 30)),
            Any::new(Plan::Dpor { bound: None }),
            Any::new(Plan::Dpor { bound: Some(30) }),
            Any::new(Plan::Hapset { seed: 0, walks: 0, bound: None }),
        ]
    }

    fn ending(run: Run) -> String {
        format!("{:?} {:?}", run.ending, run.variables)
    }

    /// How a search ends of a program that is the one in some executions (by number, from 0), and the other
    /// in the rest: the endings that it saw of the second, the classes, how many were pruned, what it claims.
    fn search(
        strategy: &Any,
        programs: [&Program; 2],
        is_first: impl Fn(usize) -> bool,
    ) -> (BTreeSet<String>, usize, Coverage) {
        let part = strategy.part().to_owned();
        let mut strategy = Prefixed::new(Vec::new(), strategy.clone());
        let (mut endings, mut pruned) = (BTreeSet::new(), 0);
        for at in 0.. {
            if !strategy.begin(at as u64 + 1) {
                break;
            }
            assert!(at < 50_000, "{part} comes to an end");
            let first = is_first(at);
            let run = run(programs[usize::from(!first)], &mut strategy);
            pruned += usize::from(strategy.pruned().is_some());
            if !first && run.ending.is_ok() && !strategy.strayed() {
                endings.insert(ending(run));
            }
        }
        (endings, pruned, strategy.coverage())
    }

    /// What goes on from a path goes on with what the program does by now, and nothing is claimed.
    #[test]
    fn what_the_program_does_from_now_on_is_searched() {
        for (before, now) in [
            (programs::short(&["w a", "r a"]), programs::short(&["w a", "r a", "w a"])),
            (programs::short(&["w a", "w a", "w a"]), programs::short(&["w a; w b", "r a; w b"])),
            (programs::locked(3, 1), programs::locked(2, 2)),
            (programs::short(&["w a; w a", "w a", ""]), programs::opposite()),
        ] {
            let mut all = classes(&now, crate::dfs::Dfs::new(None)).map(|(_, run)| ending(run));
            let all: BTreeSet<String> = all.by_ref().collect();
            for strategy in strategies() {
                let part = strategy.part();
                let mut noticed = 0;
                for changes in 1..6 {
                    let (seen, pruned, coverage) =
                        search(&strategy, [&before, &now], |at| at < changes);
                    // It may have been over before.
                    if pruned == 0 {
                        continue;
                    }
                    noticed += 1;
                    let what = format!("{part}, the first {changes}, {pruned} pruned");
                    assert_eq!(coverage, Coverage::Open, "{what}");
                    // It leaves out here what it leaves out elsewhere.
                    let leaves_out = matches!(strategy, Any::Hapset(_)) && !seen.is_empty();
                    assert!(leaves_out || seen == all, "{what}: {seen:?} of {all:?}");
                }
                assert!(noticed > 0, "{part} of {now:?}");
            }
        }
    }

    /// Whichever way it goes, a search of a program that never does the same for long comes to an end.
    #[test]
    fn a_program_that_never_does_the_same_comes_to_an_end() {
        let programs = [&programs::locked(2, 2), &programs::locked(3, 1)];
        for strategy in strategies() {
            for period in [3, 4] {
                let (_, pruned, coverage) = search(&strategy, programs, |at| at / period % 2 == 0);
                assert!(pruned > 0, "{} every {period}", strategy.part());
                assert_eq!(coverage, Coverage::Open, "{} every {period}", strategy.part());
            }
        }
    }
}
