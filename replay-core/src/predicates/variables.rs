//! Variables of a condition: static ones, and those of the tasks at the sites.

use super::grammar::Wrong;
use super::nearest::{nearest, offer};
use super::sites::{CodeModule, SiteAddress};
use crate::symbols::Image;
use crate::symbols::typed::{self, Described, PlaceCode, Shape, StaticVariable, TypeId};
use std::collections::BTreeSet;
use std::sync::Arc;
use traces::predicate::Slot;
use traces::predicate::register::{TASK, THREAD_POINTER};

/// The end of an expression's code.
pub(super) const END: u8 = 0x27;
/// Addition.
pub(super) const ADD: u8 = 0x02;

/// A type with the file that describes it.
#[derive(Clone)]
pub(super) struct TypeRef {
    pub(super) image: Arc<Image>,
    pub(super) id: TypeId,
}

impl TypeRef {
    pub(super) fn describe(&self) -> Option<Described> {
        self.image.describe(self.id)
    }

    /// The type parameter of a generic type with this name.
    pub(super) fn parameter(&self, name: &str) -> Option<TypeRef> {
        self.image.parameter(self.id, name).map(|id| self.with(id))
    }

    pub(super) fn with(&self, id: TypeId) -> TypeRef {
        TypeRef { image: Arc::clone(&self.image), id }
    }
}

/// A role with everything that resolving its text gave.
pub(super) struct RoleSite {
    /// The thread as written.
    pub(super) thread: String,
    pub(super) places: Vec<SiteAddress>,
}

/// The variables that a condition may name.
pub(super) struct Scope<'a> {
    pub(super) modules: &'a [CodeModule],
    pub(super) roles: &'a [RoleSite],
    pub(super) slots: Vec<Slot>,
}

/// Where a variable is: the number of the slot that has its address or value.
pub(super) enum Found {
    /// The slot's value plus the offset is the address.
    Address(u16, u64, TypeRef),
    /// The slot's value is the variable's value.
    Value(u16, TypeRef),
}

