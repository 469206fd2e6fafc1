//! Where a statement can be inserted so that it runs just before a line.

use super::{Language, Source, is_statement, one_line};
use std::ops::RangeInclusive;
use tree_sitter::Node;

/// A place for a statement in front of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertionPoint {
    /// A separate line before this line.
    Before(u32),
    /// The line is the body of a control structure without braces: this statement, which is all of it, needs
    /// braces around itself and what is inserted.
    Around(String),
}

impl Source {
    /// Where a statement that is to run before a line can be inserted; none if the line continues a control
    /// structure, such as the condition behind `do`, or is an arm of a `match` or `switch`.
    #[must_use]
    pub fn insertion_point(&self, line: u32) -> Option<InsertionPoint> {
        let mut node = self.at(line, 0)?;
        let row = line as usize - 1;
        // What runs at the end of a block runs behind its last statement.
        if is_block(node) && node.end_position().row == row && node.start_position().row < row {
            let parent = node.parent()?;
            // The code of `} else if (...)` does not run behind the block.
            if parent.end_byte() != node.end_byte() && parent.kind() != "do_statement" {
                return None;
            }
            let last = node.named_child(node.named_child_count().checked_sub(1)? as u32)?;
            let goes_on =
                !last.kind().starts_with("return") && self.text_of(last).ends_with([';', '}']);
            let is_value =
                self.language == Some(Language::Rust) && !self.text_of(last).ends_with(';');
            return (goes_on && !is_value).then_some(InsertionPoint::Before(line));
        }
        loop {
            let parent = node.parent()?;
            let begins_here = node.start_position().row == row;
            if !begins_here && is_control(node) {
                return None;
            }
            if is_block(parent) {
                let is_label = matches!(node.kind(), "case_statement" | "labeled_statement");
                let is_statement = node.is_named() && !is_label && !node.kind().contains("comment");
                let start = node.start_position().row as u32 + 1;
                return is_statement.then_some(InsertionPoint::Before(start));
            }
            let is_body = matches!(parent.kind(), "case_statement" | "for_range_loop")
                || is_control(parent) && !is_function(parent);
            if is_body && is_statement(node) {
                let is_alone = begins_here && node.end_position().row == row;
                return is_alone.then(|| InsertionPoint::Around(one_line(self.text_of(node))));
            }
            node = parent;
        }
    }

    /// The line of the first declaration, behind comments, inner attributes and macros that select features
    /// of headers.
    #[must_use]
    pub fn first_declaration(&self) -> Option<u32> {
        let root = self.tree.as_ref()?.root_node();
        let mut cursor = root.walk();
        let is_before = |node: &Node<'_>| {
            node.kind().contains("comment")
                || matches!(node.kind(), "preproc_def" | "inner_attribute_item" | "shebang")
        };
        let first = root.named_children(&mut cursor).find(|node| !is_before(node))?;
        Some(first.start_position().row as u32 + 1)
    }

    /// Whether code on these lines has an identifier. With `outside`, functions are left out.
    #[must_use]
    pub fn mentions(&self, name: &str, lines: &RangeInclusive<u32>, outside: bool) -> bool {
        let Some(tree) = &self.tree else { return false };
        self.mentions_in(tree.root_node(), name, lines, outside)
    }

    fn mentions_in(
        &self,
        node: Node<'_>,
        name: &str,
        lines: &RangeInclusive<u32>,
        outside: bool,
    ) -> bool {
        let line = |row: usize| row as u32 + 1;
        let (first, last) = (line(node.start_position().row), line(node.end_position().row));
        let is_body = matches!(node.kind(), "function_definition" | "function_item");
        if last < *lines.start() || first > *lines.end() || outside && is_body {
            return false;
        }
        if matches!(node.kind(), "identifier" | "shorthand_field_identifier") {
            return self.text_of(node) == name;
        }
        let mut cursor = node.walk();
        let mut children = node.named_children(&mut cursor);
        children.any(|child| self.mentions_in(child, name, lines, outside))
    }
}

/// Whether a node contains statements one after another.
fn is_block(node: Node<'_>) -> bool {
    match node.kind() {
        "compound_statement" => true,
        "block" => node.parent().is_some_and(|parent| parent.kind() != "const_block"),
        _ => false,
    }
}

/// Whether a node decides what runs next, or is a function.
fn is_control(node: Node<'_>) -> bool {
    let kind = node.kind();
    let starts = ["if_", "while_", "for_", "do_", "loop_", "match_", "switch_", "try_", "else_"];
    starts.iter().any(|start| kind.starts_with(start)) || is_function(node)
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "closure_expression" | "lambda_expression" | "function_definition" | "function_item"
    )
}
