//! Handing over to a search and taking back.

use super::choose::show;
use super::{fail, say, stand};
use crate::app::hand::{Handed, News, STRATEGIES, State};
use crate::app::model::{Effect, Mode, Model, Pane};
use crate::views::text::count;
use replay_core::walk::HandOver;
use std::sync::Arc;

/// The largest bound that can be chosen: nobody waits for more.
const MOST: u32 = 20;

/// Asks what to hand over to.
pub(super) fn ask(model: &mut Model) {
    if let Err(why) = &model.live {
        let why = format!("the program cannot be run: {why}");
        return fail(model, why);
    }
    if model.spot.cursor >= model.loaded().len() {
        let text = "nothing can go otherwise from the end: go to the step to search from";
        return say(model, text.into());
    }
    let before = model.handed.as_ref().map(|handed| &handed.order);
    let strategy = before
        .and_then(|order| STRATEGIES.iter().position(|(strategy, _)| *strategy == order.strategy));
    let bound = before.and_then(|order| order.bound);
    model.mode = Mode::HandOver { strategy: strategy.unwrap_or(0), bound };
}

/// A key while it is chosen what to hand over to.
pub(super) fn dialog_key(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    let Mode::HandOver { strategy, bound } = &mut model.mode else { return };
    match key {
        "down" | "j" => *strategy = (*strategy + 1).min(STRATEGIES.len() - 1),
        "up" | "k" => *strategy = strategy.saturating_sub(1),
        "right" | "l" | "+" => {
            *bound = Some(bound.map_or(0, |bound| (bound + 1).min(MOST)));
        }
        "left" | "h" | "-" => *bound = bound.and_then(|bound| bound.checked_sub(1)),
        digit if digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit() => {
            *bound = Some(u32::from(digit.as_bytes()[0] - b'0'));
        }
        "enter" | "space" => {
            let (strategy, _) = STRATEGIES[*strategy];
            let bound = bound.filter(|_| strategy.is_bounded());
            model.mode = Mode::Walk;
            begin(
                model,
                HandOver {
                    beginning: model.loaded().before(model.spot.cursor).to_vec(),
                    strategy,
                    bound,
                    workers: model.workers,
                },
                effects,
            );
        }
        "esc" | "q" | "ctrl-c" => model.mode = Mode::Walk,
        _ => {}
    }
}

fn begin(model: &mut Model, order: HandOver, effects: &mut Vec<Effect>) {
    let number = model.handed.as_ref().map_or(1, |handed| handed.number + 1);
    model.handed = Some(Handed::new(number, order.clone()));
    model.looking = false;
    model.pane = Pane::Search;
    effects.push(Effect::Search { number, order });
    say(model, "searching from here; S stops it, f shows what it found".into());
}

/// Stops the search, or what is being waited for.
pub(super) fn stop(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.busy.take().is_some() {
        effects.push(Effect::GiveUp);
        return say(model, "given up".into());
    }
    match &mut model.handed {
        Some(handed) if handed.state == State::Running => {
            handed.state = State::Stopping;
            effects.push(Effect::StopSearch);
        }
        _ if model.matches => model.matches = false,
        _ => model.zoomed = false,
    }
}

/// News of a search.
pub(super) fn heard(model: &mut Model, number: u64, news: News, effects: &mut Vec<Effect>) {
    let Some(handed) = model.handed.as_mut().filter(|handed| handed.number == number) else {
        return;
    };
    let known = handed.found.len();
    handed.take(news);
    let message = match (&handed.state, handed.found.get(known)) {
        (_, Some((bug, _))) => Some(format!("found: {}: {} (f shows it)", bug.kind, bug.message)),
        (State::Ended { what, .. }, None) => {
            let found = count(handed.found.len() as u64, "failure");
            let executions = count(handed.progress.executions, "execution");
            Some(format!("the search ended: {executions}, {found}; {what}"))
        }
        _ => None,
    };
    let ended = !handed.is_running();
    if let Some(message) = message {
        say(model, message);
    }
    if ended {
        // The machine is free again: to look ahead.
        let (cursor, message) = (model.spot.cursor, model.message.take());
        stand(model, cursor, effects);
        model.message = message;
    }
}

/// Shows another of the failures that the search found.
pub(super) fn show_found(model: &mut Model, next: bool, effects: &mut Vec<Effect>) {
    let Some(handed) = model.handed.as_mut().filter(|handed| !handed.found.is_empty()) else {
        let text = match &model.handed {
            None => "nothing was searched yet: h hands over to a search",
            Some(handed) if handed.is_running() => "nothing was found yet",
            Some(_) => "the search found nothing",
        };
        return say(model, text.into());
    };
    let all = handed.found.len();
    let at = match (handed.shown, next) {
        (None, _) => 0,
        (Some(shown), true) => (shown + 1) % all,
        (Some(shown), false) => (shown + all - 1) % all,
    };
    handed.shown = Some(at);
    let (bug, loaded) = &handed.found[at];
    let text = format!("failure {} of {all}: {}: {}", at + 1, bug.kind, bug.message);
    let loaded = Arc::clone(loaded);
    let end = loaded.len();
    show(model, loaded, end, effects);
    say(model, text);
}
