//! Shared variables and whatever is watched: what is known of each at the cursor, and what changed.

use super::{Lines, one};
use crate::app::loaded::Loaded;
use crate::app::model::Model;
use crate::app::render::glyphs;
use crate::app::sight::Change;
use crate::app::theme::Role;
use crate::views::rows::object;
use crate::views::text::{clean, clip, fill, width};
use traces::{ObjectKind, Operation};

/// How many steps back are looked at, so that a million of them hold nobody up.
const BACK: usize = 200_000;
/// The widest name.
const NAME: usize = 24;

/// An object with the last step that said something of it.
struct Value {
    object: u32,
    name: String,
    watched: bool,
    /// The last step on it before the cursor, and the one before that.
    last: Option<usize>,
    before: Option<usize>,
}

pub(super) fn values(model: &Model) -> Lines {
    let loaded = model.loaded();
    let mut values = shared(model, loaded);
    let expressions = expressions(model);
    if values.is_empty() && !expressions.is_empty() {
        return expressions;
    }
    if values.is_empty() {
        let text = " nothing but locks is shared in this schedule as far as its points tell; W on a \
                    step watches its object, E an expression";
        return vec![one(model, text, Role::Dim)];
    }
    values.sort_by_key(|value| (!value.watched, std::cmp::Reverse(value.last), value.object));
    let cells = values.iter().map(|value| width(&value.name)).max().unwrap_or(0).min(NAME);
    let objects = values.iter().map(|value| line(model, value, cells));
    expressions.into_iter().chain(objects).collect()
}

/// So many changes of an expression are listed before the cursor; with the whole screen, so many.
const CHANGES: (usize, usize) = (2, 20);

/// The watched expressions: what each comes to, and what changed it.
fn expressions(model: &Model) -> Lines {
    let signs = glyphs(model);
    let at = model.spot.cursor;
    let mut lines = Lines::new();
    if let Some(why) = model.sights.trouble.as_ref().filter(|_| !model.expressions.is_empty()) {
        let text = format!(" the program cannot be looked into: {}", clean(why));
        lines.push(one(model, text, Role::Bad));
    }
    let most = if model.zoomed { CHANGES.1 } else { CHANGES.0 };
    for expression in &model.expressions {
        let seen = model.sights.value(expression, at);
        let mut before: Vec<Change> = model.sights.changes(expression).collect();
        let after = before.split_off(before.partition_point(|change| change.step < at));
        let now = before.last().is_some_and(|change| change.step + 1 == at);
        let (value, role) = match seen.map(|seen| &seen.value) {
            Some(Ok(value)) => (clean(value), if now { Role::Bad } else { Role::Text }),
            Some(Err(why)) => (clean(why), Role::Dim),
            None if model.live.is_err() => ("the program cannot be run".into(), Role::Dim),
            None => ("looking ...".into(), Role::Dim),
        };
        lines.push(vec![
            (if now { " * " } else { "   " }.to_owned(), model.theme.style(Role::Notice)),
            (clean(expression), model.theme.style(Role::Title)),
            (" = ".to_owned(), model.theme.style(Role::Dim)),
            (value, model.theme.style(role)),
        ]);
        let told = before.iter().rev().take(most).rev().chain(after.iter().take(most.min(1)));
        for Change { step, from, to } in told {
            let cell = model.loaded().reader.cell(&model.loaded().trace, *step, signs);
            lines.push(vec![
                (format!("{:>9} ", step + 1), model.theme.style(Role::Dim)),
                (format!("{} ", cell.task), model.theme.style(Role::Task(cell.task))),
                (format!("{}  ", cell.label(usize::MAX, "")), model.theme.style(Role::Dim)),
                (format!("{} {} ", clean(from), signs.arrow), model.theme.style(Role::Dim)),
                (clean(to), model.theme.style(if *step < at { Role::Text } else { Role::Dim })),
            ]);
        }
    }
    lines
}

/// The variables in memory, and whatever is watched.
fn shared(model: &Model, loaded: &Loaded) -> Vec<Value> {
    let trace = &loaded.trace;
    let objects = trace.execution.objects.iter().enumerate();
    let mut values: Vec<Value> = objects
        .filter_map(|(index, known)| {
            let index = index as u32;
            let name = object(trace, Some(index))?;
            let watched = model.watched.contains(&name);
            let wanted = watched || known.kind == ObjectKind::Memory;
            wanted.then_some(Value { object: index, name, watched, last: None, before: None })
        })
        .collect();
    let cursor = model.spot.cursor.min(loaded.len());
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
    let now = value.last.is_some_and(|step| step + 1 == model.spot.cursor && changes(step));
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
            let came = format!("{} {}", cell.operation, cell.value);
            pieces.push((format!("{:<22}", came.trim()), model.theme.style(Role::Text)));
            pieces.push((format!("{} ", cell.task), model.theme.style(Role::Task(cell.task))));
            let at = format!("step {}  {}", step + 1, cell.place);
            pieces.push((at, model.theme.style(Role::Dim)));
        }
        None => pieces.push(("not touched yet".into(), model.theme.style(Role::Dim))),
    }
    if let Some(step) = value.before {
        let cell = loaded.reader.cell(&loaded.trace, step, signs);
        let text = format!("   before: {} {} by {}", cell.operation, cell.value, cell.task);
        pieces.push((text, model.theme.style(Role::Dim)));
    }
    pieces
}
