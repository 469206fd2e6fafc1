//! Steps, data choices and enabled sets as columns.
//!
//! Programs repeat few distinct steps, so a step is an index into a dictionary of the distinct
//! (operation, object, site). Rare properties (a value other than 0, a data choice, a change of the
//! enabled set) are stored with the distance from the previous one.

use super::columns::{Input, write_column, write_number};
use super::error::{FileError, MAX_STEPS};
use crate::execution::DataChoice;
use crate::{EnabledChange, Execution, Operation, Site, Step, TaskId};
use std::collections::HashMap;

/// The decoded columns.
pub(super) struct Recorded {
    pub(super) steps: Vec<Step>,
    pub(super) data: Vec<DataChoice>,
    pub(super) enabled: Vec<EnabledChange>,
}

type Triple = (Operation, Option<u32>, Site);

pub(super) fn write(execution: &Execution) -> Vec<u8> {
    let Execution { steps, data, enabled, .. } = execution;
    let mut dictionary: Vec<Triple> = Vec::new();
    let mut numbers: HashMap<Triple, u64> = HashMap::new();
    let whats = column(steps, |step| {
        let triple = (step.operation, step.object, step.site);
        *numbers.entry(triple).or_insert_with(|| {
            dictionary.push(triple);
            dictionary.len() as u64 - 1
        })
    });

    let mut out = Vec::new();
    write_number(&mut out, steps.len() as u64);
    write_number(&mut out, dictionary.len() as u64);
    for (operation, object, site) in dictionary {
        out.push(operation.code());
        write_number(&mut out, object.map_or(0, |object| u64::from(object) + 1));
        write_number(&mut out, u64::from(site.module));
        write_number(&mut out, site.offset);
    }
    write_column(&mut out, &column(steps, |step| u64::from(step.task.0)));
    write_column(&mut out, &whats);

    let valued: Vec<(u64, u64)> =
        (0..).zip(steps).map(|(at, step)| (at, step.value)).filter(|(_, v)| *v != 0).collect();
    write_number(&mut out, valued.len() as u64);
    write_column(&mut out, &distances(valued.iter().map(|(at, _)| *at)));
    write_column(&mut out, &column(&valued, |(_, value)| *value));

    write_number(&mut out, data.len() as u64);
    write_column(&mut out, &distances(data.iter().map(|choice| choice.step)));
    write_column(&mut out, &column(data, |choice| u64::from(choice.taken)));
    write_column(&mut out, &column(data, |choice| u64::from(choice.of)));

    write_number(&mut out, enabled.len() as u64);
    write_column(&mut out, &distances(enabled.iter().map(|change| change.step)));
    let who = |change: &EnabledChange| u64::from(change.task.0) << 1 | u64::from(change.enabled);
    write_column(&mut out, &column(enabled, who));
    out
}

pub(super) fn read(bytes: &[u8]) -> Result<Recorded, FileError> {
    let mut input = Input(bytes);
    let count = input.count(MAX_STEPS, "steps")?;
    // Each entry takes at least four bytes.
    let entries = input.count(count.min(bytes.len() / 4), "different steps")?;
    let mut dictionary: Vec<Triple> = Vec::with_capacity(entries);
    for _ in 0..entries {
        let code = input.number()?;
        let operation = u8::try_from(code)
            .ok()
            .and_then(Operation::from_code)
            .ok_or_else(|| malformed(format!("there is no operation {code}")))?;
        let object = input.number()?.checked_sub(1).map(narrow).transpose()?;
        let site = Site { module: narrow(input.number()?)?, offset: input.number()? };
        dictionary.push((operation, object, site));
    }

    let mut tasks = input.column(count)?;
    let mut whats = input.column(count)?;
    let mut steps = Vec::with_capacity(count);
    for index in 0..count {
        let what = whats.next()?;
        let &(operation, object, site) = usize::try_from(what)
            .ok()
            .and_then(|what| dictionary.get(what))
            .ok_or_else(|| malformed(format!("step {index} has an invalid dictionary index")))?;
        steps.push(Step {
            task: TaskId(narrow(tasks.next()?)?),
            operation,
            object,
            site,
            value: 0,
        });
    }

    let valued = input.count(count, "values")?;
    let mut places = input.column(valued)?;
    let mut values = input.column(valued)?;
    let mut at = 0;
    for _ in 0..valued {
        at = further(at, places.next()?)?;
        let step = usize::try_from(at).ok().and_then(|at| steps.get_mut(at));
        step.ok_or_else(|| malformed("a value belongs to no step".into()))?.value =
            values.next()?;
    }

    // A step may make several data choices; their total number is limited.
    let choices = input.count(MAX_STEPS, "data choices")?;
    let (mut places, mut taken, mut of) =
        (input.column(choices)?, input.column(choices)?, input.column(choices)?);
    let mut data = Vec::with_capacity(choices);
    let mut step = 0;
    for _ in 0..choices {
        step = further(step, places.next()?)?;
        data.push(DataChoice { step, taken: narrow(taken.next()?)?, of: narrow(of.next()?)? });
    }

    let changes = input.count(2 * MAX_STEPS, "changes of the enabled set")?;
    let (mut places, mut who) = (input.column(changes)?, input.column(changes)?);
    let mut enabled = Vec::with_capacity(changes);
    let mut step = 0;
    for _ in 0..changes {
        step = further(step, places.next()?)?;
        let who = who.next()?;
        enabled.push(EnabledChange {
            step,
            task: TaskId(narrow(who >> 1)?),
            enabled: who & 1 == 1,
        });
    }
    input.end()?;
    Ok(Recorded { steps, data, enabled })
}

fn column<T>(of: &[T], number: impl FnMut(&T) -> u64) -> Vec<u64> {
    of.iter().map(number).collect()
}

/// The distance of each position from the one before it. If they do not ascend, the distance is a
/// value that readers reject.
fn distances(places: impl Iterator<Item = u64>) -> Vec<u64> {
    places
        .scan(0u64, |last, place| Some(place.wrapping_sub(std::mem::replace(last, place))))
        .collect()
}

fn further(at: u64, distance: u64) -> Result<u64, FileError> {
    at.checked_add(distance).ok_or_else(|| malformed("the numbers of steps do not ascend".into()))
}

fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, FileError> {
    T::try_from(number).map_err(|_| malformed(format!("the number {number} is out of range")))
}

fn malformed(what: String) -> FileError {
    FileError::Malformed(format!("steps: {what}"))
}
