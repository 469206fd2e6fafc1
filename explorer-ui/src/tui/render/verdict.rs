//! The verdict: one sentence above everything that explains the failure, and its evidence.

use super::paint::{glyphs, put};
use crate::report::text::{clip, wrap};
use crate::report::verdict::{basis, no_return, sentence};
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::walk::check::CheckState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Rows for the verdict, by the height of the screen: the schedule comes first on small ones.
fn most(height: u16) -> u16 {
    match height {
        ..16 => 1,
        16..30 => 3,
        30.. => 4,
    }
}

/// The number of rows; 0 if the displayed schedule does not fail.
pub(super) fn height(model: &Model) -> u16 {
    let (width, height) = model.size;
    (lines(model, usize::from(width)).len() as u16).min(most(height))
}

/// The sentence and, after it, what it is based on, each with its role.
fn parts(model: &Model) -> Option<[(String, Role); 2]> {
    let verdict = model.verdict()?;
    let trace = &model.loaded().trace;
    let known = basis(verdict);
    let (known, role) = match (model.check().map(|check| &check.state), &model.can_run) {
        (Some(CheckState::Done(_)), _) => {
            let lost = model.check().and_then(|check| check.forecast.no_return);
            let lost = lost.map(|found| no_return(&found, trace.steps_to_failure()));
            match lost.filter(|lost| !lost.is_empty()) {
                Some(lost) => (format!("{known}; {lost}"), Role::Good),
                None => (known, Role::Good),
            }
        }
        (Some(CheckState::Failed(why)), _) => (format!("not checked: {why}"), Role::Dim),
        (_, Err(_)) => ("from the recording alone".to_owned(), Role::Dim),
        (Some(CheckState::Running), _) => {
            ("by its pattern; other schedules are being run".to_owned(), Role::Dim)
        }
        (None, _) => ("by its pattern".to_owned(), Role::Dim),
    };
    let said = shortened(&sentence(trace, verdict), usize::from(model.size.0), glyphs(model).cut);
    Some([(said, Role::Text), (known, role)])
}

/// A sentence without the ends of words that would fill the rows: names of generated code.
fn shortened(sentence: &str, cells: usize, cut: &str) -> String {
    let most = (cells / 2).max(20);
    let word = |word: &str| clip(word, most, cut);
    sentence.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The verdict in rows of pieces of text.
fn lines(model: &Model, cells: usize) -> Vec<Vec<(String, Role)>> {
    let Some([(what, role), (known, known_role)]) = parts(model) else { return Vec::new() };
    let dot = glyphs(model).dot;
    let whole = if known.is_empty() { what.clone() } else { format!("{what} {dot} {known}") };
    let mut left = what.chars().count();
    let rows = wrap(&whole, cells.saturating_sub(2).max(10)).into_iter();
    rows.map(|row| {
        // The row in which the sentence ends has a piece of each.
        let own: String = row.chars().take(left).collect();
        let rest: String = row.chars().skip(left).collect();
        // The space at which the text was wrapped is in no row.
        left = left.saturating_sub(row.chars().count() + 1);
        vec![(own, role), (rest, known_role)]
    })
    .collect()
}

pub(super) fn draw(model: &Model, buffer: &mut Buffer, area: Rect) {
    let cells = usize::from(area.width);
    let rows = lines(model, cells);
    let cut = rows.len() > usize::from(area.height);
    for (at, row) in rows.into_iter().take(usize::from(area.height)).enumerate() {
        let mut pieces = vec![(" ".to_owned(), model.theme.style(Role::Text))];
        for (text, role) in row {
            pieces.push((text, model.theme.style(role)));
        }
        if cut && at + 1 == usize::from(area.height) {
            let sign = glyphs(model).cut;
            let last = pieces.iter().rposition(|piece| !piece.0.is_empty()).unwrap_or(0);
            let used: usize = pieces[..last].iter().map(|it| it.0.chars().count()).sum();
            let room = cells.saturating_sub(used + 2);
            pieces[last].0 = clip(&pieces[last].0, room, sign) + " " + sign;
        }
        put(buffer, area, at as u16, pieces);
    }
}
