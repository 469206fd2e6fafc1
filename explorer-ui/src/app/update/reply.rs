//! What the engine answered.

use super::choose::show;
use super::keep::text_width;
use super::{fail, hand, say};
use crate::app::engine::Reply;
use crate::app::model::{Effect, Mode, Model};
use crate::app::sight;
use crate::views::Style;
use crate::views::summary::cut;
use crate::views::text::wrapped_lines;
use std::sync::Arc;

pub(super) fn answered(model: &mut Model, reply: Reply, effects: &mut Vec<Effect>) {
    match reply {
        Reply::Ran { loaded, cursor } => {
            model.busy = None;
            let failed = loaded.trace.failure.as_ref().map(|failure| failure.message.clone());
            let cut = cut(&loaded.trace);
            show(model, loaded, cursor, effects);
            match (failed, cut) {
                (Some(why), _) => say(model, format!("this schedule fails: {why}")),
                (None, Some(cut)) => fail(model, format!("this schedule is {cut}")),
                (None, None) => say(model, "this schedule passes".into()),
            }
        }
        Reply::Explained { page, nearest } => {
            model.busy = None;
            model.nearest = nearest;
            let known = model.nearest.is_some();
            let style = Style { color: false, ascii: model.ascii };
            let width = text_width(model);
            let text = crate::views::explain::render(&page.page(), &style, width);
            let title = if known {
                "why it fails (c compares it with the nearest that passes)"
            } else {
                "why it fails"
            };
            model.mode = Mode::Text(title.into(), Arc::new(wrapped_lines(&text, width)), 0);
        }
        Reply::Shrunk { loaded, what } => {
            model.busy = None;
            let end = loaded.len();
            model.shrunk = Some((Arc::clone(&model.spot.loaded), Arc::clone(&loaded)));
            show(model, loaded, end, effects);
            say(model, format!("{what}; B shows it beside the one before"));
        }
        Reply::Reloaded { loaded, what } => {
            model.busy = None;
            // Schedules of the old build cannot be run any more.
            model.past.clear();
            model.future.clear();
            model.nearest = None;
            model.shrunk = None;
            model.handed = None;
            model.sources.clear();
            let cursor = model.spot.cursor.min(loaded.len());
            model.original = Arc::clone(&loaded);
            show(model, loaded, cursor, effects);
            model.past.clear();
            say(model, what);
        }
        Reply::Progress(what) => model.busy = model.busy.take().map(|_| what),
        Reply::Failed(why) => {
            model.busy = None;
            fail(model, why);
        }
        Reply::Search { number, news } => hand::heard(model, number, news, effects),
        Reply::Ahead { generation, task, ahead } => {
            if generation == model.generation {
                model.ahead.insert(task, ahead);
            }
        }
        Reply::Sighted { of, expressions, seen } => {
            model.sights.take(&of, &expressions, seen);
            sight::settle(model, model.spot.cursor);
        }
        Reply::Looked { generation } => {
            if generation == model.generation {
                model.looking = false;
            }
        }
    }
}
