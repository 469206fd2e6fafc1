//! The pieces of work of a round and their results so far.

use search::Visits;
use search::share::frontier::{Work, WorkResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use traces::points::Learned;

/// Counters that workers report.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) failing: u64,
    pub(super) cut: u64,
    /// Those of them in which the program sent something else to a client than in the recording.
    #[serde(default)]
    pub(super) outside: u64,
    pub(super) diverged: u64,
    /// Steps of all executions.
    pub(super) steps: u64,
    pub(super) max_steps: u64,
    /// The largest limit on steps that an execution had.
    pub(super) step_limit: u64,
    pub(super) max_tasks: u64,
    pub(super) api: u64,
    pub(super) racy: u64,
    /// How many of the racy points the search itself discovered.
    pub(super) fresh: u64,
    /// The largest number of probes in place at one time, and how many of them were jump probes.
    pub(super) probes: u64,
    pub(super) jumps: u64,
    pub(super) compiled: u64,
    /// Bytes of the program's code, how many of them were decoded, and why some accesses are not
    /// instrumented ([`traces::points::InstrumentationGap`]).
    pub(super) code: u64,
    pub(super) covered: u64,
    pub(super) unseen: u64,
    /// The functions with unknown effects that were called while two tasks existed: name and library,
    /// with the module and offset of the lowest call site.
    pub(super) unknown_calls: BTreeMap<(String, String), (u64, u64)>,
    /// Executions whose probes were removed before the end because there were too many accesses.
    pub(super) probes_removed: u64,
    pub(super) learning: u64,
    pub(super) checks: u64,
    /// Executions that continued from the end of the common prefix.
    pub(super) resumed: u64,
    /// Executions, by whether they met a predicate and whether they failed.
    #[serde(default)]
    pub(super) through: [u64; 4],
    /// How often each failure occurred, by its key.
    pub(super) keys: Vec<(u64, u64)>,
}

impl Counts {
    /// Drops the failure counts of executions that do not belong to the search.
    pub(super) fn forget_failures(&mut self) {
        self.failing = 0;
        self.keys.clear();
    }

    /// Adds the counters of another piece.
    pub(super) fn add(&mut self, other: &Counts) {
        self.failing += other.failing;
        self.cut += other.cut;
        self.outside += other.outside;
        self.diverged += other.diverged;
        self.steps += other.steps;
        self.max_steps = self.max_steps.max(other.max_steps);
        self.step_limit = self.step_limit.max(other.step_limit);
        self.max_tasks = self.max_tasks.max(other.max_tasks);
        self.api = self.api.max(other.api);
        self.racy = self.racy.max(other.racy);
        self.fresh += other.fresh;
        (self.probes, self.jumps) = (self.probes, self.jumps).max((other.probes, other.jumps));
        self.compiled = self.compiled.max(other.compiled);
        self.code = self.code.max(other.code);
        self.covered = self.covered.max(other.covered);
        self.unseen |= other.unseen;
        for (function, &site) in &other.unknown_calls {
            let lowest = self.unknown_calls.entry(function.clone()).or_insert(site);
            *lowest = site.min(*lowest);
        }
        self.probes_removed += other.probes_removed;
        self.learning += other.learning;
        self.checks += other.checks;
        self.resumed += other.resumed;
        for (sum, more) in self.through.iter_mut().zip(other.through) {
            *sum += more;
        }
        for &(key, count) in &other.keys {
            match self.keys.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sum)) => *sum += count,
                None => self.keys.push((key, count)),
            }
        }
    }

    /// How often failures with one of these keys occurred.
    pub(super) fn of(&self, keys: &[u64]) -> u64 {
        self.keys.iter().filter(|(key, _)| keys.contains(key)).map(|&(_, count)| count).sum()
    }
}

/// The result of a piece that a worker returns.
#[derive(Debug, Serialize, Deserialize)]
pub struct PieceResult {
    pub(super) done: WorkResult,
    pub(super) fingerprints: Vec<u64>,
    /// Whether the piece is complete, and was not paused.
    pub(super) finished: bool,
    /// Whether new conflicting accesses were discovered; `learned` contains them.
    pub(super) grew: bool,
    pub(super) learned: Learned,
    /// How often each branch was taken, if the options ask for it.
    pub(super) visits: Option<Visits>,
    pub(super) counts: Counts,
}

