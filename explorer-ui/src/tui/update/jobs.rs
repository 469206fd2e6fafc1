//! Background jobs: short ones run at once, long ones on a thread.

use super::cursor::move_cursor;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::job::{Job, JobUpdate};
use crate::tui::model::mode::Mode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Starts a job; `what` names it in the footer while it runs.
pub(super) fn start(model: &mut Model, job: Job, what: String, effects: &mut Vec<Effect>) {
    model.job_number += 1;
    if !job.is_short() {
        model.busy = Some(what);
        effects.push(Effect::StartJob { number: model.job_number, job });
    } else if let Some(update) = job.run(&AtomicBool::new(false), &|_| ()) {
        apply(model, update, effects);
    }
}

/// Applies an update, unless the job was superseded or cancelled.
pub(super) fn received(
    model: &mut Model,
    number: u64,
    update: JobUpdate,
    effects: &mut Vec<Effect>,
) {
    if number == model.job_number && model.busy.is_some() {
        apply(model, update, effects);
    }
}

fn apply(model: &mut Model, update: JobUpdate, effects: &mut Vec<Effect>) {
    if let JobUpdate::Progress(done) = update {
        let what = model.busy.take().unwrap_or_default();
        let what = what.split(": ").next().unwrap_or_default();
        model.busy = Some(format!("{what}: {done} % (esc cancels)"));
        return;
    }
    model.busy = None;
    match update {
        JobUpdate::Found(search, _) if !Arc::ptr_eq(&search.loaded, &model.view.loaded) => {}
        JobUpdate::Found(search, Some(step)) => {
            move_cursor(model, step, effects);
            model.matches = true;
            match search.back {
                false if step < search.from => model.notify("wrapped around to the start"),
                true if step >= search.from => model.notify("wrapped around to the end"),
                _ => {}
            }
        }
        JobUpdate::Found(search, None) => model.fail(format!("no row holds `{}`", search.text)),
        JobUpdate::Compared(title, page) => model.mode = Mode::Text(title, page, 0),
        JobUpdate::Failed(why) => model.fail(why),
        JobUpdate::Progress(_) => {}
    }
}
