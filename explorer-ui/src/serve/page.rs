//! Lists in results come in pages.

use super::method::Arguments;
use super::schema::{Field, Kind, NUMBER};
use serde_json::{Value, json};

/// The longest list in a result.
pub(super) const MAX_LIMIT: u64 = 500;

/// The first element to list.
pub(super) const FROM: Field =
    Field::optional("from", NUMBER, "the first element to list, from 0 [0]");
/// The most elements to list.
pub(super) const LIMIT: Field =
    Field::optional("limit", Kind::Integer(1, MAX_LIMIT), "the most elements to list [50]");
/// The number of all elements.
pub(super) const TOTAL: Field = Field::new("total", NUMBER, "the number of all elements");

/// A part of a list: the elements that `from` and `limit` select.
pub(super) struct Page {
    pub(super) from: usize,
    pub(super) limit: usize,
}

impl Page {
    pub(super) fn of(arguments: &Arguments<'_>) -> Page {
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
