//! JSON without raw control characters.
//!
//! JSON requires escapes for the control characters below U+0020 only. Some terminals also act on
//! DEL and on those from U+0080 to U+009F, and on those that change the order of text. The texts come
//! from files of unknown origin.

use crate::report::text::is_unsafe;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Writes a value as JSON in which every control and invisible character is escaped.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Escaped);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// A value as JSON in which every control and invisible character is escaped.
#[must_use]
pub fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Only a map with keys other than strings can fail, and no type here has one.
    let _ = write(value, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W>(&mut self, out: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let control = from.chars().next().unwrap_or_default();
            for half in control.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{half:04x}")?;
            }
            rest = &from[control.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_is_escaped_and_read_back() {
        let all: String =
            (0..0xa1).filter_map(char::from_u32).chain("\u{e9}\u{1f600}".chars()).collect();
        let written = text(&all);
        assert!(!written.chars().any(char::is_control), "{written:?}");
        assert!(
            written.contains("\\u007f\\u0080") && written.contains("\\u009f\u{a0}"),
            "{written}"
        );
        assert_eq!(serde_json::from_str::<String>(&written).expect("JSON"), all);
    }

    #[test]
    fn characters_that_reorder_or_hide_text_are_escaped_and_read_back() {
        let all = "a\u{202e}b\u{2069}c\u{feff}d\u{e0041}e\u{1f600}";
        let written = text(&all);
        assert_eq!(written, "\"a\\u202eb\\u2069c\\ufeffd\\udb40\\udc41e\u{1f600}\"");
        assert_eq!(serde_json::from_str::<String>(&written).expect("JSON"), all);
    }
}
