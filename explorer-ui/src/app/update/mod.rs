//! How the model changes. Pure: what is to be done outside comes out as effects.

mod aside;
mod choose;
mod columns;
mod hand;
mod keep;
mod mouse;
mod prompt;
mod reply;
mod walk;

pub(in crate::app) use keep::text_width;

use super::action::Action;
use super::engine::Reply;
use super::model::{Ask, Debugging, Effect, Message, Mode, Model, Pane};
use super::render::{areas, help_lines, pane_lines};
use super::session::Session;
use super::sight;
use super::tour::PAGES;
use std::sync::Arc;
use traces::TaskId;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A key, by its name: `j`, `down`, `ctrl-d`.
    Key(String),
    /// The mouse was pressed here.
    Click(u16, u16),
    /// It was moved here, pressed.
    Drag(u16, u16),
    /// It was let go here.
    Release(u16, u16),
    /// The wheel moved here, by so many notches, down if positive.
    Wheel(u16, u16, i32),
    /// Text was pasted.
    Paste(String),
    /// The screen has this size now.
    Resize(u16, u16),
    /// The engine answered.
    Engine(Reply),
    /// A source file was read, or could not be.
    Source(String, Option<Arc<replay_core::source::Source>>),
    /// Something came of a task that is done beside.
    Aside {
        /// Which.
        number: u64,
        /// What.
        came: super::aside::Came,
    },
    /// The program was rebuilt.
    Rebuilt,
    /// Something outside is to be told.
    Told(Message),
}

impl Event {
    /// Whether it came from the terminal.
    #[must_use]
    pub fn is_typed(&self) -> bool {
        use Event::{Click, Drag, Key, Paste, Release, Resize, Wheel};
        let by_mouse = matches!(self, Click(..) | Drag(..) | Release(..) | Wheel(..));
        by_mouse || matches!(self, Key(_) | Paste(_) | Resize(..))
    }
}

/// Takes an event up.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    let before = (Arc::clone(&model.spot.loaded), model.spot.cursor);
    match event {
        Event::Key(key) => {
            model.message = None;
            key_pressed(model, &key, &mut effects);
        }
        Event::Paste(text) => {
            for letter in text.chars().filter(|letter| !letter.is_control()) {
                prompt::typed(model, &letter.to_string());
            }
        }
        Event::Click(x, y) => mouse::clicked(model, x, y, &mut effects),
        Event::Drag(x, y) => mouse::dragged(model, x, y, &mut effects),
        Event::Release(x, y) => mouse::released(model, x, y, &mut effects),
        Event::Wheel(x, y, notches) => mouse::wheel(model, (x, y), notches, &mut effects),
        Event::Resize(width, height) => model.size = (width, height),
        Event::Engine(reply) => reply::answered(model, reply, &mut effects),
        Event::Source(path, lines) => {
            model.sources.insert(path, lines);
            // Where it cannot be read, another may be shown instead.
            read_source(model, &mut effects);
        }
        Event::Aside { number, came } => aside::came(model, number, came, &mut effects),
        Event::Rebuilt => {
            model.busy = Some("the program was rebuilt: trying the schedule again".into());
            effects.push(Effect::Reload);
        }
        Event::Told(message) => model.message = Some(message),
    }
    walk::remember(model, &before);
    effects.extend(sight::want(model));
    effects
}

/// What is to be done when the explorer opens, as it was left or for the first time.
pub fn opened(model: &mut Model, session: Option<Session>) -> Vec<Effect> {
    let mut effects = Vec::new();
    if let Some((step, choices)) = session.and_then(|session| session.restore(model)) {
        stand(model, step, &mut effects);
        if let (Some(choices), Ok(())) = (choices, &model.live) {
            model.busy = Some("the schedule as it was left".into());
            effects.push(Effect::Run { choices, cursor: step });
        }
        return effects;
    }
    // A failing schedule is looked at where it fails.
    let end = model.loaded().len();
    let cursor = if model.loaded().trace.failure.is_some() { end } else { 0 };
    stand(model, cursor, &mut effects);
    effects
}

