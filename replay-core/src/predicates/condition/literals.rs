//! Numbers and characters.

use super::compiler::{Compiler, Kind};
use super::emit::{SUB, SWAP};
use super::integers::Integer;
use crate::explain::source::Language;
use crate::predicates::grammar::Wrong;
use tree_sitter::Node;

impl Compiler<'_, '_, '_> {
    pub(super) fn literal(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
        let text = self.condition.of(node).to_ascii_lowercase().replace(['\'', '_'], "");
        // The grammar of C takes the sign for a part of the number.
        if let Some(text) = text.strip_prefix('-') {
            let of = self.number_in(text, node)?;
            self.number(0);
            self.code.extend([SWAP, SUB]);
            self.normalise(of);
            return Ok(Kind::Integer(of));
        }
        self.number_in(text.trim_start_matches('+'), node).map(Kind::Integer)
    }

    fn number_in(&mut self, text: &str, node: Node<'_>) -> Result<Integer, Wrong> {
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
            _ => (text, 10),
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
        Ok(Integer { size, signed: !unsigned && value <= i64::MAX as u64 })
    }

    pub(super) fn letter(&mut self, node: Node<'_>) -> Result<Kind, Wrong> {
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
}
