//! Executions of abstract programs under a strategy, which is driven exactly as the runtime drives it.

use super::bases::Bases;
use super::machine::Machine;
use super::program::Program;
use crate::reduction::pending::{put_main_last, split_awaited};
use crate::spin::repeated_reads::RepeatedReads;
use crate::spin::{SpinDetector, Verdict};
use crate::time;
use crate::{Decision, GiveUp, Outcome, PendingOperation, Strategy, View};
use traces::{Choice, Operation, TaskId, enabled};

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// Every task ended, or the process did.
    Passed,
    /// An assertion failed.
    Assertion,
    /// No task was enabled.
    Deadlock,
    /// The only enabled tasks spin forever.
    Livelock,
    /// It reached the step limit.
    Cut,
}

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended, or why the strategy gave it up.
    pub ending: Result<Ending, GiveUp>,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The number of preemptions among the choices.
    pub preemptions: u32,
    /// The variables at the end.
    pub variables: Vec<i64>,
    /// The registers of all tasks at the end.
    pub registers: Vec<i64>,
    /// Whether the base fell after a step, or a step disabled an expiry ([`crate::time`]).
    pub base_fell: bool,
}
/// The objects that an operation reads or may change; a read has no mutex.
fn objects(next: &PendingOperation) -> Vec<u64> {
    [next.object, next.mutex].into_iter().chain(next.further_objects.iter()).collect()
}

/// The executions of `strategy` over the program, numbered from 1, until it has no more.
pub fn runs<'a, S: Strategy>(
    program: &'a Program,
    strategy: &'a mut S,
) -> impl Iterator<Item = Run> + 'a {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        strategy.begin(number).then(|| run(program, strategy))
    })
}

/// Runs the rest of an execution that `strategy` has begun.
///
/// # Panics
/// If the strategy chooses a task that is not enabled.
pub fn run<S: Strategy>(program: &Program, strategy: &mut S) -> Run {
    let (mut stalls, mut reads) = (SpinDetector::default(), RepeatedReads::default());
    stalls.begin(false, !program.counts);
    reads.begin();
    let mut machine = Machine::new(program);
    let mut bases = Bases::default();
    let mut gave_way = false;
    let (mut running, mut yielded, mut step, mut arrived) = (None, false, 0, None::<TaskId>);
    let (mut able, mut operations, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut choices, mut preemptions, mut place) = (Vec::new(), 0, 0);
    let ending = loop {
        if let Some(task) = arrived {
            machine.arrived(task.index(), &mut reads);
        }
        tasks.clear();
        tasks.extend((0..machine.tasks.len()).filter_map(|task| machine.next(task)));
        let matters = |next: &&PendingOperation| {
            Some(next.task) == arrived
                && SpinDetector::may_spin_at(next.operation)
                && !machine.only_waits(next)
        };
        if let Some(next) = tasks.iter().find(matters) {
            let state = || machine.state(next.task.index());
            let content = |object| machine.content(object);
            stalls.arrive(next.task, next.operation, next.object, next.site, state, content);
        }
        let is_blocked = |stalls: &SpinDetector, next: &PendingOperation| {
            let handles = next.operation == Operation::Handler;
            stalls.is_in_trial() || stalls.is_spinning(next.task) && !next.woken && !handles
        };
        let mut livelock = false;
        if tasks.iter().all(|next| !next.enabled || is_blocked(&stalls, next)) {
            let of = |task| tasks.iter().find(|next| next.task == task);
            let pending = |task| {
                let next = of(task).filter(|next| next.enabled);
                next.map(|next| (next.operation, next.object))
            };
            match stalls.verdict(pending) {
                Verdict::Try(task) => {
                    arrived = Some(task);
                    bases.step(task);
                    let next = tasks.iter().find(|next| next.task == task);
                    let next = next.expect("it is alive").clone();
                    machine.chosen(task.index(), &mut reads);
                    let found = machine.found(&next);
                    let effect = machine.effect(task.index(), &next);
                    stalls.record_step(task, effect, &objects(&next), found);
                    continue;
                }
                Verdict::Livelock => livelock = true,
                Verdict::Deadlock => {}
            }
        }
        for next in tasks.iter_mut().filter(|_| stalls.is_active()) {
            next.enabled &= !is_blocked(&stalls, next);
            match stalls.awaited_objects(next.task) {
                Some(objects) => {
                    (next.awaited_objects, next.restored_objects) = split_awaited(objects);
                }
                None => next.awaits_unknown = true,
            }
        }
        let mut due = machine.candidates(&tasks);
        bases.observe(&due, program.slack);
        time::due(&mut due, program.slack, |task| {
            for next in tasks.iter_mut().filter(|next| next.task == task) {
                (next.enabled, next.not_due) = (false, true);
            }
        });
        if program.main_last {
            put_main_last(&mut tasks);
        }
        let is_enabled = |task| tasks.iter().any(|next| next.task == task && next.enabled);
        let expiries: Vec<TaskId> = match program.slack {
            Some(_) => due.iter().map(|one| one.task).filter(|&task| is_enabled(task)).collect(),
            None => Vec::new(),
        };
        able.clear();
        operations.clear();
        for next in tasks.iter().filter(|next| next.enabled) {
            able.push(next.task);
            operations.push(next.operation);
        }
        let ending = match () {
            () if machine.failed => Some(Ending::Assertion),
            () if machine.over || tasks.is_empty() => Some(Ending::Passed),
            () if livelock => Some(Ending::Livelock),
            () if able.is_empty() => Some(Ending::Deadlock),
            () if step >= program.max_steps => Some(Ending::Cut),
            () => None,
        };
        if let Some(ending) = ending {
            strategy.pending_at_end(&tasks);
            strategy.end(match ending {
                _ if stalls.blocked_wrongly() => Outcome::Cut,
                Ending::Passed => Outcome::Passed,
                Ending::Cut => Outcome::Cut,
                Ending::Assertion | Ending::Deadlock | Ending::Livelock => Outcome::Failed,
            });
            break Ok(ending);
        }
        let view = View {
            step,
            running,
            yielded,
            site: place,
            enabled: &able,
            operations: &operations,
            digest: enabled::digest(able.iter().copied()),
            expiries: &expiries,
            gave_way,
            tasks: if strategy.needs_pending_now() { &tasks } else { &[] },
        };
        let task = match strategy.choose(&view) {
            Decision::Task(task) => task,
            Decision::GiveUp(why) => {
                strategy.pending_at_end(&tasks);
                strategy.end(Outcome::GivenUp);
                break Err(why);
            }
        };
        let at = able.binary_search(&task).expect("a strategy chooses an enabled task");
        preemptions += u32::from(view.preempts(task));
        choices.push(Choice::Task(task));
        running = Some(task);
        arrived = running;
        yielded = operations[at].yields()
            || operations[at].may_time_out() && machine.expires(task.index());
        gave_way = operations[at] == Operation::Yield;
        let next = tasks.iter().find(|next| next.task == task);
        place = next.map_or(0, |next| next.site);
        machine.chosen(task.index(), &mut reads);
        bases.step(task);
        match next {
            Some(next) if stalls.is_active() => {
                let found = machine.found(next);
                let effect = machine.effect(task.index(), next);
                stalls.record_step(task, effect, &objects(next), found);
            }
            _ => machine.step(task.index()),
        }
        step += 1;
    };
    let registers = machine.tasks.iter().flat_map(|task| task.registers).collect();
    let base_fell = bases.fell();
    Run { ending, choices, preemptions, variables: machine.variables, registers, base_fell }
}
