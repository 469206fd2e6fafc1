//! Drawing primitives.

use crate::report::style::{Glyphs, Style as TextStyle};
use crate::report::text::{clip, fill, width};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Widget};

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
    styled(pieces).render(Rect { y: area.y + line, height: 1, ..area }, buffer);
}

/// Pieces of text as a line.
pub(in crate::tui) fn styled(pieces: Vec<(String, Style)>) -> Line<'static> {
    pieces.into_iter().map(|(text, style)| Span::styled(text, style)).collect()
}

/// Pieces of text cut or filled to a width.
pub(in crate::tui) fn fitted(
    pieces: Vec<(String, Style)>,
    cells: usize,
    cut: &str,
) -> Vec<(String, Style)> {
    let all: usize = pieces.iter().map(|(text, _)| width(text)).sum();
    let mut used = 0;
    let mut fitting = Vec::new();
    for (text, style) in pieces {
        let room = cells - used;
        // The sign of the cut needs a column of what would just fit.
        let ends = used + width(&text) > cells.saturating_sub(usize::from(all > cells));
        let text = if ends { clip(&(text + " "), room, cut) } else { text };
        used += width(&text);
        fitting.push((text, style));
        if ends {
            break;
        }
    }
    fitting.push((fill(used, cells), Style::new()));
    fitting
}

/// Lines of pieces of text; text beyond an edge of the area is cut off.
pub(in crate::tui) fn paragraph(
    lines: impl IntoIterator<Item = Vec<(String, Style)>>,
) -> Paragraph<'static> {
    Paragraph::new(lines.into_iter().map(styled).collect::<Text<'static>>())
}

/// The signs of borders.
pub(in crate::tui) fn borders(model: &Model) -> border::Set<'static> {
    const ASCII: border::Set<'static> = border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    };
    if model.ascii { ASCII } else { border::ROUNDED }
}

/// Draws a heading, followed by a horizontal line.
pub(in crate::tui) fn heading(
    model: &Model,
    buffer: &mut Buffer,
    area: Rect,
    title: &str,
    role: Role,
    more: &str,
) {
    let sign = borders(model).horizontal_top;
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
            (format!(" {title} "), model.theme.style(role)),
            (more, model.theme.style(Role::Dim)),
            (sign.repeat(rest), border),
        ],
    );
}
