//! The elements of arrays that lines of the source name, such as `output[written]`.

use super::{Source, one_line};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tree_sitter::Node;

/// Longer expressions are left out.
const LONGEST: usize = 40;

impl Source {
    /// The elements of arrays on these lines. An index that calls a function is left out.
    #[must_use]
    pub fn elements(&self, lines: RangeInclusive<u32>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        if let Some(tree) = &self.tree {
            self.add_elements(tree.root_node(), &lines, &mut found);
        }
        found
    }

    fn add_elements(
        &self,
        node: Node<'_>,
        lines: &RangeInclusive<u32>,
        found: &mut BTreeSet<String>,
    ) {
        let line = |row: usize| row as u32 + 1;
        let (first, last) = (line(node.start_position().row), line(node.end_position().row));
        if last < *lines.start() || first > *lines.end() {
            return;
        }
        if matches!(node.kind(), "subscript_expression" | "index_expression") {
            let text = one_line(self.text_of(node));
            if text.len() <= LONGEST && !text.contains('(') && lines.contains(&first) {
                found.insert(text);
            }
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.add_elements(child, lines, found);
        }
    }
}
