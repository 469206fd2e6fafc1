//! The methods: one table for JSON-RPC, for the tools of MCP, for the schema and the documentation.

use super::method::Method;
use super::methods::{explain, navigate, open, schedule, search, values};
use serde_json::{Value, json};

/// The methods, in the order of the documentation.
pub static METHODS: &[Method] = &[
    open::TRACE,
    open::PROGRAM,
    open::STATUS,
    search::SEARCH,
    search::FAILURES,
    search::SHOW_FAILURE,
    navigate::STEP,
    navigate::BACK,
    navigate::GOTO,
    navigate::SEEK,
    navigate::PICK,
    navigate::UNDO,
    navigate::REDO,
    navigate::REOPEN,
    schedule::TASKS,
    schedule::LOOK_AHEAD,
    schedule::STEPS,
    schedule::LOCKS,
    explain::EXPLAIN,
    explain::NO_RETURN,
    explain::SHRINK,
    values::SOURCE,
    values::BACKTRACE,
    values::VARIABLES,
    values::HISTORY,
    values::ORIGIN,
    values::OUTPUT,
    open::SAVE,
];

/// The method of this name.
#[must_use]
pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The schema of all methods, as `heddle serve --schema` prints it.
#[must_use]
pub fn schema() -> Value {
    let methods = METHODS.iter().map(|method| {
        json!({
            "name": method.name,
            "description": method.summary,
            "params": method.params_schema(),
            "result": method.result_schema(),
        })
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "heddle": 1,
        "methods": methods.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_distinct_and_fit_every_client() {
        let names: HashSet<&str> = METHODS.iter().map(|method| method.name).collect();
        assert_eq!(names.len(), METHODS.len());
        let fits = |name: &str| name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        assert!(names.iter().all(|name| fits(name) && name.len() <= 64), "{names:?}");
    }
}
