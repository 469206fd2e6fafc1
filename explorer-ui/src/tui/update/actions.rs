//! Performs actions.

use super::{choices, columns, navigate, reverse, rows, scroll, search, tools};
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::effect::{DebuggerKind, Effect};
use crate::tui::model::mode::{Mode, Question};
use crate::tui::panes;
use crate::tui::panes::id::PaneId;
use crate::tui::render::layout::{BESIDE, areas};
use crate::tui::tour::PAGES;

/// Performs an action and, if it is the one the tour waits for, turns the tour's page.
pub(super) fn perform_in_tour(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if !advance_tour(model, action) {
        perform(model, action, effects);
    }
}

/// Advances or ends the tour; whether the action was meant for the tour alone.
fn advance_tour(model: &mut Model, action: Action) -> bool {
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

/// Performs an action.
pub(super) fn perform(model: &mut Model, action: Action, effects: &mut Vec<Effect>) {
    if let Some(place) = action.pick() {
        return choices::pick(model, place, effects);
    }
    let page = i64::from(areas(model).schedule.height.saturating_sub(2).max(1));
    let ask = |model: &mut Model, what| model.mode = Mode::Prompt(what, String::new());
    match action {
        Action::Forward => navigate::move_by_lines(model, 1, effects),
        Action::Back => navigate::move_by_lines(model, -1, effects),
        Action::PageForward => navigate::move_by_lines(model, page, effects),
        Action::PageBack => navigate::move_by_lines(model, -page, effects),
        Action::JumpBack | Action::JumpForward => {
            navigate::along_jumps(model, action == Action::JumpBack, effects);
        }
        Action::GoTo => ask(model, Question::Step),
        Action::Search => ask(model, Question::Text),
        Action::SearchBack => ask(model, Question::TextBefore),
        Action::Filter => {
            let text = model.shown_rows.as_ref().map(|rows| rows.text.clone()).unwrap_or_default();
            model.mode = Mode::Prompt(Question::Filter, text);
        }
        Action::NextMatch => rows::next_match(model, false, effects),
        Action::PreviousMatch => rows::next_match(model, true, effects),
        Action::UntilObject => ask(model, Question::Object),
        Action::UntilLine => ask(model, Question::Line),
        Action::PickTask => ask(model, Question::Task),
        Action::OtherData => choices::other_data(model, effects),
        Action::BestMove => choices::best_move(model, false, effects),
        Action::ShowMe => choices::best_move(model, true, effects),
        Action::Undo | Action::Redo => choices::undo(model, action == Action::Undo, effects),
        Action::Original => choices::original(model, effects),
        Action::RestoreEdited => choices::restore_edited(model, effects),
        Action::HandOver => search::open_dialog(model),
        Action::MakeHappen => search::ask_wish(model),
        Action::Reverse => reverse::reverse(model, effects),
        Action::Stop => search::stop(model, effects),
        Action::Resume => search::resume(model, effects),
        Action::NextFound => search::show_found(model, true, effects),
        Action::PreviousFound => search::show_found(model, false, effects),
        Action::NextPane | Action::PreviousPane => {
            show_pane(model, panes::neighbour(model, action == Action::NextPane));
        }
        Action::ShowPane(pane) => show_pane(model, pane),
        Action::KeepPane => keep_pane(model),
        Action::PaneEarlier => move_pane(model, true),
        Action::PaneLater => move_pane(model, false),
        Action::PaneDown => scroll::pane(model, model.pane, 1),
        Action::PaneUp => scroll::pane(model, model.pane, -1),
        Action::Bookmark => tools::bookmark(model, effects),
        Action::Note => {
            let text = model.view.notes.get(&model.view.cursor).cloned().unwrap_or_default();
            model.mode = Mode::Prompt(Question::Note, text);
        }
        Action::Mouse => {
            model.mouse = !model.mouse;
            effects.push(Effect::Mouse(model.mouse));
            let whose = if model.mouse {
                "used by the explorer"
            } else {
                "left to the terminal, to select text"
            };
            model.notify(format!("the mouse is {whose}"));
        }
        Action::Tour => model.tour = Some(0),
        Action::Zoom => model.zoomed = !model.zoomed,
        Action::Watch => tools::watch(model),
        Action::WatchExpression => ask(model, Question::Expression),
        Action::Origin => tools::show_origins(model),
        Action::Fold | Action::FoldMore => {
            let more = action == Action::FoldMore;
            model.fold = if more { model.fold.more() } else { model.fold.toggled() };
            model.update_lines();
            model.notify(model.fold.what().to_owned());
        }
        Action::HideTask | Action::HideOthers => {
            columns::hide(model, action == Action::HideOthers);
        }
        Action::ShowTasks => columns::show_all(model),
        Action::PinTask => columns::pin(model),
        Action::Lanes => model.lanes = Some(areas(model).lanes.height == 0),
        Action::Wider | Action::Narrower => columns::widen(model, action == Action::Wider),
        Action::Enabled => model.show_enabled = !model.show_enabled,
        Action::NextTheme => {
            model.theme = model.theme.next();
            model.notify(format!("theme {}", model.theme.name()));
        }
        Action::Ascii => model.ascii = !model.ascii,
        Action::Help => model.mode = Mode::Help(0),
        Action::Palette => model.mode = Mode::Palette { typed: String::new(), selected: 0 },
        Action::Shrink => tools::shrink(model, effects),
        Action::Explain => tools::explain(model, effects),
        Action::Compare => tools::compare(model, effects),
        Action::CompareBefore => tools::compare_before(model, effects),
        Action::Save => effects.push(Effect::Save),
        Action::SaveScreen => effects.push(Effect::SaveScreen),
        Action::Record => effects.push(Effect::Record),
        Action::Copy => tools::copy(model, effects),
        Action::CopySchedule => tools::copy_schedule(model, effects),
        Action::CopyPane => tools::copy_pane(model, effects),
        Action::Debugger => tools::debug(model, DebuggerKind::Gdb, effects),
        Action::Lldb => tools::debug(model, DebuggerKind::Lldb, effects),
        Action::Split => tools::debug(model, DebuggerKind::Split, effects),
        Action::Redraw => effects.push(Effect::Redraw),
        Action::Suspend => effects.push(Effect::Suspend),
        Action::Quit => model.quit = true,
        other => navigate::go_by(model, other, effects),
    }
}

/// Adds the selected pane to those that stay open, as the last one, or removes it.
fn keep_pane(model: &mut Model) {
    let (pane, before) = (model.pane, model.open_panes.len());
    model.open_panes.retain(|&open| open != pane);
    let kept = model.open_panes.len() == before;
    if kept {
        model.open_panes.push(pane);
    }
    tell_open_panes(model);
}

/// Exchanges the selected pane with the open one before or after it.
fn move_pane(model: &mut Model, earlier: bool) {
    let Some(at) = model.open_panes.iter().position(|&open| open == model.pane) else {
        let (name, key) = (model.pane.0, model.keys.name_of(Action::KeepPane, "keep-pane"));
        return model.notify(format!("{name} is not among the open panes: {key} adds it"));
    };
    let to = if earlier { at.checked_sub(1) } else { Some(at + 1) };
    if let Some(to) = to.filter(|&to| to < model.open_panes.len()) {
        model.open_panes.swap(at, to);
    }
    tell_open_panes(model);
}

fn tell_open_panes(model: &mut Model) {
    let open: Vec<&str> = model.open_panes.iter().map(|pane| pane.0).collect();
    let open = if open.is_empty() { "none".to_owned() } else { open.join(", ") };
    let room = match model.size.0 >= BESIDE {
        true => String::new(),
        false => format!("; they are displayed from {BESIDE} columns on"),
    };
    model.notify(format!("panes that stay open: {open}{room}"));
}

pub(super) fn show_pane(model: &mut Model, pane: PaneId) {
    scroll::select_pane(model, pane);
    if areas(model).pane.height < 2 {
        let zoom = model.keys.name_of(Action::Zoom, "zoom");
        let name = pane.0;
        model.notify(format!(
            "{name}: no room for the pane here; {zoom} shows it on the whole screen"
        ));
    }
}
