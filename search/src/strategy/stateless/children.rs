//! The executions that an execution leads to: its children in the tree of executions.

use super::record::{Configuration, Course, NextEvent, Record, Step, Turn, contains, count};
use super::rules::{conflicts, conflicts_in_objects, may_conflict, waits_for};
use super::start::{Given, Purpose, Start};
use crate::reduction::events::{Event, covers, join};
use traces::TaskId;

/// Adds the children of an execution to `to`.
pub(super) fn children(record: &Record<'_>, path: &[Turn], to: &mut Vec<Start>) {
    let mut children = Children { record, path, steps: record.steps, to };
    for number in 0..path.len() {
        children.at(number);
    }
}

/// Whether an execution is the one that its beginning was for. Where the effect of an operation depended
/// on its place, it may be another one, which has another parent.
pub(super) fn is_meant(record: &Record<'_>, path: &[Turn], start: &Start) -> bool {
    let given = start.steps.len();
    let steps = record.steps;
    if steps.len() < given {
        // An earlier operation than expected ended the process.
        let conflicts_with = |turn: &Turn, at: usize| {
            let next = record.next(&turn.from, turn.task);
            next.is_some_and(|next| conflicts_in_objects(&steps[at].event, next.event))
        };
        let never = path.last().filter(|turn| turn.course == Course::Never);
        let exit = record.exit.as_ref();
        return start.purpose == Purpose::BeforeExit
            || never.zip(exit).is_some_and(|(turn, exit)| conflicts_with(turn, exit.at));
    }
    if matches!(start.purpose, Purpose::BeforeExit | Purpose::WithoutTask) {
        return true;
    }
    let Some(last) = given.checked_sub(1) else { return true };
    let Some(turn) = path.iter().find(|turn| turn.course == Course::Runs(last)) else {
        return true;
    };
    let before: u32 = turn.upto.iter().sum();
    if given >= 2 && before as usize != last {
        return false;
    }
    if !turn.is_delayed() {
        return true;
    }
    let Some(greatest) = record.greatest(&turn.from, &turn.upto) else { return true };
    if greatest + 1 != last {
        return false;
    }
    if start.purpose != Purpose::BeforeLast {
        return true;
    }
    let (without, was) = without_last(record, turn, greatest, last);
    let needs = record.clock_after(&without, &was, &steps[last].before);
    !last.checked_sub(2).is_some_and(|at| covers(&needs, &steps[at].event))
}

/// The configuration before the step `last`, which is the last before `at`, and the event of `at` as it
/// was then.
fn without_last(
    record: &Record<'_>,
    turn: &Turn,
    last: usize,
    at: usize,
) -> (Configuration, Event) {
    let mut without = turn.upto.clone();
    without[record.steps[last].event.task.index()] -= 1;
    (without, record.pending_at(last, &record.steps[at].event))
}

struct Children<'r, 's> {
    record: &'r Record<'s>,
    path: &'r [Turn],
    steps: &'s [Step],
    to: &'r mut Vec<Start>,
}

impl Children<'_, '_> {
    /// The children in which something else happens at a configuration on the path.
    fn at(&mut self, number: usize) {
        let (record, steps) = (self.record, self.steps);
        let turn = &self.path[number];
        let at = match turn.course {
            Course::Runs(at) => at,
            Course::Taken(at) => {
                let mut of = turn.from.clone();
                join(&mut of, &steps[at].clock);
                return self.other_outcomes(&of, at, at);
            }
            Course::Never => return self.more_before_exit(turn),
        };
        let exits = record.exit.as_ref().is_some_and(|exit| exit.at == at);
        if exits {
            self.more_before_exit(turn);
        }
        let mut after = turn.upto.clone();
        after[turn.task] += 1;
        self.other_outcomes(&after, at, at);
        let last = record.greatest(&turn.from, &turn.upto);
        if let Some(last) = last {
            self.other_outcomes(&after, last, at);
        }
        if !steps[at].is_default() {
            return;
        }
        self.exit_without(at);
        // What the step needs before it. Before an exit there may be more.
        let mut needed = turn.upto.clone();
        if let Some(exit) = record.exit.as_ref().filter(|_| exits) {
            needed.clone_from(&turn.from);
            join(&mut needed, &exit.needs);
            needed[turn.task] -= 1;
        }
        let waits = waits_for(&steps[at].event).is_some();
        if !(waits && needed != turn.from) {
            self.delays(number, at, &needed, &after, exits);
        }
        if let Some(last) = last.filter(|_| !waits && needed == turn.upto) {
            self.delays_of_last(number, at, last, &after);
        }
    }

