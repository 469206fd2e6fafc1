//! Enumerations of Rust whose variants have data: which variant one is, and its data.

use super::compiler::{Compiler, Kind};
use super::emit::{DIVIDE_UNSIGNED, EQUAL, LESS_UNSIGNED, NOT, POP, SUB, SWAP};
use crate::predicates::grammar::Wrong;
use crate::predicates::nearest::{nearest, offer};
use crate::predicates::variables::{TypeRef, member};
use crate::symbols::typed::{Shape, Variant};
use tree_sitter::Node;

impl Compiler<'_, '_, '_> {
    /// The type of an expression if it is an enumeration with data, without any code.
    pub(super) fn enumeration(&mut self, node: Node<'_>) -> Option<TypeRef> {
        let is_place = ["identifier", "field_expression", "index_expression", "call_expression"]
            .contains(&node.kind());
        if !is_place {
            return None;
        }
        let (len, roles) = (self.code.len(), self.roles.len());
        let kind = self.value(node).and_then(|kind| self.followed(kind, node));
        self.code.truncate(len);
        self.roles.truncate(roles);
        let (Kind::Object(of) | Kind::Small(of)) = kind.ok()? else { return None };
        matches!(of.describe()?.shape, Shape::Variants { .. }).then_some(of)
    }

    /// The variant that a path such as `Shape::Circle` or `None` names.
    fn variant(&self, of: &TypeRef, path: Node<'_>) -> Result<Variant, Wrong> {
        let text = self.condition.of(path);
        let wanted = text.rsplit("::").next().unwrap_or(text);
        let described = of.describe();
        let title = described.as_ref().map_or_else(String::new, |of| of.name.clone());
        let Some(Shape::Variants { variants, .. }) = described.map(|of| of.shape) else {
            return self.unsupported(path);
        };
        let names: Vec<String> = variants.iter().map(|one| one.name.clone()).collect();
        match variants.into_iter().find(|variant| variant.name == wanted) {
            Some(variant) => Ok(variant),
            None => {
                let near = nearest(wanted, names.iter().map(String::as_str));
                self.wrong(path, format!("{title} has no variant {wanted}{}", offer(&near)))
            }
        }
    }

    /// 1 if the enumeration is this variant, else 0.
    fn is_variant(&mut self, node: Node<'_>, variant: &Variant) -> Result<(), Wrong> {
        let kind = self.value(node)?;
        let kind = self.followed(kind, node)?;
        let (Kind::Object(of) | Kind::Small(of)) = &kind else {
            return self.unsupported(node);
        };
        let Some(Shape::Variants { discriminant, variants }) = of.describe().map(|of| of.shape)
        else {
            return self.unsupported(node);
        };
        let Some(discriminant) = discriminant else {
            // The only variant. The address is of no interest.
            self.code.push(POP);
            self.number(1);
            return Ok(());
        };
        let inner = of.with(discriminant.kind);
        let kind = match kind {
            Kind::Small(_) => Kind::Small(inner),
            _ => Kind::Object(inner),
        };
        let part = self.part(kind, discriminant.offset);
        let Kind::Integer(integer) = self.loaded(part, node)? else {
            return self.unsupported(node);
        };
        self.normalise(super::integers::Integer { signed: false, ..integer });
        let mask = if integer.size < 8 { (1 << (integer.size * 8)) - 1 } else { u64::MAX };
        if let Some(value) = variant.value {
            self.number(value & mask);
            self.code.push(EQUAL);
            return Ok(());
        }
        // The variant that has all other values.
        let mut others: Vec<u64> = variants.iter().filter_map(|one| one.value).collect();
        others.iter_mut().for_each(|value| *value &= mask);
        others.sort_unstable();
        let (Some(&first), Some(&last)) = (others.first(), others.last()) else {
            return self.unsupported(node);
        };
        if last - first + 1 != others.len() as u64 {
            return self.unsupported(node);
        }
        self.number(first);
        self.code.push(SUB);
        self.normalise(super::integers::Integer { signed: false, ..integer });
        self.number(last - first + 1);
        self.code.extend([LESS_UNSIGNED, NOT]);
        Ok(())
    }

    /// The first field of a variant's data, on an enumeration that is known to be this variant.
    fn data_of(&mut self, node: Node<'_>, variant: &Variant) -> Result<Kind, Wrong> {
        let kind = self.value(node)?;
        let kind = self.followed(kind, node)?;
        let (Kind::Object(of) | Kind::Small(of)) = &kind else {
            return self.unsupported(node);
        };
        let Some((offset, inner, _)) = member(&of.with(variant.kind), "__0", 0) else {
            return self.wrong(node, format!("{} has no data without a name", variant.name));
        };
        let kind = match kind {
            Kind::Small(_) => Kind::Small(inner),
            _ => Kind::Object(inner),
        };
        Ok(self.part(kind, variant.offset + offset))
    }

    /// `e == Shape::Circle`, `e == None`, `e == Some(3)`.
    pub(super) fn compared_with_variant(
        &mut self,
        of: &TypeRef,
        (value, pattern): (Node<'_>, Node<'_>),
        is_equal: bool,
    ) -> Result<Kind, Wrong> {
        let (path, data) = match pattern.kind() {
            "call_expression" => {
                let path = self.field(pattern, "function")?;
                let arguments = self.field(pattern, "arguments")?;
                match (arguments.named_child(0), arguments.named_child_count()) {
                    (Some(only), 1) => (path, Some(only)),
                    _ => return self.wrong(pattern, "compare one field of the variant"),
                }
            }
            "identifier" | "scoped_identifier" => (pattern, None),
            _ => {
                let title = of.describe().map_or_else(String::new, |of| of.name);
                return self.wrong(pattern, format!("expected a variant of {title}"));
            }
        };
        let variant = self.variant(of, path)?;
        self.is_variant(value, &variant)?;
        if let Some(data) = data {
            self.code.push(NOT);
            let differs = self.jump(super::emit::IF_GOTO);
            let own = self.data_of(value, &variant)?;
            let Kind::Integer(_) = self.loaded(own, value)? else {
                return self.wrong(data, format!("the data of {} is no number", variant.name));
            };
            self.integer(data)?;
            self.code.push(EQUAL);
            let end = self.jump(super::emit::GOTO);
            self.land(differs);
            self.number(0);
            self.land(end);
        }
        if !is_equal {
            self.code.push(NOT);
        }
        Ok(Kind::Integer(super::integers::INT))
    }

    /// `o.is_some()` and its kind, and `o.unwrap()`, whose value is not known in another variant. None
    /// for another method.
    pub(super) fn of_enumeration(
        &mut self,
        value: Node<'_>,
        method: &str,
    ) -> Result<Option<Kind>, Wrong> {
        let tested = match method {
            "is_some" | "unwrap" => "Some",
            "is_none" => "None",
            "is_ok" => "Ok",
            "is_err" => "Err",
            _ => return Ok(None),
        };
        let Some(of) = self.enumeration(value) else { return Ok(None) };
        let Some(Shape::Variants { variants, .. }) = of.describe().map(|of| of.shape) else {
            return Ok(None);
        };
        let has = |name: &str| variants.iter().find(|variant| variant.name == name).cloned();
        let tested = if method == "unwrap" && has("Some").is_none() { "Ok" } else { tested };
        let Some(variant) = has(tested) else { return Ok(None) };
        self.is_variant(value, &variant)?;
        if method != "unwrap" {
            return Ok(Some(Kind::Integer(super::integers::INT)));
        }
        // A division by zero ends the evaluation: the condition does not hold.
        self.number(1);
        self.code.extend([SWAP, DIVIDE_UNSIGNED, POP]);
        Ok(Some(self.data_of(value, &variant)?))
    }
}
