//! Background jobs: short ones run at once, long ones on a thread.

use super::rows;
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
        JobUpdate::Found(search, steps) => rows::found(model, search, steps, effects),
        JobUpdate::Compared(title, page) => model.mode = Mode::Text(title, page, 0),
        JobUpdate::Failed(why) => model.fail(why),
        JobUpdate::Progress(_) => {}
    }
}
