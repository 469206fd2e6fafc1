//! Replies of the engine.

use super::choices::show;
use super::cursor::move_cursor;
use super::tools::text_width;
use super::{reverse, search};
use crate::report::style::Style;
use crate::report::summary::cut;
use crate::report::text::wrapped_lines;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::mode::Mode;
use crate::walk::reply::Reply;
use std::sync::Arc;

pub(super) fn received(model: &mut Model, reply: Reply, effects: &mut Vec<Effect>) {
    match reply {
        Reply::Ran { loaded, cursor } => {
            model.busy = None;
            let failed = loaded.trace.failure.as_ref().map(|failure| failure.message.clone());
            let cut = cut(&loaded.trace);
            show(model, loaded, cursor, effects);
            if let Some(wish) = model.happened.take() {
                let rest = match (failed, cut) {
                    (Some(why), _) => format!("fails: {why}"),
                    (None, Some(cut)) => format!("is {cut}"),
                    (None, None) => "passes".to_owned(),
                };
                return model
                    .notify(format!("{wish} holds at this step; the rest of the schedule {rest}"));
            }
            match (failed, cut) {
                (Some(why), _) => model.notify(format!("this schedule fails: {why}")),
                (None, Some(cut)) => model.fail(format!("this schedule is {cut}")),
                (None, None) => model.notify("this schedule passes"),
            }
        }
        Reply::Reversed { loaded, step, both, wishes } => {
            reverse::reversed(model, (loaded, step), both, wishes, effects);
        }
        Reply::Explained { explanation, nearest } => {
            model.busy = None;
            model.nearest_passing = nearest;
            let style = Style { color: false, ascii: model.ascii };
            let width = text_width(model);
            let text = crate::report::explain::render(&explanation.page(), &style, width);
            let mut title = "why it fails".to_owned();
            if model.nearest_passing.is_some() {
                let key = model.keys.name_of(Action::Compare, "compare");
                title += &format!(" ({key} compares it with the nearest passing schedule)");
            }
            model.mode = Mode::Text(title, Arc::new(wrapped_lines(&text, width)), 0);
        }
        Reply::Check { of, update } => {
            model.checks.apply(&of, update);
            let decisive = model.decisive_step();
            if model.follows_verdict && decisive != model.view.cursor {
                move_cursor(model, decisive, effects);
            }
        }
        Reply::CheckEnded { .. } => {}
        Reply::Shrunk { loaded, what } => {
            model.busy = None;
            let end = loaded.len();
            model.shrunk = Some((Arc::clone(&model.view.loaded), Arc::clone(&loaded)));
            show(model, loaded, end, effects);
            let key = model.keys.name_of(Action::CompareBefore, "compare-before");
            model.notify(format!("{what}; {key} compares before and after"));
        }
        Reply::Reloaded { loaded, what } => {
            model.busy = None;
            // Schedules of the old build cannot be run any more.
            model.nearest_passing = None;
            model.shrunk = None;
            model.search = None;
            model.ahead_elsewhere.clear();
            model.sources.clear();
            let fails = loaded.trace.failure.is_some();
            let from = model.rebuild_from.take().filter(|_| !fails);
            let cursor = model.view.cursor.min(loaded.len());
            model.original = Arc::clone(&loaded);
            show(model, loaded, cursor, effects);
            model.past.clear();
            // A schedule that passes or does not fit does not replace the failing one.
            model.rebuild_from = from;
            model.notify(what);
        }
        Reply::Progress(what) => model.busy = model.busy.take().map(|_| what),
        Reply::Failed(why) => {
            (model.busy, model.happened) = (None, None);
            model.fail(why);
        }
        Reply::Search { number, update } => search::received(model, number, update, effects),
        Reply::Ahead { generation, task, ahead } => {
            if generation == model.generation {
                model.ahead.insert(task, ahead);
            }
        }
        Reply::LookAheadDone { generation, finished } => {
            if generation == model.generation {
                model.looking_ahead = false;
                if finished {
                    let (loaded, step) = (Arc::clone(&model.view.loaded), model.view.cursor);
                    model.ahead_elsewhere.remember(&loaded, step, model.ahead.clone());
                }
            }
        }
        Reply::Inspected { of, expressions, result } => {
            model.inspections.store(&of, &expressions, result);
            model.inspections.qualify(&mut model.expressions, model.view.cursor);
        }
    }
}
