//! Drives a strategy over a program, as the runtime drives it over a process.

use super::Outcome;
use super::machine::Machine;
use search::share::frontier::{Frontier, work};
use search::strategy::follow::Follow;
use search::{Decision, GiveUp, Strategy, View};
use traces::execution::DataChoice;
use traces::{Choice, EnabledChange, Execution, Site, Step, TaskId, enabled};

/// `ETIMEDOUT`, the value of a step in which a limit of time was reached.
const TIMED_OUT: u64 = 110;

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended, or why the strategy gave it up.
    pub outcome: Result<Outcome, GiveUp>,
    /// The choices, in order.
    pub choices: Vec<Choice>,
    /// The operation and the digest of the enabled set of each step, as replay compares them.
    pub expected: Vec<(u8, u32)>,
    /// The number of preemptions among the choices.
    pub preemptions: u32,
}

/// The executions of `strategy` over the program, numbered from 1, until it has no more.
pub fn runs<'m, S: Strategy>(
    machine: &'m Machine<'m>,
    strategy: &'m mut S,
) -> impl Iterator<Item = Run> + 'm {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        strategy.begin(number).then(|| run(machine, strategy))
    })
}

/// The completed executions of a whole search, without those of its final check.
pub fn search(machine: &Machine<'_>, frontier: &mut Frontier) -> Vec<Run> {
    let mut runs = Vec::new();
    loop {
        let round = frontier.round(u64::MAX);
        if round.is_empty() {
            return runs;
        }
        let done = round.into_iter().map(|piece| {
            let searches = piece.searches;
            work(piece, |strategy| {
                let run = run(machine, strategy);
                let ended = run.outcome.is_ok();
                runs.extend((searches && ended).then_some(run));
                ended
            })
        });
        let done = done.collect();
        frontier.settle(done);
    }
}

/// Follows the choices, then the default strategy; or returns the step at which they do not fit.
///
/// # Errors
/// The first step whose task is not enabled.
pub fn follow(machine: &Machine<'_>, choices: Vec<Choice>) -> Result<Run, u64> {
    let run = run(machine, &mut Follow::new(choices, Vec::new()));
    match &run.outcome {
        Err(GiveUp::Diverged(divergence)) => Err(divergence.step),
        _ => Ok(run),
    }
}

/// The recording of these choices, without sites and objects.
///
/// # Panics
/// If they do not fit the program.
#[must_use]
pub fn execution(machine: &Machine<'_>, choices: &[Choice]) -> Execution {
    let mut state = machine.initial().expect("the program was examined");
    let mut execution = Execution::default();
    let mut able: Vec<TaskId> = Vec::new();
    let mut choices = choices.iter().peekable();
    while let Some(&Choice::Task(task)) = choices.next() {
        let step = execution.steps.len() as u64;
        let now: Vec<TaskId> = machine.able(&state).map(|task| TaskId(task as u16)).collect();
        let change = |task, enabled| EnabledChange { step, task, enabled };
        let added = now.iter().filter(|task| !able.contains(task)).map(|&task| change(task, true));
        let removed =
            able.iter().filter(|task| !now.contains(task)).map(|&task| change(task, false));
        execution.enabled.extend(added.chain(removed));
        able = now;
        let operation = machine.operation(&state, task.index());
        let site = Site { module: 0, offset: 0 };
        let mut way = 0;
        if let Some(&&Choice::Data { taken, of }) = choices.peek() {
            choices.next();
            way = taken;
            execution.data.push(DataChoice { step, taken, of });
        }
        let time_up = machine.step(&mut state, task.index(), way);
        let value = if time_up.expect("the program was examined") { TIMED_OUT } else { 0 };
        execution.steps.push(Step { task, operation, object: None, site, value });
    }
    execution
}

/// The rest of an execution that `strategy` has begun.
///
/// # Panics
/// If the program is misused, or the strategy chooses what is not there.
fn run<S: Strategy>(machine: &Machine<'_>, strategy: &mut S) -> Run {
    let mut state = machine.initial().expect("the program was examined");
    let mut done = Run {
        outcome: Ok(Outcome::Deadlock),
        choices: Vec::new(),
        expected: Vec::new(),
        preemptions: 0,
    };
    let (mut running, mut yielded) = (None, false);
    let (mut able, mut operations, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        tasks.clear();
        tasks.extend(machine.unfinished(&state).map(|task| machine.next(&state, task)));
        if let Some(outcome) = machine.outcome(&state) {
            done.outcome = Ok(outcome);
            strategy.pending_at_end(&tasks);
            strategy.end(match outcome {
                Outcome::Exit(0) => search::Outcome::Passed,
                _ => search::Outcome::Failed,
            });
            return done;
        }
        able.clear();
        able.extend(machine.able(&state).map(|task| TaskId(task as u16)));
        operations.clear();
        operations.extend(able.iter().map(|task| machine.operation(&state, task.index())));
        let view = View {
            step: done.expected.len() as u64,
            running,
            yielded,
            site: 0,
            enabled: &able,
            operations: &operations,
            digest: enabled::digest(able.iter().copied()),
            expiries: &[],
            gave_way: false,
            tasks: &tasks,
        };
        let task = match strategy.choose(&view) {
            Decision::Task(task) => task,
            Decision::GiveUp(why) => {
                done.outcome = Err(why);
                strategy.pending_at_end(&tasks);
                strategy.end(search::Outcome::GivenUp);
                return done;
            }
        };
        let at = able.binary_search(&task).expect("a strategy chooses an enabled task");
        done.preemptions += u32::from(view.preempts(task));
        done.choices.push(Choice::Task(task));
        done.expected.push((operations[at].code(), view.digest));
        let of = machine.ways(&state, task.index());
        let mut taken = 0;
        if of > 1 {
            taken = strategy.choose_data(of);
            assert!(taken < of, "a strategy chooses one of the ways there are");
            done.choices.push(Choice::Data { taken, of });
        }
        running = Some(task);
        let time_up = machine.step(&mut state, task.index(), taken);
        yielded = operations[at].yields() || time_up.expect("the program was examined");
    }
}
