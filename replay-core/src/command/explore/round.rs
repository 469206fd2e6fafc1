//! The pieces of work of a round, and what came of each so far.

use search::Visits;
use search::frontier::{Done, Work};
use serde::{Deserialize, Serialize};
use traces::points::Learned;

/// What workers count.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) failing: u64,
    pub(super) cut: u64,
    pub(super) diverged: u64,
    /// Steps of all executions together.
    pub(super) steps: u64,
    pub(super) max_steps: u64,
    pub(super) max_tasks: u64,
    pub(super) api: u64,
    pub(super) racy: u64,
    /// How many of those became known by the search itself.
    pub(super) fresh: u64,
    /// Probes at a time, at most, and how many of them were jumps.
    pub(super) probes: u64,
    pub(super) jumps: u64,
    pub(super) compiled: u64,
    /// Bytes of the program's code, how many of them were decoded, and why accesses to memory are not
    /// looked at ([`traces::points::Unseen`]).
    pub(super) code: u64,
    pub(super) covered: u64,
    pub(super) unseen: u64,
    /// Executions in which probes were taken out before they were over.
    pub(super) tired: u64,
    pub(super) learning: u64,
    pub(super) checks: u64,
    /// How often failures with these keys were seen.
    pub(super) keys: Vec<(u64, u64)>,
}

impl Counts {
    /// Forgets what failed, where the executions do not count as the search's.
    pub(super) fn forget_failures(&mut self) {
        self.failing = 0;
        self.keys.clear();
    }

    /// Takes these in as well.
    pub(super) fn add(&mut self, other: &Counts) {
        self.failing += other.failing;
        self.cut += other.cut;
        self.diverged += other.diverged;
        self.steps += other.steps;
        self.max_steps = self.max_steps.max(other.max_steps);
        self.max_tasks = self.max_tasks.max(other.max_tasks);
        self.api = self.api.max(other.api);
        self.racy = self.racy.max(other.racy);
        self.fresh += other.fresh;
        (self.probes, self.jumps) = (self.probes, self.jumps).max((other.probes, other.jumps));
        self.compiled = self.compiled.max(other.compiled);
        self.code = self.code.max(other.code);
        self.covered = self.covered.max(other.covered);
        self.unseen |= other.unseen;
        self.tired += other.tired;
        self.learning += other.learning;
        self.checks += other.checks;
        for &(key, count) in &other.keys {
            match self.keys.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sum)) => *sum += count,
                None => self.keys.push((key, count)),
            }
        }
    }

    /// How often failures with one of these keys were seen.
    pub(super) fn of(&self, keys: &[u64]) -> u64 {
        self.keys.iter().filter(|(key, _)| keys.contains(key)).map(|&(_, count)| count).sum()
    }
}

/// What a worker gives back.
#[derive(Debug)]
pub(super) struct Back {
    pub(super) done: Done,
    pub(super) fingerprints: Vec<u64>,
    /// Whether that is the end of the piece, and not a stop on the way.
    pub(super) finished: bool,
    /// Whether accesses turned out to conflict that were not known to, and what is known now.
    pub(super) grew: bool,
    pub(super) learned: Learned,
    /// Which ways it went, where that is asked for.
    pub(super) visits: Option<Visits>,
    pub(super) counts: Counts,
}

