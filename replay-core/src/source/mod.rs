//! Source text understood: which statement and function stand around a line, which expression an
//! operation acts on, where the critical section around it begins and ends, and the colours of the
//! syntax as plain data.
//!
//! A trace says where in the source a step was, as file, line and (mostly) column. What stands there
//! is found in the syntax tree of tree-sitter, which makes something of broken text, too. Nothing
//! here runs a compiler, so what a macro hides stays hidden.

mod call;
mod colours;
mod files;
mod named;
mod section;

pub use call::Call;
pub use colours::{Colour, Span};
pub use files::{Missing, Sources};
pub use named::expressions;
pub use section::Section;

use std::ops::RangeInclusive;
use std::path::Path;
use tree_sitter::{Node, Parser, Point, Tree};

/// The languages that are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

impl Language {
    /// By the name of a file. A header may be of either; C++ reads both.
    #[must_use]
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "c" => Some(Language::C),
            "h" | "hh" | "hpp" | "hxx" | "cc" | "cpp" | "cxx" | "C" | "inl" | "ipp" | "tcc" => {
                Some(Language::Cpp)
            }
            "rs" => Some(Language::Rust),
            _ => None,
        }
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::C => tree_sitter_c::LANGUAGE.into(),
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        }
    }
}

/// A function around a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name as it is written; `a closure` and `a lambda` have none.
    pub name: String,
    /// Its lines, from 1.
    pub lines: RangeInclusive<u32>,
}

/// One source file.
#[derive(Debug)]
pub struct Source {
    text: String,
    /// Where each line begins in the text.
    starts: Vec<usize>,
    language: Option<Language>,
    tree: Option<Tree>,
    /// Whether it was changed after the program was built, so that lines may have moved.
    pub newer: bool,
}

impl Source {
    /// Understands a text. Line ends may be those of Windows; bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn of(bytes: &[u8], language: Option<Language>) -> Source {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let starts = starts.collect();
        let tree = language.and_then(|language| {
            let mut parser = Parser::new();
            parser.set_language(&language.grammar()).ok()?;
            parser.parse(&text, None)
        });
        Source { text, starts, language, tree, newer: false }
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        let last = self.starts.last().is_some_and(|&start| start == self.text.len());
        (self.starts.len() - usize::from(last)) as u32
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A line without its end. The first is number 1.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&str> {
        let index = number.checked_sub(1)? as usize;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        if number > self.len() { None } else { self.text.get(start..end) }
    }

    /// The innermost named node at a place. Without a column: at the first character of the line.
    fn at(&self, line: u32, column: u32) -> Option<Node<'_>> {
        let text = self.line(line)?;
        let first = text.len() - text.trim_start().len();
        let column = match column.checked_sub(1) {
            Some(column) if (column as usize) < text.len() => (column as usize).max(first),
            _ => first,
        };
        let point = Point { row: line as usize - 1, column };
        self.tree.as_ref()?.root_node().named_descendant_for_point_range(point, point)
    }

    fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The statement at a place, on one line; of a loop or a branch only its head.
    #[must_use]
    pub fn statement(&self, line: u32, column: u32) -> Option<String> {
        let mut node = self.at(line, column)?;
        while !is_statement(node) {
            node = node.parent()?;
        }
        let range = node.byte_range();
        let body = ["body", "consequence"].iter().find_map(|field| node.child_by_field_name(field));
        let end = match body {
            // Where the place is in the head; a body has statements of its own.
            Some(body) if body.start_byte() > range.start => body.start_byte(),
            _ => range.end,
        };
        Some(one_line(self.text.get(range.start..end)?))
    }

    /// The function around a place.
    #[must_use]
    pub fn function(&self, line: u32, column: u32) -> Option<Function> {
        let node = self.function_node(line, column)?;
        let name = match node.kind() {
            "function_item" => self.text_of(node.child_by_field_name("name")?).to_owned(),
            "closure_expression" => "a closure".to_owned(),
            "lambda_expression" => "a lambda".to_owned(),
            _ => {
                let mut declarator = node.child_by_field_name("declarator")?;
                while let Some(inner) = declarator.child_by_field_name("declarator") {
                    declarator = inner;
                }
                self.text_of(declarator).to_owned()
            }
        };
        let lines = node.start_position().row as u32 + 1..=node.end_position().row as u32 + 1;
        Some(Function { name, lines })
    }

    fn function_node(&self, line: u32, column: u32) -> Option<Node<'_>> {
        let mut node = self.at(line, column)?;
        while !matches!(
            node.kind(),
            "function_definition" | "function_item" | "closure_expression" | "lambda_expression"
        ) {
            node = node.parent()?;
        }
        Some(node)
    }

    /// The part of an assignment at a place that a write goes to, or the operand that a read is of:
    /// `q->len`, where a machine only has an address.
    #[must_use]
    pub fn accessed(&self, line: u32, column: u32, writes: bool) -> Option<String> {
        let mut node = self.at(line, column)?;
        loop {
            let target = match node.kind() {
                "assignment_expression" | "compound_assignment_expr" if writes => {
                    node.child_by_field_name("left")
                }
                "update_expression" => node.child_by_field_name("argument"),
                "init_declarator" | "let_declaration" if !writes => {
                    node.child_by_field_name("value")
                }
                "field_expression"
                | "subscript_expression"
                | "index_expression"
                | "pointer_expression" => Some(node),
                "identifier" if !writes => {
                    // The name of what is called or read through is not what is read.
                    let parent = node.parent()?;
                    let through = matches!(
                        parent.kind(),
                        "field_expression" | "subscript_expression" | "pointer_expression"
                    );
                    (!through && parent.kind() != "call_expression").then_some(node)
                }
                _ => None,
            };
            if let Some(target) = target {
                return Some(one_line(self.text_of(target)));
            }
            if is_statement(node) {
                return None;
            }
            node = node.parent()?;
        }
    }
}

/// Whether a node is a statement in its own right: it stands in a block or is the body of something.
fn is_statement(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    if !node.is_named()
        || node.kind().starts_with("preproc_")
        || matches!(node.kind(), "block" | "compound_statement" | "else_clause")
    {
        return false;
    }
    match parent.kind() {
        "compound_statement" | "block" | "translation_unit" | "source_file"
        | "declaration_list" | "case_statement" | "labeled_statement" | "else_clause"
        | "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" => true,
        "if_statement" | "while_statement" | "for_statement" | "do_statement"
        | "for_range_loop" => ["body", "consequence"]
            .iter()
            .any(|field| parent.child_by_field_name(field).is_some_and(|body| body == node)),
        _ => false,
    }
}

/// A piece of source on one line: what was laid out over several is joined by single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
