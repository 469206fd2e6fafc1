//! A source line for display: tabs expanded, control characters escaped, in coloured pieces.

use crate::report::names::boundary;
use crate::report::text::clean;
use replay_core::source::{Colour, Source};
use unicode_width::UnicodeWidthStr;

/// The distance between tab stops, in cells.
const TAB: usize = 4;

/// Columns after which a line is left out: generated code has lines of megabytes.
const LONGEST: usize = 2000;

/// A line in pieces with their colours; empty if the file has no such line.
#[must_use]
pub fn pieces(source: &Source, number: u32) -> Vec<(String, Option<Colour>)> {
    let Some(line) = source.line(number) else { return Vec::new() };
    let mut pieces = Vec::new();
    let mut used = 0;
    let mut done = 0;
    let mut push = |text: &str, colour| {
        if !text.is_empty() && used < LONGEST {
            let end = boundary(text, LONGEST.min(text.len()));
            let whole = end == text.len();
            let text = if whole { text.to_owned() } else { format!("{}...", &text[..end]) };
            let shown = shown(&text, used);
            used += shown.width();
            pieces.push((shown, colour));
        }
    };
    for span in source.colours(number) {
        push(&line[done..span.range.start], None);
        push(&line[span.range.clone()], Some(span.colour));
        done = span.range.end;
    }
    push(&line[done..], None);
    pieces
}

/// The whole line without colours.
#[must_use]
pub fn plain(source: &Source, number: u32) -> String {
    source.line(number).map(|line| shown(line, 0)).unwrap_or_default()
}

/// A piece that starts at cell `from`, with tabs expanded and control characters escaped.
fn shown(text: &str, from: usize) -> String {
    let mut shown = String::new();
    for (at, part) in text.split('\t').enumerate() {
        if at > 0 {
            let used = from + shown.width();
            shown.push_str(&" ".repeat(TAB - used % TAB));
        }
        shown.push_str(&clean(part));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use replay_core::source::Language;

    #[test]
    fn tabs_end_at_stops_after_wide_characters() {
        let source = Source::of("\tint a;\t/* 日 */\tb\u{1b}[m\n".as_bytes(), Some(Language::C));
        assert_eq!(plain(&source, 1), "    int a;  /* 日 */    b\\u{1b}[m");
        let joined: String = pieces(&source, 1).into_iter().map(|(text, _)| text).collect();
        assert_eq!(joined, plain(&source, 1));
        assert_eq!(plain(&source, 9), "");
    }
}
