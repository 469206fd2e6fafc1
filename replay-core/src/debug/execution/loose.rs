//! What the process can count by itself while a run looks for something: nothing but breakpoints that
//! it comes by.

use super::position::{Leg, Position, Until};
use super::run::Run;
use super::{Execution, Goal, Notice, Passed, Reason};
use crate::Error;
use crate::debug::process::loose::{Counted, Passes};
use crate::debug::process::machine::Happened;
use std::collections::BTreeSet;
use traces::wire::{Mark, mark};

/// So often nothing is passed.
const NEVER: u64 = 1 << 62;
/// A process is let go of when it has stopped so often in a run for nothing.
const FOR_NOTHING: u32 = 24;

impl Run {
    /// It stopped for nothing: whether it is time to let go of it.
    pub(super) fn is_time(&mut self) -> bool {
        self.stops += 1;
        self.stops > FOR_NOTHING && self.stops >= self.next
    }

    /// It was let go of and came by so many breakpoints: if they were few, it is held for longer now.
    fn was_loose(&mut self, passes: u64) {
        self.held = if passes < 64 { (self.held * 2).clamp(FOR_NOTHING, 1 << 20) } else { 0 };
        self.next = self.stops.saturating_add(self.held);
    }
}

impl Execution {
    /// Has the processor count, where a run is for one instruction that is come to again and again.
    pub(super) fn run_counting(
        &mut self,
        run: &mut Run,
        wanted: &BTreeSet<u64>,
    ) -> Result<Option<Happened>, Error> {
        let (head, limit) = match run.goal {
            Goal::Times(Until::At(at), n) => (at, n.saturating_sub(run.times)),
            Goal::Before(until, at, u64::MAX) if until != Some(Until::At(at)) => (at, NEVER),
            _ => return Ok(None),
        };
        let armed = run.notice != Notice::Nothing && self.armed.breakpoints.contains_key(&head);
        // What else it comes by costs a stop each time.
        if armed || limit < 2 || run.counted > FOR_NOTHING {
            return Ok(None);
        }
        let mut behind = wanted.clone();
        behind.remove(&head);
        let step = self.live.step();
        // It stands on the instruction, which is passed already, or somewhere else.
        let at_head = self.at_rip() == Some(head);
        if at_head {
            behind.insert(head);
        }
        self.live.clear();
        let alone = self.is_never_jumped_into(head);
        let Some((happened, passes)) = self.live.run_counting(head, limit, &behind, alone)? else {
            return Ok(None);
        };
        run.counted += 1;
        let mut mark = Mark { address: head, hits: passes, step, ..Mark::default() };
        let (counted_in, count) = self.counts.get(&head).copied().unwrap_or_default();
        mark.count = passes + if counted_in == step { count } else { 0 };
        self.account(run, &Passes { marks: vec![mark], last: None });
        Ok(Some(happened))
    }

    /// Lets go of the process, if it can count by itself all that this run looks for.
    pub(super) fn run_loose(
        &mut self,
        run: &mut Run,
        wanted: &BTreeSet<u64>,
    ) -> Result<Option<Happened>, Error> {
        let Some(counted) = self.counted(run, wanted) else { return Ok(None) };
        if !self.interrupt.let_go() {
            return Ok(None);
        }
        let done = self.live.run_loose(&counted);
        self.interrupt.hold();
        let Some((happened, passes)) = done? else { return Ok(None) };
        run.was_loose(passes.marks.iter().map(|it| it.hits).sum());
        self.account(run, &passes);
        Ok(Some(happened))
    }

    fn counted(&self, run: &Run, wanted: &BTreeSet<u64>) -> Option<Vec<Counted>> {
        let told = self.only.is_none() && run.serving.is_none();
        // A system call would have to stop it.
        let calls = self.armed.calls.is_none() || run.notice != Notice::Stop;
        let until = match run.goal {
            Goal::Times(until, _) | Goal::Before(Some(until), ..) => Some(until),
            _ => None,
        };
        let by_place = matches!(until, None | Some(Until::At(_)));
        if !told || !calls || !by_place || !self.watches(run.goal, run.notice).is_empty() {
            return None;
        }
        wanted.iter().map(|&address| self.mark(run, address)).collect()
    }

    /// When the process is to stop at an instruction.
    fn mark(&self, run: &Run, address: u64) -> Option<Counted> {
        let mut counted = Counted::default();
        let (step, count) = self.counts.get(&address).copied().unwrap_or_default();
        let it = &mut counted.mark;
        *it = Mark { address, step, count, ..Mark::default() };
        match run.goal {
            Goal::Out(task, way_out) if way_out.address == address => {
                it.flags |= mark::LEAVES;
                (it.task, it.rsp) = (u64::from(task) + 1, way_out.rsp);
            }
            Goal::Leave(_) if self.exits.contains(&address) => it.flags |= mark::ALWAYS,
            Goal::Times(Until::At(at), n) if at == address => {
                it.stop_at = n.saturating_sub(run.times);
            }
            Goal::Before(until, to, rsp) => {
                if until == Some(Until::At(address)) {
                    it.flags |= mark::ALWAYS;
                }
                if to == address {
                    it.flags |= mark::LEAVES;
                    it.rsp = rsp;
                }
            }
            _ => {}
        }
        if matches!(self.awaits, Some(Until::At(at) | Until::Like(at, _)) if at == address) {
            it.flags |= mark::ALWAYS;
        }
        let armed = self.armed.breakpoints.get(&address).filter(|_| run.notice != Notice::Nothing);
        if let Some(conditions) = armed {
            it.flags |= match (conditions.as_slice(), run.notice) {
                // Whether it counts is to be seen by whom it works for.
                _ if self.is_system(address) => mark::ALWAYS,
                (_, Notice::Record) => mark::RECORD,
                ([], _) => mark::ALWAYS,
                _ => mark::HOLDS,
            };
            for condition in conditions {
                let len = u16::try_from(condition.len()).ok()?;
                counted.conditions.extend(len.to_le_bytes());
                counted.conditions.extend(condition);
            }
        }
        Some(counted)
    }

    /// Takes over what the process counted.
    fn account(&mut self, run: &mut Run, passes: &Passes) {
        for it in passes.marks.iter().filter(|it| it.hits > 0) {
            *run.hits.entry(it.address).or_insert(0) += it.hits;
            self.counts.insert(it.address, (it.step, it.count));
            match run.goal {
                Goal::Times(Until::At(at), _) if at == it.address => run.times += it.hits,
                Goal::Before(_, to, _) if to == it.address => self.hits += it.hits,
                _ => {}
            }
        }
        if let Some((address, step, count, task)) = passes.last {
            let position = Position::inside(step, vec![Leg::new(Until::At(address), count)]);
            self.passed = Some(Passed { position, task, reason: Reason::Breakpoint });
        }
    }
}
