//! Compiles conditions: from the program's language, by its types, to the code that
//! [`traces::agent_expression`] evaluates.
//!
//! Values on the stack have 64 bits and are normalised to their type: sign- or zero-extended.
//! Arithmetic follows the rules of C, whose results Rust's agree with where it does not panic.

use super::grammar::Wrong;
use super::nearest::{nearest, offer};
use super::variables::{END, Found, Scope, TypeRef, load, member, member_names};
use crate::explain::source::Language;
use crate::symbols::typed::{self, Shape};
use tree_sitter::{Node, Parser};

const SUB: u8 = 0x03;
const MUL: u8 = 0x04;
const NOT: u8 = 0x0e;
const SHIFT_RIGHT: u8 = 0x0b;
const SIGN_EXTEND: u8 = 0x16;
const ZERO_EXTEND: u8 = 0x2a;
const SWAP: u8 = 0x2b;
const IF_GOTO: u8 = 0x20;
const GOTO: u8 = 0x21;
const EQUAL: u8 = 0x13;
const LESS_SIGNED: u8 = 0x14;
const LESS_UNSIGNED: u8 = 0x15;
const ADD: u8 = super::variables::ADD;

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Integer {
    size: u64,
    signed: bool,
}

const INT: Integer = Integer { size: 4, signed: true };

/// What the code so far has left on the stack.
#[derive(Clone)]
enum Kind {
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

/// A parsed condition. Positions in it are those in the predicate's text.
pub(super) struct Condition<'t> {
    text: &'t str,
    /// The text that was parsed: `$` is not part of identifiers in every language.
    wrapped: String,
    begin: usize,
    /// The position of the condition in the predicate.
    at: usize,
    language: Language,
}

/// Code for a whole condition, or for one of its parts.
struct Compiler<'c, 's, 'm> {
    condition: &'c Condition<'c>,
    scope: &'s mut Scope<'m>,
    code: Vec<u8>,
    /// The roles whose variables were read.
    roles: Vec<usize>,
    depth: u32,
}

/// A compiled condition.
pub(super) struct Compiled {
    pub(super) code: Vec<u8>,
    /// For each role the parts that only it decides.
    pub(super) own: Vec<Vec<Vec<u8>>>,
    /// The parts that read static variables only.
    pub(super) shared: Vec<Vec<u8>>,
}

/// Compiles a condition; `at` is its position in the predicate.
pub(super) fn compile(
    text: &str,
    at: usize,
    language: Language,
    scope: &mut Scope<'_>,
) -> Result<Compiled, Wrong> {
    let before = match language {
        Language::Rust => "fn f(){(",
        Language::C | Language::Cpp => "void f(void){(",
    };
    let wrapped = format!("{before}{}\n);}}", text.replace('$', "_"));
    let condition = Condition { text, wrapped, begin: before.len(), at, language };
    let mut parser = Parser::new();
    let parsed = match parser.set_language(&language.grammar()) {
        Ok(()) => parser.parse(&condition.wrapped, None),
        Err(_) => None,
    };
    let Some(tree) = parsed else { return Wrong::new(at, "the condition cannot be parsed") };
    let root = tree.root_node();
    if let Some(wrong) = first_error(root) {
        let position = condition.position(wrong);
        return Wrong::new(position, condition.unparsed(wrong));
    }
    let inner = root
        .descendant_for_byte_range(condition.begin - 1, condition.begin + text.len() + 2)
        .filter(|node| node.kind() == "parenthesized_expression")
        .and_then(|node| node.named_child(0));
    let Some(inner) = inner else {
        return Wrong::new(at, "expected one expression that is true or false");
    };
    let code = condition.code(inner, scope)?.0;
    // What it evaluates to without reading anything holds always.
    let fixed = traces::agent_expression::evaluate(&code, &|_| None, &|_, _| false);
    if fixed == Some(0) {
        return Wrong::new(at, "the condition is always false, so the predicate can never hold");
    }
    let mut own = vec![Vec::new(); scope.roles.len()];
    let mut shared = Vec::new();
    for part in conjuncts(inner) {
        let (code, roles) = condition.code(part, scope)?;
        match roles[..] {
            [] => shared.push(code),
            [role] => own[role].push(code),
            _ => {}
        }
    }
    Ok(Compiled { code, own, shared })
}

