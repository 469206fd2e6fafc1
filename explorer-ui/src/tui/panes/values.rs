//! Shared variables and watched expressions at the selected step, with their last changes.

use super::id::PaneId;
use super::pane::{Lines, Pane, one};
use crate::report::names::object_name;
use crate::report::text::{clean, clip, fill, width};
use crate::tui::model::Model;
use crate::tui::render::paint::glyphs;
use crate::tui::theme::Role;
use crate::walk::inspection::{AROUND, Change, InspectionRequest, More};
use crate::walk::loaded_trace::LoadedTrace;
use ratatui::layout::Size;
use replay_core::debug::OriginLine;
use traces::{Frame, ObjectKind, Operation};

/// The pane.
pub(super) struct Values;

impl Pane for Values {
    fn id(&self) -> PaneId {
        PaneId("values")
    }

    fn help(&self) -> &'static str {
        "shared variables, watched expressions, changes, origins"
    }

    fn keys(&self) -> &'static [&'static str] {
        &["alt-5"]
    }

    fn lines(&self, model: &Model, _room: Size) -> Lines {
        values(model)
    }

    fn wraps(&self) -> bool {
        true
    }

    fn inspection(&self, model: &Model) -> Option<InspectionRequest> {
        let (step, end) = (model.view.cursor, model.loaded().len());
        let inspections = &model.inspections;
        let known =
            |one: &String| inspections.value(one, step).is_some() && inspections.covers(step);
        let origins = model.origins_at == Some(step);
        let known =
            |one: &String| known(one) && (!origins || inspections.origin(one, step).is_some());
        let wanted = !model.expressions.iter().all(known);
        wanted.then(|| InspectionRequest {
            step,
            expressions: model.expressions.clone(),
            around: step.saturating_sub(AROUND)..step.saturating_add(AROUND).min(end) + 1,
            more: if origins { More::Origins } else { More::Nothing },
        })
    }
}

/// How many steps before the cursor are searched for accesses, for the sake of long schedules.
const BACK: usize = 200_000;
/// The width of names.
const NAME: usize = 24;

/// An object with its last accesses.
struct Value {
    object: u32,
    name: String,
    watched: bool,
    /// The last step on it before the cursor, and the one before that.
    last: Option<usize>,
    before: Option<usize>,
}

fn values(model: &Model) -> Lines {
    let loaded = model.loaded();
    let mut values = shared(model, loaded);
    let expressions = expressions(model);
    if values.is_empty() && !expressions.is_empty() {
        return expressions;
    }
    if values.is_empty() {
        let text = " no shared variable was accessed at an instrumented point of this schedule; W watches \
                    the object of a step, E an expression";
        return vec![one(model, text, Role::Dim)];
    }
    values.sort_by_key(|value| (!value.watched, std::cmp::Reverse(value.last), value.object));
    let cells = values.iter().map(|value| width(&value.name)).max().unwrap_or(0).min(NAME);
    let objects = values.iter().map(|value| line(model, value, cells));
    expressions.into_iter().chain(objects).collect()
}

/// The number of listed changes before the cursor: usually, and with the pane on the whole screen.
const CHANGES: (usize, usize) = (2, 20);

/// The watched expressions with their values and changes.
fn expressions(model: &Model) -> Lines {
    let signs = glyphs(model);
    let at = model.view.cursor;
    let mut lines = Lines::new();
    if let Some(why) = model.inspections.error.as_ref().filter(|_| !model.expressions.is_empty()) {
        let text = format!(" the program cannot be inspected: {}", clean(why));
        lines.push(one(model, text, Role::Bad));
    }
    let most = if model.zoomed { CHANGES.1 } else { CHANGES.0 };
    for expression in &model.expressions {
        let seen = model.inspections.value(expression, at);
        let mut before: Vec<Change> = model.inspections.changes(expression).collect();
        let after = before.split_off(before.partition_point(|change| change.step < at));
        let now = before.last().is_some_and(|change| change.step + 1 == at);
        let (value, role) = match seen.map(|seen| &seen.value) {
            Some(Ok(value)) => (clean(value), if now { Role::Bad } else { Role::Text }),
            Some(Err(why)) => (clean(why), Role::Dim),
            None if model.can_run.is_err() => ("the program cannot be run".into(), Role::Dim),
            None => ("reading ...".into(), Role::Dim),
        };
        lines.push(vec![
            (if now { " * " } else { "   " }.to_owned(), model.theme.style(Role::Notice)),
            (clean(expression), model.theme.style(Role::Title)),
            (" = ".to_owned(), model.theme.style(Role::Dim)),
            (value, model.theme.style(role)),
        ]);
        let listed = before.iter().rev().take(most).rev().chain(after.iter().take(most.min(1)));
        for Change { step, from, to } in listed {
            let cell = model.loaded().reader.cell(&model.loaded().trace, *step, signs);
            lines.push(vec![
                (format!("{:>9} ", step + 1), model.theme.style(Role::Dim)),
                (format!("{} ", cell.task), model.theme.style(Role::Task(cell.task))),
                (format!("{}  ", cell.label(usize::MAX, "")), model.theme.style(Role::Dim)),
                (format!("{} {} ", clean(from), signs.arrow), model.theme.style(Role::Dim)),
                (clean(to), model.theme.style(if *step < at { Role::Text } else { Role::Dim })),
            ]);
        }
        lines.extend(origin(model, expression, at));
    }
    lines
}

