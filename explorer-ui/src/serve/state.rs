//! What a client has opened.

use super::schema::{Field, Kind};
use crate::walk::opening::{Opened, Opener};
use crate::walk::session::{Refusal, Session};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory that traces are written to.
    pub out: PathBuf,
    /// The number of processes that search in parallel.
    pub workers: u32,
}

/// What one client has opened.
pub(super) struct State<'a> {
    pub(super) opener: &'a dyn Opener,
    pub(super) settings: &'a Settings,
    session: Option<Session>,
}

impl<'a> State<'a> {
    pub(super) fn new(opener: &'a dyn Opener, settings: &'a Settings) -> State<'a> {
        State { opener, settings, session: None }
    }

    /// Replaces what was opened before, whose processes end.
    pub(super) fn open(&mut self, opened: Opened) -> Result<&mut Session, Refusal> {
        self.session = None;
        Ok(self.session.insert(Session::new(opened)?))
    }

    pub(super) fn session(&mut self) -> Result<&mut Session, Refusal> {
        self.session.as_mut().ok_or_else(|| {
            Refusal::Failed("nothing is open: call open_trace or open_program first".into())
        })
    }
}

/// The longest list in a result.
pub(super) const MAX_LIMIT: u64 = 500;

/// The first element to list.
pub(super) const FROM: Field =
    Field::optional("from", super::schema::NUMBER, "the first element to list, from 0 [0]");
/// The most elements to list.
pub(super) const LIMIT: Field =
    Field::optional("limit", Kind::Integer(1, MAX_LIMIT), "the most elements to list [50]");
/// The number of all elements.
pub(super) const TOTAL: Field =
    Field::new("total", super::schema::NUMBER, "the number of all elements");

/// A part of a list: the elements that `from` and `limit` select.
pub(super) struct Page {
    pub(super) from: usize,
    pub(super) limit: usize,
}

impl Page {
    pub(super) fn of(arguments: &super::registry::Arguments<'_>) -> Page {
        let number = |name, otherwise| {
            usize::try_from(arguments.number(name).unwrap_or(otherwise)).unwrap_or(usize::MAX)
        };
        Page { from: number("from", 0), limit: number("limit", 50) }
    }

    /// The selected elements under this name, and the number of all.
    pub(super) fn list<T>(
        &self,
        name: &str,
        all: impl ExactSizeIterator<Item = T>,
        show: impl FnMut(T) -> Value,
    ) -> Value {
        let total = all.len();
        let shown: Vec<Value> = all.skip(self.from).take(self.limit).map(show).collect();
        json!({ "total": total, name: shown })
    }
}

/// The longest text in a result, in bytes.
const MAX_TEXT: usize = 16_000;

/// Cuts long texts, so that names of a megabyte fill no answer.
pub(super) fn bound(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let end = (0..=MAX_TEXT).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let more = text.len() - end;
            text.truncate(end);
            text.push_str(&format!(" ... ({more} more bytes)"));
        }
        Value::Array(values) => values.iter_mut().for_each(bound),
        Value::Object(map) => map.values_mut().for_each(bound),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let mut value = json!({ "a": ["é".repeat(MAX_TEXT)], "b": "short" });
        bound(&mut value);
        let text = value["a"][0].as_str().expect("a text");
        assert!(text.ends_with("é ... (16000 more bytes)"), "{}", &text[text.len() - 40..]);
        assert_eq!(value["b"], "short");
    }
}
