//! Conditions that may belong to a cause: relations between variables, and with values that occurred.
//! Pure.

use super::proposal::Proposal;
use super::relevance::Relevance;
use super::sites::shared;
use crate::predicates::Scalar;
use std::collections::BTreeSet;
use traces::{Execution, ObjectKind, Operation};

/// The most values of a variable to compare with.
const MOST_VALUES: usize = 4;
/// The most variables with static storage, those of them that are compared with each other, and the most
/// local ones of a thread.
const MOST_SHARED: usize = 12;
const MOST_COMPARED: usize = 8;
const MOST_LOCAL: usize = 8;
/// Larger values are addresses or noise.
const LARGEST: i64 = 1 << 20;

/// A variable with static storage, as the program names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedVariable {
    pub(super) name: String,
    pub(super) is_pointer: bool,
    /// The small values that it had, or may have.
    pub(super) values: BTreeSet<i64>,
}

/// The variables that several tasks use in these executions, and their values. The first execution is the
/// one that fails. Behind them follow the other variables with static storage that the sources of the sites
/// name: a lock may protect them, so that no access to them is a step.
pub(super) fn shared_variables(
    executions: &[&Execution],
    statics: &[Scalar],
    relevance: &Relevance,
) -> Vec<SharedVariable> {
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
                    let is_pointer =
                        statics.iter().any(|one| one.name == object.name && one.is_pointer);
                    let values = BTreeSet::from([0]);
                    let name = object.name.clone();
                    found.push(SharedVariable { name, is_pointer, values });
                    found.len() - 1
                }
            };
            let reads = matches!(step.operation, Operation::Read | Operation::Await);
            let one = &mut found[at];
            if (reads || step.operation.is_write())
                && one.values.len() < MOST_VALUES
                && !one.is_pointer
            {
                one.values.extend(small(step.value));
            }
        }
    }
    let mut others: Vec<&Scalar> = statics
        .iter()
        .filter(|one| is_expression(&one.name) && relevance.weight(&one.name) > 0)
        .filter(|one| found.iter().all(|known| known.name != one.name))
        .collect();
    others.sort_by_key(|one| (std::cmp::Reverse(relevance.weight(&one.name)), &one.name));
    others.truncate(MOST_SHARED.saturating_sub(found.len()));
    found.extend(others.into_iter().map(|one| SharedVariable {
        name: one.name.clone(),
        is_pointer: one.is_pointer,
        values: match one.is_pointer {
            true => BTreeSet::from([0]),
            false => [0, 1].into_iter().chain(relevance.numbers.iter().copied()).collect(),
        },
    }));
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

/// The parts that a condition at these sites may have. `locals` are those of each role. While a thread waits
/// for a lock, another one may change what the lock protects: conditions over shared variables are proposed
/// behind the lock, not at it.
pub(super) fn parts(
    proposal: &Proposal,
    shared: &[SharedVariable],
    locals: &[Vec<Scalar>],
    relevance: &Relevance,
) -> Vec<String> {
    let shared = if proposal.roles.iter().any(|role| role.locks) { &[] } else { shared };
    let mut parts = Vec::new();
    let mut own: Vec<(String, bool)> = Vec::new();
    for (role, all) in locals.iter().enumerate() {
        let is_near = |local: &&Scalar| relevance.is_near(&proposal.roles[role], &local.name);
        for local in all.iter().filter(is_near).take(MOST_LOCAL) {
            own.push((proposal.local(role, &local.name), local.is_pointer));
        }
    }
    for (role, all) in locals.iter().enumerate() {
        for element in relevance.elements(&proposal.roles[role]) {
            let name = qualified(element, proposal, role, all);
            parts.extend(["==", "!="].map(|sign| format!("{name} {sign} 0")));
        }
    }
    for (name, is_pointer) in &own {
        for variable in shared.iter().filter(|one| one.is_pointer == *is_pointer) {
            let signs = relations(*is_pointer);
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
        if !one.is_pointer {
            parts.push(format!("{} < 0", one.name));
        }
        for other in shared[..at].iter().take(MOST_COMPARED) {
            if at < MOST_COMPARED && one.is_pointer == other.is_pointer {
                let signs = relations(one.is_pointer);
                let (one, other) = (&one.name, &other.name);
                parts.extend(signs.iter().map(|sign| format!("{other} {sign} {one}")));
            }
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

/// An expression in which the local variables of a role are written as those of its thread.
fn qualified(expression: &str, proposal: &Proposal, role: usize, locals: &[Scalar]) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut text = String::new();
    let mut rest = expression;
    while !rest.is_empty() {
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let is_member = text.ends_with('.') || text.ends_with("->");
        match !is_member && locals.iter().any(|local| local.name == word) {
            true => text += &proposal.local(role, word),
            false => text += word,
        }
        let next = behind.find(is_part).unwrap_or(behind.len());
        text += &behind[..next];
        rest = &behind[next..];
    }
    text
}

/// How two variables of one kind may be related.
fn relations(are_pointers: bool) -> &'static [&'static str] {
    if are_pointers { &["!=", "=="] } else { &["!=", "==", "<", ">"] }
}
