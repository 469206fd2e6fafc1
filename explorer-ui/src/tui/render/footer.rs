//! The footer: messages, prompts, hints of keys, and the position of the cursor.

use super::layout::areas;
use super::paint::{glyphs, put};
use crate::report::text::{clean, clip, clip_front, grouped, width};
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::model::mode::Mode;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    let theme = model.theme;
    let (left, right) = footer_parts(model, area);
    put(buffer, right, 0, vec![(place(model), theme.style(Role::Dim))]);
    let room = usize::from(left.width);
    let signs = glyphs(model);
    let said = |text: String, role| vec![(clip(&text, room, signs.cut), theme.style(role))];
    let pieces = match (&model.mode, &model.busy, &model.message) {
        (Mode::Prompt(ask, text), _, _) => {
            let label = format!(" {} ", ask.label());
            let cursor = if model.ascii { "_" } else { "▏" };
            // The end of a long text stays visible.
            let room = room.saturating_sub(width(&label) + 1);
            let text = clip_front(text, room, signs.cut);
            let plain = theme.style(Role::Text);
            vec![(label, theme.style(Role::Key)), (text, plain), (cursor.to_owned(), plain)]
        }
        (_, Some(busy), _) => said(format!(" {busy} ..."), Role::Notice),
        (_, _, Some(message)) => {
            let role = if message.bad { Role::Bad } else { Role::Notice };
            said(format!(" {}", clean(&message.text)), role)
        }
        _ => match model.view.notes.get(&model.view.cursor) {
            Some(note) if note.is_empty() => said(" a bookmark".to_owned(), Role::Notice),
            Some(note) => said(format!(" note: {}", clean(note)), Role::Notice),
            None => hints(model, room),
        },
    };
    put(buffer, left, 0, pieces);
}

/// The column after the text that is typed into a prompt.
pub(super) fn typed_end(model: &Model, area: Rect) -> Option<u16> {
    let Mode::Prompt(ask, text) = &model.mode else { return None };
    let (left, _) = footer_parts(model, area);
    let used = width(ask.label()) + 2 + width(text);
    Some(left.x + (used as u16).min(left.width.saturating_sub(1)))
}

/// The parts of the footer: messages on the left, the position on the right.
fn footer_parts(model: &Model, area: Rect) -> (Rect, Rect) {
    let cells = width(&place(model)) as u16;
    // In little room the message comes first.
    let cells = if area.width > cells * 3 { cells } else { 0 };
    let left = Rect { width: area.width - cells, ..area };
    (left, Rect { x: area.x + left.width, width: cells, ..area })
}

/// The position of the cursor, and the progress of a running search.
fn place(model: &Model) -> String {
    let searching = match &model.search {
        Some(search) if search.is_running() => {
            let runs = grouped(search.progress.executions);
            format!(" {runs} run, {} found", search.found.len())
        }
        _ => String::new(),
    };
    let at = model.view.cursor;
    match at < model.loaded().len() {
        true => {
            let steps = grouped(model.loaded().len() as u64);
            format!("{searching} {} of {steps} ", grouped(at as u64 + 1))
        }
        false => format!("{searching} at the end "),
    }
}

/// A hint: action, key, description, first column.
type Hint = (Action, String, &'static str, usize);

/// Whether an action can have an effect at the moment; other actions have no hint.
fn is_of_use(model: &Model, action: Action) -> bool {
    let at_end = model.view.cursor >= model.loaded().len();
    let can_run = model.can_run.is_ok();
    let fails = model.loaded().trace.failure.is_some();
    let searching = model.search.as_ref().is_some_and(|search| search.is_running());
    match action {
        Action::NextMatch | Action::PreviousMatch => model.matches,
        Action::Forward => !at_end,
        Action::Back => model.view.cursor > 0,
        Action::Pick1 | Action::BestMove => can_run && !at_end && !model.matches,
        Action::HandOver => can_run && !at_end && !searching,
        Action::Stop => searching,
        Action::NextFound => model.search.as_ref().is_some_and(|search| !search.found.is_empty()),
        // These actions concern the failure, which is at the end.
        Action::Explain | Action::Shrink => can_run && fails && at_end,
        Action::Undo => !model.past.is_empty(),
        _ => true,
    }
}

/// Hints of the most important keys, as many as fit.
fn hinted(model: &Model, room: usize) -> Vec<Hint> {
    use Action as A;
    let all = [
        (A::NextMatch, "next match"),
        (A::PreviousMatch, "match before"),
        (A::Forward, "forward"),
        (A::Back, "back"),
        (A::Pick1, "pick"),
        (A::BestMove, "to a failure"),
        (A::Stop, "stop"),
        (A::HandOver, "search"),
        (A::NextFound, "failures"),
        (A::Explain, "explain"),
        (A::Shrink, "shrink"),
        (A::Undo, "undo"),
        (A::NextPane, "pane"),
        (A::Palette, "commands"),
        (A::Help, "help"),
        (A::Quit, "quit"),
    ];
    let all = all.into_iter().filter(|(action, _)| is_of_use(model, *action));
    let known = all.filter_map(|(action, what)| {
        let key = match action {
            // While a text search is active, `n` and `N` move between its matches.
            A::NextMatch if model.match_keys_active() => "n".to_owned(),
            A::PreviousMatch if model.match_keys_active() => "N".to_owned(),
            _ => model.keys.of(action).first()?.to_string(),
        };
        let columns = width(&key) + 1 + width(what) + 3;
        Some((action, key, what, columns))
    });
    let known: Vec<_> = known.collect();
    // The hints that lead to all other keys come last, and always fit.
    let last = |action| matches!(action, A::Palette | A::Help);
    let kept: usize = known.iter().filter(|one| last(one.0)).map(|one| one.3).sum();
    let mut free = room.saturating_sub(1 + kept);
    let mut at = 1;
    let mut hints = Vec::new();
    for (action, key, what, cells) in known {
        if !last(action) {
            match free.checked_sub(cells) {
                Some(left) => free = left,
                None => continue,
            }
        } else if at + cells > room + 3 {
            continue;
        }
        hints.push((action, key, what, at));
        at += cells;
    }
    hints
}

fn hints(model: &Model, room: usize) -> Vec<(String, Style)> {
    let mut pieces = vec![(" ".to_owned(), model.theme.style(Role::Text))];
    for (_, key, what, _) in hinted(model, room) {
        pieces.push((key, model.theme.style(Role::Key)));
        pieces.push((format!(" {what}   "), model.theme.style(Role::Dim)));
    }
    pieces
}

/// The action whose hint is at a column of the footer.
pub(in crate::tui) fn hint_at(model: &Model, x: u16) -> Option<Action> {
    let said = model.busy.is_some() || model.message.is_some();
    if said || model.view.notes.contains_key(&model.view.cursor) {
        return None;
    }
    let (left, _) = footer_parts(model, areas(model).footer);
    let x = usize::from(x);
    let hints = hinted(model, usize::from(left.width));
    let on = |hint: &&Hint| (hint.3..hint.3 + width(&hint.1) + 1 + width(hint.2)).contains(&x);
    hints.iter().find(on).map(|hint| hint.0)
}
