//! The header: the target, how the execution ends, and its size.

use super::paint::{glyphs, put};
use crate::report::summary::cut;
use crate::report::text::{clean, clip, count, width};
use crate::report::verdict::short_message;
use crate::tui::keys::actions::Action;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    let loaded = model.loaded();
    let execution = &loaded.trace.execution;
    let theme = model.theme;
    let program = &loaded.trace.header.program;
    let name = clean(program.rsplit('/').next().unwrap_or_default());
    let args: Vec<String> =
        loaded.trace.header.args.iter().map(|arg| clean(&String::from_utf8_lossy(arg))).collect();
    let dot = glyphs(model).dot;
    let mut pieces = vec![
        (" heddle ".to_owned(), theme.style(Role::Key)),
        (format!("{name} {}", args.join(" ")).trim_end().to_owned(), theme.style(Role::Title)),
        ("  ".to_owned(), theme.style(Role::Text)),
    ];
    if model.is_edited() {
        let key = model.keys.name_of(Action::Original, "original");
        pieces.push((format!("edited ({key} returns)  "), theme.style(Role::Notice)));
    }
    if let Some(rows) = &model.shown_rows {
        pieces.push((format!("rows: {}  ", clean(&rows.text)), theme.style(Role::Notice)));
    }
    match &loaded.trace.failure {
        Some(failure) => {
            pieces.push((format!("{}: ", failure.kind), theme.style(Role::Bad)));
            pieces.push((short_message(&failure.message), theme.style(Role::Bad)));
        }
        None => pieces.push(match cut(&loaded.trace) {
            Some(cut) => (cut, theme.style(Role::Bad)),
            None => ("passes".to_owned(), theme.style(Role::Good)),
        }),
    }
    let facts = format!(
        "  {} {dot} {} {dot} {}",
        count(loaded.len() as u64, "step"),
        count(execution.tasks.len() as u64, "task"),
        count(loaded.preemptions().len() as u64, "preemption"),
    );
    let room = usize::from(area.width).saturating_sub(width(&facts));
    let mut used = 0;
    for (text, _) in &mut pieces {
        *text = clip(text, room.saturating_sub(used), glyphs(model).cut);
        used += width(text);
    }
    pieces.push((facts, theme.style(Role::Dim)));
    put(buffer, area, 0, pieces);
}
