//! The state of compiling one part of a condition, and which construct is compiled where.

use super::integers::{INT, Integer};
use crate::explain::source::Language;
use crate::predicates::grammar::Wrong;
use crate::predicates::variables::{END, Scope, TypeRef};
use tree_sitter::Node;

/// What the code so far has left on the stack.
#[derive(Clone)]
pub(super) enum Kind {
    Integer(Integer),
    /// A pointer; none for an untyped one.
    Pointer(Option<TypeRef>),
    /// The address of an object of this type.
    Object(TypeRef),
    /// An object of this type that is small enough to be the value itself.
    Small(TypeRef),
}

/// The deepest nesting of a condition.
const DEEPEST: u32 = 64;
/// The most expressions that are compiled. Some are compiled several times, such as the container in
/// `v.size()`.
const MOST: u32 = 20_000;

/// A parsed condition. Positions in it are those in the predicate's text.
pub(super) struct Condition<'t> {
    pub(super) text: &'t str,
    /// The text that was parsed: `$` is not part of identifiers in every language.
    pub(super) wrapped: String,
    pub(super) begin: usize,
    /// The position of the condition in the predicate.
    pub(super) at: usize,
    pub(super) language: Language,
}

/// Code for a whole condition, or for one of its parts.
pub(super) struct Compiler<'c, 's, 'm> {
    pub(super) condition: &'c Condition<'c>,
    pub(super) scope: &'s mut Scope<'m>,
    pub(super) code: Vec<u8>,
    /// The roles whose variables were read.
    pub(super) roles: Vec<usize>,
    depth: u32,
    /// How many expressions were compiled.
    compiled: u32,
}

impl Condition<'_> {
    /// The position of a node in the predicate.
    pub(super) fn position(&self, node: Node<'_>) -> usize {
        let within = node.start_byte().saturating_sub(self.begin);
        self.at + within.min(self.text.len())
    }

    /// The text of a node, as written.
    pub(super) fn of(&self, node: Node<'_>) -> &str {
        let from = node.start_byte().saturating_sub(self.begin);
        let to = node.end_byte().saturating_sub(self.begin);
        self.text.get(from..to.min(self.text.len())).unwrap_or_default()
    }

    pub(super) fn unparsed(&self, node: Node<'_>) -> String {
        match self.of(node).trim() {
            _ if node.is_missing() && node.kind() == "identifier" => {
                "an operand is missing here".to_owned()
            }
            _ if node.is_missing() => format!("`{}` is missing here", node.kind()),
            "" => "a bracket is closed here that was not opened".to_owned(),
            text => format!("`{text}` is not part of an expression"),
        }
    }

    /// The code for a part of the condition, and the roles that it reads.
    pub(super) fn code(
        &self,
        node: Node<'_>,
        scope: &mut Scope<'_>,
    ) -> Result<(Vec<u8>, Vec<usize>), Wrong> {
        let mut compiler = Compiler {
            condition: self,
            scope,
            code: Vec::new(),
            roles: Vec::new(),
            depth: 0,
            compiled: 0,
        };
        compiler.truth(node)?;
        compiler.code.push(END);
        if compiler.code.len() > usize::from(u16::MAX) {
            return Wrong::new(self.at, "the condition is too long");
        }
        compiler.roles.sort_unstable();
        compiler.roles.dedup();
        Ok((compiler.code, compiler.roles))
    }
}

impl Compiler<'_, '_, '_> {
    /// A value that is 0 or not.
    pub(super) fn truth(&mut self, node: Node<'_>) -> Result<(), Wrong> {
        self.scalar(node).map(drop)
    }

    /// An integer or a pointer, loaded from where it is.
    pub(super) fn scalar(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let kind = self.value(node)?;
        self.loaded(kind, node)
    }

    pub(super) fn integer(&mut self, node: Node<'_>) -> Result<Integer, Wrong> {
        match self.scalar(node)? {
            Kind::Integer(integer) => Ok(integer),
            _ => {
                let text = self.condition.of(node);
                self.wrong(node, format!("`{text}` is a pointer, and a number is needed"))
            }
        }
    }

    pub(super) fn value(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(node, "the condition is nested too deeply");
        }
        self.compiled += 1;
        if self.compiled > MOST {
            return Wrong::new(self.condition.at, "the condition is too long");
        }
        let kind = self.value_of(node)?;
        let kind = self.referred(kind, node)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn value_of(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        match node.kind() {
            "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(inner),
                None => self.unsupported(node),
            },
            "identifier" | "scoped_identifier" | "qualified_identifier" | "self" | "this" => {
                self.name(node)
            }
            "number_literal" | "integer_literal" => self.literal(node),
            "char_literal" => self.letter(node),
            "true" => Ok(self.constant(1)),
            "false" => Ok(self.constant(0)),
            "boolean_literal" => {
                let value = u64::from(self.condition.of(node) == "true");
                Ok(self.constant(value))
            }
            "null" => {
                self.number(0);
                Ok(Kind::Pointer(None))
            }
            "field_expression" => self.member(node),
            "subscript_expression" | "index_expression" => self.element(node),
            "binary_expression" => self.binary(node),
            "unary_expression" | "pointer_expression" | "reference_expression" => self.unary(node),
            "conditional_expression" => self.either(node),
            "cast_expression" | "type_cast_expression" => self.cast(node),
            "sizeof_expression" => self.size(node),
            "call_expression" => self.call(node),
            "assignment_expression" | "update_expression" | "compound_assignment_expr" => {
                self.wrong(node, "a condition must not change anything; == compares")
            }
            _ => self.unsupported(node),
        }
    }

    pub(super) fn constant(&mut self, value: u64) -> Kind {
        self.number(value);
        Kind::Integer(INT)
    }
}
