//! Lets the process count breakpoint hits without a debugger during a run.

use super::position::Until;
use super::run::Run;
use super::{Execution, OnHit, Reason, RecordedStop, RunGoal};
use crate::Error;
use crate::debug::process::machine::StopEvent;
use crate::debug::process::untraced::{Passes, UntracedBreakpoint};
use std::collections::BTreeSet;
use traces::wire::{CountedBreakpoint, breakpoint_flags};

/// More hits than can occur.
const NEVER: u64 = 1 << 62;
/// The process is detached after this many stops without effect in a run.
const USELESS_STOPS: u32 = 24;

impl Run {
    /// Counts a stop without effect. Returns whether the process should be detached.
    pub(super) fn is_time(&mut self) -> bool {
        self.stops += 1;
        self.stops > USELESS_STOPS && self.stops >= self.next
    }

    /// Adapts after an untraced run that passed this many breakpoints: if they were few, the
    /// process stays traced longer.
    fn note_untraced_run(&mut self, passes: u64) {
        self.held = if passes < 64 { (self.held * 2).clamp(USELESS_STOPS, 1 << 20) } else { 0 };
        self.next = self.stops.saturating_add(self.held);
    }
}

impl Execution {
    /// Counts with a jump counter, if the run waits for one instruction that is executed
    /// repeatedly.
    pub(super) fn run_counting(
        &mut self,
        run: &mut Run,
        wanted: &BTreeSet<u64>,
    ) -> Result<Option<StopEvent>, Error> {
        let (head, limit) = match run.goal {
            RunGoal::Times(Until::At(at), n) => (at, n.saturating_sub(run.times)),
            RunGoal::Before(until, at, u64::MAX) if until != Some(Until::At(at)) => (at, NEVER),
            _ => return Ok(None),
        };
        let armed = run.notice != OnHit::Nothing && self.armed.breakpoints.contains_key(&head);
        // Each other event on the way costs a stop; a run that records a limited number meets no
        // more of them.
        let most = self.recorded_events.most().filter(|_| run.notice == OnHit::Record);
        let most = USELESS_STOPS as usize + most.unwrap_or_default();
        if armed || limit < 2 || run.counted as usize > most {
            return Ok(None);
        }
        let mut behind = wanted.clone();
        behind.remove(&head);
        let step = self.live.step();
        // The process is at the instruction, which is counted already, or elsewhere.
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
        let mut mark =
            CountedBreakpoint { address: head, hits: passes, step, ..CountedBreakpoint::default() };
        let (counted_in, count) = self.counts.get(&head).copied().unwrap_or_default();
        mark.count = passes + if counted_in == step { count } else { 0 };
        self.account(run, &Passes { marks: vec![mark], last: None });
        Ok(Some(happened))
    }

    /// Detaches the process, if it can count everything that this run waits for.
    pub(super) fn run_untraced(
        &mut self,
        run: &mut Run,
        wanted: &BTreeSet<u64>,
    ) -> Result<Option<StopEvent>, Error> {
        let Some(counted) = self.counted(run, wanted) else { return Ok(None) };
        if !self.interrupt.detach() {
            return Ok(None);
        }
        let done = self.live.run_untraced(&counted);
        self.interrupt.hold();
        let Some((happened, passes)) = done? else { return Ok(None) };
        run.note_untraced_run(passes.marks.iter().map(|it| it.hits).sum());
        self.account(run, &passes);
        Ok(Some(happened))
    }

    fn counted(&self, run: &Run, wanted: &BTreeSet<u64>) -> Option<Vec<UntracedBreakpoint>> {
        let reported = self.only.is_none() && run.serving.is_none();
        // A system call would have to stop it.
        let calls = self.armed.calls.is_none() || run.notice != OnHit::Stop;
        let until = match run.goal {
            RunGoal::Times(until, _) | RunGoal::Before(Some(until), ..) => Some(until),
            _ => None,
        };
        let by_place = matches!(until, None | Some(Until::At(_)));
        if !reported || !calls || !by_place || !self.watches(run.goal, run.notice).is_empty() {
            return None;
        }
        wanted.iter().map(|&address| self.mark(run, address)).collect()
    }

    /// The condition under which the process must stop at an instruction.
    fn mark(&self, run: &Run, address: u64) -> Option<UntracedBreakpoint> {
        let mut counted = UntracedBreakpoint::default();
        let (step, count) = self.counts.get(&address).copied().unwrap_or_default();
        let it = &mut counted.mark;
        *it = CountedBreakpoint { address, step, count, ..CountedBreakpoint::default() };
        match run.goal {
            RunGoal::Out(task, runtime_exit) if runtime_exit.address == address => {
                it.flags |= breakpoint_flags::LEAVES;
                (it.task, it.rsp) = (u64::from(task) + 1, runtime_exit.rsp);
            }
            RunGoal::Leave(_) if self.exits.contains(&address) => {
                it.flags |= breakpoint_flags::ALWAYS
            }
            RunGoal::Times(Until::At(at), n) if at == address => {
                it.stop_at = n.saturating_sub(run.times);
            }
            RunGoal::Before(until, to, rsp) => {
                if until == Some(Until::At(address)) {
                    it.flags |= breakpoint_flags::ALWAYS;
                }
                if to == address {
                    it.flags |= breakpoint_flags::LEAVES;
                    it.rsp = rsp;
                }
            }
            _ => {}
        }
        if matches!(self.awaits, Some(Until::At(at) | Until::AtState(at, _)) if at == address) {
            it.flags |= breakpoint_flags::ALWAYS;
        }
        let armed = self.armed.breakpoints.get(&address).filter(|_| run.notice != OnHit::Nothing);
        if let Some(conditions) = armed {
            it.flags |= match (conditions.as_slice(), run.notice) {
                // Whether such a hit counts depends on the calling code.
                _ if self.is_system(address) => breakpoint_flags::ALWAYS,
                (_, OnHit::Record) if self.recorded_events.most().is_none() => {
                    breakpoint_flags::RECORD
                }
                ([], _) => breakpoint_flags::ALWAYS,
                _ => breakpoint_flags::HOLDS,
            };
            for condition in conditions {
                let len = u16::try_from(condition.len()).ok()?;
                counted.conditions.extend(len.to_le_bytes());
                counted.conditions.extend(condition);
            }
        }
        Some(counted)
    }

    /// Takes over the counts of the process.
    fn account(&mut self, run: &mut Run, passes: &Passes) {
        for it in passes.marks.iter().filter(|it| it.hits > 0) {
            *run.hits.entry(it.address).or_insert(0) += it.hits;
            self.counts.insert(it.address, (it.step, it.count));
            match run.goal {
                RunGoal::Times(Until::At(at), _) if at == it.address => run.times += it.hits,
                RunGoal::Before(_, to, _) if to == it.address => self.hits += it.hits,
                _ => {}
            }
        }
        if let Some((address, step, count, task)) = passes.last {
            let position = self.place_of(step, Until::At(address), count);
            self.recorded_events.add(RecordedStop::new(position, task, Reason::Breakpoint));
        }
    }
}
