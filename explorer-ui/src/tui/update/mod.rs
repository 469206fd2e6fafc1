//! Changes the model for each event. Pure: what has to happen outside is returned as effects.

mod actions;
mod choices;
mod columns;
mod cursor;
mod jobs;
mod keys;
mod mouse;
mod navigate;
mod prompt;
mod reply;
mod reverse;
mod rows;
mod scroll;
mod search;
mod tools;

pub(in crate::tui) use tools::text_width;

use super::commands::default_keys;
use super::keys::actions::Action;
use super::model::Model;
use super::model::effect::Effect;
use super::model::event::Event;
use super::model::message::Message;
use super::panes;
use super::session::Session;
use crate::walk::loaded_trace::LoadedTrace;
use std::sync::Arc;

/// Handles an event.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    let before = (Arc::clone(&model.view.loaded), model.view.cursor);
    // What the user looks at stays where it is.
    if matches!(
        event,
        Event::Key(_) | Event::Paste(_) | Event::Click(..) | Event::Drag(..) | Event::Wheel(..)
    ) {
        model.follows_verdict = false;
    }
    match event {
        Event::Key(key) => {
            model.message = None;
            keys::pressed(model, key, &mut effects);
        }
        Event::Paste(text) => {
            for letter in text.chars().filter(|letter| !letter.is_control()) {
                prompt::typed_letter(model, letter);
            }
        }
        Event::Click(x, y) => mouse::clicked(model, x, y, &mut effects),
        Event::Drag(x, y) => mouse::dragged(model, x, y, &mut effects),
        Event::Release(x, y) => mouse::released(model, x, y),
        Event::Wheel(x, y, notches) => mouse::wheel(model, (x, y), notches, &mut effects),
        Event::Resize(width, height) => model.size = (width, height),
        Event::Engine(reply) => reply::received(model, reply, &mut effects),
        Event::Source(path, lines) => {
            model.sources.insert(path, lines);
            // If the file cannot be read, another frame's file may be shown instead.
            cursor::request_source(model, &mut effects);
        }
        Event::Job { number, update } => jobs::received(model, number, update, &mut effects),
        Event::Rebuilt => {
            model.busy = Some("the program was rebuilt: trying the schedule again".into());
            let shown = &model.view.loaded;
            let from = model.rebuild_from.get_or_insert_with(|| Arc::clone(shown));
            effects.push(Effect::Reload(Arc::clone(from)));
        }
        Event::Message(message) => model.message = Some(message),
    }
    rows::refilter(model, &mut effects);
    navigate::record_jump(model, &before);
    effects.extend(cursor::request_inspection(model));
    effects
}

/// A model with the default key bindings.
#[must_use]
pub fn new_model(loaded: Arc<LoadedTrace>, size: (u16, u16)) -> Model {
    let mut model = Model::new(loaded, size, panes::FIRST, default_keys());
    model.open_panes = panes::OPEN.to_vec();
    model
}

/// Sets up the model when the explorer opens, from the saved session if there is one.
pub fn opened(model: &mut Model, session: Option<Session>) -> Vec<Effect> {
    let mut effects = Vec::new();
    let step = session.and_then(|session| session.restore(model));
    let mut said: Vec<String> = Vec::new();
    if let Err(why) = &model.can_run {
        said.push(format!("this schedule can only be read: {why}"));
    } else if model.saved.is_some() {
        let key = model.keys.name_of(Action::RestoreEdited, "restore-edited");
        said.push(format!("the schedule as recorded; {key} restores your edited one"));
    }
    // A failing schedule opens at the step that decides.
    let decisive = model.decisive_step();
    let cursor = step.unwrap_or(decisive).min(model.loaded().len());
    if cursor != decisive && model.saved.is_none() {
        let key = model.keys.name_of(Action::Decisive, "decisive");
        let at = match cursor < model.loaded().len() {
            true => format!("step {}", cursor + 1),
            false => "the end".to_owned(),
        };
        let to = if model.loaded().verdict().is_some() {
            format!("; {key} goes to the deciding step")
        } else {
            String::new()
        };
        said.push(format!("at {at}, where the last session left it{to}"));
    }
    if !said.is_empty() && model.message.is_none() {
        model.message = Some(Message { text: said.join("; "), bad: model.can_run.is_err() });
    }
    model.follows_verdict = cursor == decisive && model.loaded().verdict().is_some();
    cursor::move_cursor(model, cursor, &mut effects);
    cursor::request_check(model, &mut effects);
    effects
}
