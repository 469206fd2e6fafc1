//! A method: its description and the function that carries it out.

use super::schema::{Field, check_object, object_schema};
use super::state::State;
use crate::walk::session::{Call, Refusal};
use serde_json::{Map, Value};

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
