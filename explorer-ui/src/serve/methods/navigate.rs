//! Movement along the schedule, and to other schedules.

use crate::serve::method::{Arguments, Method};
use crate::serve::schema::{Field, Kind, NUMBER};
use crate::serve::state::State;
use crate::serve::view::{POSITION, position};
use crate::walk::moves::{AtLine, Movement, OnObject};
use crate::walk::session::Refusal;
use serde_json::Value;

/// The names of all movements.
const MOVEMENTS: [&str; Movement::NAMED.len()] = {
    let mut names = [""; Movement::NAMED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Movement::NAMED[at].0;
        at += 1;
    }
    names
};

const COUNT: Field = Field::optional("count", Kind::Integer(1, 1 << 40), "how many steps [1]");

pub(in crate::serve) const STEP: Method = Method {
    name: "step",
    summary: "Go forward along the schedule",
    params: &[COUNT],
    result: POSITION,
    reads: false,
    run: |state, arguments, _| {
        let session = state.session()?;
        session.go_to(session.at().saturating_add(count(arguments)));
        Ok(position(session))
    },
};

pub(in crate::serve) const BACK: Method = Method {
    name: "back",
    summary: "Go backward along the schedule",
    params: &[COUNT],
    result: POSITION,
    reads: false,
    run: |state, arguments, _| {
        let session = state.session()?;
        session.go_to(session.at().saturating_sub(count(arguments)));
        Ok(position(session))
    },
};

pub(in crate::serve) const GOTO: Method = Method {
    name: "goto",
    summary: "Go to a step of the schedule: it is about to run",
    params: &[Field::new("step", NUMBER, "its number, from 1; beyond the last step is the end")],
    result: POSITION,
    reads: false,
    run: |state, arguments, _| {
        let step = arguments.number("step").unwrap_or(1).saturating_sub(1);
        let session = state.session()?;
        session.go_to(usize::try_from(step).unwrap_or(usize::MAX));
        Ok(position(session))
    },
};

pub(in crate::serve) const SEEK: Method = Method {
    name: "seek",
    summary: "Go to the next or previous step with a property: a switch, an object, a source line",
    params: &[
        Field::optional("to", Kind::OneOf(&MOVEMENTS), "the movement"),
        Field::optional("object", Kind::Text, "go to the next step on an object called so"),
        Field::optional("file", Kind::Text, "go to the next step at a line of this file"),
        Field::optional("line", NUMBER, "the line"),
        Field::optional("backward", Kind::Flag, "go to the previous one instead [false]"),
    ],
    result: POSITION,
    reads: false,
    run: |state, arguments, _| seek(state, arguments),
};

pub(in crate::serve) const PICK: Method = Method {
    name: "pick",
    summary: "Let a task run next: runs the program on that schedule, and goes past the step",
    params: &[Field::new("task", Kind::Text, "its number (T2) or a part of its name")],
    result: POSITION,
    reads: false,
    run: |state, arguments, call| {
        let task = arguments.text("task").unwrap_or_default().to_owned();
        let session = state.session()?;
        session.pick(&task, call)?;
        Ok(position(session))
    },
};

pub(in crate::serve) const UNDO: Method = Method {
    name: "undo",
    summary: "Return to the schedule that was displayed before",
    params: &[],
    result: POSITION,
    reads: false,
    run: |state, _, _| undo(state, true),
};

pub(in crate::serve) const REDO: Method = Method {
    name: "redo",
    summary: "Take the last undo back",
    params: &[],
    result: POSITION,
    reads: false,
    run: |state, _, _| undo(state, false),
};

pub(in crate::serve) const REOPEN: Method = Method {
    name: "reopen",
    summary: "Display the schedule that was opened",
    params: &[],
    result: POSITION,
    reads: false,
    run: |state, _, _| {
        let session = state.session()?;
        session.reopen();
        Ok(position(session))
    },
};

fn count(arguments: &Arguments<'_>) -> usize {
    usize::try_from(arguments.number("count").unwrap_or(1)).unwrap_or(usize::MAX)
}

fn undo(state: &mut State<'_>, back: bool) -> Result<Value, Refusal> {
    let session = state.session()?;
    if !session.undo(back) {
        let what = if back { "nothing to undo" } else { "nothing to redo" };
        return Err(Refusal::Invalid(what.to_owned()));
    }
    Ok(position(session))
}

fn seek(state: &mut State<'_>, arguments: &Arguments<'_>) -> Result<Value, Refusal> {
    let session = state.session()?;
    let (loaded, at) = (session.loaded().clone(), session.at());
    let backward = arguments.flag("backward");
    let nearest = |holds: &dyn Fn(usize) -> bool| match backward {
        true => (0..at.min(loaded.len())).rfind(|&step| holds(step)),
        false => (at + 1..loaded.len()).find(|&step| holds(step)),
    };
    let which = if backward { "earlier" } else { "later" };
    let step = match (arguments.text("to"), arguments.text("object"), arguments.text("file")) {
        (Some(name), None, None) => {
            let movement = Movement::NAMED.iter().find(|(known, _)| *known == name);
            let from = |(_, movement): &(&str, Movement)| movement.from(&loaded, at);
            movement.map_or(Err("no such movement"), from).map_err(str::to_owned)
        }
        (None, Some(name), None) => match OnObject::called(&loaded, name) {
            None => Err(format!("no object is called `{name}`")),
            Some(object) => nearest(&|step| object.has(&loaded, step))
                .ok_or_else(|| format!("no {which} step of this schedule is on `{name}`")),
        },
        (None, None, Some(file)) => {
            let line = arguments.number("line").and_then(|line| u32::try_from(line).ok());
            let line = line.ok_or_else(|| Refusal::Invalid("`line` is missing".to_owned()))?;
            let places = AtLine::of(&loaded, file, line);
            nearest(&|step| places.has(&loaded, step))
                .ok_or_else(|| format!("no {which} step of this schedule is at {file}:{line}"))
        }
        _ => Err("give one of `to`, `object`, or `file` with `line`".to_owned()),
    };
    session.go_to(step.map_err(Refusal::Invalid)?);
    Ok(position(session))
}
