//! Conditions that may belong to a cause: relations between variables, and with values that occurred.
//! Pure.

use super::proposal::Proposal;
use super::sites::shared;
use crate::predicates::LocalVariable;
use std::collections::BTreeSet;
use traces::{Execution, ObjectKind, Operation};

/// The most values of a variable to compare with.
const MOST_VALUES: usize = 4;
/// The most variables with static storage, and the most local ones of a thread.
const MOST_SHARED: usize = 8;
const MOST_LOCAL: usize = 6;
/// Larger values are addresses or noise.
const LARGEST: i64 = 1 << 20;

/// A variable that several tasks use, as the program names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedVariable {
    pub(super) name: String,
    /// The small values that it had.
    pub(super) values: BTreeSet<i64>,
}

/// The variables that several tasks use in these executions, and their values. The first execution is the
/// one that fails.
pub(super) fn shared_variables(executions: &[&Execution]) -> Vec<SharedVariable> {
    let mut found: Vec<SharedVariable> = Vec::new();
    for execution in executions {
        let shared = shared(execution);
        for step in &execution.steps {
            let Some(at) = step.object.filter(|object| shared.contains(object)) else { continue };
            let object = &execution.objects[at as usize];
            if object.kind != ObjectKind::Memory || !is_expression(&object.name) {
                continue;
            }
            let at = match found.iter().position(|known| known.name == object.name) {
                Some(at) => at,
                None if found.len() == MOST_SHARED => continue,
                None => {
                    let values = BTreeSet::from([0]);
                    found.push(SharedVariable { name: object.name.clone(), values });
                    found.len() - 1
                }
            };
            let reads = matches!(step.operation, Operation::Read | Operation::Await);
            if (reads || step.operation.is_write()) && found[at].values.len() < MOST_VALUES {
                found[at].values.extend(small(step.value));
            }
        }
    }
    found
}

/// A value as a small number; 32 bits may be negative.
fn small(value: u64) -> Option<i64> {
    let signed = match u32::try_from(value) {
        Ok(half) => i64::from(half as i32),
        Err(_) => value as i64,
    };
    (signed.abs() <= LARGEST).then_some(signed)
}

/// Whether a name can be part of a condition.
fn is_expression(name: &str) -> bool {
    let first = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    first && !name.contains(char::is_whitespace) && !name.contains(['(', '<', '#', '+'])
}

/// The parts that a condition at these sites may have. `locals` are those of each role.
pub(super) fn parts(
    proposal: &Proposal,
    shared: &[SharedVariable],
    locals: &[Vec<LocalVariable>],
) -> Vec<String> {
    let mut parts = Vec::new();
    let mut own: Vec<(String, bool)> = Vec::new();
    for (role, all) in locals.iter().enumerate() {
        for local in all.iter().take(MOST_LOCAL) {
            own.push((proposal.local(role, &local.name), local.is_pointer));
        }
    }
    for (name, is_pointer) in &own {
        let signs: &[&str] = if *is_pointer { &["!=", "=="] } else { &["!=", "==", "<", ">"] };
        for variable in shared {
            parts.extend(signs.iter().map(|sign| format!("{name} {sign} {}", variable.name)));
        }
        parts.extend(["==", "!="].map(|sign| format!("{name} {sign} 0")));
        if !is_pointer {
            parts.push(format!("{name} == 1"));
        }
    }
    for (at, one) in shared.iter().enumerate() {
        for value in &one.values {
            parts.extend(["==", "!="].map(|sign| format!("{} {sign} {value}", one.name)));
        }
        for other in &shared[..at] {
            let (one, other) = (&one.name, &other.name);
            parts.extend(["!=", "==", "<", ">"].map(|sign| format!("{other} {sign} {one}")));
        }
    }
    for (at, (one, pointer)) in own.iter().enumerate() {
        for (other, other_pointer) in &own[..at] {
            if pointer == other_pointer {
                parts.extend(["!=", "=="].map(|sign| format!("{other} {sign} {one}")));
            }
        }
    }
    parts
}
