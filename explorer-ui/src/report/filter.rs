//! A filter for the rows of a schedule: `t:2 o:queue w` selects the writes of T2 to objects whose
//! name contains `queue`.

use crate::report::rows::{Cell, Reader};
use crate::report::style::Glyphs;
use std::collections::HashMap;
use traces::{Operation, Site, TaskId, Trace};

/// What the terms of a filter mean, for help and errors.
pub const TERMS: &str = "t:2 or t:NAME task, o:NAME object, op:lock operation, f:FILE:LINE site, \
                         v:3 value, w r u l its sign (or an object of one letter), text anywhere, -TERM not, \"two words\"";

/// A filter: a row matches if all terms do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: Field,
    /// In lower case.
    text: String,
    negated: bool,
}

/// The part of a row that a term is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Any,
    Task,
    Object,
    Operation,
    Sign,
    Site,
    Value,
}

/// The prefixes of terms.
const PREFIXES: [(&str, Field); 5] = [
    ("t", Field::Task),
    ("o", Field::Object),
    ("op", Field::Operation),
    ("f", Field::Site),
    ("v", Field::Value),
];

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// If a term has a prefix but no text, or a quotation mark is not closed.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let negated = rest.len() > 1 && rest.starts_with('-');
            rest = if negated { &rest[1..] } else { rest };
            let prefix = PREFIXES.iter().find_map(|&(prefix, field)| {
                let after = rest.strip_prefix(prefix)?.strip_prefix(':')?;
                // `std::sync` is text, not a term about a task.
                (!after.starts_with(':')).then_some((prefix, field, after))
            });
            let (name, mut field, after) = prefix.unwrap_or(("", Field::Any, rest));
            let (word, after) = word(after)?;
            if word.is_empty() {
                return Err(format!("`{name}:` lacks a text: {TERMS}"));
            }
            let mut letters = word.chars();
            if field == Field::Any && letters.next().is_some_and(char::is_alphabetic) {
                // One letter would be in nearly every row.
                field = if letters.next().is_none() { Field::Sign } else { field };
            }
            terms.push(Term { field, text: word.to_lowercase(), negated });
            rest = after.trim_start();
        }
        Ok(Filter { terms })
    }
}

/// The next word, which may be in quotation marks, and the text behind it.
fn word(text: &str) -> Result<(&str, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').ok_or_else(|| "a quotation mark is not closed".to_owned());
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Ok(text.split_at(end))
}

/// Matches the rows of one trace. What a row has in common with others is compared once, so that a
/// schedule of a million steps takes a fraction of a second.
#[derive(Debug)]
pub struct Matcher<'a> {
    filter: &'a Filter,
    trace: &'a Trace,
    reader: &'a Reader,
    glyphs: &'static Glyphs,
    /// For rows with the same parts, apart from the value: for each term, whether it matches.
    known: HashMap<Parts, Vec<Match>>,
}

/// What identifies a row apart from its value.
type Parts = (TaskId, Operation, Option<u32>, Site, bool);

/// Whether a term matches a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Yes,
    No,
    /// It depends on the value.
    ByValue,
}

impl<'a> Matcher<'a> {
    /// A matcher for the rows of a trace.
    #[must_use]
    pub fn new(
        filter: &'a Filter,
        trace: &'a Trace,
        reader: &'a Reader,
        glyphs: &'static Glyphs,
    ) -> Matcher<'a> {
        Matcher { filter, trace, reader, glyphs, known: HashMap::new() }
    }

    /// Whether the row of a step matches.
    ///
    /// # Panics
    /// If the trace has no such step.
    #[must_use]
    pub fn matches(&mut self, index: usize) -> bool {
        let step = &self.trace.execution.steps[index];
        let failed = self.reader.is_failed(index);
        let parts = (step.task, step.operation, step.object, step.site, failed);
        let (filter, trace) = (self.filter, self.trace);
        let found = self.known.entry(parts).or_insert_with(|| {
            let cell = self.reader.cell(trace, index, self.glyphs);
            let task = trace.execution.tasks.get(step.task.index());
            let name = task.map(|task| task.name.to_lowercase()).unwrap_or_default();
            filter
                .terms
                .iter()
                .map(|term| term.without_value(&cell, step.operation, &name))
                .collect()
        });
        if !found.contains(&Match::ByValue) {
            return found
                .iter()
                .zip(&filter.terms)
                .all(|(&it, term)| (it == Match::Yes) != term.negated);
        }
        let value = self.reader.value(trace, index).to_lowercase();
        let (reader, glyphs) = (self.reader, self.glyphs);
        let row = || {
            let cell = reader.cell(trace, index, glyphs);
            format!("{} {}", cell.label(usize::MAX, ""), cell.site).to_lowercase()
        };
        found.iter().zip(&filter.terms).all(|(&it, term)| {
            let yes = it == Match::Yes || it == Match::ByValue && term.with_value(&value, &row);
            yes != term.negated
        })
    }
}