impl<'a> Scope<'a> {
    pub(super) fn new(modules: &'a [CodeModule], roles: &'a [RoleSite]) -> Scope<'a> {
        Scope { modules, roles, slots: Vec::new() }
    }

    /// The variables with static storage of this name, with the numbers of their modules.
    fn statics(&self, name: &str) -> impl Iterator<Item = (usize, &'a StaticVariable)> {
        let modules: &'a [CodeModule] = self.modules;
        modules.iter().enumerate().flat_map(move |(number, module)| {
            let of = module.statics.iter().filter(move |(other, _)| other == name);
            of.map(move |(_, variable)| (number, variable))
        })
    }

    fn slot(&mut self, slot: Slot) -> u16 {
        let known = self.slots.iter().position(|other| *other == slot);
        known.unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        }) as u16
    }

    /// The role that a name in front of a dot means: the thread as written, or `$2`.
    pub(super) fn role(&self, name: &str, at: usize) -> Result<Option<usize>, Wrong> {
        if let Some(number) = name.strip_prefix('$').and_then(|digits| digits.parse().ok()) {
            if self.roles.is_empty() {
                return Wrong::new(
                    at,
                    format!("{name} is a thread at a site: name one, as in T1@f: T1.i == 0"),
                );
            }
            return match (1..=self.roles.len()).contains(&number) {
                true => Ok(Some(number - 1)),
                false => Wrong::new(
                    at,
                    format!(
                        "the predicate has {} threads, so there is no {name}",
                        self.roles.len()
                    ),
                ),
            };
        }
        let mut found = (0..self.roles.len()).filter(|&role| self.roles[role].thread == name);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Wrong::new(
                at,
                format!("several threads of the predicate are {name}: write $1 for the first one"),
            ),
            (role, _) => Ok(role),
        }
    }

    /// The number of a role's task.
    pub(super) fn task(&mut self, role: usize) -> u16 {
        let mut code = Vec::new();
        typed::register(&mut code, TASK);
        code.push(END);
        let places = self.roles[role].places.len();
        self.slot(Slot::Local { role: role as u16, code: vec![code; places] })
    }

    /// A variable without a thread in front of it.
    pub(super) fn plain(&mut self, name: &str, at: usize) -> Result<Found, Wrong> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let mut found: Vec<(usize, StaticVariable)> =
            self.statics(last).map(|(module, variable)| (module, variable.clone())).collect();
        found.sort_by_key(|(module, variable)| (*module, variable.address));
        found.dedup_by_key(|(module, variable)| (*module, variable.address));
        match &found[..] {
            [(_, variable)] if variable.thread_local => Wrong::new(
                at,
                match self.roles {
                    [] => format!(
                        "each thread has its own {name}: name a thread at a site, as in T1@f: T1.{name}"
                    ),
                    _ => format!("each thread has its own {name}: write {}", self.qualified(name)),
                },
            ),
            [(module, variable)] => {
                let module = &self.modules[*module];
                let kind = TypeRef { image: Arc::clone(&module.image), id: variable.kind };
                let slot = self.slot(Slot::Base(module.name.clone()));
                Ok(Found::Address(slot, variable.address, kind))
            }
            [] => self.unknown(name, at),
            _ => Wrong::new(
                at,
                format!(
                    "{} variables of the program are called {name}, and a condition cannot \
                     distinguish them: use another one",
                    found.len()
                ),
            ),
        }
    }

    fn qualified(&self, name: &str) -> String {
        let thread = self.roles.first().map_or("T1", |role| role.thread.as_str());
        match thread {
            "*" => format!("$1.{name}"),
            thread => format!("{thread}.{name}"),
        }
    }

    fn unknown(&self, name: &str, at: usize) -> Result<Found, Wrong> {
        let mut locals = BTreeSet::new();
        for (number, role) in self.roles.iter().enumerate() {
            for place in &role.places {
                for (local, ..) in place.image.typed_locals(place.at.offset).iter() {
                    if local == name {
                        let thread = match role.thread.as_str() {
                            "*" => format!("${}", number + 1),
                            thread => thread.to_owned(),
                        };
                        return Wrong::new(
                            at,
                            format!("{name} is a local variable: write {thread}.{name}"),
                        );
                    }
                    locals.insert(local.clone());
                }
            }
        }
        if let Some(digits) = name.strip_prefix('T')
            && digits.parse::<u16>().is_ok()
        {
            return Wrong::new(
                at,
                match self.roles {
                    [] => format!(
                        "{name} is a thread: name its site first, as in {name}@f: {name}.i == 0"
                    ),
                    _ => format!("{name} is at no site of this predicate"),
                },
            );
        }
        if let [role, ..] = self.roles
            && !super::sites::entries(name, self.modules).is_empty()
        {
            let thread = match role.thread.as_str() {
                "*" => "$1",
                thread => thread,
            };
            return Wrong::new(
                at,
                format!(
                    "{name} is a function; a local variable belongs to a thread of the predicate: \
                     write {thread} for {name}"
                ),
            );
        }
        let statics =
            self.modules.iter().flat_map(|one| &one.statics).map(|(name, _)| name.as_str());
        let near = nearest(name, statics.chain(locals.iter().map(String::as_str)));
        let which = if self.roles.is_empty() { " with static storage" } else { "" };
        Wrong::new(at, format!("no variable{which} is called {name}{}", offer(&near)))
    }

    /// A variable of a role's task: a local one, or a thread-local one.
    pub(super) fn of_task(&mut self, role: usize, name: &str, at: usize) -> Result<Found, Wrong> {
        let mut codes = Vec::new();
        let mut kind = None;
        for place in &self.roles[role].places {
            let all = place.image.typed_locals(place.at.offset);
            let found = all.iter().rev().find(|(local, ..)| local == name);
            let Some((_, id, code)) = found else {
                return match self.thread_local(role, name, at)? {
                    Some(found) => Ok(found),
                    None => {
                        let names: BTreeSet<&str> = all.iter().map(|(name, ..)| &**name).collect();
                        let near = nearest(name, names.iter().copied());
                        let near = match near.is_empty() && !names.is_empty() {
                            true => {
                                let names: Vec<&str> = names.into_iter().take(5).collect();
                                format!("; the variables there are {}", names.join(", "))
                            }
                            false => offer(&near),
                        };
                        Wrong::new(
                            at,
                            format!("{name} is not in scope at {}{near}", self.shown(place)),
                        )
                    }
                };
            };
            let Some(code) = code else {
                return Wrong::new(
                    at,
                    format!(
                        "the compiler keeps {name} nowhere at {}{}",
                        self.shown(place),
                        lines_with(place, name)
                    ),
                );
            };
            kind.get_or_insert(TypeRef { image: Arc::clone(&place.image), id: *id });
            codes.push(code.clone());
        }
        let Some(kind) = kind else { return self.unknown(name, at) };
        let finish = |mut code: Vec<u8>| {
            code.push(END);
            code
        };
        let role = role as u16;
        if codes.iter().all(|code| matches!(code, PlaceCode::Address(_))) {
            let code = codes.into_iter().map(|code| match code {
                PlaceCode::Address(code) | PlaceCode::Value(code) => finish(code),
            });
            let slot = self.slot(Slot::Local { role, code: code.collect() });
            return Ok(Found::Address(slot, 0, kind));
        }
        let size = kind.describe().and_then(|of| of.size);
        let Some(load) = size.and_then(load) else {
            return Wrong::new(at, format!("{name} is in registers there and cannot be read"));
        };
        let code = codes.into_iter().map(|code| match code {
            PlaceCode::Value(code) => finish(code),
            PlaceCode::Address(mut code) => {
                code.push(load);
                finish(code)
            }
        });
        let slot = self.slot(Slot::Local { role, code: code.collect() });
        Ok(Found::Value(slot, kind))
    }

    fn thread_local(&mut self, role: usize, name: &str, at: usize) -> Result<Option<Found>, Wrong> {
        let found = self.statics(name).next();
        let Some((module, variable)) = found else { return Ok(None) };
        if !variable.thread_local {
            return Wrong::new(
                at,
                format!("all threads share {name}: write it without a thread in front"),
            );
        }
        if module != 0 {
            return Wrong::new(at, format!("{name} is a thread-local variable of a library"));
        }
        let mut code = Vec::new();
        typed::register(&mut code, THREAD_POINTER);
        typed::constant(&mut code, variable.address);
        code.extend([ADD, END]);
        let code = vec![code; self.roles[role].places.len()];
        let slot = self.slot(Slot::Local { role: role as u16, code });
        let image = Arc::clone(&self.modules[module].image);
        Ok(Some(Found::Address(slot, 0, TypeRef { image, id: variable.kind })))
    }

    fn shown(&self, place: &SiteAddress) -> String {
        let row = place.image.line_rows(place.at.offset, place.at.offset + 1);
        let file = place.file.rsplit('/').next().unwrap_or_default();
        match row.first() {
            Some((.., line)) => format!("{file}:{line}"),
            None => format!("the function's entry in {file}"),
        }
    }
}

