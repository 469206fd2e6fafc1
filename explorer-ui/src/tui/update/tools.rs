//! Tools on the displayed schedule: explain, compare, shrink, copy, debug, watch, annotate.

use super::jobs;
use crate::report::names::object_name;
use crate::report::rows::{Layout, Selection};
use crate::report::schedule::schedule;
use crate::report::style::Style;
use crate::report::text::count;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::effect::{DebuggerKind, Effect};
use crate::tui::model::job::{Comparison, Job};
use crate::tui::panes;
use crate::tui::render::paint::glyphs;
use crate::walk::loaded_trace::LoadedTrace;
use replay_core::symbols::expressions;
use std::sync::Arc;

/// Explains why the displayed schedule fails.
pub(super) fn explain(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        let key = model.keys.name_of(Action::ShowMe, "show-me");
        model.notify(format!("this schedule passes: {key} runs the one to the nearest failure"));
    } else if let Err(why) = &model.can_run {
        let why = format!("the program cannot be run: {why}");
        model.fail(why);
    } else {
        model.busy = Some("running neighbouring schedules".into());
        effects.push(Effect::Explain);
    }
}

/// Compares the displayed schedule with the nearest passing one, or with the one opened.
pub(super) fn compare(model: &mut Model, effects: &mut Vec<Effect>) {
    let nearest =
        model.nearest_passing.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &model.view.loaded));
    let (title, first, second) = match nearest {
        Some((of, passing)) => ("A fails, B is the nearest schedule that passes", of, passing),
        None if !Arc::ptr_eq(&model.original, &model.view.loaded) => (
            "A is the schedule that was opened, B the displayed one",
            &model.original,
            &model.view.loaded,
        ),
        None => {
            let text = "nothing to compare with yet: run another task (1 to 9), or x finds the \
                        nearest passing schedule";
            model.notify(text);
            return;
        }
    };
    let (first, second) = (Arc::clone(first), Arc::clone(second));
    start_comparison(model, title, first, second, effects);
}

/// Compares the displayed schedule with the one displayed before.
pub(super) fn compare_before(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(before) = model.past.last() else {
        let text = "no schedule was displayed before this one: s shrinks it, 1 to 9 run others";
        return model.notify(text);
    };
    let shown = &model.view.loaded;
    let title = match &model.shrunk {
        Some((from, to)) if Arc::ptr_eq(from, &before.loaded) && Arc::ptr_eq(to, shown) => {
            "A is the schedule before shrinking, B after"
        }
        _ => "A is the previous schedule, B the displayed one",
    };
    let (first, second) = (Arc::clone(&before.loaded), Arc::clone(shown));
    start_comparison(model, title, first, second, effects);
}

/// Starts a comparison of two schedules.
fn start_comparison(
    model: &mut Model,
    title: &str,
    first: Arc<LoadedTrace>,
    second: Arc<LoadedTrace>,
    effects: &mut Vec<Effect>,
) {
    let (ascii, width) = (model.ascii, text_width(model));
    let pages = Comparison { title: title.to_owned(), first, second, ascii, width };
    jobs::start(model, Job::Compare(pages), "comparing the schedules".into(), effects);
}

/// The width of text windows.
pub(in crate::tui) fn text_width(model: &Model) -> usize {
    usize::from(model.size.0.saturating_sub(8)).max(20)
}

pub(super) fn shrink(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        return model.notify("this schedule passes: there is no failure to shrink");
    }
    match &model.can_run {
        Ok(()) => {
            model.busy = Some("searching for the smallest schedule with this failure".into());
            effects.push(Effect::Shrink);
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            model.fail(why);
        }
    }
}

pub(super) fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let at = model.view.cursor;
    if at >= loaded.len() {
        return model.notify("no step is selected at the end");
    }
    let cell = loaded.reader.cell(&loaded.trace, at, glyphs(model));
    let label = cell.label(usize::MAX, "");
    effects.push(Effect::Copy(format!("step {}: {} {label} {}", at + 1, cell.task, cell.site)));
    model.notify("copied the step");
}

