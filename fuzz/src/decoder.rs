//! The decoder of the program's instructions, with its search for branch targets: any bytes may be in
//! a text segment, a table of landing pads, and constant data.

use crate::instrument::binary;

/// Decodes a module that consists of `input`: its first byte says how much of the rest is code.
///
/// # Panics
/// If an instruction is reported outside the code, or sites are not ascending.
pub fn run(input: &[u8]) {
    binary::check(input);
}
