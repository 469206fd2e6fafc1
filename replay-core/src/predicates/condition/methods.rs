//! Methods of the standard libraries that a condition may name. They are compiled from the types; no
//! function of the program is called.

use super::compiler::{Compiler, Kind};
use super::emit::{DIVIDE_UNSIGNED, NOT, POP, SUB};
use super::integers::{INT, Integer};
use super::library_types::{adapted, both_ends, smart_pointer, stored_count};
use crate::explain::source::Language;
use crate::predicates::grammar::Wrong;
use crate::predicates::variables::{TypeRef, member};
use crate::symbols::typed::Shape;
use tree_sitter::Node;

const SIZE: Integer = Integer { size: 8, signed: false };

impl Compiler<'_, '_, '_> {
    /// A call: of `len`, `size` and the like.
    pub(super) fn call(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let function = self.field(node, "function")?;
        let method =
            function.child_by_field_name("field").map(|it| self.condition.of(it).to_owned());
        let of = function
            .child_by_field_name("value")
            .or_else(|| function.child_by_field_name("argument"));
        if let (Some(method), Some(of), "field_expression") = (method, of, function.kind())
            && let Some(kind) = self.method(of, &method)?
        {
            return Ok(kind);
        }
        let text = self.condition.of(function);
        self.wrong(node, format!("a condition cannot call functions, such as {text}"))
    }

    fn method(&mut self, of: Node<'_>, method: &str) -> Result<Option<Kind>, Wrong> {
        let is_rust = self.condition.language == Language::Rust;
        match method {
            "len" if is_rust => self.length(of).map(Some),
            "is_empty" if is_rust => {
                self.length(of)?;
                self.code.push(NOT);
                Ok(Some(Kind::Integer(INT)))
            }
            "size" | "length" if !is_rust => self.count(of).map(Some),
            "empty" if !is_rust => {
                self.count(of)?;
                self.code.push(NOT);
                Ok(Some(Kind::Integer(INT)))
            }
            // Of an atomic: a structure around the value.
            "load" => self.scalar(of).map(Some),
            "get" => {
                let kind = self.value(of)?;
                match &kind {
                    Kind::Object(inner) if !is_rust && smart_pointer(inner).is_some() => {
                        self.loaded(kind, of).map(Some)
                    }
                    _ if is_rust => self.loaded(kind, of).map(Some),
                    _ => Ok(None),
                }
            }
            _ if is_rust => self.of_enumeration(of, method),
            _ => Ok(None),
        }
    }

    /// The number of elements of a container of C++.
    fn count(&mut self, of: Node<'_>) -> Result<Kind, Wrong> {
        let before = self.code.len();
        let kind = self.value(of)?;
        let mut kind = self.followed(kind, of)?;
        let mut start = 0;
        if let Kind::Object(outer) = &kind
            && let Some((offset, inner)) = adapted(outer)
        {
            start = offset;
            kind = self.part(Kind::Object(inner), offset);
        }
        let Kind::Object(inner) = kind else {
            return self.wrong(of, "the container is in registers there");
        };
        if let Some((offset, to)) = stored_count(&inner) {
            let part = self.part(Kind::Object(to), offset);
            return self.loaded(part, of);
        }
        if let Some([(first, pointer), (last, _)]) = both_ends(&inner) {
            self.code.truncate(before);
            let end = self.pointer_in(of, start + last, &pointer)?;
            self.pointer_in(of, start + first, &pointer)?;
            self.code.push(SUB);
            return self.divided_by_size(end, of);
        }
        let array = member(&inner, "_M_elems", 0).or_else(|| member(&inner, "__elems_", 0));
        if let Some(Shape::Array { count: Some(count), .. }) =
            array.and_then(|(_, to, _)| to.describe()).map(|of| of.shape)
        {
            self.code.push(POP);
            self.number(count);
            return Ok(Kind::Integer(SIZE));
        }
        let text = self.condition.of(of);
        let title = inner.describe().map_or_else(String::new, |of| of.name);
        self.wrong(of, format!("the number of elements of `{text}`, a {title}, is not known"))
    }

    /// Loads the pointer at an offset in an object.
    fn pointer_in(&mut self, of: Node<'_>, offset: u64, pointer: &TypeRef) -> Result<Kind, Wrong> {
        let kind = self.value(of)?;
        self.followed(kind, of)?;
        let part = self.part(Kind::Object(pointer.clone()), offset);
        self.loaded(part, of)
    }

    /// Divides the distance between two pointers by the size of what they point to.
    fn divided_by_size(&mut self, pointer: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        let size = match pointer {
            Kind::Pointer(Some(to)) => {
                to.describe().and_then(|of| of.size).filter(|&size| size > 0)
            }
            _ => None,
        };
        let Some(size) = size else { return self.unknown_type(node) };
        self.number(size);
        self.code.push(DIVIDE_UNSIGNED);
        Ok(Kind::Integer(SIZE))
    }

    /// The number of elements of a vector, slice or text of Rust.
    fn length(&mut self, of: Node<'_>) -> Result<Kind, Wrong> {
        let kind = self.value(of)?;
        // A slice is a structure with its length, a vector has a member for it.
        let mut kind = kind;
        for _ in 0..4 {
            let (Kind::Object(inner) | Kind::Small(inner)) = &kind else { break };
            let found = ["length", "len"].into_iter().find_map(|it| member(inner, it, 0));
            if let Some((offset, to, _)) = found {
                let kind = self.part(Kind::Object(to), offset);
                return self.loaded(kind, of);
            }
            let Some(described) = inner.describe() else { break };
            match described.shape {
                Shape::Array { count: Some(count), .. } => {
                    // The address is of no interest.
                    self.code.push(POP);
                    self.number(count);
                    return Ok(Kind::Integer(SIZE));
                }
                Shape::Pointer { .. } => kind = self.followed(kind, of)?,
                Shape::Record(_) => match member(inner, "vec", 0) {
                    Some((offset, to, _)) => kind = self.part(Kind::Object(to), offset),
                    None => break,
                },
                _ => break,
            }
        }
        let text = self.condition.of(of);
        self.wrong(of, format!("`{text}` is no vector, slice or text"))
    }
}
