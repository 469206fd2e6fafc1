//! All schedules of a program, enumerated in two ways that share no code with the strategies.
//!
//! [`enumerate`] runs and counts all schedules one after another. [`reach`] visits every state
//! once, and computes the outcomes and their costs without schedules. Preemptions are counted here
//! from their definition, not by `search`.

use super::Outcome;
use super::machine::{Machine, Misuse, State};
use std::collections::{BTreeMap, HashSet, VecDeque};
use traces::Operation;

#[cfg(test)]
mod tests;

/// Why a generated program is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has more schedules than the given limit.
    TooMany,
    /// Some schedule misuses an object.
    Misuse(Misuse),
}

impl From<Misuse> for Unfit {
    fn from(misuse: Misuse) -> Unfit {
        Unfit::Misuse(misuse)
    }
}

/// The outcomes and statistics of all schedules of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// For each outcome, the minimum number of preemptions.
    pub outcomes: BTreeMap<Outcome, u32>,
    /// The number of schedules with 0, 1, 2 ... preemptions.
    pub by_preemptions: Vec<u64>,
    /// The number of schedules with a data choice.
    pub with_data: u64,
    /// Schedules that end in a deadlock in which a task waits for a condition variable that was
    /// signalled earlier, while no task waited.
    pub lost_wakeups: u64,
    /// Schedules in which a mutex refuses a lock or an unlock: misuse, but with a defined result.
    pub with_refusal: u64,
    /// Schedules that end while tasks other than main are alive.
    pub cut_short: u64,
    /// The steps of the longest schedule.
    pub longest: u32,
    /// The steps of all schedules.
    pub steps: u64,
}

impl Survey {
    /// The number of schedules with at most this many preemptions.
    #[must_use]
    pub fn schedules_within(&self, bound: Option<u32>) -> u64 {
        let end = bound.map_or(usize::MAX, |bound| bound as usize + 1);
        self.by_preemptions.iter().take(end).sum()
    }
}

/// What the next choice depends on in addition to the state.
#[derive(Debug, Clone, Copy, Default)]
struct Path {
    /// The task that took the last step, if switching away from it while it is enabled is a
    /// preemption.
    running: Option<usize>,
    preemptions: u32,
    steps: u32,
    data: bool,
    refused: bool,
    /// Condition variables that were signalled while no task waited, one bit each.
    unheard: u32,
}

impl Path {
    fn cost(self, machine: &Machine<'_>, state: &State, task: usize) -> u32 {
        let left = self.running.filter(|&running| running != task);
        u32::from(left.is_some_and(|running| machine.enabled(state, running)))
    }
}

fn invites(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Yield | O::Exit | O::ExitNow | O::Wait | O::FutexWait | O::TestCancel)
}

/// Runs every schedule.
///
/// # Errors
/// If there are more than `cap`, or one of them misuses an object.
pub fn enumerate(machine: &Machine<'_>, cap: u64) -> Result<Survey, Unfit> {
    let mut survey = Survey::default();
    let state = machine.initial()?;
    let mut left = cap;
    walk(machine, &state, Path::default(), &mut survey, &mut left)?;
    Ok(survey)
}

fn walk(
    machine: &Machine<'_>,
    state: &State,
    path: Path,
    survey: &mut Survey,
    left: &mut u64,
) -> Result<(), Unfit> {
    if let Some(outcome) = machine.outcome(state) {
        *left = left.checked_sub(1).ok_or(Unfit::TooMany)?;
        let least = survey.outcomes.entry(outcome).or_insert(path.preemptions);
        *least = path.preemptions.min(*least);
        let used = path.preemptions as usize;
        if survey.by_preemptions.len() <= used {
            survey.by_preemptions.resize(used + 1, 0);
        }
        survey.by_preemptions[used] += 1;
        survey.with_data += u64::from(path.data);
        survey.with_refusal += u64::from(path.refused);
        let lost = outcome == Outcome::Deadlock
            && (0..32u8).any(|c| path.unheard & (1 << c) != 0 && machine.waited_for(state, c));
        survey.lost_wakeups += u64::from(lost);
        let cut_short = outcome != Outcome::Deadlock && machine.others_alive(state) > 0;
        survey.cut_short += u64::from(cut_short);
        survey.longest = survey.longest.max(path.steps);
        survey.steps += u64::from(path.steps);
        return Ok(());
    }
    for task in machine.able(state) {
        let operation = machine.operation(state, task);
        let ways = machine.ways(state, task);
        for way in 0..ways {
            let mut next = state.clone();
            let time_up = machine.step(&mut next, task, way)?;
            let path = Path {
                running: Some(task).filter(|_| !time_up && !invites(operation)),
                preemptions: path.preemptions + path.cost(machine, state, task),
                steps: path.steps + 1,
                data: path.data || ways > 1,
                refused: path.refused || machine.refused(state, task),
                unheard: path.unheard | machine.unheard(state, task).map_or(0, |c| 1 << c),
            };
            walk(machine, &next, path, survey, left)?;
        }
    }
    Ok(())
}

/// The outcomes, each with the minimum number of preemptions: a shortest-path search over pairs of
/// state and running task, in which a preemption costs 1 and other choices cost nothing.
///
/// # Errors
/// If some schedule misuses an object.
pub fn reach(machine: &Machine<'_>) -> Result<BTreeMap<Outcome, u32>, Misuse> {
    let mut outcomes = BTreeMap::new();
    let mut done = HashSet::new();
    let mut open = VecDeque::from([(machine.initial()?, Path::default())]);
    while let Some((state, path)) = open.pop_front() {
        if !done.insert((state.clone(), path.running)) {
            continue;
        }
        if let Some(outcome) = machine.outcome(&state) {
            // States leave the queue in the order of their cost.
            outcomes.entry(outcome).or_insert(path.preemptions);
            continue;
        }
        for task in machine.able(&state) {
            let cost = path.cost(machine, &state, task);
            let operation = machine.operation(&state, task);
            for way in 0..machine.ways(&state, task) {
                let mut next = state.clone();
                let time_up = machine.step(&mut next, task, way)?;
                let running = Some(task).filter(|_| !time_up && !invites(operation));
                let preemptions = path.preemptions + cost;
                let path = Path { running, preemptions, ..Path::default() };
                if cost == 0 {
                    open.push_front((next, path));
                } else {
                    open.push_back((next, path));
                }
            }
        }
    }
    Ok(outcomes)
}
