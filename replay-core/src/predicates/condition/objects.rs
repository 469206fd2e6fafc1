//! Variables, fields, elements, and what pointers lead to.

use super::compiler::{Compiler, Kind};
use super::emit::{ADD, SHIFT_RIGHT, SIGN_EXTEND, ZERO_EXTEND};
use super::integers::{INT, Integer};
use super::library_types::{contents, elements, smart_pointer};
use crate::explain::source::Language;
use crate::predicates::grammar::Wrong;
use crate::predicates::nearest::{nearest, offer};
use crate::predicates::variables::{Found, TypeRef, load, member, member_names};
use crate::symbols::typed::{self, Shape};
use tree_sitter::Node;

/// The name of a type with an article. The description of a type without a name has one.
fn a(name: &str) -> String {
    match name.starts_with("a ") || name.starts_with("an ") {
        true => name.to_owned(),
        false => format!("a {name}"),
    }
}

impl Compiler<'_, '_, '_> {
    pub(super) fn found(&mut self, found: Found) -> Kind {
        match found {
            Found::Address(slot, offset, kind) => {
                typed::register(&mut self.code, slot);
                self.plus(offset);
                Kind::Object(kind)
            }
            Found::Value(slot, kind) => {
                typed::register(&mut self.code, slot);
                Kind::Small(kind)
            }
        }
    }

    /// Loads an object.
    pub(super) fn loaded(&mut self, kind: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        let (of, is_small) = match kind {
            Kind::Object(of) => (of, false),
            Kind::Small(of) => (of, true),
            kind => return Ok(kind),
        };
        let text = self.condition.of(node).to_owned();
        let Some(described) = of.describe() else {
            return self.unknown_type(node);
        };
        if let (Some((offset, pointer)), false) = (smart_pointer(&of), is_small) {
            let kind = self.part(Kind::Object(pointer), offset);
            return self.loaded(kind, node);
        }
        let size = described.size.unwrap_or(8);
        let integer = match &described.shape {
            Shape::Integer { signed, .. } | Shape::Enumeration { signed, .. } => {
                Integer { size, signed: *signed }
            }
            Shape::Pointer { .. } => Integer { size: 8, signed: false },
            Shape::Array { element, .. } if !is_small => {
                return Ok(Kind::Pointer(Some(of.with(*element))));
            }
            Shape::Float => {
                return self.wrong(
                    node,
                    format!("`{text}` is a floating-point number, which a condition cannot use"),
                );
            }
            // A structure around one number, such as an atomic.
            Shape::Record(members) => {
                let mut parts = members.iter().filter(|member| {
                    of.with(member.kind).describe().is_some_and(|of| of.size != Some(0))
                });
                return match (parts.next(), parts.next()) {
                    (Some(only), None) if only.bits.is_none() => {
                        let inner = of.with(only.kind);
                        let kind = self.part(
                            if is_small { Kind::Small(inner) } else { Kind::Object(inner) },
                            only.offset,
                        );
                        self.loaded(kind, node)
                    }
                    _ => self.wrong(
                        node,
                        format!(
                            "`{text}` is {}, and a number is needed: name one of its members",
                            a(&described.name)
                        ),
                    ),
                };
            }
            Shape::Variants { .. } => {
                return self.wrong(
                    node,
                    format!(
                        "`{text}` is {}: compare it with one of its variants",
                        a(&described.name)
                    ),
                );
            }
            _ => {
                return self.wrong(
                    node,
                    format!("`{text}` is {}, and a number is needed", a(&described.name)),
                );
            }
        };
        if !is_small {
            let Some(load) = load(integer.size) else {
                return self.wrong(
                    node,
                    format!("`{text}` has {} bytes, and at most 8 can be read", integer.size),
                );
            };
            self.code.push(load);
        }
        if is_small || integer.signed {
            self.normalise(integer);
        }
        Ok(match described.shape {
            Shape::Pointer { to, .. } => Kind::Pointer(to.map(|to| of.with(to))),
            _ => Kind::Integer(integer),
        })
    }

    /// The part of the object on the stack at an offset; the kind is that of the part.
    pub(super) fn part(&mut self, kind: Kind, offset: u64) -> Kind {
        match &kind {
            Kind::Small(_) if offset > 0 => {
                self.number(offset * 8);
                self.code.push(SHIFT_RIGHT);
            }
            Kind::Small(_) => {}
            _ => self.plus(offset),
        }
        kind
    }

    pub(super) fn name(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node).to_owned();
        let at = self.condition.position(node);
        if text == "$tid" {
            return match self.scope.roles.len() {
                0 => Wrong::new(
                    at,
                    "$tid is the number of a thread at a site, as in T1@f: $tid == 1",
                ),
                1 => Ok(self.task(0)),
                _ => Wrong::new(at, "write $1.$tid for the number of the first thread"),
            };
        }
        if text == "NULL" || text == "nullptr" {
            self.number(0);
            return Ok(Kind::Pointer(None));
        }
        if self.scope.role(&text, at)?.is_some() {
            return Wrong::new(at, format!("expected a variable of {text}, as in {text}.i"));
        }
        match self.scope.plain(&text, at) {
            Ok(found) => Ok(self.found(found)),
            Err(wrong) => {
                let last = text.rsplit("::").next().unwrap_or(&text);
                let value = self.scope.modules.iter().find_map(|of| of.image.enumerator(last));
                match value {
                    Some(value) => Ok(self.constant(value)),
                    None => Err(wrong),
                }
            }
        }
    }

    pub(super) fn task(&mut self, role: usize) -> Kind {
        self.roles.push(role);
        let slot = self.scope.task(role);
        typed::register(&mut self.code, slot);
        Kind::Integer(INT)
    }

    pub(super) fn member(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let argument = match node.child_by_field_name("argument") {
            Some(argument) => argument,
            None => self.field(node, "value")?,
        };
        let field = self.field(node, "field")?;
        let name = self.condition.of(field).to_owned();
        if argument.kind() == "identifier" {
            let (thread, at) = (self.condition.of(argument), self.condition.position(argument));
            if let Some(role) = self.scope.role(thread, at)? {
                if name == "$tid" {
                    return Ok(self.task(role));
                }
                self.roles.push(role);
                let found = self.scope.of_task(role, &name, self.condition.position(field))?;
                return Ok(self.found(found));
            }
        }
        let kind = self.value(argument)?;
        self.field_of(kind, argument, field)
    }

    /// A member of what was compiled last.
    fn field_of(&mut self, kind: Kind, argument: Node<'_>, field: Node<'_>) -> Result<Kind, Wrong> {
        let name = self.condition.of(field).to_owned();
        let kind = self.followed(kind, argument)?;
        let of = match &kind {
            Kind::Object(of) | Kind::Small(of) => of.clone(),
            _ => {
                let text = self.condition.of(argument);
                return self.wrong(argument, format!("`{text}` has no members"));
            }
        };
        let Some((offset, inner, bits)) = member(&of, &name, 0) else {
            // The data in a lock or a cell.
            if let Some((offset, inner)) = contents(&of) {
                let kind = self.part(Kind::Object(inner), offset);
                return self.field_of(kind, argument, field);
            }
            let title = of.describe().map_or_else(String::new, |of| of.name);
            let names = member_names(&of);
            let near = nearest(&name, names.iter().map(String::as_str));
            return self.wrong(field, format!("{title} has no member {name}{}", offer(&near)));
        };
        if let Some(bits) = bits {
            return self.bits(&kind, &inner, bits, field);
        }
        Ok(self.part(
            match kind {
                Kind::Small(_) => Kind::Small(inner),
                _ => Kind::Object(inner),
            },
            offset,
        ))
    }

    /// The value of a bit field of the structure on the stack.
    fn bits(
        &mut self,
        of: &Kind,
        kind: &TypeRef,
        (first, len): (u64, u64),
        field: Node<'_>,
    ) -> Result<Kind, Wrong> {
        let (size, signed) = match kind.describe().map(|of| (of.size, of.shape)) {
            Some((Some(size @ 1..=8), Shape::Integer { signed, .. })) => (size, signed),
            Some((Some(size @ 1..=8), Shape::Enumeration { signed, .. })) => (size, signed),
            _ => return self.unknown_type(field),
        };
        let unit = size * 8;
        let (start, shift) = match of {
            Kind::Small(_) => (0, first),
            _ => (first / unit * size, first % unit),
        };
        let loads = !matches!(of, Kind::Small(_));
        if len == 0 || shift + len > 64 || loads && shift + len > unit {
            return self.wrong(field, "the bit field is in several words and cannot be read");
        }
        if let (true, Some(load)) = (loads, load(size)) {
            self.plus(start);
            self.code.push(load);
        }
        self.number(shift);
        self.code.push(SHIFT_RIGHT);
        if len < 64 {
            self.code.extend([if signed { SIGN_EXTEND } else { ZERO_EXTEND }, len as u8]);
        }
        Ok(Kind::Integer(Integer { size: size.max(4), signed }))
    }

    /// What a C++ reference refers to; anything else as it is.
    pub(super) fn referred(&mut self, kind: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        let (Kind::Object(of) | Kind::Small(of)) = &kind else { return Ok(kind) };
        let is_reference = self.condition.language == Language::Cpp
            && of
                .describe()
                .is_some_and(|of| matches!(of.shape, Shape::Pointer { reference: true, .. }));
        if !is_reference {
            return Ok(kind);
        }
        match self.loaded(kind, node)? {
            Kind::Pointer(Some(to)) => Ok(Kind::Object(to)),
            kind => Ok(kind),
        }
    }

    /// The object that a pointer or a reference leads to, or the object itself.
    pub(super) fn followed(&mut self, mut kind: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        for _ in 0..8 {
            let (Kind::Object(of) | Kind::Small(of)) = &kind else { break };
            let is_pointer =
                of.describe().is_some_and(|of| matches!(of.shape, Shape::Pointer { .. }));
            if !is_pointer && (matches!(kind, Kind::Small(_)) || smart_pointer(of).is_none()) {
                return Ok(kind);
            }
            kind = match self.loaded(kind, node)? {
                Kind::Pointer(Some(to)) => Kind::Object(to),
                _ => {
                    let text = self.condition.of(node);
                    return self
                        .wrong(node, format!("`{text}` is an untyped pointer: cast it first"));
                }
            };
        }
        Ok(match kind {
            Kind::Pointer(Some(to)) => Kind::Object(to),
            kind => kind,
        })
    }

    pub(super) fn element(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let array = match node.child_by_field_name("argument") {
            Some(argument) => argument,
            None => match node.named_child(0) {
                Some(child) => child,
                None => return self.unsupported(node),
            },
        };
        let index = node
            .child_by_field_name("index")
            .or_else(|| node.child_by_field_name("indices").and_then(|all| all.named_child(0)))
            .or_else(|| node.named_child(1));
        let Some(index) = index else { return self.unsupported(node) };
        let kind = self.value(array)?;
        // A slice or a vector of Rust: a pointer and a length.
        let kind = match kind {
            Kind::Object(of) if self.condition.language == Language::Cpp => match elements(&of) {
                Some((offset, to)) => self.part(Kind::Object(to), offset),
                None => Kind::Object(of),
            },
            Kind::Object(_) if self.condition.language == Language::Rust => {
                let kind = self.followed(kind, array)?;
                let Kind::Object(of) = &kind else { return self.unsupported(array) };
                match ["data_ptr", "buf"].iter().find_map(|it| member(of, it, 0)) {
                    Some((offset, to, _)) => {
                        let element = of.parameter("T");
                        self.data(offset, to, element, array)?
                    }
                    None => kind,
                }
            }
            kind => kind,
        };
        let Kind::Pointer(Some(element)) = self.loaded(kind, array)? else {
            let text = self.condition.of(array);
            return self.wrong(array, format!("`{text}` is neither an array nor a typed pointer"));
        };
        let Some(size) = element.describe().and_then(|of| of.size) else {
            return self.unknown_type(array);
        };
        self.integer(index)?;
        self.multiplied(size);
        self.code.push(ADD);
        Ok(Kind::Object(element))
    }

    /// The pointer to the elements in a slice or vector of Rust.
    fn data(
        &mut self,
        offset: u64,
        to: TypeRef,
        element: Option<TypeRef>,
        node: Node<'_>,
    ) -> Result<Kind, Wrong> {
        let mut kind = self.part(Kind::Object(to), offset);
        for _ in 0..8 {
            let Kind::Object(of) = &kind else { break };
            let Some(Shape::Record(members)) = of.describe().map(|of| of.shape) else { break };
            let named = |name: &str| members.iter().find(|one| one.name.as_deref() == Some(name));
            let inner = ["ptr", "inner", "pointer"].into_iter().find_map(named);
            let Some(inner) = inner else { break };
            let (offset, inner) = (inner.offset, of.with(inner.kind));
            kind = self.part(Kind::Object(inner), offset);
        }
        let kind = self.loaded(kind, node)?;
        match (&kind, element) {
            // The buffer of a vector is one of bytes.
            (Kind::Pointer(_), Some(element)) => Ok(Kind::Pointer(Some(element))),
            (Kind::Pointer(Some(_)), None) => Ok(kind),
            _ => self.unknown_type(node),
        }
    }
}
