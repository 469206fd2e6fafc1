//! The methods: one table for JSON-RPC, for the tools of MCP, for the schema and the documentation.

use super::methods::{explain, navigate, open, schedule, search, values};
use super::schema::{Field, check_object, object_schema};
use super::state::State;
use crate::walk::session::{Call, Refusal};
use serde_json::{Map, Value, json};

/// The function that carries out a method. Its arguments have the declared types.
pub(super) type Handler = fn(&mut State<'_>, &Arguments<'_>, &Call<'_>) -> Result<Value, Refusal>;

/// A method.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its arguments.
    pub params: &'static [Field],
    /// The fields of its result.
    pub result: &'static [Field],
    /// Whether position, schedule and files stay as they are.
    pub reads: bool,
    pub(super) run: Handler,
}

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
    values::OUTPUT,
    open::SAVE,
];

/// The method of this name.
#[must_use]
pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

impl Method {
    /// The schema of the arguments.
    #[must_use]
    pub fn params_schema(&self) -> Value {
        object_schema(self.params, true)
    }

    /// The schema of the result.
    #[must_use]
    pub fn result_schema(&self) -> Value {
        object_schema(self.result, false)
    }

    /// Checks the arguments and carries the method out.
    pub(super) fn call(
        &self,
        state: &mut State<'_>,
        arguments: &Map<String, Value>,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        check_object(self.params, arguments, "", true).map_err(Refusal::Invalid)?;
        (self.run)(state, &Arguments(arguments), call)
    }
}

/// The arguments of a call, checked.
pub(super) struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let values = self.0.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
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
