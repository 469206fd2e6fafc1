//! What is done beside: short tasks at once, long ones in a thread of their own.

use super::{fail, say, stand};
use crate::app::aside::{Came, Task};
use crate::app::model::{Effect, Mode, Model};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Begins a task: what it is called while it lasts.
pub(super) fn begin(model: &mut Model, task: Task, what: String, effects: &mut Vec<Effect>) {
    model.aside += 1;
    if !task.is_short() {
        model.busy = Some(what);
        effects.push(Effect::Aside { number: model.aside, task });
    } else if let Some(came) = task.run(&AtomicBool::new(false), &|_| ()) {
        take(model, came, effects);
    }
}

/// What came of a task; of those before nobody wants to know.
pub(super) fn came(model: &mut Model, number: u64, came: Came, effects: &mut Vec<Effect>) {
    // Whoever gave it up waits for nothing.
    if number == model.aside && model.busy.is_some() {
        take(model, came, effects);
    }
}

fn take(model: &mut Model, came: Came, effects: &mut Vec<Effect>) {
    if let Came::Progress(done) = came {
        let what = model.busy.take().unwrap_or_default();
        let what = what.split(": ").next().unwrap_or_default();
        model.busy = Some(format!("{what}: {done} % (esc gives it up)"));
        return;
    }
    model.busy = None;
    match came {
        Came::Found(search, _) if !Arc::ptr_eq(&search.loaded, &model.spot.loaded) => {}
        Came::Found(search, Some(step)) => {
            stand(model, step, effects);
            model.matches = true;
            match search.back {
                false if step < search.from => say(model, "from the start again".into()),
                true if step >= search.from => say(model, "from the end again".into()),
                _ => {}
            }
        }
        Came::Found(search, None) => fail(model, format!("no row holds `{}`", search.text)),
        Came::Compared(title, page) => model.mode = Mode::Text(title, page, 0),
        Came::Broke(why) => fail(model, why),
        Came::Progress(_) => {}
    }
}