fn key_pressed(model: &mut Model, key: &str, effects: &mut Vec<Effect>) {
    match &model.mode {
        Mode::Walk => {
            if let Some(action) = prompt::of_matches(model, key).or(model.keys.action(key)) {
                done(model, action, effects);
            } else {
                say(model, format!("{key} does nothing here; ? lists the keys"));
            }
        }
        Mode::Help(line) => {
            let page = i64::from(model.size.1.saturating_sub(4));
            let moved = match key {
                "down" | "j" => 1,
                "up" | "k" => -1,
                "pagedown" | "space" => page,
                "pageup" => -page,
                "/" | ":" => {
                    return act(model, Action::Palette, effects);
                }
                _ => {
                    model.mode = Mode::Walk;
                    return;
                }
            };
            let most = help_lines(model).len() as i64 - 1;
            model.mode = Mode::Help((*line as i64 + moved).clamp(0, most.max(0)) as usize);
        }
        Mode::Text(_, lines, _) => {
            let page = i64::from(model.size.1.saturating_sub(4));
            let moved = match key {
                "down" | "j" => 1,
                "up" | "k" => -1,
                "pagedown" | "space" => page,
                "pageup" => -page,
                "y" => {
                    effects.push(Effect::Copy(lines.join("\n") + "\n"));
                    say(model, "the text is copied".into());
                    return;
                }
                _ => {
                    model.mode = Mode::Walk;
                    return;
                }
            };
            scroll(model, moved);
        }
        Mode::Palette { .. } => prompt::palette_key(model, key, effects),
        Mode::Prompt(..) => prompt::prompt_key(model, key, effects),
        Mode::HandOver { .. } => hand::dialog_key(model, key, effects),
    }
}

/// Moves the text that is read.
fn scroll(model: &mut Model, lines: i64) {
    let room = usize::from(model.size.1.saturating_sub(4));
    if let Mode::Text(_, text, first) = &mut model.mode {
        let most = text.len().saturating_sub(room) as i64;
        *first = (*first as i64 + lines).clamp(0, most) as usize;
    }
}

/// Moves what the pane shows; it stays full.
fn scroll_pane(model: &mut Model, lines: i64) {
    let room = usize::from(areas(model).pane.height.saturating_sub(1));
    let most = pane_lines(model).saturating_sub(room) as i64;
    model.pane_top = (model.pane_top as i64 + lines).clamp(0, most) as usize;
}

/// What a key or a hint says is done, and the tour goes on with it.
fn done(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if !toured(model, action) {
        act(model, action, effects);
    }
}

/// Takes the tour further, if there is one; whether the key was for that alone.
fn toured(model: &mut Model, action: Action) -> bool {
    let Some(page) = model.tour.and_then(|at| PAGES.get(at)) else { return false };
    if action == Action::Stop || page.until.is_empty() {
        model.tour = None;
        return action == Action::Stop;
    }
    if page.until.contains(&action) {
        model.tour = model.tour.map(|at| at + 1);
    }
    false
}