/// A piece of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Piece {
    /// What is left of it.
    pub(super) work: Work,
    pub(super) counts: Counts,
    executions: u64,
    redundant: u64,
    exhausted: bool,
    classes: Vec<u64>,
    fingerprints: Vec<u64>,
    finished: bool,
    /// Whether its last execution showed new scheduling points.
    grew: bool,
    /// The number, within the piece, of the first execution that failed.
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
            grew: false,
            failed: None,
        }
    }

    /// Executions that came to an end of their own.
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

    /// The pieces that are to be done, first ones first; what comes after a failure is not, if that
    /// ends the search.
    pub(super) fn open(&self) -> Vec<usize> {
        let all = 0..self.pieces.len();
        all.filter(|&at| !self.pieces[at].finished && !self.is_moot(at)).collect()
    }

    /// The work that is not done: as it was given out, or as it came back.
    pub(super) fn left(&self) -> impl Iterator<Item = &Work> {
        self.pieces.iter().filter(|piece| !piece.exhausted).map(|piece| &piece.work)
    }

    /// Whether the search, or the round, ends before this piece.
    pub(super) fn is_moot(&self, at: usize) -> bool {
        self.pieces[..at].iter().any(|piece| piece.failed.is_some() || piece.grew)
    }

    /// Whether new scheduling points ended it.
    pub(super) fn has_grown(&self) -> bool {
        self.pieces.iter().any(|piece| piece.grew)
    }

    /// A piece failed so far on, and that ends the search.
    pub(super) fn failed(&mut self, at: usize, execution: u64) {
        let piece = &mut self.pieces[at];
        let number = piece.ended() + execution;
        piece.failed = Some(piece.failed.map_or(number, |first| first.min(number)));
    }

    /// The number within a piece of an execution with this number since the piece was last given out.
    pub(super) fn number(&self, at: usize, execution: u64) -> u64 {
        self.pieces[at].ended() + execution
    }

    /// Whether a failure ended it.
    pub(super) fn has_failed(&self) -> bool {
        self.pieces.iter().any(|piece| piece.failed.is_some())
    }

    /// Forgets that a failure ended it: to go on after all.
    pub(super) fn go_on(&mut self) {
        for piece in &mut self.pieces {
            if piece.failed.take().is_some() {
                piece.finished = piece.exhausted || piece.grew || piece.work.budget == 0;
            }
        }
    }

    /// Takes a piece back.
    pub(super) fn back(&mut self, at: usize, back: Back) {
        let Back { done, mut fingerprints, finished, grew, mut counts, .. } = back;
        let piece = &mut self.pieces[at];
        if !piece.work.searches {
            // Checks are no executions of the search, and their failures none of its.
            counts.forget_failures();
        }
        let Done { work, executions, redundant, exhausted, mut classes } = done;
        piece.work = work.after(executions);
        piece.executions += executions;
        piece.redundant += redundant;
        piece.exhausted = exhausted;
        piece.classes.append(&mut classes);
        piece.fingerprints.append(&mut fingerprints);
        piece.finished = finished;
        piece.grew |= grew;
        piece.counts.add(&counts);
    }

    /// How many executions of earlier pieces came to an end.
    pub(super) fn before(&self, at: usize) -> u64 {
        let earlier = self.pieces[..at].iter().filter(|piece| piece.work.searches);
        earlier.map(Piece::ended).sum()
    }

    /// Executions so far: all, and those that came to an end and were no checks. Without those that a
    /// failure before them makes moot.
    pub(super) fn executions(&self) -> (u64, u64) {
        let counted = (0..self.pieces.len()).filter(|&at| !self.is_moot(at));
        counted.map(|at| &self.pieces[at]).fold((0, 0), |(all, ended), piece| {
            let searches = if piece.work.searches { piece.ended() } else { 0 };
            (all + piece.executions, ended + searches)
        })
    }

    /// What was counted, and the fingerprints, without what is moot.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&Counts, &[u64])> {
        let counted = (0..self.pieces.len()).filter(|&at| !self.is_moot(at));
        counted.map(|at| (&self.pieces[at].counts, self.pieces[at].fingerprints.as_slice()))
    }

    /// The round as it goes back to the frontier, when all of it is done.
    pub(super) fn into_done(self) -> Vec<Done> {
        let moot: Vec<bool> = (0..self.pieces.len()).map(|at| self.is_moot(at)).collect();
        let done = |(piece, moot): (Piece, bool)| {
            let mut work = piece.work;
            if moot {
                // It is as if it had not been given out.
                let (executions, redundant) = (0, 0);
                let classes = Vec::new();
                return Done { work, executions, redundant, exhausted: false, classes };
            }
            // As it was given out.
            work.budget += piece.executions;
            Done {
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