/// A piece of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Piece {
    /// The work that remains.
    pub(super) work: Work,
    pub(super) counts: Counts,
    executions: u64,
    redundant: u64,
    exhausted: bool,
    classes: Vec<u64>,
    fingerprints: Vec<u64>,
    finished: bool,
    /// If its last execution discovered new scheduling points: all points then.
    grown: Option<Learned>,
    /// The number, within the piece, of the first failing execution.
    failed: Option<u64>,
}

impl Piece {
    fn new(work: Work) -> Piece {
        Piece {
            work,
            counts: Counts::default(),
            executions: 0,
            redundant: 0,
            exhausted: false,
            classes: Vec::new(),
            fingerprints: Vec::new(),
            finished: false,
            grown: None,
            failed: None,
        }
    }

    /// Executions that ran to their end, without those cut off as redundant.
    fn ended(&self) -> u64 {
        self.executions - self.redundant
    }
}

/// All pieces of a round, in order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) pieces: Vec<Piece>,
}

impl Round {
    pub(super) fn new(works: Vec<Work>) -> Round {
        Round { pieces: works.into_iter().map(Piece::new).collect() }
    }

    /// The pieces to run, first ones first. If a failure ends the search, pieces after the failing
    /// one are not run.
    pub(super) fn open(&self) -> Vec<usize> {
        let all = 0..self.pieces.len();
        all.filter(|&at| !self.pieces[at].finished && !self.is_obsolete(at)).collect()
    }

    /// The remaining work, in the state in which it was issued or returned.
    pub(super) fn remaining_work(&self) -> impl Iterator<Item = &Work> {
        self.pieces.iter().filter(|piece| !piece.exhausted).map(|piece| &piece.work)
    }

    /// Whether an earlier piece ended the search or the round.
    pub(super) fn is_obsolete(&self, at: usize) -> bool {
        self.pieces[..at].iter().any(|piece| piece.failed.is_some() || piece.grown.is_some())
    }

    /// Whether new scheduling points ended the round.
    pub(super) fn has_grown(&self) -> bool {
        self.grown().is_some()
    }

    /// The points with which the search starts again. The rest of the round still runs with those that it
    /// began with: its paths have the steps of these. And which piece returns first must not matter.
    pub(super) fn grown(&self) -> Option<&Learned> {
        self.pieces.iter().find_map(|piece| piece.grown.as_ref())
    }

    /// Records that an execution of this piece failed and that this ends the search.
    pub(super) fn failed(&mut self, at: usize, execution: u64) {
        let piece = &mut self.pieces[at];
        let number = piece.ended() + execution;
        piece.failed = Some(piece.failed.map_or(number, |first| first.min(number)));
    }

    /// The number within the piece of the execution with this number since the piece was last
    /// issued.
    pub(super) fn number(&self, at: usize, execution: u64) -> u64 {
        self.pieces[at].ended() + execution
    }

    /// Whether a failure ended the round.
    pub(super) fn has_failed(&self) -> bool {
        self.pieces.iter().any(|piece| piece.failed.is_some())
    }

    /// Clears the failures that ended the round, so that the search continues.
    pub(super) fn reopen(&mut self) {
        for piece in &mut self.pieces {
            if piece.failed.take().is_some() {
                piece.finished = piece.exhausted || piece.grown.is_some() || piece.work.budget == 0;
            }
        }
    }

    /// Takes the result of a piece.
    pub(super) fn back(&mut self, at: usize, back: PieceResult) {
        let PieceResult { done, mut fingerprints, finished, grew, learned, mut counts, .. } = back;
        let piece = &mut self.pieces[at];
        if !piece.work.searches {
            // Verification walks are not part of the search, and neither are their failures.
            counts.forget_failures();
        }
        let WorkResult { work, executions, redundant, exhausted, mut classes } = done;
        piece.work = work.after(executions);
        piece.executions += executions;
        piece.redundant += redundant;
        piece.exhausted = exhausted;
        piece.classes.append(&mut classes);
        piece.fingerprints.append(&mut fingerprints);
        piece.finished = finished;
        if grew {
            piece.grown = Some(learned);
        }
        piece.counts.add(&counts);
    }

