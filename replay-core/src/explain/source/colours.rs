//! Syntax highlighting as plain data. The caller chooses the colours.

use super::{Language, Source};
use std::ops::Range;
use std::sync::LazyLock;
use tree_sitter::{Query, QueryCursor, StreamingIterator};

/// The syntactic class of a piece of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// `if`, `return`, `let`.
    Keyword,
    /// A type's name.
    Type,
    /// A function's name, where it is defined or called.
    Function,
    /// A string or a character.
    Text,
    /// A number or a constant.
    Number,
    /// A comment.
    Comment,
    /// A preprocessor directive, an attribute or a macro.
    Macro,
    /// A field.
    Field,
}

/// A part of a line with its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The range of bytes in the line, as returned by [`Source::line`].
    pub range: Range<usize>,
    /// The class.
    pub colour: Colour,
}

/// The highlighting queries of the grammars.
static C: LazyLock<Option<Query>> =
    LazyLock::new(|| query(Language::C, &[tree_sitter_c::HIGHLIGHT_QUERY]));
static CPP: LazyLock<Option<Query>> = LazyLock::new(|| {
    query(Language::Cpp, &[tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY])
});
static RUST: LazyLock<Option<Query>> =
    LazyLock::new(|| query(Language::Rust, &[tree_sitter_rust::HIGHLIGHTS_QUERY]));

fn query(language: Language, parts: &[&str]) -> Option<Query> {
    Query::new(&language.grammar(), &parts.join("\n")).ok()
}

fn colour(capture: &str) -> Option<Colour> {
    let (kind, rest) = capture.split_once('.').unwrap_or((capture, ""));
    Some(match kind {
        "keyword" => Colour::Keyword,
        "type" | "constructor" => Colour::Type,
        "function" if rest == "macro" || rest == "special" => Colour::Macro,
        "function" => Colour::Function,
        "string" | "escape" => Colour::Text,
        "number" | "constant" => Colour::Number,
        "comment" => Colour::Comment,
        "attribute" | "label" => Colour::Macro,
        "property" => Colour::Field,
        "variable" if rest == "builtin" => Colour::Keyword,
        _ => return None,
    })
}

impl Source {
    /// The highlighted parts of a line, in order and without overlap.
    #[must_use]
    pub fn colours(&self, number: u32) -> Vec<Span> {
        let (Some(line), Some(tree), Some(language)) =
            (self.line(number), &self.tree, self.language)
        else {
            return Vec::new();
        };
        let query = match language {
            Language::C => &*C,
            Language::Cpp => &*CPP,
            Language::Rust => &*RUST,
        };
        let Some(query) = query else { return Vec::new() };
        let start = self.starts[number as usize - 1];
        let mut of: Vec<Option<Colour>> = vec![None; line.len()];
        let mut cursor = QueryCursor::new();
        cursor.set_byte_range(start..start + line.len());
        let mut captures = cursor.captures(query, tree.root_node(), self.text.as_bytes());
        // Captures are sorted by start, outer ones first. If several cover the same text, the later
        // pattern is more specific in these queries, except that a plain variable is the least
        // specific.
        while let Some((found, index)) = captures.next() {
            let capture = found.captures()[*index];
            let name = query.capture_names()[capture.index as usize];
            let Some(colour) = colour(name) else { continue };
            let range = capture.node.byte_range();
            let from = range.start.saturating_sub(start);
            let to = range.end.saturating_sub(start).min(line.len());
            if from < to {
                of[from..to].fill(Some(colour));
            }
        }
        let mut spans: Vec<Span> = Vec::new();
        for (at, colour) in of.into_iter().enumerate() {
            let Some(colour) = colour else { continue };
            match spans.last_mut() {
                Some(last) if last.range.end == at && last.colour == colour => {
                    last.range.end = at + 1;
                }
                _ => spans.push(Span { range: at..at + 1, colour }),
            }
        }
        spans
    }
}