    /// The step with one more event before it, which conflicts with it.
    fn delays(
        &mut self,
        number: usize,
        at: usize,
        needed: &Configuration,
        after: &Configuration,
        exits: bool,
    ) {
        let (record, steps, turn) = (self.record, self.steps, &self.path[number]);
        let event = &steps[at].event;
        let waits = waits_for(event);
        for other in (0..record.tasks()).filter(|&other| other != turn.task) {
            for next in first_conflicts(record, other, count(&turn.upto, other), event) {
                // The configuration in which it comes first.
                let mut of = needed.clone();
                join(&mut of, next.before);
                // After an exit nothing was run.
                if exits && (of != turn.upto || !conflicts(next.event, event)) {
                    continue;
                }
                if !record.is_free(&of, next.event) {
                    continue;
                }
                if waits.is_none()
                    && !next.event.conditional
                    && !self.is_greatest(&turn.from, &of, &next)
                {
                    continue;
                }
                let mut both = of.clone();
                join(&mut both, after);
                if !self.may_be_default(number, &both) || !record.is_default_after(&both) {
                    continue;
                }
                let then: &[usize] = if waits.is_some() { &[other] } else { &[other, turn.task] };
                self.add(&of, then, Purpose::Any);
            }
        }
    }

    /// The last event before the step with one more event before it, which conflicts with it and not
    /// with the step.
    fn delays_of_last(&mut self, number: usize, at: usize, last: usize, after: &Configuration) {
        let (record, steps, turn) = (self.record, self.steps, &self.path[number]);
        if !steps[last].is_default() {
            return;
        }
        let Step { event, before, .. } = &steps[last];
        let task = event.task.index();
        let (without, was) = without_last(record, turn, last, at);
        let needs = record.clock_after(&without, &was, &steps[at].before);
        let mut from = turn.from.clone();
        for (task, known) in from.iter_mut().enumerate() {
            *known = (*known).max(count(&needs, task).min(without[task]));
        }
        join(&mut from, before);
        for other in (0..record.tasks()).filter(|&other| other != turn.task && other != task) {
            for next in first_conflicts(record, other, count(&turn.upto, other), event) {
                let mut of = without.clone();
                join(&mut of, next.before);
                if contains(&of, event) || contains(&of, &steps[at].event) {
                    continue;
                }
                let joins =
                    |step: &&Step| contains(&of, &step.event) && !contains(&without, &step.event);
                let involves_step =
                    steps.iter().filter(joins).any(|step| conflicts(&step.event, &was));
                if involves_step
                    || conflicts(next.event, &was)
                    || !record.is_free(&of, next.event)
                    || !self.is_greatest(&from, &of, &next)
                {
                    continue;
                }
                let mut both = of.clone();
                join(&mut both, after);
                if self.may_be_default(number, &both) && record.is_default_after(&both) {
                    self.add(&of, &[other, task, turn.task], Purpose::BeforeLast);
                }
            }
        }
    }

    /// The execution that ends without a step on which nothing depends.
    fn exit_without(&mut self, at: usize) {
        let Some(exit) = &self.record.exit else { return };
        let (steps, event) = (self.steps, &self.steps[at].event);
        let others = steps.iter().enumerate().filter(|&(other, _)| other != at && other != exit.at);
        if exit.at != at
            && !conflicts(&steps[exit.at].event, event)
            && !covers(&exit.needs, event)
            && !others.map(|(_, step)| step).any(|step| covers(&step.clock, event))
        {
            let kept = steps.iter().enumerate().filter(|&(other, _)| other != at);
            let steps = kept.map(|(_, step)| Given::of(step)).collect();
            self.to.push(Start { steps, purpose: Purpose::Any });
        }
    }

