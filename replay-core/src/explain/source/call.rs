//! Finds the call at a code location and its object.

use super::{Source, is_statement, one_line};
use tree_sitter::Node;

/// A call and the object it acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function: `pthread_mutex_lock`, `lock`.
    pub function: String,
    /// The object: the receiver of a method call, else the first argument without `&`; empty if
    /// there is neither.
    pub object: String,
}

impl Source {
    /// The innermost call around a position, within its statement. Without a column, the start of
    /// the line is used.
    #[must_use]
    pub fn call(&self, line: u32, column: u32) -> Option<Call> {
        let mut node = self.at(line, column)?;
        loop {
            if let Some(call) = self.as_call(node) {
                return Some(call);
            }
            if is_statement(node) {
                return None;
            }
            node = node.parent()?;
        }
    }

    /// Visits every call within a node in source order; the calls in an argument come before the
    /// call itself.
    pub(super) fn calls_in<'a>(&'a self, node: Node<'a>, visit: &mut dyn FnMut(Node<'a>, Call)) {
        let mut cursor = node.walk();
        let children: Vec<Node<'a>> = node.named_children(&mut cursor).collect();
        for child in children {
            self.calls_in(child, visit);
        }
        if let Some(call) = self.as_call(node) {
            visit(node, call);
        }
    }

    fn as_call(&self, node: Node<'_>) -> Option<Call> {
        if node.kind() != "call_expression" {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        let method = (function.kind() == "field_expression").then(|| {
            let receiver =
                ["argument", "value"].iter().find_map(|f| function.child_by_field_name(f));
            (function.child_by_field_name("field"), receiver)
        });
        if let Some((Some(name), Some(receiver))) = method {
            return Some(Call {
                function: self.text_of(name).to_owned(),
                object: one_line(self.text_of(receiver)),
            });
        }
        let arguments = node.child_by_field_name("arguments")?;
        let object = arguments.named_child(0).map(|first| self.operand(first)).unwrap_or_default();
        Some(Call { function: one_line(self.text_of(function)), object })
    }

    /// An argument without the `&` that takes its address.
    pub(super) fn operand(&self, node: Node<'_>) -> String {
        let text = one_line(self.text_of(node));
        let text = text.strip_prefix('&').unwrap_or(&text);
        text.strip_prefix("mut ").unwrap_or(text).trim().to_owned()
    }
}
