//! Operators, casts, and sizes.

use super::compiler::{Compiler, Kind};
use super::emit::{
    ADD, BITS_AND, BITS_NOT, BITS_OR, BITS_XOR, DIVIDE_SIGNED, DIVIDE_UNSIGNED, EQUAL, GOTO,
    IF_GOTO, LESS_SIGNED, LESS_UNSIGNED, MUL, NOT, REMAINDER_SIGNED, REMAINDER_UNSIGNED,
    SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_SIGNED, SUB, SWAP,
};
use super::integers::{INT, Integer, builtin, common, promoted};
use crate::explain::source::Language;
use crate::predicates::grammar::Wrong;
use crate::predicates::variables::{END, TypeRef};
use crate::symbols::typed::Shape;
use traces::agent_expression::evaluate;
use tree_sitter::Node;

/// Whether an expression of Rust is a number with a sign.
fn is_negative(node: Node<'_>) -> bool {
    let operand = node.named_child(0).filter(|_| node.kind() == "unary_expression");
    operand.is_some_and(|operand| operand.kind() == "integer_literal")
        && node.child(0).is_some_and(|sign| sign.kind() == "-")
}

impl Compiler<'_, '_, '_> {
    pub(super) fn unary(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let argument = node
            .child_by_field_name("argument")
            .or_else(|| node.child_by_field_name("value"))
            .or_else(|| node.named_child(node.named_child_count().saturating_sub(1) as u32));
        let (Some(argument), Some(sign)) = (argument, node.child(0)) else {
            return self.unsupported(node);
        };
        let sign = self.condition.of(sign).to_owned();
        match sign.as_str() {
            "!" | "not" => {
                // On Rust's integers this negates every bit; only truth values are supported.
                self.truth(argument)?;
                self.code.push(NOT);
                Ok(Kind::Integer(INT))
            }
            "-" | "~" => {
                let of = promoted(self.integer(argument)?);
                match sign.as_str() {
                    "~" => self.code.push(BITS_NOT),
                    _ => {
                        self.number(0);
                        self.code.extend([SWAP, SUB]);
                    }
                }
                self.normalise(of);
                Ok(Kind::Integer(of))
            }
            "+" => Ok(Kind::Integer(promoted(self.integer(argument)?))),
            "*" => match self.scalar(argument)? {
                Kind::Pointer(Some(to)) => Ok(Kind::Object(to)),
                _ => {
                    let text = self.condition.of(argument);
                    self.wrong(node, format!("`{text}` is not a typed pointer"))
                }
            },
            "&" => match self.value(argument)? {
                Kind::Object(of) => Ok(Kind::Pointer(Some(of))),
                _ => {
                    let text = self.condition.of(argument);
                    self.wrong(node, format!("`{text}` is in a register there and has no address"))
                }
            },
            _ => self.wrong(node, format!("`{sign}` is not supported in a condition")),
        }
    }

    pub(super) fn either(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        self.truth(self.field(node, "condition")?)?;
        let to_first = self.jump(IF_GOTO);
        let second = self.integer(self.field(node, "alternative")?)?;
        let to_end = self.jump(GOTO);
        self.land(to_first);
        let first = self.integer(self.field(node, "consequence")?)?;
        self.land(to_end);
        let of = common(first, second);
        self.normalise(of);
        Ok(Kind::Integer(of))
    }

    pub(super) fn type_named(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node).trim().to_owned();
        let (name, stars) = match self.condition.language {
            Language::Rust => (text.clone(), 0),
            _ => {
                let name = text.trim_end_matches(['*', ' ', '\t']);
                (name.to_owned(), text.matches('*').count())
            }
        };
        let words: Vec<&str> = name
            .split_whitespace()
            .filter(|word| {
                !["const", "volatile", "struct", "union", "enum", "class"].contains(word)
            })
            .collect();
        let name = words.join(" ");
        let builtin = builtin(&name, self.condition.language);
        let known = self.scope.modules.iter().find_map(|module| {
            let id = module.image.named_type(&name)?;
            Some(TypeRef { image: std::sync::Arc::clone(&module.image), id })
        });
        match (stars, builtin, known) {
            (0, Some(integer), _) => Ok(Kind::Integer(integer)),
            (0, None, Some(known)) => Ok(Kind::Object(known)),
            (1, _, Some(known)) => Ok(Kind::Pointer(Some(known))),
            (1.., ..) if name == "void" => Ok(Kind::Pointer(None)),
            _ => self.wrong(node, format!("the program has no type {text}")),
        }
    }

    pub(super) fn cast(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let to = self.field(node, "type")?;
        let to_kind = self.type_named(to)?;
        let value = self.field(node, "value")?;
        let kind = self.scalar(value)?;
        match to_kind {
            Kind::Integer(to) => {
                self.normalise(to);
                Ok(Kind::Integer(to))
            }
            Kind::Pointer(to) => Ok(Kind::Pointer(to)),
            Kind::Object(of) | Kind::Small(of) => {
                let described = of.describe();
                let size = described.as_ref().and_then(|of| of.size).unwrap_or(8);
                match described.map(|of| of.shape) {
                    Some(Shape::Integer { signed, boolean }) => {
                        if boolean {
                            self.code.extend([NOT, NOT]);
                        }
                        let to = Integer { size, signed };
                        self.normalise(to);
                        Ok(Kind::Integer(to))
                    }
                    Some(Shape::Enumeration { signed, .. }) => {
                        Ok(Kind::Integer(Integer { size, signed }))
                    }
                    Some(Shape::Pointer { to, .. }) => Ok(Kind::Pointer(to.map(|to| of.with(to)))),
                    _ => {
                        let _ = kind;
                        self.wrong(to, "a condition can cast to numbers and pointers only")
                    }
                }
            }
        }
    }

    pub(super) fn size(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let kind = match node.child_by_field_name("type") {
            Some(of) => self.type_named(of)?,
            None => {
                let before = self.code.len();
                let value = self.field(node, "value")?;
                let kind = self.value(value)?;
                self.code.truncate(before);
                kind
            }
        };
        let size = match kind {
            Kind::Integer(of) => Some(of.size),
            Kind::Pointer(_) => Some(8),
            Kind::Object(of) | Kind::Small(of) => of.describe().and_then(|of| of.size),
        };
        match size {
            Some(size) => {
                self.number(size);
                Ok(Kind::Integer(Integer { size: 8, signed: false }))
            }
            None => self.unknown_type(node),
        }
    }

    pub(super) fn binary(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let (left, right) = (self.field(node, "left")?, self.field(node, "right")?);
        let sign = self.field(node, "operator")?;
        let sign = self.condition.of(sign).to_owned();
        if let "&&" | "||" | "and" | "or" = sign.as_str() {
            let is_and = sign.starts_with('&') || sign == "and";
            self.truth(left)?;
            if is_and {
                self.code.push(NOT);
            }
            let decided = self.jump(IF_GOTO);
            self.bit(right)?;
            let end = self.jump(GOTO);
            self.land(decided);
            self.number(u64::from(!is_and));
            self.land(end);
            return Ok(Kind::Integer(INT));
        }
        let is_rust = self.condition.language == Language::Rust;
        if let ("==" | "!=", true) = (sign.as_str(), is_rust) {
            for (value, pattern) in [(left, right), (right, left)] {
                if let Some(of) = self.enumeration(value) {
                    return self.compared_with_variant(&of, (value, pattern), sign == "==");
                }
            }
        }
        let one = self.scalar(left)?;
        let before_right = self.code.len();
        let other = self.scalar(right)?;
        let divides = matches!(sign.as_str(), "/" | "%");
        if divides && right.kind().ends_with("literal") && self.is_zero_from(before_right) {
            return self
                .wrong(right, "nothing can be divided by zero, so the condition has no value");
        }
        match (one, other) {
            (Kind::Integer(of), Kind::Pointer(_)) | (Kind::Pointer(_), Kind::Integer(of))
                if is_rust && of.size > 0 =>
            {
                self.wrong(
                    node,
                    "one side is a reference and the other a number: write * before it",
                )
            }
            (Kind::Integer(one), Kind::Integer(other))
                if is_rust
                    && (!one.signed && is_negative(right)
                        || !other.signed && is_negative(left)) =>
            {
                self.wrong(node, "one side has no negative values: cast it first, as in `x as i64`")
            }
            (Kind::Integer(one), Kind::Integer(other)) => self.numbers(&sign, one, other, node),
            (one, other) => self.pointers(&sign, one, other, node),
        }
    }

    /// Whether the code from here on, which reads nothing and has no jumps, has the value zero.
    fn is_zero_from(&self, start: usize) -> bool {
        let mut code = self.code[start..].to_vec();
        code.push(END);
        evaluate(&code, &|_| None, &|_, _| false) == Some(0)
    }

    pub(super) fn compare(&mut self, sign: &str, signed: bool) -> bool {
        let less = if signed { LESS_SIGNED } else { LESS_UNSIGNED };
        match sign {
            "==" => self.code.push(EQUAL),
            "!=" => self.code.extend([EQUAL, NOT]),
            "<" => self.code.push(less),
            ">" => self.code.extend([SWAP, less]),
            "<=" => self.code.extend([SWAP, less, NOT]),
            ">=" => self.code.extend([less, NOT]),
            _ => return false,
        }
        true
    }

    pub(super) fn numbers(
        &mut self,
        sign: &str,
        one: Integer,
        other: Integer,
        node: Node<'_>,
    ) -> Result<Kind, Wrong> {
        if let "<<" | ">>" = sign {
            let of = promoted(one);
            self.code.push(match (sign, of.signed) {
                ("<<", _) => SHIFT_LEFT,
                (_, true) => SHIFT_RIGHT_SIGNED,
                (_, false) => SHIFT_RIGHT,
            });
            self.normalise(of);
            return Ok(Kind::Integer(of));
        }
        let of = common(one, other);
        // The right operand is on top.
        if of.size < 8 && other != of {
            self.normalise(of);
        }
        if of.size < 8 && one != of {
            self.code.push(SWAP);
            self.normalise(of);
            self.code.push(SWAP);
        }
        if self.compare(sign, of.signed) {
            return Ok(Kind::Integer(INT));
        }
        self.code.push(match (sign, of.signed) {
            ("+", _) => ADD,
            ("-", _) => SUB,
            ("*", _) => MUL,
            ("/", true) => DIVIDE_SIGNED,
            ("/", false) => DIVIDE_UNSIGNED,
            ("%", true) => REMAINDER_SIGNED,
            ("%", false) => REMAINDER_UNSIGNED,
            ("&", _) => BITS_AND,
            ("|", _) => BITS_OR,
            ("^", _) => BITS_XOR,
            _ => return self.wrong(node, format!("`{sign}` is not supported in a condition")),
        });
        self.normalise(of);
        Ok(Kind::Integer(of))
    }

    pub(super) fn pointers(
        &mut self,
        sign: &str,
        one: Kind,
        other: Kind,
        node: Node<'_>,
    ) -> Result<Kind, Wrong> {
        if self.compare(sign, false) {
            return Ok(Kind::Integer(INT));
        }
        let size = |of: &TypeRef| of.describe().and_then(|of| of.size).filter(|&size| size > 0);
        match (sign, one, other) {
            ("+" | "-", Kind::Pointer(Some(to)), Kind::Integer(_)) => {
                let Some(size) = size(&to) else {
                    return self.unknown_type(node);
                };
                self.multiplied(size);
                self.code.push(if sign == "+" { ADD } else { SUB });
                Ok(Kind::Pointer(Some(to)))
            }
            ("-", Kind::Pointer(Some(to)), Kind::Pointer(Some(_))) => {
                let Some(size) = size(&to) else {
                    return self.unknown_type(node);
                };
                self.code.push(SUB);
                self.number(size);
                self.code.push(DIVIDE_SIGNED);
                Ok(Kind::Integer(Integer { size: 8, signed: true }))
            }
            _ => self.wrong(node, format!("`{sign}` needs numbers, and one side is a pointer")),
        }
    }
}
