//! Breakpoints on writes to the memory of an expression: the steps in which it is written.

use super::expression::resolve;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::session::{Call, Refusal, Session};
use replay_core::debug::ValueWrite;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The writes to the memory that an expression had at a position of a schedule.
struct DataBreakpoint {
    /// The expression, with the task whose variable it names.
    expression: String,
    of: Arc<LoadedTrace>,
    writes: Vec<ValueWrite>,
    set: bool,
}

/// The breakpoints that the editor has asked about, by their identifiers.
#[derive(Default)]
pub(super) struct DataBreakpoints {
    known: BTreeMap<String, DataBreakpoint>,
}

impl DataBreakpoints {
    /// What the editor needs to know to set a breakpoint on an expression.
    pub(super) fn describe(
        &mut self,
        session: &mut Session,
        text: &str,
        frame: Option<u64>,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        let found = match resolve(session, text, frame, call)? {
            (expression, Ok(_)) => session.writes(&expression, call)?.map(|it| (expression, it)),
            (_, Err(why)) => Err(why),
        };
        let (expression, writes) = match found {
            Ok(found) => found,
            Err(why) => return Ok(json!({ "dataId": null, "description": why })),
        };
        // The memory belongs to the position: elsewhere, the name may mean other memory.
        let id = format!("{expression} at step {}", session.at() + 1);
        let description = format!("{expression}: {} writes", writes.len());
        let of = Arc::clone(session.loaded());
        self.known.insert(id.clone(), DataBreakpoint { expression, of, writes, set: false });
        Ok(json!({
            "dataId": id,
            "description": description,
            "accessTypes": ["write"],
            "canPersist": false,
        }))
    }

    /// Replaces the breakpoints that are set.
    pub(super) fn set(&mut self, arguments: &Map<String, Value>) -> Value {
        for known in self.known.values_mut() {
            known.set = false;
        }
        let wanted = arguments.get("breakpoints").and_then(Value::as_array);
        let rows = wanted.into_iter().flatten().map(|one| {
            let id = one["dataId"].as_str().unwrap_or_default();
            let refused = |why: &str| json!({ "verified": false, "message": why });
            if !matches!(one["accessType"].as_str(), None | Some("write")) {
                return refused("only writes stop: choose the access type `write`");
            }
            if one.get("condition").or_else(|| one.get("hitCondition")).is_some() {
                return refused("conditions of data breakpoints are not supported");
            }
            match self.known.get_mut(id) {
                Some(known) => {
                    known.set = true;
                    json!({ "verified": true })
                }
                None => refused("this data is not known: ask for it at a position first"),
            }
        });
        let rows: Vec<Value> = rows.collect();
        json!({ "breakpoints": rows })
    }

    /// Finds the writes of the breakpoints again if the schedule is another one now. What cannot be
    /// found there is reported and no longer set.
    pub(super) fn renew(
        &mut self,
        session: &mut Session,
        notes: &mut Vec<String>,
        call: &Call<'_>,
    ) -> Result<(), Refusal> {
        for known in self.known.values_mut().filter(|known| known.set) {
            if Arc::ptr_eq(&known.of, session.loaded()) {
                continue;
            }
            match session.writes(&known.expression, call)? {
                Ok(writes) => known.writes = writes,
                Err(why) => {
                    let name = &known.expression;
                    notes.push(format!("the data breakpoint on {name} was removed: {why}"));
                    (known.set, known.writes) = (false, Vec::new());
                }
            }
            known.of = Arc::clone(session.loaded());
        }
        Ok(())
    }

    /// Whether a step, from 0, writes to the memory of a breakpoint.
    pub(super) fn is_written_by(&self, step: usize) -> bool {
        self.by(step).next().is_some()
    }

    /// The writes in a step as text.
    pub(super) fn writes_text(&self, step: usize) -> String {
        let texts = self.by(step).map(|(expression, write)| {
            let place = write.frame.as_ref().map(|frame| format!(" at {}", frame.place()));
            format!(
                "{expression}: {:#x} -> {:#x} by {}{}",
                write.before,
                write.after,
                write.task,
                place.unwrap_or_default()
            )
        });
        texts.collect::<Vec<String>>().join("\n")
    }

    fn by(&self, step: usize) -> impl Iterator<Item = (&str, &ValueWrite)> {
        let number = step as u64 + 1;
        let set = self.known.values().filter(|known| known.set);
        set.flat_map(move |known| {
            let first = known.writes.partition_point(|write| write.step < number);
            let writes = known.writes[first..].iter().take_while(move |write| write.step == number);
            writes.map(|write| (known.expression.as_str(), write))
        })
    }
}