    /// How many executions of earlier pieces ran to their end.
    pub(super) fn before(&self, at: usize) -> u64 {
        let earlier = self.pieces[..at].iter().filter(|piece| piece.work.searches);
        earlier.map(Piece::ended).sum()
    }

    /// Number of executions so far: all, and those of the search that ran to their end. Pieces
    /// after a failure that ends the search do not count.
    pub(super) fn executions(&self) -> (u64, u64) {
        let counted = (0..self.pieces.len()).filter(|&at| !self.is_obsolete(at));
        counted.map(|at| &self.pieces[at]).fold((0, 0), |(all, ended), piece| {
            let searches = if piece.work.searches { piece.ended() } else { 0 };
            (all + piece.executions, ended + searches)
        })
    }

    /// The counters and fingerprints of the pieces that count.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&Counts, &[u64])> {
        let counted = (0..self.pieces.len()).filter(|&at| !self.is_obsolete(at));
        counted.map(|at| (&self.pieces[at].counts, self.pieces[at].fingerprints.as_slice()))
    }

    /// The results for the frontier, when the round is complete.
    pub(super) fn into_done(self) -> Vec<WorkResult> {
        let moot: Vec<bool> = (0..self.pieces.len()).map(|at| self.is_obsolete(at)).collect();
        let done = |(piece, moot): (Piece, bool)| {
            let mut work = piece.work;
            if moot {
                // The piece counts as never issued.
                let (executions, redundant) = (0, 0);
                let classes = Vec::new();
                return WorkResult { work, executions, redundant, exhausted: false, classes };
            }
            // Restore the budget with which the piece was issued.
            work.budget += piece.executions;
            WorkResult {
                work,
                executions: piece.executions,
                redundant: piece.redundant,
                exhausted: piece.exhausted,
                classes: piece.classes,
            }
        };
        self.pieces.into_iter().zip(moot).map(done).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use search::Frontier;
    use traces::points::ModuleAddress;
    use traces::wire::Plan;

    /// The first round with two pieces of a random search.
    fn two_pieces() -> Round {
        let mut frontier = Frontier::new(Plan::seeded("random", 1));
        for _ in 0..100 {
            let works = frontier.round(1_000_000);
            if works.len() > 1 {
                return Round::new(works);
            }
            let done = |work: Work| WorkResult {
                executions: work.budget,
                redundant: 0,
                exhausted: false,
                classes: Vec::new(),
                work,
            };
            frontier.settle(works.into_iter().map(done).collect());
        }
        panic!("no round has two pieces");
    }

    /// A piece that found a point at this address in its first execution.
    fn grown(round: &Round, at: usize, offset: u64) -> PieceResult {
        let work = round.pieces[at].work.clone();
        let learned =
            Learned { sites: vec![ModuleAddress { module: 0, offset }], ..Learned::default() };
        PieceResult {
            done: WorkResult {
                work,
                executions: 1,
                redundant: 0,
                exhausted: false,
                classes: Vec::new(),
            },
            fingerprints: Vec::new(),
            finished: true,
            grew: true,
            learned,
            visits: None,
            counts: Counts::default(),
        }
    }

    /// A piece continued with the points that a later one had found. Its stored path had the steps of fewer
    /// points, so that the search lost schedules, or reported that an execution diverged.
    #[test]
    fn the_first_piece_that_found_points_decides_those_of_the_next_round() {
        for order in [[0, 1], [1, 0]] {
            let mut round = two_pieces();
            assert!(round.grown().is_none());
            for at in order {
                let back = grown(&round, at, at as u64 + 1);
                round.back(at, back);
                assert!(round.has_grown());
            }
            assert_eq!(round.grown().map(|points| points.sites[0].offset), Some(1), "{order:?}");
        }
    }
}
