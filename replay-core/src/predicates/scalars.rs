//! The variables with one value each that a condition may name: integers, enumerations, pointers, and those
//! within structures.

use super::{Compiler, grammar};
use crate::symbols::Image;
use crate::symbols::typed::{Shape, TypeId};
use std::sync::Arc;

/// How deep members of structures are followed.
const DEEPEST: usize = 2;
/// A structure with more members is left out: few of them belong to the state that threads share.
const MOST_MEMBERS: usize = 16;

/// A variable that a condition may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// The expression that reads it.
    pub(crate) name: String,
    /// Whether it is a pointer. Others are integers, booleans or enumerations.
    pub(crate) is_pointer: bool,
}

impl Compiler {
    /// The scalars in a task's variables at all instructions of a site, written `T1@file.c:20`.
    pub(crate) fn locals(&self, site: &str) -> Vec<Scalar> {
        let Ok(parts) = grammar::parse(site) else { return Vec::new() };
        let Some(role) = parts.roles.first() else { return Vec::new() };
        let Ok(places) = self.0.sites.resolve(role, &self.0.modules) else { return Vec::new() };
        let mut found: Option<Vec<Scalar>> = None;
        for place in &places {
            let mut here = Vec::new();
            for (name, kind, code) in place.image.typed_locals(place.at.offset).iter() {
                if code.is_some() {
                    add(&place.image, name, *kind, DEEPEST, &mut here);
                }
            }
            found = Some(match found {
                Some(known) => known.into_iter().filter(|one| here.contains(one)).collect(),
                None => here,
            });
        }
        found.unwrap_or_default()
    }

    /// The scalars in the program's variables with static storage, except for thread-local ones.
    pub(crate) fn statics(&self) -> Vec<Scalar> {
        let mut all = Vec::new();
        let Some(program) = self.0.modules.first() else { return all };
        for (name, variable) in program.statics.iter().filter(|(_, one)| !one.thread_local) {
            add(&program.image, name, variable.kind, DEEPEST, &mut all);
        }
        all
    }
}

/// Adds a variable, or those within it.
fn add(image: &Arc<Image>, name: &str, kind: TypeId, depth: usize, all: &mut Vec<Scalar>) {
    // Names with two underscores in front belong to the compiler and the C library.
    let is_reserved = name.rsplit(['.', '>']).next().is_some_and(|last| last.starts_with("__"));
    let Some(described) = image.describe(kind).filter(|_| !is_reserved) else { return };
    let scalar = |is_pointer| Scalar { name: name.to_owned(), is_pointer };
    let mut members = |kind: TypeId, sign: &str| {
        let Some(Shape::Record(members)) = image.describe(kind).map(|it| it.shape) else { return };
        if depth == 0 || members.len() > MOST_MEMBERS {
            return;
        }
        for member in members {
            if let Some(own) = &member.name {
                add(image, &format!("{name}{sign}{own}"), member.kind, depth - 1, all);
            }
        }
    };
    match described.shape {
        Shape::Integer { .. } | Shape::Enumeration { .. } => all.push(scalar(false)),
        Shape::Pointer { to, reference: false } => {
            to.into_iter().for_each(|to| members(to, "->"));
            all.push(scalar(true));
        }
        Shape::Pointer { to: Some(to), reference: true } => members(to, "."),
        // A condition reads an atomic variable by its name.
        Shape::Record(_) if described.name.to_ascii_lowercase().contains("atomic") => {
            all.push(scalar(false))
        }
        // A condition compares a smart pointer by its name, too.
        Shape::Record(_) if is_smart_pointer(&described.name) => all.push(scalar(true)),
        Shape::Record(_) => members(kind, "."),
        Shape::Pointer { .. }
        | Shape::Float
        | Shape::Array { .. }
        | Shape::Variants { .. }
        | Shape::Other => {}
    }
}

/// Whether a type is `unique_ptr` or `shared_ptr`, by its name.
fn is_smart_pointer(name: &str) -> bool {
    let bare = name.split('<').next().unwrap_or_default();
    matches!(bare.rsplit("::").next(), Some("unique_ptr" | "shared_ptr"))
}