/// The first node that the grammar could not parse.
fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    if node.is_error() || node.is_missing() {
        return Some(node);
    }
    if !node.has_error() {
        return None;
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).find_map(first_error)
}

/// The parts of `a && b && c`.
fn conjuncts(node: Node<'_>) -> Vec<Node<'_>> {
    let is_and = node.kind() == "binary_expression"
        && node.child_by_field_name("operator").is_some_and(|sign| sign.kind() == "&&");
    match (is_and, node.child_by_field_name("left"), node.child_by_field_name("right")) {
        (true, Some(left), Some(right)) => [conjuncts(left), conjuncts(right)].concat(),
        _ if node.kind() == "parenthesized_expression" => {
            node.named_child(0).map_or_else(Vec::new, conjuncts)
        }
        _ => vec![node],
    }
}

impl Condition<'_> {
    /// The position of a node in the predicate.
    fn position(&self, node: Node<'_>) -> usize {
        let within = node.start_byte().saturating_sub(self.begin);
        self.at + within.min(self.text.len())
    }

    /// The text of a node, as written.
    fn of(&self, node: Node<'_>) -> &str {
        let from = node.start_byte().saturating_sub(self.begin);
        let to = node.end_byte().saturating_sub(self.begin);
        self.text.get(from..to.min(self.text.len())).unwrap_or_default()
    }

    fn unparsed(&self, node: Node<'_>) -> String {
        match self.of(node).trim() {
            _ if node.is_missing() && node.kind() == "identifier" => {
                "an operand is missing here".to_owned()
            }
            _ if node.is_missing() => format!("`{}` is missing here", node.kind()),
            "" => "the condition ends too early".to_owned(),
            text => format!("`{text}` is not part of an expression"),
        }
    }

    /// The code for a part of the condition, and the roles that it reads.
    fn code(&self, node: Node<'_>, scope: &mut Scope<'_>) -> Result<(Vec<u8>, Vec<usize>), Wrong> {
        let mut compiler =
            Compiler { condition: self, scope, code: Vec::new(), roles: Vec::new(), depth: 0 };
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
    fn wrong<T>(&self, node: Node<'_>, what: impl Into<String>) -> Result<T, Wrong> {
        Wrong::new(self.condition.position(node), what)
    }

    fn field<'n>(&self, node: Node<'n>, name: &str) -> Result<Node<'n>, Wrong> {
        match node.child_by_field_name(name) {
            Some(child) => Ok(child),
            None => self.wrong(node, "this is not supported in a condition"),
        }
    }

    fn number(&mut self, value: u64) {
        typed::constant(&mut self.code, value);
    }

    /// Adds a constant to the value on the stack.
    fn plus(&mut self, value: u64) {
        if value != 0 {
            self.number(value);
            self.code.push(ADD);
        }
    }

    fn multiplied(&mut self, by: u64) {
        if by != 1 {
            self.number(by);
            self.code.push(MUL);
        }
    }

    /// Normalises the value on the stack to a type.
    fn normalise(&mut self, to: Integer) {
        if to.size < 8 {
            self.code.push(if to.signed { SIGN_EXTEND } else { ZERO_EXTEND });
            self.code.push((to.size * 8) as u8);
        }
    }

    /// Appends a jump, and returns the position of its target.
    fn jump(&mut self, operation: u8) -> usize {
        self.code.extend([operation, 0, 0]);
        self.code.len() - 2
    }

    /// The jump leads here.
    fn land(&mut self, jump: usize) {
        let here = (self.code.len() as u16).to_be_bytes();
        self.code[jump..jump + 2].copy_from_slice(&here);
    }

    /// A value that is 0 or not.
    fn truth(&mut self, node: Node<'_>) -> Result<(), Wrong> {
        self.scalar(node).map(drop)
    }

    /// 0 or 1.
    fn bit(&mut self, node: Node<'_>) -> Result<(), Wrong> {
        self.truth(node)?;
        self.code.extend([NOT, NOT]);
        Ok(())
    }

    /// An integer or a pointer, loaded from where it is.
    fn scalar(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let kind = self.value(node)?;
        self.loaded(kind, node)
    }

    fn integer(&mut self, node: Node<'_>) -> Result<Integer, Wrong> {
        match self.scalar(node)? {
            Kind::Integer(integer) => Ok(integer),
            _ => {
                let text = self.condition.of(node);
                self.wrong(node, format!("`{text}` is a pointer, and a number is needed"))
            }
        }
    }

    /// Loads an object.
    fn loaded(&mut self, kind: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        let (of, is_small) = match kind {
            Kind::Object(of) => (of, false),
            Kind::Small(of) => (of, true),
            kind => return Ok(kind),
        };
        let text = self.condition.of(node).to_owned();
        let Some(described) = of.describe() else {
            return self.wrong(node, format!("the type of `{text}` is unknown"));
        };
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
                    (Some(only), None) if !only.is_bits => {
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
                            "`{text}` is a {}, and a number is needed: name one of its members",
                            described.name
                        ),
                    ),
                };
            }
            _ => {
                return self.wrong(
                    node,
                    format!("`{text}` is a {}, and a number is needed", described.name),
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
    fn part(&mut self, kind: Kind, offset: u64) -> Kind {
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

    fn value(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(node, "the condition is nested too deeply");
        }
        let kind = self.value_of(node)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn value_of(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        match node.kind() {
            "parenthesized_expression" => match node.named_child(0) {
                Some(inner) => self.value(inner),
                None => self.wrong(node, "expected an expression"),
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
            "call_expression" => self.length(node),
            "assignment_expression" | "update_expression" | "compound_assignment_expr" => {
                self.wrong(node, "a condition must not change anything; == compares")
            }
            _ => {
                let text = self.condition.of(node);
                self.wrong(node, format!("`{text}` is not supported in a condition"))
            }
        }
    }

    fn constant(&mut self, value: u64) -> Kind {
        self.number(value);
        Kind::Integer(INT)
    }

    fn literal(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node).to_ascii_lowercase().replace(['\'', '_'], "");
        let (digits, radix) = match text.get(..2) {
            Some("0x") => (&text[2..], 16),
            Some("0b") => (&text[2..], 2),
            Some("0o") => (&text[2..], 8),
            _ if text.len() > 1
                && text.starts_with('0')
                && self.condition.language != Language::Rust =>
            {
                (&text[1..], 8)
            }
            _ => (&text[..], 10),
        };
        let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
        let (digits, suffix) = digits.split_at(end);
        let known = match self.condition.language {
            Language::Rust => {
                ["", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize"]
                    .contains(&suffix)
            }
            _ => ["", "u", "l", "ul", "lu", "ll", "ull", "llu", "z", "uz", "zu"].contains(&suffix),
        };
        let digits = if digits.is_empty() && text.starts_with('0') { "0" } else { digits };
        let value = u64::from_str_radix(digits, radix).ok().filter(|_| known);
        let Some(value) = value else {
            let text = self.condition.of(node);
            return self.wrong(node, format!("`{text}` is not a whole number of at most 64 bits"));
        };
        self.number(value);
        let unsigned = suffix.contains('u');
        let wide = suffix.contains(['l', 'z'])
            || suffix.contains("64")
            || suffix.contains("size")
            || value > i32::MAX as u64 && !(unsigned && value <= u64::from(u32::MAX));
        let size = if wide { 8 } else { 4 };
        Ok(Kind::Integer(Integer { size, signed: !unsigned && value <= i64::MAX as u64 }))
    }

    fn letter(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node);
        let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        let value = match inner {
            Some("\\n") => Some(10),
            Some("\\t") => Some(9),
            Some("\\r") => Some(13),
            Some("\\0") => Some(0),
            Some("\\\\") => Some(u64::from(b'\\')),
            Some("\\'") => Some(u64::from(b'\'')),
            Some(one) if one.chars().count() == 1 => {
                one.chars().next().map(|it| u32::from(it).into())
            }
            _ => None,
        };
        match value {
            Some(value) => Ok(self.constant(value)),
            None => self.wrong(node, format!("{text} is not a character that a condition can use")),
        }
    }

    fn found(&mut self, found: Found) -> Kind {
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

    fn name(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node).to_owned();
        let at = self.condition.position(node);
        if text == "$tid" {
            if self.scope.roles.len() > 1 {
                return Wrong::new(at, "write $1.$tid for the number of the first thread");
            }
            return Ok(self.task(0));
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

    fn task(&mut self, role: usize) -> Kind {
        self.roles.push(role);
        let slot = self.scope.task(role);
        typed::register(&mut self.code, slot);
        Kind::Integer(INT)
    }

    fn member(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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
        let kind = self.followed(kind, argument)?;
        let of = match &kind {
            Kind::Object(of) | Kind::Small(of) => of.clone(),
            _ => {
                let text = self.condition.of(argument);
                return self.wrong(node, format!("`{text}` has no members"));
            }
        };
        let Some((offset, inner, is_bits)) = member(&of, &name, 0) else {
            let title = of.describe().map_or_else(String::new, |of| of.name);
            let names = member_names(&of);
            let near = nearest(&name, names.iter().map(String::as_str));
            return self.wrong(field, format!("{title} has no member {name}{}", offer(&near)));
        };
        if is_bits {
            return self
                .wrong(field, format!("{name} is a bit field, which a condition cannot use"));
        }
        Ok(self.part(
            match kind {
                Kind::Small(_) => Kind::Small(inner),
                _ => Kind::Object(inner),
            },
            offset,
        ))
    }

    /// The object that a pointer or a reference leads to, or the object itself.
    fn followed(&mut self, mut kind: Kind, node: Node<'_>) -> Result<Kind, Wrong> {
        for _ in 0..8 {
            let (Kind::Object(of) | Kind::Small(of)) = &kind else { break };
            let is_pointer =
                of.describe().is_some_and(|of| matches!(of.shape, Shape::Pointer { .. }));
            if !is_pointer {
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

    fn element(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let array = match node.child_by_field_name("argument") {
            Some(argument) => argument,
            None => match node.named_child(0) {
                Some(child) => child,
                None => return self.wrong(node, "expected an array"),
            },
        };
        let index = node
            .child_by_field_name("index")
            .or_else(|| node.child_by_field_name("indices").and_then(|all| all.named_child(0)))
            .or_else(|| node.named_child(1));
        let Some(index) = index else { return self.wrong(node, "expected an index") };
        let kind = self.value(array)?;
        // A slice or a vector of Rust: a pointer and a length.
        let kind = match kind {
            Kind::Object(of) => {
                match ["data_ptr", "buf"].iter().find_map(|it| member(&of, it, 0)) {
                    Some((offset, to, _)) if self.condition.language == Language::Rust => {
                        self.data(offset, to, array)?
                    }
                    _ => Kind::Object(of),
                }
            }
            kind => kind,
        };
        let Kind::Pointer(Some(element)) = self.loaded(kind, array)? else {
            let text = self.condition.of(array);
            return self.wrong(array, format!("`{text}` is neither an array nor a typed pointer"));
        };
        let Some(size) = element.describe().and_then(|of| of.size) else {
            return self.wrong(array, "the size of an element is unknown");
        };
        self.integer(index)?;
        self.multiplied(size);
        self.code.push(ADD);
        Ok(Kind::Object(element))
    }

    /// The pointer to the elements in a slice or vector of Rust.
    fn data(&mut self, offset: u64, to: TypeRef, node: Node<'_>) -> Result<Kind, Wrong> {
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
        match &kind {
            Kind::Pointer(Some(to)) if to.describe().is_some_and(|of| of.name != "u8") => Ok(kind),
            _ => self.wrong(node, "the type of the elements is unknown"),
        }
    }

    /// `v.len()` of Rust.
    fn length(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let function = self.field(node, "function")?;
        let is_len = self.condition.language == Language::Rust
            && function.kind() == "field_expression"
            && function.child_by_field_name("field").map(|it| self.condition.of(it)) == Some("len");
        if !is_len {
            let text = self.condition.of(function);
            return self.wrong(node, format!("a condition cannot call functions, such as {text}"));
        }
        let of = self.field(function, "value")?;
        let kind = self.value(of)?;
        // A slice is a structure with its length, a vector has a member for it.
        let mut kind = kind;
        for _ in 0..4 {
            let (Kind::Object(inner) | Kind::Small(inner)) = &kind else { break };
            let found = ["length", "len"].into_iter().find_map(|it| member(inner, it, 0));
            if let Some((offset, to, _)) = found {
                let kind = self.part(Kind::Object(to), offset);
                return self.loaded(kind, node);
            }
            let Some(described) = inner.describe() else { break };
            match described.shape {
                Shape::Array { count: Some(count), .. } => {
                    // The address is of no interest.
                    self.code.push(0x29);
                    self.number(count);
                    return Ok(Kind::Integer(Integer { size: 8, signed: false }));
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

    fn unary(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let argument = node
            .child_by_field_name("argument")
            .or_else(|| node.child_by_field_name("value"))
            .or_else(|| node.named_child(node.named_child_count().saturating_sub(1) as u32));
        let (Some(argument), Some(sign)) = (argument, node.child(0)) else {
            return self.wrong(node, "expected an expression");
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
                    "~" => self.code.push(0x12),
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

    fn either(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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

    fn type_named(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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

    fn cast(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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

    fn size(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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
            None => self.wrong(node, "the size is unknown"),
        }
    }

    fn binary(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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
        let one = self.scalar(left)?;
        let before_right = self.code.len();
        let other = self.scalar(right)?;
        match (one, other) {
            (Kind::Integer(one), Kind::Integer(other)) => {
                self.numbers(&sign, one, other, (node, before_right))
            }
            (one, other) => self.pointers(&sign, one, other, node),
        }
    }

    fn compare(&mut self, sign: &str, signed: bool) -> bool {
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

    fn numbers(
        &mut self,
        sign: &str,
        one: Integer,
        other: Integer,
        (node, _): (Node<'_>, usize),
    ) -> Result<Kind, Wrong> {
        if let "<<" | ">>" = sign {
            let of = promoted(one);
            self.code.push(match (sign, of.signed) {
                ("<<", _) => 0x09,
                (_, true) => 0x0a,
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
            ("/", true) => 0x05,
            ("/", false) => 0x06,
            ("%", true) => 0x07,
            ("%", false) => 0x08,
            ("&", _) => 0x0f,
            ("|", _) => 0x10,
            ("^", _) => 0x11,
            _ => return self.wrong(node, format!("`{sign}` is not supported in a condition")),
        });
        self.normalise(of);
        Ok(Kind::Integer(of))
    }

    fn pointers(
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
                    return self.wrong(node, "the size of an element is unknown");
                };
                self.multiplied(size);
                self.code.push(if sign == "+" { ADD } else { SUB });
                Ok(Kind::Pointer(Some(to)))
            }
            ("-", Kind::Pointer(Some(to)), Kind::Pointer(Some(_))) => {
                let Some(size) = size(&to) else {
                    return self.wrong(node, "the size of an element is unknown");
                };
                self.code.push(SUB);
                self.number(size);
                self.code.push(0x05);
                Ok(Kind::Integer(Integer { size: 8, signed: true }))
            }
            _ => self.wrong(node, format!("`{sign}` needs numbers, and one side is a pointer")),
        }
    }
}

/// The type in which C computes with a type.
fn promoted(of: Integer) -> Integer {
    if of.size < 4 { INT } else { of }
}

/// The type in which C computes with two types.
fn common(one: Integer, other: Integer) -> Integer {
    let (one, other) = (promoted(one), promoted(other));
    match one.size.cmp(&other.size) {
        std::cmp::Ordering::Less => other,
        std::cmp::Ordering::Greater => one,
        std::cmp::Ordering::Equal => Integer { size: one.size, signed: one.signed && other.signed },
    }
}

/// The integer types that need no debug information.
fn builtin(name: &str, language: Language) -> Option<Integer> {
    let of = |size, signed| Some(Integer { size, signed });
    if language == Language::Rust {
        return match name {
            "i8" => of(1, true),
            "i16" => of(2, true),
            "i32" => of(4, true),
            "i64" | "isize" => of(8, true),
            "u8" | "bool" => of(1, false),
            "u16" => of(2, false),
            "u32" | "char" => of(4, false),
            "u64" | "usize" => of(8, false),
            _ => None,
        };
    }
    match name {
        "char" | "signed char" | "int8_t" => of(1, true),
        "unsigned char" | "uint8_t" => of(1, false),
        "short" | "int16_t" => of(2, true),
        "unsigned short" | "uint16_t" => of(2, false),
        "int" | "signed" | "int32_t" => of(4, true),
        "unsigned" | "unsigned int" | "uint32_t" => of(4, false),
        "long" | "long int" | "long long" | "int64_t" | "ssize_t" | "intptr_t" => of(8, true),
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" | "uintptr_t" => {
            of(8, false)
        }
        _ => None,
    }
}
