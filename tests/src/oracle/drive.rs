//! Drives a strategy over a program, as the runtime drives it over a process.

use super::Outcome;
use super::machine::Machine;
use search::frontier::{Frontier, work};
use search::{Decision, GiveUp, Strategy, View};
use traces::{Choice, TaskId, enabled};

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended, or why the strategy gave it up.
    pub outcome: Result<Outcome, GiveUp>,
    /// What was decided, in order.
    pub choices: Vec<Choice>,
    /// The operation and the digest of the enabled set of each step, as replay compares them.
    pub expected: Vec<(u8, u32)>,
    /// How many of the choices were preemptions.
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

/// The executions of a whole search that came to their end, without those that checked it.
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
            strategy.left(&tasks);
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
            enabled: &able,
            operations: &operations,
            digest: enabled::digest(able.iter().copied()),
            tasks: &tasks,
        };
        let task = match strategy.choose(&view) {
            Decision::Task(task) => task,
            Decision::GiveUp(why) => {
                done.outcome = Err(why);
                strategy.left(&tasks);
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
        yielded = operations[at].yields();
        machine.step(&mut state, task.index(), taken).expect("the program was examined");
    }
}
