//! Drawing primitives.

use crate::report::style::{Glyphs, Style as TextStyle};
use crate::report::text::width;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

/// The signs to draw with.
pub(in crate::tui) fn glyphs(model: &Model) -> &'static Glyphs {
    TextStyle { color: false, ascii: model.ascii }.glyphs()
}

/// Draws pieces of text on a line of an area; text beyond its edge is cut off.
pub(in crate::tui) fn put(
    buffer: &mut Buffer,
    area: Rect,
    line: u16,
    pieces: Vec<(String, Style)>,
) {
    if line >= area.height || area.width == 0 {
        return;
    }
    let spans: Vec<Span<'_>> =
        pieces.into_iter().map(|(text, style)| Span::styled(text, style)).collect();
    Line::from(spans).render(Rect { y: area.y + line, height: 1, ..area }, buffer);
}

/// Draws a heading, followed by a horizontal line.
pub(in crate::tui) fn heading(
    model: &Model,
    buffer: &mut Buffer,
    area: Rect,
    title: &str,
    more: &str,
) {
    let sign = if model.ascii { "-" } else { "─" };
    let more = if more.is_empty() { String::new() } else { format!("{more} ") };
    let used = width(title) + width(&more) + 3;
    let rest = usize::from(area.width).saturating_sub(used);
    let border = model.theme.style(Role::Border);
    put(
        buffer,
        area,
        0,
        vec![
            (sign.to_owned(), border),
            (format!(" {title} "), model.theme.style(Role::Title)),
            (more, model.theme.style(Role::Dim)),
            (sign.repeat(rest), border),
        ],
    );
}