/// Does what an action says.
fn act(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if let Some(place) = action.pick() {
        return choose::pick(model, place, effects);
    }
    let page = i64::from(areas(model).schedule.height.saturating_sub(2).max(1));
    let ask = |model: &mut Model, what| model.mode = Mode::Prompt(what, String::new());
    match action {
        Action::Forward => walk::stand_on_line(model, 1, effects),
        Action::Back => walk::stand_on_line(model, -1, effects),
        Action::PageForward => walk::stand_on_line(model, page, effects),
        Action::PageBack => walk::stand_on_line(model, -page, effects),
        Action::Returned | Action::Departed => {
            walk::along_trail(model, action == Action::Returned, effects);
        }
        Action::GoTo => ask(model, Ask::Step),
        Action::Search => ask(model, Ask::Text),
        Action::SearchBack => ask(model, Ask::TextBefore),
        Action::NextMatch => prompt::next_match(model, false, effects),
        Action::PreviousMatch => prompt::next_match(model, true, effects),
        Action::UntilObject => ask(model, Ask::Object),
        Action::UntilLine => ask(model, Ask::Line),
        Action::PickTask => ask(model, Ask::Task),
        Action::OtherData => choose::other_data(model, effects),
        Action::BestMove => choose::best_move(model, false, effects),
        Action::ShowMe => choose::best_move(model, true, effects),
        Action::Undo | Action::Redo => choose::undo(model, action == Action::Undo, effects),
        Action::Original => choose::original(model, effects),
        Action::HandOver => hand::ask(model),
        Action::Stop => hand::stop(model, effects),
        Action::NextFound => hand::show_found(model, true, effects),
        Action::PreviousFound => hand::show_found(model, false, effects),
        Action::NextPane | Action::PreviousPane => {
            let step = if action == Action::NextPane { 1 } else { Pane::ALL.len() - 1 };
            let place = Pane::ALL.iter().position(|&pane| pane == model.pane).unwrap_or(0);
            model.pane = Pane::ALL[(place + step) % Pane::ALL.len()];
            model.pane_top = 0;
            if areas(model).pane.height < 2 {
                let zoom =
                    model.keys.of(Action::Zoom).first().copied().unwrap_or("zoom").to_owned();
                let name = model.pane.name();
                say(model, format!("{name}: no room for it here; {zoom} gives it the screen"));
            }
        }
        Action::PaneDown => scroll_pane(model, 1),
        Action::PaneUp => scroll_pane(model, -1),
        Action::Bookmark => keep::bookmark(model, effects),
        Action::Note => {
            let text = model.spot.notes.get(&model.spot.cursor).cloned().unwrap_or_default();
            model.mode = Mode::Prompt(Ask::Note, text);
        }
        Action::Mouse => {
            model.mouse = !model.mouse;
            effects.push(Effect::Mouse(model.mouse));
            let whose = if model.mouse { "the explorer's" } else { "the terminal's: mark text" };
            say(model, format!("the mouse is {whose}"));
        }
        Action::Tour => model.tour = Some(0),
        Action::Zoom => model.zoomed = !model.zoomed,
        Action::Watch => keep::watch(model),
        Action::WatchExpression => ask(model, Ask::Expression),
        Action::Fold | Action::FoldMore => {
            let more = action == Action::FoldMore;
            model.fold = if more { model.fold.more() } else { model.fold.toggled() };
            model.relay();
            say(model, model.fold.what().to_owned());
        }
        Action::HideTask | Action::HideOthers => {
            columns::hide(model, action == Action::HideOthers);
        }
        Action::ShowTasks => columns::show_all(model),
        Action::PinTask => columns::pin(model),
        Action::Lanes => model.lanes = Some(areas(model).lanes.height == 0),
        Action::Wider | Action::Narrower => mouse::widen(model, action == Action::Wider),
        Action::Enabled => model.enabled = !model.enabled,
        Action::NextTheme => {
            model.theme = model.theme.next();
            say(model, format!("theme {}", model.theme.name()));
        }
        Action::Ascii => model.ascii = !model.ascii,
        Action::Help => model.mode = Mode::Help(0),
        Action::Palette => model.mode = Mode::Palette { typed: String::new(), selected: 0 },
        Action::Shrink => keep::shrink(model, effects),
        Action::Explain => keep::explain(model, effects),
        Action::Compare => keep::compare(model, effects),
        Action::CompareBefore => keep::compare_before(model, effects),
        Action::Save => effects.push(Effect::Save),
        Action::Copy => keep::copy(model, effects),
        Action::CopySchedule => keep::copy_schedule(model, effects),
        Action::CopyPane => keep::copy_pane(model, effects),
        Action::Debugger => keep::debug(model, Debugging::Gdb, effects),
        Action::Lldb => keep::debug(model, Debugging::Lldb, effects),
        Action::Split => keep::debug(model, Debugging::Split, effects),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Quit => model.quit = true,
        other => walk::go_by(model, other, effects),
    }
}

fn say(model: &mut Model, text: String) {
    model.message = Some(Message { text, bad: false });
}

fn fail(model: &mut Model, text: String) {
    model.message = Some(Message { text, bad: true });
}

/// Asks for the source that is to be shown, unless it was read or cannot be.
fn read_source(model: &Model, effects: &mut Vec<Effect>) {
    if let Some((path, _)) = model.shown_source()
        && !model.sources.contains_key(&path)
    {
        effects.push(Effect::Source(path));
    }
}

/// Stands at a step, and asks for what is to be seen there.
fn stand(model: &mut Model, step: usize, effects: &mut Vec<Effect>) {
    model.spot.cursor = step.min(model.loaded().len());
    model.standing = model.loaded().standing(model.spot.cursor);
    model.generation += 1;
    model.ahead.clear();
    read_source(model, effects);
    let moves: Vec<TaskId> =
        model.standing.iter().filter(|one| one.enabled).map(|one| one.task).collect();
    // While a search runs, the machine is its own.
    let free = model.handed.as_ref().is_none_or(|handed| !handed.is_running());
    model.looking =
        free && model.live.is_ok() && !moves.is_empty() && model.spot.cursor < model.loaded().len();
    if model.looking {
        effects.push(Effect::Look {
            generation: model.generation,
            loaded: Arc::clone(&model.spot.loaded),
            step: model.spot.cursor,
            moves,
        });
    }
}