impl Term {
    fn without_value(&self, cell: &Cell, operation: Operation, task_name: &str) -> Match {
        let holds = |text: &str| text.to_lowercase().contains(&self.text);
        let yes = match self.field {
            Field::Task => {
                let number = self.text.strip_prefix('t').unwrap_or(&self.text);
                match number.parse::<usize>() {
                    Ok(number) => cell.task.index() == number,
                    Err(_) => task_name.contains(&self.text),
                }
            }
            Field::Object => holds(&cell.object),
            Field::Operation => holds(&cell.operation),
            // Not the cell's sign, which marks the step that failed. An object may be called so.
            Field::Sign => {
                let is = |text: &str| text.to_lowercase() == self.text;
                operation.description().sign.is_some_and(is)
                    || cell.object.split_whitespace().any(is)
            }
            Field::Site => holds(&cell.site),
            Field::Value => return Match::ByValue,
            Field::Any => {
                // A text may reach from one part to the next.
                let Cell { task, sign, object, site, .. } = cell;
                let row = format!("{task} {sign} {} {object} {site}", cell.operation);
                if !holds(&row) {
                    return Match::ByValue;
                }
                true
            }
        };
        if yes { Match::Yes } else { Match::No }
    }

    /// For terms that do not match apart from the value. The whole row is formatted only for a text
    /// that may reach across the value.
    fn with_value(&self, value: &str, row: &dyn Fn() -> String) -> bool {
        match self.field {
            // A number is a whole number: `v:1` is not in `= 10`.
            Field::Value if self.text.parse::<i64>().is_ok() => {
                value.split_whitespace().any(|word| word == self.text)
            }
            _ if value.is_empty() => false,
            Field::Value => value.contains(&self.text),
            _ if self.text.contains(' ') => row().contains(&self.text),
            _ => value.contains(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::report::style::Style;

    /// The numbers of the matching steps, from 1.
    fn matching(trace: &Trace, text: &str) -> Vec<usize> {
        let filter = Filter::parse(text).expect("a filter");
        let reader = Reader::new(trace);
        let glyphs = Style { color: false, ascii: true }.glyphs();
        let mut matcher = Matcher::new(&filter, trace, &reader, glyphs);
        (0..trace.execution.steps.len())
            .filter(|&at| matcher.matches(at))
            .map(|at| at + 1)
            .collect()
    }

    #[test]
    fn terms_select_rows_by_their_parts() {
        // Steps 3 to 8: T1 starts, reads total; T2 starts, reads total; T1 writes it, T2 writes it.
        let trace = samples::lost_update();
        for (text, wanted) in [
            ("", vec![1, 2, 3, 4, 5, 6, 7, 8, 9]),
            ("t:2", vec![5, 6, 8]),
            ("t:T2 o:total", vec![6, 8]),
            ("t:2 o:total w", vec![8]),
            ("t:adder w", vec![7, 8]),
            ("op:write", vec![7, 8]),
            ("op:write -t:1", vec![8]),
            ("f:queue.c:9", vec![4, 6]),
            ("v:1", vec![7, 8, 9]),
            ("v:0 total", vec![4, 6]),
            ("\"write total = 1\"", vec![7, 8]),
            ("\"total queue.c:10\"", vec![7, 8]),
            ("total -w -r", vec![]),
            ("nothing", vec![]),
        ] {
            assert_eq!(matching(&trace, text), wanted, "{text}");
        }
    }

    #[test]
    fn incomplete_terms_are_refused() {
        assert!(Filter::parse("t:").is_err_and(|why| why.starts_with("`t:` lacks a text")));
        assert!(Filter::parse("\"open").is_err_and(|why| why.contains("not closed")));
        // No prefixes: paths, a lone sign, an unknown one.
        for text in ["std::sync", "-", "x:1", "o::name"] {
            assert!(Filter::parse(text).is_ok(), "{text}");
        }
    }
}