    /// One more event before the end of the process, where neither the end nor a task that never runs
    /// again depends on it.
    fn more_before_exit(&mut self, turn: &Turn) {
        let (record, steps) = (self.record, self.steps);
        let Some(exit) = &record.exit else { return };
        let end = &steps[exit.at].event;
        let ends = end.task.index();
        let all = record.all_but_exit();
        let mut needed = turn.from.clone();
        let mut needs = exit.needs.clone();
        needs[ends] -= 1;
        join(&mut needed, &needs);
        let mut never = None;
        if turn.course == Course::Never {
            let Some(next) = record.next(&turn.from, turn.task) else { return };
            if !conflicts_in_objects(end, next.event) {
                return;
            }
            let clock = record.clock_after(&all, next.event, next.before);
            for (task, known) in needed.iter_mut().enumerate() {
                *known = (*known).max(count(&clock, task).min(all[task]));
            }
            never = Some(next.event);
        }
        for task in (0..record.tasks()).filter(|&task| task != ends) {
            let is_never = never.is_some_and(|event| event.task.index() == task);
            let Some(next) = record.next(&all, task).filter(|_| !is_never) else { continue };
            if !record.is_enabled(&all, task)
                || never.is_some_and(|event| conflicts(next.event, event))
                || conflicts(next.event, end)
            {
                continue;
            }
            if self.is_greatest(&needed, &all, &next) {
                let purpose = match never {
                    Some(_) => Purpose::WithoutTask,
                    None => Purpose::BeforeExit,
                };
                self.add(&all, &[task, ends], purpose);
            } else if never.is_none() {
                // If it fails, the process ends with it.
                self.add(&all, &[task], Purpose::OnlyExit);
            }
        }
    }

    /// The other outcomes of the data choices of the step `of`; `last` is the last step of the
    /// configuration.
    fn other_outcomes(&mut self, configuration: &Configuration, of: usize, last: usize) {
        let (record, data) = (self.record, &self.steps[of].data);
        if data.is_empty()
            || last != of && !self.steps[last].is_default()
            || !record.is_default_after(configuration)
        {
            return;
        }
        let first = data.iter().rposition(|&(taken, _)| taken != 0).map_or(0, |at| at + 1);
        for (choice, &(_, outcomes)) in data.iter().enumerate().skip(first) {
            for taken in 1..outcomes {
                let inside = self.steps.iter().filter(|step| contains(configuration, &step.event));
                let steps = inside.map(|step| {
                    let mut given = Given::of(step);
                    if (step.event.task, step.event.index) == record.number(of) {
                        given.data.truncate(choice);
                        given.data.push((taken, outcomes));
                    }
                    given
                });
                let steps = steps.collect();
                self.to.push(Start { steps, purpose: Purpose::Any });
            }
        }
    }

    /// Whether, after the configuration, `next` comes after all events beyond `from` of later tasks.
    fn is_greatest(&self, from: &Configuration, of: &Configuration, next: &NextEvent<'_>) -> bool {
        let record = self.record;
        let clock = record.clock_after(of, next.event, next.before);
        let beside = record.maxima(from, of).into_iter().map(|at| &self.steps[at].event);
        beside.filter(|event| !covers(&clock, event)).all(|event| event.task < next.event.task)
    }

    /// A quick answer to whether the execution may continue by default after the configuration: the last
    /// thing that did not happen by default must be in it.
    fn may_be_default(&self, number: usize, configuration: &Configuration) -> bool {
        let later = self.path[number + 1..].iter().rev();
        let odd = later.filter_map(|turn| match turn.course {
            Course::Runs(_) if turn.is_delayed() => self.record.greatest(&turn.from, &turn.upto),
            Course::Runs(at) => Some(at).filter(|&at| !self.steps[at].is_default()),
            Course::Taken(at) => Some(at),
            Course::Never => self.record.exit.as_ref().map(|exit| exit.at),
        });
        let mut odd = odd;
        odd.next().is_none_or(|at| contains(configuration, &self.steps[at].event))
    }

    /// Adds the execution of a configuration, with these tasks after it.
    fn add(&mut self, configuration: &Configuration, then: &[usize], purpose: Purpose) {
        let inside = self.steps.iter().filter(|step| contains(configuration, &step.event));
        let then = then.iter().map(|&task| Given { task: TaskId(task as u16), data: Vec::new() });
        self.to.push(Start { steps: inside.map(Given::of).chain(then).collect(), purpose });
    }
}

/// The events of a task, from this number on, that may conflict with `event` and can come before it: the
/// first that does conflict, and before that those that conflict only if they have another effect.
fn first_conflicts<'r>(
    record: &'r Record<'_>,
    task: usize,
    from: u32,
    event: &Event,
) -> Vec<NextEvent<'r>> {
    let mut found = Vec::new();
    for index in from.. {
        let Some(next) = record.event(task, index) else { break };
        if covers(next.before, event) {
            break;
        }
        if may_conflict(next.event, event) && !record.is_hopeless(&next) {
            found.push(next);
            if conflicts(next.event, event) {
                break;
            }
        }
    }
    found
}
