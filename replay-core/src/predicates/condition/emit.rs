//! The instructions of a condition, and how they are put together.

use super::compiler::Compiler;
use super::integers::Integer;
use crate::predicates::grammar::Wrong;
use crate::symbols::typed;
use tree_sitter::Node;

// The instructions that a condition uses, as gdb's manual numbers them ("Bytecode Descriptions").
pub(super) const ADD: u8 = crate::predicates::variables::ADD;
pub(super) const SUB: u8 = 0x03;
pub(super) const MUL: u8 = 0x04;
pub(super) const DIVIDE_SIGNED: u8 = 0x05;
pub(super) const DIVIDE_UNSIGNED: u8 = 0x06;
pub(super) const REMAINDER_SIGNED: u8 = 0x07;
pub(super) const REMAINDER_UNSIGNED: u8 = 0x08;
pub(super) const SHIFT_LEFT: u8 = 0x09;
pub(super) const SHIFT_RIGHT_SIGNED: u8 = 0x0a;
pub(super) const SHIFT_RIGHT: u8 = 0x0b;
pub(super) const NOT: u8 = 0x0e;
pub(super) const BITS_AND: u8 = 0x0f;
pub(super) const BITS_OR: u8 = 0x10;
pub(super) const BITS_XOR: u8 = 0x11;
pub(super) const BITS_NOT: u8 = 0x12;
pub(super) const EQUAL: u8 = 0x13;
pub(super) const LESS_SIGNED: u8 = 0x14;
pub(super) const LESS_UNSIGNED: u8 = 0x15;
pub(super) const SIGN_EXTEND: u8 = 0x16;
pub(super) const IF_GOTO: u8 = 0x20;
pub(super) const GOTO: u8 = 0x21;
pub(super) const POP: u8 = 0x29;
pub(super) const ZERO_EXTEND: u8 = 0x2a;
pub(super) const SWAP: u8 = 0x2b;

impl Compiler<'_, '_, '_> {
    /// 0 or 1.
    pub(super) fn bit(&mut self, node: Node<'_>) -> Result<(), Wrong> {
        self.truth(node)?;
        self.code.extend([NOT, NOT]);
        Ok(())
    }

    pub(super) fn wrong<T>(&self, node: Node<'_>, what: impl Into<String>) -> Result<T, Wrong> {
        Wrong::new(self.condition.position(node), what)
    }

    pub(super) fn field<'n>(&self, node: Node<'n>, name: &str) -> Result<Node<'n>, Wrong> {
        match node.child_by_field_name(name) {
            Some(child) => Ok(child),
            None => self.unsupported(node),
        }
    }

    /// The error for a part of the text that no condition can have.
    pub(super) fn unsupported<T>(&self, node: Node<'_>) -> Result<T, Wrong> {
        let text = self.condition.of(node);
        self.wrong(node, format!("`{text}` is not supported in a condition"))
    }

    /// The error for a value whose type, or the size of whose type, is not in the debug information.
    pub(super) fn unknown_type<T>(&self, node: Node<'_>) -> Result<T, Wrong> {
        let text = self.condition.of(node);
        self.wrong(node, format!("the type of `{text}` is unknown"))
    }

    pub(super) fn number(&mut self, value: u64) {
        typed::constant(&mut self.code, value);
    }

    /// Adds a constant to the value on the stack.
    pub(super) fn plus(&mut self, value: u64) {
        if value != 0 {
            self.number(value);
            self.code.push(ADD);
        }
    }

    pub(super) fn multiplied(&mut self, by: u64) {
        if by != 1 {
            self.number(by);
            self.code.push(MUL);
        }
    }

    /// Normalises the value on the stack to a type.
    pub(super) fn normalise(&mut self, to: Integer) {
        if to.size < 8 {
            self.code.push(if to.signed { SIGN_EXTEND } else { ZERO_EXTEND });
            self.code.push((to.size * 8) as u8);
        }
    }

    /// Appends a jump, and returns the position of its target.
    pub(super) fn jump(&mut self, operation: u8) -> usize {
        self.code.extend([operation, 0, 0]);
        self.code.len() - 2
    }

    /// The jump leads here.
    pub(super) fn land(&mut self, jump: usize) {
        let here = (self.code.len() as u16).to_be_bytes();
        self.code[jump..jump + 2].copy_from_slice(&here);
    }
}
