//! Finds critical sections in source text: from the acquisition of a lock to its release.

use super::{Source, one_line};
use std::ops::RangeInclusive;
use tree_sitter::Node;

/// A part of a function in which a lock is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The lock as written in the source: `guard`, `self.queue`.
    pub lock: String,
    /// From the line that acquires the lock to the line that releases it, or to the end of the
    /// block.
    pub lines: RangeInclusive<u32>,
}

/// Functions that acquire and release the lock given by their first argument or receiver.
const TAKES: &[&str] =
    &["pthread_mutex_lock", "pthread_spin_lock", "mtx_lock", "EnterCriticalSection"];
const GIVES: &[&str] =
    &["pthread_mutex_unlock", "pthread_spin_unlock", "mtx_unlock", "LeaveCriticalSection"];
/// Types whose variables hold a lock until the end of their block.
const GUARDS: &[&str] = &["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];

impl Source {
    /// The innermost critical section that contains a line, judged by the text alone: the order of
    /// lines is taken as the order of execution.
    #[must_use]
    pub fn section(&self, line: u32) -> Option<Section> {
        let function = self.function_node(line, 0)?;
        let mut sections = Vec::new();
        self.pairs(function, &mut sections);
        self.guards(function, &mut sections);
        sections
            .into_iter()
            .filter(|section| section.lines.contains(&line))
            .min_by_key(|section| section.lines.end() - section.lines.start())
    }

    /// Sections from an acquiring call to a releasing call.
    fn pairs<'a>(&'a self, function: Node<'a>, sections: &mut Vec<Section>) {
        let mut open: Vec<(String, u32)> = Vec::new();
        let rust = self.language == Some(super::Language::Rust);
        self.calls_in(function, &mut |node, call| {
            let line = node.start_position().row as u32 + 1;
            let (name, lock) = (call.function.as_str(), call.object);
            if TAKES.contains(&name) || (name == "lock" && !rust) {
                open.push((lock, line));
            } else if GIVES.contains(&name) || (name == "unlock" && !rust) {
                // An unlock before an early `return` does not end the section; the last unlock in
                // the text does.
                let at = open.iter().rposition(|(held, _)| *held == lock);
                let Some(at) = at else {
                    let ended = sections.iter_mut().rev().find(|section| section.lock == lock);
                    if let Some(section) = ended {
                        section.lines = *section.lines.start()..=line;
                    }
                    return;
                };
                let (lock, from) = open.remove(at);
                sections.push(Section { lock, lines: from..=line });
            }
        });
        let last = function.end_position().row as u32 + 1;
        sections.extend(open.into_iter().map(|(lock, from)| Section { lock, lines: from..=last }));
    }

    /// Sections of guard variables: until the end of the block or the drop of the variable.
    fn guards<'a>(&'a self, node: Node<'a>, sections: &mut Vec<Section>) {
        if let Some((lock, name)) = self.guard(node)
            && let Some(block) = node.parent()
        {
            let from = node.start_position().row as u32 + 1;
            let mut to = block.end_position().row as u32 + 1;
            self.calls_in(block, &mut |at, call| {
                let line = at.start_position().row as u32 + 1;
                let ends = call.object == name
                    && (call.function == "unlock" || call.function.ends_with("drop"));
                if ends && line > from {
                    to = to.min(line);
                }
            });
            sections.push(Section { lock, lines: from..=to });
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'a>> = node.named_children(&mut cursor).collect();
        for child in children {
            self.guards(child, sections);
        }
    }

    /// The lock and the name of a guard variable's declaration.
    fn guard(&self, node: Node<'_>) -> Option<(String, String)> {
        match node.kind() {
            // `let mut guard = self.queue.lock().unwrap();`. A temporary guard is dropped at the
            // end of the statement.
            "let_declaration" => {
                let pattern = one_line(self.text_of(node.child_by_field_name("pattern")?));
                let value = one_line(self.text_of(node.child_by_field_name("value")?));
                let name = pattern.strip_prefix("mut ").unwrap_or(&pattern).to_owned();
                let (lock, rest) = value.split_once(".lock()")?;
                let kept = matches!(rest, "" | "?" | ".unwrap()") || rest.starts_with(".expect(");
                (kept && name != "_" && !lock.starts_with('*')).then(|| (lock.to_owned(), name))
            }
            // `std::lock_guard<std::mutex> guard(m);`, also with braces.
            "declaration" => {
                let kind = self.text_of(node.child_by_field_name("type")?);
                let kind = kind.split('<').next().unwrap_or_default();
                if !GUARDS.contains(&kind.rsplit("::").next().unwrap_or_default()) {
                    return None;
                }
                let text = one_line(self.text_of(node.child_by_field_name("declarator")?));
                let at = text.find(['(', '{'])?;
                let lock = text[at + 1..].trim_end_matches([')', '}', ';']);
                let lock = lock.split(',').next().unwrap_or_default().trim();
                (!lock.is_empty()).then(|| (lock.to_owned(), text[..at].trim().to_owned()))
            }
            _ => None,
        }
    }
}
