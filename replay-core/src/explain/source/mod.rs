//! Analyses source text: the statement and function at a line, the expression that an operation
//! acts on, the critical section around it, and syntax highlighting as plain data.
//!
//! A trace gives the source position of a step as file, line and usually column. The syntax tree
//! comes from tree-sitter, which also parses incomplete code. No compiler is run, so macros are not
//! expanded.

mod call;
mod colours;
mod critical_section;
mod elements;
mod files;
mod insertion;
mod object_names;

pub use call::Call;
pub use colours::{Colour, Span};
pub use critical_section::Section;
pub use files::{Missing, Sources};
pub use insertion::InsertionPoint;
pub use object_names::expressions;

use std::ops::RangeInclusive;
use std::path::Path;
use tree_sitter::{Node, Parser, Point, Tree};

/// The supported languages.
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
    /// The language of a file, by its extension. Headers are parsed as C++, which also accepts C.
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

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::C => tree_sitter_c::LANGUAGE.into(),
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        }
    }
}

/// A function in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name as written; `a closure` and `a lambda` for unnamed ones.
    pub name: String,
    /// The range of lines, from 1.
    pub lines: RangeInclusive<u32>,
}

/// One source file.
#[derive(Debug)]
pub struct Source {
    text: String,
    /// The offset of each line in the text.
    starts: Vec<usize>,
    language: Option<Language>,
    tree: Option<Tree>,
    /// Whether the file was modified after the program was built, so that lines may have moved.
    pub newer: bool,
}

impl Source {
    /// Parses a text. Windows line ends are accepted; invalid UTF-8 is replaced.
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

    /// The number of lines.
    #[must_use]
    pub fn len(&self) -> u32 {
        let last = self.starts.last().is_some_and(|&start| start == self.text.len());
        (self.starts.len() - usize::from(last)) as u32
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A line without its line end; the first is number 1.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&str> {
        let index = number.checked_sub(1)? as usize;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        if number > self.len() { None } else { self.text.get(start..end) }
    }

    /// The innermost named node at a position. Without a column, the first character of the line
    /// that is not a space is used.
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

    /// The statement at a position, on one line; only the head of a loop or branch.
    #[must_use]
    pub fn statement(&self, line: u32, column: u32) -> Option<String> {
        let mut node = self.at(line, column)?;
        while !is_statement(node) {
            node = node.parent()?;
        }
        let range = node.byte_range();
        let body = ["body", "consequence"].iter().find_map(|field| node.child_by_field_name(field));
        let end = match body {
            // The position is in the head; the body has its own statements.
            Some(body) if body.start_byte() > range.start => body.start_byte(),
            _ => range.end,
        };
        Some(one_line(self.text.get(range.start..end)?))
    }

    /// The function around a position.
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

    /// The expression that a write assigns to, or that a read reads: `q->len`, when the machine
    /// code only has an address.
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
                    // The name of a called function, of a macro or of a dereferenced pointer is not what
                    // is read.
                    let parent = node.parent()?;
                    let names_another = matches!(
                        parent.kind(),
                        "field_expression"
                            | "subscript_expression"
                            | "pointer_expression"
                            | "call_expression"
                            | "macro_invocation"
                    ) || self.is_called_in_tokens(node);
                    (!names_another).then_some(node)
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

    /// Whether an identifier among the arguments of a macro, which are tokens, is the name of a function.
    fn is_called_in_tokens(&self, identifier: Node<'_>) -> bool {
        let next = identifier.next_sibling();
        next.is_some_and(|next| next.kind() == "token_tree" && self.text_of(next).starts_with('('))
    }
}

/// Whether a node is a separate statement: an element of a block or the body of a control
/// structure.
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

/// Source text on one line: runs of white space become single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