/// Where the value of an expression came from, if the user wants to know it for this step.
fn origin(model: &Model, expression: &str, at: usize) -> Lines {
    const INDENT: &str = "          ";
    if model.origins_at != Some(at) {
        return Lines::new();
    }
    let copies = match model.inspections.origin(expression, at) {
        Some(Ok(copies)) => copies,
        Some(Err(why)) => {
            let text = format!("{INDENT}its origin is unknown: {}", clean(why));
            return vec![one(model, text, Role::Dim)];
        }
        None if model.can_run.is_err() || model.inspections.error.is_some() => {
            return Lines::new();
        }
        None => return vec![one(model, format!("{INDENT}finding its origin ..."), Role::Dim)],
    };
    let line = |copy: &OriginLine| {
        let what = (clean(&copy.what()), model.theme.style(Role::Text));
        let Some(place) = &copy.place else {
            return vec![(INDENT.to_owned(), model.theme.style(Role::Dim)), what];
        };
        let site = place.own_frame().map_or_else(|| place.code(), Frame::place);
        vec![
            (format!("{:>9} ", place.step), model.theme.style(Role::Dim)),
            (format!("{} ", place.task), model.theme.style(Role::Task(place.task))),
            (format!("{}  ", clean(&site)), model.theme.style(Role::Dim)),
            what,
        ]
    };
    copies.iter().map(line).collect()
}

/// Shared variables and watched objects.
fn shared(model: &Model, loaded: &LoadedTrace) -> Vec<Value> {
    let trace = &loaded.trace;
    let objects = trace.execution.objects.iter().enumerate();
    let mut values: Vec<Value> = objects
        .filter_map(|(index, known)| {
            let index = index as u32;
            let name = object_name(trace, Some(index))?;
            let watched = model.watched.contains(&name);
            let wanted = watched || known.kind == ObjectKind::Memory;
            wanted.then_some(Value { object: index, name, watched, last: None, before: None })
        })
        .collect();
    let cursor = model.view.cursor.min(loaded.len());
    for step in (cursor.saturating_sub(BACK)..cursor).rev() {
        let on = trace.execution.steps[step].object;
        let Some(value) = values.iter_mut().find(|value| Some(value.object) == on) else {
            continue;
        };
        if value.last.is_none() {
            value.last = Some(step);
        } else if value.before.is_none() {
            value.before = Some(step);
        }
        if values.iter().all(|value| value.before.is_some()) {
            break;
        }
    }
    values
}

fn line(model: &Model, value: &Value, cells: usize) -> Vec<(String, ratatui::style::Style)> {
    let loaded = model.loaded();
    let signs = glyphs(model);
    let changes = |step: usize| {
        let operation = loaded.trace.execution.steps[step].operation;
        !matches!(operation, Operation::Read | Operation::Await)
    };
    let now = value.last.is_some_and(|step| step + 1 == model.view.cursor && changes(step));
    let sign = match (now, value.watched, model.ascii) {
        (true, _, _) => "*",
        (false, true, true) => "o",
        (false, true, false) => "◉",
        (false, false, _) => " ",
    };
    let name = clip(&value.name, cells, signs.cut);
    let role = if now { Role::Bad } else { Role::Title };
    let mut pieces = vec![
        (format!(" {sign} "), model.theme.style(Role::Notice)),
        (format!("{name}{}", fill(width(&name), cells + 2)), model.theme.style(role)),
    ];
    match value.last {
        Some(step) => {
            let cell = loaded.reader.cell(&loaded.trace, step, signs);
            let result = format!("{} {}", cell.operation, cell.value);
            pieces.push((format!("{:<22}", result.trim()), model.theme.style(Role::Text)));
            pieces.push((format!("{} ", cell.task), model.theme.style(Role::Task(cell.task))));
            let at = format!("step {}  {}", step + 1, cell.site);
            pieces.push((at, model.theme.style(Role::Dim)));
        }
        None => pieces.push(("not accessed yet".into(), model.theme.style(Role::Dim))),
    }
    if let Some(step) = value.before {
        let cell = loaded.reader.cell(&loaded.trace, step, signs);
        let text = format!("   before: {} {} by {}", cell.operation, cell.value, cell.task);
        pieces.push((text, model.theme.style(Role::Dim)));
    }
    pieces
}
