//! The thread that serves requests: runs, shrinks, explains, looks ahead, fits to a new build.

use crate::report::summary::cut;
use crate::report::text::count;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::{Explanation, Reply};
use replay_core::Error;
use replay_core::bisect;
use replay_core::realign::{Realigned, realign};
use replay_core::reverse::{Reversed, WishedOrder, reverse};
use replay_core::runner::{LookAhead, RunOutcome, Runner};
use replay_core::shrink::{ProgressObserver, Proof, Size, shrink};
use replay_core::source::Sources;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError, RwLock};
use traces::{Choice, TaskId, Trace};

/// Executions of the look-ahead for each enabled task: a short first round, then a longer one.
const LOOK_AHEAD_BUDGETS: [u64; 2] = [100, 2000];
/// The most executions that shrinking runs for each number of preemptions.
const SHRINK_BUDGET: u64 = 100_000;

/// A request to the engine.
#[derive(Debug)]
pub(crate) enum Request {
    /// Follow these choices.
    Run { choices: Vec<Choice>, cursor: usize },
    /// Run a schedule in which all these orders hold; the last of them does not hold in this one.
    Reverse { loaded: Arc<LoadedTrace>, wishes: Vec<WishedOrder> },
    /// Shrink this schedule.
    Shrink(Arc<LoadedTrace>),
    /// Explain why this schedule fails.
    Explain(Arc<LoadedTrace>),
    /// The target was rebuilt: fit this schedule to the new build.
    Reload(Arc<LoadedTrace>),
    /// Look ahead from a step, for each of these tasks.
    LookAhead { generation: u64, loaded: Arc<LoadedTrace>, step: usize, moves: Vec<TaskId> },
}

/// A request with the flag that cancels it.
pub(super) struct PendingRequest {
    pub(super) request: Request,
    pub(super) cancelled: Arc<AtomicBool>,
}

