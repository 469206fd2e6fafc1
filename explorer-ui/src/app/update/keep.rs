//! What is kept, copied, compared and explained.

use super::{aside, fail, say};
use crate::app::aside::{Comparison, Task};
use crate::app::loaded::Loaded;
use crate::app::model::{Debugging, Effect, Model, Pane};
use crate::app::render::{glyphs, pane_text};
use crate::views::rows::object;
use crate::views::text::count;
use crate::views::{self, Layout, Selection, Style};
use replay_core::symbols::expressions;
use std::sync::Arc;

/// Asks why the schedule that is shown fails.
pub(super) fn explain(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        say(model, "this schedule does not fail: N plays the way to the nearest failure".into());
    } else if let Err(why) = &model.live {
        let why = format!("the program cannot be run: {why}");
        fail(model, why);
    } else {
        model.busy = Some("running schedules near this one".into());
        effects.push(Effect::Explain);
    }
}

/// The schedule that is shown beside another one.
pub(super) fn compare(model: &mut Model, effects: &mut Vec<Effect>) {
    let nearest = model.nearest.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &model.spot.loaded));
    let (title, first, second) = match nearest {
        Some((of, passing)) => ("A fails, B is the nearest that passes", of, passing),
        None if !Arc::ptr_eq(&model.original, &model.spot.loaded) => {
            ("A is what this began with, B is what is shown", &model.original, &model.spot.loaded)
        }
        None => {
            let text = "nothing to compare with yet: let another task move (1 to 9), or x for the \
                        nearest schedule that passes";
            say(model, text.into());
            return;
        }
    };
    let (first, second) = (Arc::clone(first), Arc::clone(second));
    beside(model, title, first, second, effects);
}

/// The schedule that is shown beside the one before it.
pub(super) fn compare_before(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(before) = model.past.last() else {
        let text = "no schedule was shown before this one: s shrinks it, 1 to 9 let others move";
        return say(model, text.into());
    };
    let shown = &model.spot.loaded;
    let title = match &model.shrunk {
        Some((from, to)) if Arc::ptr_eq(from, &before.loaded) && Arc::ptr_eq(to, shown) => {
            "A as it was, B as it was shrunk"
        }
        _ => "A is the schedule before, B is what is shown",
    };
    let (first, second) = (Arc::clone(&before.loaded), Arc::clone(shown));
    beside(model, title, first, second, effects);
}

/// Two schedules, aligned, with what they have in common folded.
fn beside(
    model: &mut Model,
    title: &str,
    first: Arc<Loaded>,
    second: Arc<Loaded>,
    effects: &mut Vec<Effect>,
) {
    let (ascii, width) = (model.ascii, text_width(model));
    let pages = Comparison { title: title.to_owned(), first, second, ascii, width };
    aside::begin(model, Task::Compare(pages), "comparing the two".into(), effects);
}

/// How wide a text may be that lies over the rest.
pub(in crate::app) fn text_width(model: &Model) -> usize {
    usize::from(model.size.0.saturating_sub(8)).max(20)
}

pub(super) fn shrink(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.loaded().trace.failure.is_none() {
        return say(model, "this schedule passes: there is nothing to shrink".into());
    }
    match &model.live {
        Ok(()) => {
            model.busy = Some("looking for the smallest schedule that fails so".into());
            effects.push(Effect::Shrink);
        }
        Err(why) => {
            let why = format!("this schedule can only be read: {why}");
            fail(model, why);
        }
    }
}

pub(super) fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    let loaded = model.loaded();
    let at = model.spot.cursor;
    if at >= loaded.len() {
        return say(model, "there is no step at the end".into());
    }
    let cell = loaded.reader.cell(&loaded.trace, at, glyphs(model));
    let label = cell.label(usize::MAX, "");
    effects.push(Effect::Copy(format!("step {}: {} {label} {}", at + 1, cell.task, cell.place)));
    say(model, "copied".into());
}

/// Longer schedules do not go on a clipboard: terminals take some 100 kB.
const COPIED_STEPS: usize = 1000;

/// How wide a copied schedule is.
const COPIED_WIDTH: usize = 100;

pub(super) fn copy_schedule(model: &mut Model, effects: &mut Vec<Effect>) {
    let steps = model.loaded().len();
    if steps > COPIED_STEPS {
        let steps = count(steps as u64, "step");
        let text = format!("{steps} are too many for a clipboard: save with w, then `heddle show`");
        return fail(model, text);
    }
    let style = Style { color: false, ascii: model.ascii };
    let layout =
        Layout { width: COPIED_WIDTH, selection: Selection::default(), enabled: model.enabled };
    effects.push(Effect::Copy(views::schedule(&model.loaded().trace, &style, &layout)));
    say(model, "the schedule was copied".into());
}

/// What the pane shows, as text.
pub(super) fn copy_pane(model: &mut Model, effects: &mut Vec<Effect>) {
    effects.push(Effect::Copy(pane_text(model)));
    say(model, format!("the pane of {} was copied", model.pane.name()));
}

/// Opens a debugger at the cursor.
pub(super) fn debug(model: &mut Model, with: Debugging, effects: &mut Vec<Effect>) {
    match &model.live {
        Ok(()) => effects.push(Effect::Debug(model.spot.cursor, with)),
        Err(why) => {
            let why = format!("the program cannot be run: {why}");
            fail(model, why);
        }
    }
}

/// Watches the object of the selected step, or no more.
pub(super) fn watch(model: &mut Model) {
    let step = model.loaded().trace.execution.steps.get(model.spot.cursor);
    let name = step.and_then(|step| object(&model.loaded().trace, step.object));
    let Some(name) = name else {
        return say(model, "this step is on no object".into());
    };
    match model.watched.iter().position(|watched| *watched == name) {
        Some(at) => {
            model.watched.remove(at);
            say(model, format!("{name} is not watched any more"));
        }
        None => {
            say(model, format!("{name} is watched: it stands first in the pane of values"));
            model.watched.push(name);
        }
    }
}

/// Watches what an expression comes to, or no more; the pane of values shows it.
pub(super) fn watch_expression(model: &mut Model, text: &str) {
    if text.is_empty() {
        return;
    }
    if let Err(why) = expressions::parse(text) {
        return fail(model, format!("`{text}` cannot be read: {why}"));
    }
    match model.expressions.iter().position(|watched| watched == text) {
        Some(at) => {
            model.expressions.remove(at);
            say(model, format!("{text} is not watched any more"));
        }
        None => {
            say(model, format!("{text} is watched; the same again ends that"));
            model.expressions.push(text.to_owned());
        }
    }
    model.pane = Pane::Values;
}

/// Sets a bookmark, or takes it away with the note that stands there.
pub(super) fn bookmark(model: &mut Model, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    match model.spot.notes.remove(&at) {
        Some(text) if text.is_empty() => say(model, "the bookmark is gone".into()),
        Some(text) => say(model, format!("the note is gone: {text}")),
        None => {
            model.spot.notes.insert(at, String::new());
            say(model, "a bookmark; M writes a note".into());
        }
    }
    effects.push(Effect::KeepNotes);
}

/// Writes a note on the selected step; an empty one takes it away.
pub(super) fn note(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    let at = model.spot.cursor;
    if text.is_empty() {
        model.spot.notes.remove(&at);
    } else {
        model.spot.notes.insert(at, text.to_owned());
    }
    effects.push(Effect::KeepNotes);
}