/// The operation that loads so many bytes.
pub(super) fn load(size: u64) -> Option<u8> {
    Some(match size {
        1 => 0x17,
        2 => 0x18,
        4 => 0x19,
        8 => 0x1a,
        _ => return None,
    })
}

/// The lines of the same function where a variable can be read.
fn lines_with(place: &SiteAddress, name: &str) -> String {
    let Some(range) = place.image.function_range(place.at.offset) else { return String::new() };
    let mut lines = BTreeSet::new();
    let here = place.image.line_rows(place.at.offset, place.at.offset + 1);
    let here = here.first().map(|(.., line)| *line);
    let rows = place.image.line_rows(range.start, range.end).into_iter();
    for (start, _, _, line) in rows.filter(|(.., line)| Some(*line) != here) {
        let all = place.image.typed_locals(start);
        if all.iter().any(|(local, _, code)| local == name && code.is_some()) {
            lines.insert(line);
        }
    }
    let lines: Vec<String> = lines.into_iter().take(4).map(|line| line.to_string()).collect();
    match lines.is_empty() {
        true => "; build the program with less optimisation (-Og)".to_owned(),
        false => format!("; it can be read at the lines {}", lines.join(", ")),
    }
}

/// A member of a structure: its distance from the start of the structure, its type, and its bits if it
/// is a bit field.
pub(super) type Located = (u64, TypeRef, Option<(u64, u64)>);

/// The member of a structure with this name, also in its bases and unnamed members.
pub(super) fn member(of: &TypeRef, wanted: &str, depth: u32) -> Option<Located> {
    let Shape::Record(members) = of.describe()?.shape else { return None };
    for member in &members {
        let is_it = member.name.as_deref().is_some_and(|name| {
            name == wanted
                || name.strip_prefix("__").is_some_and(|number| {
                    number == wanted && wanted.bytes().all(|byte| byte.is_ascii_digit())
                })
        });
        if is_it {
            return Some((member.offset, of.with(member.kind), member.bits));
        }
    }
    let unnamed = members.iter().filter(|member| member.name.is_none() && depth < 16);
    unnamed.into_iter().find_map(|inner| {
        let (offset, kind, bits) = self::member(&of.with(inner.kind), wanted, depth + 1)?;
        let bits = bits.map(|(first, len)| (inner.offset * 8 + first, len));
        Some((inner.offset + offset, kind, bits))
    })
}

/// The names of the members of a structure.
pub(super) fn member_names(of: &TypeRef) -> Vec<String> {
    match of.describe().map(|of| of.shape) {
        Some(Shape::Record(members)) => members.into_iter().filter_map(|one| one.name).collect(),
        _ => Vec::new(),
    }
}
