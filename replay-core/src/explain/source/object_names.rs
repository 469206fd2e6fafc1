//! Names an object after the expression in the source that most of its steps act on, such as
//! `bank.balance` for a heap word that only registers point to.

use super::Source;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use traces::{Execution, Operation, Site};

/// Longer expressions are not used as names.
const LONGEST: usize = 40;

/// Functions whose first argument or receiver is the accessed object: by the start of the name, or
/// by a part of it. The arguments of other calls say nothing about the memory they access.
const BEGIN: [&str; 17] = [
    "load",
    "store",
    "swap",
    "fetch_",
    "compare_",
    "lock",
    "try_lock",
    "read",
    "write",
    "try_read",
    "try_write",
    "wait",
    "notify",
    "pthread_",
    "sem_",
    "mtx_",
    "cnd_",
];
const WITHIN: [&str; 3] = ["atomic_", "__sync_", "clone"];

/// The expression for each of these objects (ascending), if there is one.
#[must_use]
pub fn expressions(
    execution: &Execution,
    objects: &[u32],
    source: &mut dyn FnMut(&str) -> Option<Arc<Source>>,
) -> BTreeMap<u32, String> {
    let mut sites: HashMap<(Site, bool), Option<String>> = HashMap::new();
    let mut votes: BTreeMap<u32, Vec<(String, usize)>> = BTreeMap::new();
    for step in &execution.steps {
        let wanted = |object: &u32| objects.binary_search(object).is_ok();
        let Some(object) = step.object.filter(wanted) else { continue };
        let writes = step.operation == Operation::Write;
        let said = sites.entry((step.site, writes)).or_insert_with(|| {
            let at = execution.places.binary_search_by_key(&step.site, |(site, _)| *site).ok()?;
            let frame = execution.places[at].1.first().filter(|frame| frame.column > 0)?;
            source(&frame.file)?.acted_on(frame.line, frame.column, writes)
        });
        let Some(said) = said else { continue };
        let votes = votes.entry(object).or_default();
        match votes.iter_mut().find(|(text, _)| text == said) {
            Some((_, count)) => *count += 1,
            None => votes.push((said.clone(), 1)),
        }
    }
    // Among equally frequent expressions, the first.
    let most = |votes: Vec<(String, usize)>| {
        votes.into_iter().rev().max_by_key(|(_, count)| *count).map(|(text, _)| text)
    };
    votes.into_iter().filter_map(|(object, votes)| Some((object, most(votes)?))).collect()
}

impl Source {
    /// The expression that an operation at a position acts on.
    fn acted_on(&self, line: u32, column: u32, writes: bool) -> Option<String> {
        let said = |function: &str| {
            let last = function.rsplit("::").next().unwrap_or(function);
            BEGIN.iter().any(|begin| last.starts_with(begin))
                || WITHIN.iter().any(|within| last.contains(within))
        };
        let object = match self.call(line, column) {
            Some(call) if said(&call.function) => call.object,
            Some(_) => return None,
            None => self.accessed(line, column, writes)?,
        };
        let whole = !object.is_empty() && object.len() <= LONGEST;
        (whole && !object.contains(['(', '"', '{'])).then_some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Language;
    use super::*;

    #[test]
    fn an_object_gets_the_most_frequent_expression_as_its_name() {
        let text = "fn f(bank: &Bank) {\n    let now = bank.balance.load(SeqCst);\n    \
                    bank.log.lock().unwrap().push(now);\n    g(&bank);\n}\n";
        let source = Source::of(text.as_bytes(), Some(Language::Rust));
        let column = |line: u32, piece: &str| {
            source.line(line).and_then(|text| text.find(piece)).expect("it is there") as u32 + 1
        };
        let of = |line, piece| source.acted_on(line, column(line, piece), false);
        assert_eq!(of(2, "load"), Some("bank.balance".into()));
        assert_eq!(of(3, "lock"), Some("bank.log".into()));
        assert_eq!(of(3, "push"), None);
        assert_eq!(of(4, "g("), None);
        let text = "void f(struct queue *q) {\n  q->len--;\n  pthread_mutex_lock(&q->guard);\n}\n";
        let source = Source::of(text.as_bytes(), Some(Language::C));
        assert_eq!(source.acted_on(2, 9, true), Some("q->len".into()));
        assert_eq!(source.acted_on(3, 3, false), Some("q->guard".into()));
    }
}
