//! How the program's own source reads a variable that a condition names. A condition reads an atomic
//! variable, or one within a lock, by its name; the program has to call a function for that.

use super::variables::{TypeRef, member};
use super::{Compiler, grammar};
use crate::explain::source::Language;
use crate::symbols::typed::Shape;
use std::sync::Arc;

/// What an expression is worth in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Worth {
    /// An integer of the type with this name.
    Integer(String),
    /// A truth value.
    Boolean,
    /// An enumeration.
    Enumeration,
    /// A pointer.
    Pointer,
    /// An object that holds a pointer, such as `unique_ptr`.
    SmartPointer,
}

/// An expression of the program's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) text: String,
    pub(crate) worth: Worth,
}

/// Types of Rust's standard library whose fields no program can name.
const CLOSED: [&str; 20] = [
    "Arc",
    "Box",
    "BTreeMap",
    "Cell",
    "Condvar",
    "HashMap",
    "HashSet",
    "LazyLock",
    "Mutex",
    "Once",
    "OnceCell",
    "OnceLock",
    "Option",
    "Rc",
    "RefCell",
    "Result",
    "RwLock",
    "String",
    "UnsafeCell",
    "Vec",
];

impl Compiler {
    /// How the source at a site reads a variable of the task there, or one with static storage; none if no
    /// expression without side effects does.
    pub(crate) fn operand(
        &self,
        site: &str,
        name: &str,
        is_local: bool,
        language: Language,
    ) -> Option<Operand> {
        let is_rust = language == Language::Rust;
        let (root, path) = split(name)?;
        let mut kind = if is_local { self.local(site, root)? } else { self.own_static(root)? };
        let mut fields = Vec::new();
        for (sign, field) in path {
            if is_rust && (sign == "->" || is_closed(&kind)) {
                return None;
            }
            if let Shape::Pointer { to, .. } = kind.describe()?.shape {
                kind = kind.with(to?);
            }
            kind = member(&kind, field, 0)?.1;
            fields.push(format!("{sign}{field}"));
        }
        let text = format!("{root}{}", fields.concat());
        if !is_rust {
            return Some(Operand { text, worth: worth(&kind)? });
        }
        if let Some(atomic) = atomic(&kind) {
            let text = format!("{text}.load(std::sync::atomic::Ordering::SeqCst)");
            return Some(Operand { text, worth: atomic });
        }
        let worth = worth(&kind)?;
        // A plain variable with static storage that changes is `static mut`.
        let text = if is_local { text } else { format!("unsafe {{ {text} }}") };
        (worth != Worth::SmartPointer).then_some(Operand { text, worth })
    }

    fn local(&self, site: &str, name: &str) -> Option<TypeRef> {
        let parts = grammar::parse(site).ok()?;
        let places = self.0.sites.resolve(parts.roles.first()?, &self.0.modules).ok()?;
        let place = places.first()?;
        let all = place.image.typed_locals(place.at.offset);
        let (_, id, _) = all.iter().rev().find(|(local, ..)| local == name)?;
        Some(TypeRef { image: Arc::clone(&place.image), id: *id })
    }

    fn own_static(&self, name: &str) -> Option<TypeRef> {
        let module = self.0.modules.first()?;
        let (_, variable) = module.statics.iter().find(|(other, _)| other == name)?;
        Some(TypeRef { image: Arc::clone(&module.image), id: variable.kind })
    }
}

/// A name, and the members behind it, each with its sign.
fn split(name: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = |text: &str| text.find(|it| !is_part(it)).unwrap_or(text.len());
    let (root, mut rest) = name.split_at(end(name));
    let mut path = Vec::new();
    while !rest.is_empty() {
        let sign = if rest.starts_with("->") { "->" } else { "." };
        rest = rest.strip_prefix(sign)?;
        let (field, behind) = rest.split_at(end(rest));
        if field.is_empty() {
            return None;
        }
        path.push((sign, field));
        rest = behind;
    }
    (!root.is_empty()).then_some((root, path))
}

/// The name of a type without its path and its parameters.
fn bare(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or_default();
    name.rsplit("::").next().unwrap_or(name)
}

fn is_closed(kind: &TypeRef) -> bool {
    kind.describe().is_none_or(|of| CLOSED.contains(&bare(&of.name)))
}

/// What an atomic variable of Rust holds.
fn atomic(kind: &TypeRef) -> Option<Worth> {
    let of = kind.describe()?;
    let Shape::Record(_) = of.shape else { return None };
    let held = match bare(&of.name) {
        "Atomic" => of.name.split_once('<')?.1.trim_end_matches('>').to_owned(),
        name => name.strip_prefix("Atomic")?.to_lowercase(),
    };
    Some(match held.as_str() {
        "bool" => Worth::Boolean,
        pointer if pointer.starts_with("ptr") || pointer.starts_with("*mut") => Worth::Pointer,
        _ => Worth::Integer(held),
    })
}

fn worth(kind: &TypeRef) -> Option<Worth> {
    let of = kind.describe()?;
    Some(match of.shape {
        Shape::Integer { boolean: true, .. } => Worth::Boolean,
        Shape::Integer { .. } => Worth::Integer(of.name),
        Shape::Enumeration { .. } => Worth::Enumeration,
        Shape::Pointer { reference: false, .. } => Worth::Pointer,
        // In C++ an atomic variable is converted to what it holds.
        Shape::Record(_) if bare(&of.name).contains("atomic") => match of.name.contains('*') {
            true => Worth::Pointer,
            false => Worth::Integer(of.name),
        },
        Shape::Record(_) if matches!(bare(&of.name), "unique_ptr" | "shared_ptr") => {
            Worth::SmartPointer
        }
        _ => return None,
    })
}