/// Longer schedules are not copied: terminals accept about 100 kB for the clipboard.
const MAX_COPIED_STEPS: usize = 1000;

/// Columns of a copied schedule.
const COPIED_WIDTH: usize = 100;

pub(super) fn copy_schedule(model: &mut Model, effects: &mut Vec<Effect>) {
    let steps = model.loaded().len();
    if steps > MAX_COPIED_STEPS {
        let steps = count(steps as u64, "step");
        let text = format!("{steps} are too many for a clipboard: save with w, then `heddle show`");
        return model.fail(text);
    }
    let style = Style { color: false, ascii: model.ascii };
    let layout = Layout {
        width: COPIED_WIDTH,
        selection: Selection::default(),
        enabled: model.show_enabled,
    };
    effects.push(Effect::Copy(schedule(&model.loaded().trace, &style, &layout)));
    model.notify("copied the schedule");
}

/// Copies the contents of the pane as text.
pub(super) fn copy_pane(model: &mut Model, effects: &mut Vec<Effect>) {
    effects.push(Effect::Copy(panes::text(model)));
    model.notify(format!("copied the {} pane", model.pane.0));
}

/// Opens a debugger at the cursor.
pub(super) fn debug(model: &mut Model, with: DebuggerKind, effects: &mut Vec<Effect>) {
    match &model.can_run {
        Ok(()) => effects.push(Effect::Debug(model.view.cursor, with)),
        Err(why) => {
            let why = format!("the program cannot be run: {why}");
            model.fail(why);
        }
    }
}

/// Watches the object of the selected step, or stops watching it.
pub(super) fn watch(model: &mut Model) {
    let step = model.loaded().trace.execution.steps.get(model.view.cursor);
    let name = step.and_then(|step| object_name(&model.loaded().trace, step.object));
    let Some(name) = name else {
        return model.notify("this step has no object");
    };
    match model.watched.iter().position(|watched| *watched == name) {
        Some(at) => {
            model.watched.remove(at);
            model.notify(format!("stopped watching {name}"));
        }
        None => {
            model.notify(format!("watching {name}: it is at the top of the values pane"));
            model.watched.push(name);
        }
    }
}

/// Watches an expression in the values pane, or stops watching it.
pub(super) fn watch_expression(model: &mut Model, text: &str) {
    if text.is_empty() {
        return;
    }
    if let Err(why) = expressions::parse(text) {
        return model.fail(format!("`{text}` cannot be parsed: {why}"));
    }
    match model.expressions.iter().position(|watched| watched == text) {
        Some(at) => {
            model.expressions.remove(at);
            model.notify(format!("stopped watching {text}"));
        }
        None => {
            model.notify(format!("watching {text}; enter it again to stop"));
            model.expressions.push(text.to_owned());
        }
    }
    model.pane = panes::VALUES;
}

/// Shows where the values of the watched expressions at the selected step came from.
pub(super) fn show_origins(model: &mut Model) {
    if model.expressions.is_empty() {
        let text =
            "no expression is watched: E watches one, then I shows where its value came from";
        return model.notify(text);
    }
    model.origins_at = Some(model.view.cursor);
    model.pane = panes::VALUES;
}

/// Sets a bookmark, or removes it together with its note.
pub(super) fn bookmark(model: &mut Model, effects: &mut Vec<Effect>) {
    let at = model.view.cursor;
    match model.view.notes.remove(&at) {
        Some(text) if text.is_empty() => model.notify("removed the bookmark"),
        Some(text) => model.notify(format!("removed the note: {text}")),
        None => {
            model.view.notes.insert(at, String::new());
            model.notify("set a bookmark; M writes a note");
        }
    }
    effects.push(Effect::WriteNotes);
}

/// Writes a note on the selected step; an empty text removes it.
pub(super) fn note(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let at = model.view.cursor;
    if text.is_empty() {
        model.view.notes.remove(&at);
    } else {
        model.view.notes.insert(at, text.to_owned());
    }
    effects.push(Effect::WriteNotes);
}
