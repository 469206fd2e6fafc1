//! Compiles conditions: from the program's language, by its types, to the code that
//! [`traces::agent_expression`] evaluates.
//!
//! Values on the stack have 64 bits and are normalised to their type: sign- or zero-extended.
//! Arithmetic follows the rules of C, whose results Rust's agree with where it does not panic.

mod compiler;
mod contradiction;
mod emit;
mod integers;
mod library_types;
mod literals;
mod methods;
mod objects;
mod operators;
mod variants;

use super::grammar::Wrong;
use super::variables::Scope;
use crate::explain::source::Language;
use compiler::Condition;
use contradiction::Comparison;
use tree_sitter::{Node, Parser};

/// A compiled condition.
pub(super) struct Compiled {
    pub(super) code: Vec<u8>,
    /// Its value if it reads nothing.
    pub(super) fixed: Option<bool>,
    /// For each role the parts that only it decides.
    pub(super) own: Vec<Vec<Vec<u8>>>,
    /// The parts that read static variables only.
    pub(super) shared: Vec<Vec<u8>>,
    /// Two of its parts exclude each other: which, at the second one.
    pub(super) contradiction: Option<Wrong>,
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
    let fixed = traces::agent_expression::evaluate(&code, &|_| None, &|_, _| false);
    let fixed = fixed.map(|value| value != 0);
    let mut own = vec![Vec::new(); scope.roles.len()];
    let mut shared = Vec::new();
    let parts = conjuncts(inner);
    let contradiction = contradiction(&condition, &parts, scope);
    for part in parts {
        let (code, roles) = condition.code(part, scope)?;
        match roles[..] {
            [] => shared.push(code),
            [role] => own[role].push(code),
            _ => {}
        }
    }
    Ok(Compiled { code, fixed, own, shared, contradiction })
}

/// The first two parts that exclude each other.
fn contradiction(
    condition: &Condition<'_>,
    parts: &[Node<'_>],
    scope: &mut Scope<'_>,
) -> Option<Wrong> {
    let mut known: Vec<(Node<'_>, Comparison)> = Vec::new();
    for &part in parts.iter().filter(|part| part.kind() == "binary_expression") {
        let [left, sign, right] =
            ["left", "operator", "right"].map(|name| part.child_by_field_name(name));
        let (left, sign, right) = (left?, sign?, right?);
        let mut side = |node| {
            let code = condition.code(node, scope).ok();
            let fixed = code.and_then(|(code, _)| {
                traces::agent_expression::evaluate(&code, &|_| None, &|_, _| false)
            });
            (condition.of(node), fixed)
        };
        let (left, right) = (side(left), side(right));
        let Some(one) = Comparison::new(left, sign.kind(), right) else { continue };
        if let Some((other, _)) = known.iter().find(|(_, other)| other.contradicts(&one)) {
            let [one, other] = [part, *other].map(|node| condition.of(node));
            let what = format!("`{one}` excludes `{other}`");
            return Some(Wrong { at: condition.position(part), what });
        }
        known.push((part, one));
    }
    None
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