/// How to run the target, in its last build.
pub(super) fn current_build(walk: &RwLock<Runner>) -> Runner {
    walk.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Serves requests until the engine is dropped.
pub(super) fn serve(
    walk: &RwLock<Runner>,
    inbox: &Receiver<PendingRequest>,
    reply: &dyn Fn(Reply),
) {
    while let Ok(first) = inbox.recv() {
        // Of several waiting requests of one kind only the last matters.
        let (mut run, mut look_ahead, mut shrinking, mut explain) = (None, None, None, None);
        let (mut reversing, mut rebuilt) = (None, None);
        for PendingRequest { request, cancelled } in std::iter::once(first).chain(inbox.try_iter())
        {
            match request {
                Request::Run { choices, cursor } => {
                    run = Some((choices, cursor));
                    look_ahead = None;
                }
                Request::Reverse { loaded, wishes } => {
                    reversing = Some((loaded, wishes, cancelled));
                    look_ahead = None;
                }
                Request::Shrink(loaded) => {
                    shrinking = Some((loaded, cancelled));
                    look_ahead = None;
                }
                Request::Reload(loaded) => rebuilt = Some((loaded, cancelled)),
                Request::Explain(loaded) => {
                    explain = Some((loaded, cancelled));
                    look_ahead = None;
                }
                Request::LookAhead { generation, loaded, step, moves } => {
                    look_ahead = Some((generation, loaded, step, moves, cancelled));
                }
            }
        }
        if let Some((loaded, cancelled)) = rebuilt {
            let result = reload(walk, &loaded, &cancelled);
            reply(result.unwrap_or_else(|error| Reply::Failed(format!("rebuilt: {error}"))));
            // The other requests are about the previous build.
            continue;
        }
        let walk = &current_build(walk);
        if let Some((choices, cursor)) = run {
            reply(follow(walk, choices, cursor));
        }
        if let Some((loaded, wishes, cancelled)) = reversing {
            reply(reversed(walk, &loaded, wishes, &cancelled));
        }
        if let Some((loaded, cancelled)) = shrinking {
            reply(smallest(walk, &loaded.trace, &cancelled, reply));
        }
        if let Some((loaded, cancelled)) = explain {
            reply(explanation(walk, &loaded, &cancelled, reply));
        }
        if let Some((generation, loaded, step, moves, cancelled)) = look_ahead {
            look_ahead_from(walk, (&loaded, step), moves, &cancelled, &|task, ahead| {
                reply(Reply::Ahead { generation, task, ahead });
            });
            let finished = !cancelled.load(Ordering::Relaxed);
            reply(Reply::LookAheadDone { generation, finished });
        }
    }
}

/// Switches to the new build of the target and fits the schedule to it.
fn reload(
    current: &RwLock<Runner>,
    loaded: &LoadedTrace,
    cancelled: &AtomicBool,
) -> Result<Reply, Error> {
    let before = current_build(current);
    let target = before.target().rebuilt()?;
    let walk = before.of_build(target);
    *current.write().unwrap_or_else(PoisonError::into_inner) = walk.clone();
    let (trace, what) = match realign(&walk, &loaded.trace.execution, cancelled)? {
        Realigned::Fits(trace) => {
            let what = fits(&trace);
            (trace, what)
        }
        Realigned::Not { fitted, of } => match walk.run(Vec::new(), cancelled)? {
            RunOutcome::Ran(trace) => (trace, fits_in_part(fitted, of)),
            _ => return Ok(Reply::Failed("rebuilt: the program cannot be run any more".into())),
        },
    };
    Ok(Reply::Reloaded { loaded: Arc::new(LoadedTrace::of(*trace)), what })
}

fn follow(walk: &Runner, choices: Vec<Choice>, cursor: usize) -> Reply {
    // A single execution is short, so it cannot be cancelled.
    match walk.run(choices, &AtomicBool::new(false)) {
        Ok(RunOutcome::Ran(trace)) => {
            Reply::Ran { loaded: Arc::new(LoadedTrace::of(*trace)), cursor }
        }
        Ok(other) => Reply::Failed(not_run(&other)),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

/// Runs schedules until one has the wished orders.
fn reversed(
    walk: &Runner,
    loaded: &LoadedTrace,
    wishes: Vec<WishedOrder>,
    cancelled: &AtomicBool,
) -> Reply {
    match reverse(walk, &loaded.trace.execution, &wishes, cancelled) {
        Ok(Reversed::Found { trace, step, both }) => {
            Reply::Reversed { loaded: Arc::new(LoadedTrace::of(*trace)), step, both, wishes }
        }
        Ok(Reversed::Not { .. }) if cancelled.load(Ordering::Relaxed) => {
            Reply::Failed("cancelled before the other order was found".into())
        }
        Ok(Reversed::Not { runs }) => Reply::Failed(not_reversed(runs as u64, wishes.len())),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

/// Explores what follows if each of these tasks runs next.
fn look_ahead_from(
    walk: &Runner,
    (loaded, step): (&LoadedTrace, usize),
    mut moves: Vec<TaskId>,
    cancelled: &AtomicBool,
    report: &dyn Fn(TaskId, LookAhead),
) {
    for budget in LOOK_AHEAD_BUDGETS {
        moves.retain(|&task| {
            let mut prefix = loaded.before(step).to_vec();
            prefix.push(Choice::Task(task));
            if cancelled.load(Ordering::Relaxed) {
                return false;
            }
            let Ok(ahead) = walk.ahead(&prefix, budget, cancelled) else { return false };
            let complete = ahead.exhausted;
            if !cancelled.load(Ordering::Relaxed) {
                report(task, ahead);
            }
            !complete
        });
    }
}

/// Sends progress to the event loop.
struct ProgressReporter<'a>(&'a dyn Fn(Reply));

impl ProgressObserver for ProgressReporter<'_> {
    fn progress(&mut self, size: Size, trying: &str) {
        (self.0)(Reply::Progress(shrinking(size, trying)));
    }
}

fn smallest(walk: &Runner, trace: &Trace, cancelled: &AtomicBool, reply: &dyn Fn(Reply)) -> Reply {
    match shrink(walk, trace, SHRINK_BUDGET, cancelled, &mut ProgressReporter(reply)) {
        Ok(shrunk) => {
            let what = reduction(shrunk.from, shrunk.to, shrunk.proof);
            Reply::Shrunk { loaded: Arc::new(LoadedTrace::of(shrunk.trace)), what }
        }
        Err(refused) => Reply::Failed(refused.to_string()),
    }
}

impl bisect::ProgressObserver for ProgressReporter<'_> {
    fn progress(&mut self, runs: usize, passing: usize) {
        (self.0)(Reply::Progress(bisecting(runs as u64, passing)));
    }
}

fn explanation(
    walk: &Runner,
    loaded: &Arc<LoadedTrace>,
    cancelled: &AtomicBool,
    reply: &dyn Fn(Reply),
) -> Reply {
    let mut reporter = ProgressReporter(reply);
    match bisect::bisect(walk, &loaded.trace, None, bisect::BUDGET, cancelled, &mut reporter) {
        Ok(bisected) => {
            let (sources, _) = Sources::all(&bisected.failing);
            let nearest = bisected
                .passing
                .clone()
                .map(|passing| (Arc::clone(loaded), Arc::new(LoadedTrace::of(passing))));
            Reply::Explained { explanation: Box::new(Explanation { bisected, sources }), nearest }
        }
        Err(refused) => Reply::Failed(refused.to_string()),
    }
}

/// What is said about a schedule that fits a rebuilt program.
fn fits(trace: &Trace) -> String {
    match &trace.failure {
        Some(failure) => format!("rebuilt: it still fails: {}", failure.message),
        None => {
            let passes = cut(trace).unwrap_or_else(|| "passes".to_owned());
            format!("rebuilt: the schedule fits the new build, and {passes}")
        }
    }
}

/// What is said about a schedule of which only some parts fit a rebuilt program.
fn fits_in_part(fitted: usize, of: usize) -> String {
    format!(
        "rebuilt: the schedule does not fit the new build ({fitted} of {of} parts fit); this is the \
         schedule without preemptions"
    )
}

/// Why a schedule has no execution.
fn not_run(outcome: &RunOutcome) -> String {
    match outcome {
        RunOutcome::Impossible { step, what } => format!("step {} is impossible: {what}", step + 1),
        RunOutcome::Died(how) => format!("the program died: {how}"),
        RunOutcome::Ran(_) | RunOutcome::Interrupted => "interrupted".to_owned(),
    }
}

/// What is said if no run has the wished orders.
fn not_reversed(runs: u64, wishes: usize) -> String {
    let pinned = if wishes > 1 { ", with the orders that are pinned" } else { "" };
    format!(
        "no schedule with the other order was found in {}{pinned}, which does not show that it is \
         impossible",
        count(runs, "run")
    )
}

/// The progress of shrinking.
fn shrinking(smallest: Size, trying: &str) -> String {
    let preemptions = count(smallest.preemptions as u64, "preemption");
    format!("the smallest has {preemptions}; trying {trying}")
}

/// How much shrinking reduced a schedule.
fn reduction(from: Size, to: Size, proof: Proof) -> String {
    let preemptions = |size: Size| count(size.preemptions as u64, "preemption");
    let known = match proof {
        Proof::Proved { .. } => "proved minimal",
        Proof::Tried { .. } => "nothing smaller was found",
        Proof::Interrupted => "interrupted",
    };
    format!("from {} to {}: {known}", preemptions(from), preemptions(to))
}

/// The progress of the search for the cause.
fn bisecting(runs: u64, passing: usize) -> String {
    format!("{} run, {passing} passing", count(runs, "neighbouring schedule"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use replay_core::shrink::Enumerated;

    #[test]
    fn answers_about_schedules_are_sentences() {
        let size = |preemptions| Size { preemptions, switches: 9, steps: 40 };
        let proved = Proof::Proved { ran: Enumerated::Orders, executions: 9, wholly: false };
        let impossible = RunOutcome::Impossible { step: 3, what: "T1 is not enabled".to_owned() };
        let died = RunOutcome::Died("signal 9 ended it".to_owned());
        for (said, expected) in [
            (fits(&samples::assertion()), "rebuilt: it still fails: q.len > 0"),
            (fits(&samples::two_tasks()), "rebuilt: the schedule fits the new build, and passes"),
            (
                fits_in_part(2, 5),
                "rebuilt: the schedule does not fit the new build (2 of 5 parts fit); this is the \
                 schedule without preemptions",
            ),
            (not_run(&impossible), "step 4 is impossible: T1 is not enabled"),
            (not_run(&died), "the program died: signal 9 ended it"),
            (not_run(&RunOutcome::Interrupted), "interrupted"),
            (
                not_reversed(1, 1),
                "no schedule with the other order was found in 1 run, which does not show that it is \
                 impossible",
            ),
            (
                not_reversed(12, 2),
                "no schedule with the other order was found in 12 runs, with the orders that are \
                 pinned, which does not show that it is impossible",
            ),
            (
                shrinking(size(2), "fewer switches"),
                "the smallest has 2 preemptions; trying fewer switches",
            ),
            (
                reduction(size(3), size(1), proved),
                "from 3 preemptions to 1 preemption: proved minimal",
            ),
            (
                reduction(size(3), size(3), Proof::Tried { below: None }),
                "from 3 preemptions to 3 preemptions: nothing smaller was found",
            ),
            (
                reduction(size(3), size(2), Proof::Interrupted),
                "from 3 preemptions to 2 preemptions: interrupted",
            ),
            (bisecting(1, 0), "1 neighbouring schedule run, 0 passing"),
            (bisecting(8, 3), "8 neighbouring schedules run, 3 passing"),
        ] {
            assert_eq!(said, expected);
        }
    }
}
