//! Messages of the Debug Adapter Protocol: a header with the length, then a JSON object.

use crate::report::json_text;
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// The longest message that is read, in bytes.
const MAX_MESSAGE: u64 = 1 << 20;
/// The longest header line, in bytes.
const MAX_HEADER: u64 = 1000;

/// What arrived.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// A JSON object.
    Message(Value),
    /// A message that cannot be read; why. The next one can be.
    Malformed(String),
    /// The end of the input, or input that is no message of this protocol; why.
    End(Option<String>),
}

/// Reads a message.
pub(super) fn read(input: &mut dyn BufRead) -> Incoming {
    let length = match header(input) {
        Ok(Some(length)) => length,
        Ok(None) => return Incoming::End(None),
        Err(error) => return Incoming::End(Some(error.to_string())),
    };
    if length > MAX_MESSAGE {
        // What is not needed is not kept.
        let skipped = io::copy(&mut input.take(length), &mut io::sink());
        if skipped.is_ok_and(|skipped| skipped == length) {
            let text = format!("the message has {length} bytes, {MAX_MESSAGE} are allowed");
            return Incoming::Malformed(text);
        }
        return Incoming::End(Some("the input ended within a message".to_owned()));
    }
    let mut bytes = vec![0; length as usize];
    if input.read_exact(&mut bytes).is_err() {
        return Incoming::End(Some("the input ended within a message".to_owned()));
    }
    match serde_json::from_slice(&bytes) {
        Ok(value @ Value::Object(_)) => Incoming::Message(value),
        Ok(_) => Incoming::Malformed("a message is a JSON object".to_owned()),
        Err(error) => Incoming::Malformed(format!("the message is not JSON ({error})")),
    }
}

/// The length in a header; none at the end of the input.
fn header(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length = None;
    let mut begun = false;
    loop {
        let mut line = Vec::new();
        let read = input.take(MAX_HEADER).read_until(b'\n', &mut line)?;
        if read == 0 && !begun {
            return Ok(None);
        }
        begun = true;
        if line.last() != Some(&b'\n') {
            return Err(wrong("the line is no header of the Debug Adapter Protocol"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            return length.map(Some).ok_or_else(|| wrong("the header has no Content-Length"));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            let value = value.trim().parse();
            length = Some(value.map_err(|_| wrong("Content-Length is not a number"))?);
        }
    }
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, value: &Value) -> io::Result<()> {
    let text = json_text::text(value);
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_framed_by_their_length() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({ "a": 1 })).expect("memory");
        bytes.extend(b"Content-Length: 2\r\n\r\n[]");
        bytes.extend(b"Content-Type: x\r\ncontent-length: 3\r\n\r\n{x}");
        bytes.extend(b"Content-Length: 2000000\r\n\r\n");
        bytes.extend(vec![b' '; 2_000_000]);
        bytes.extend(b"Content-Length: 9\r\n\r\n{");
        let mut input = io::Cursor::new(bytes);
        assert_eq!(read(&mut input), Incoming::Message(json!({ "a": 1 })));
        for _ in 0..3 {
            assert!(matches!(read(&mut input), Incoming::Malformed(_)));
        }
        assert!(matches!(read(&mut input), Incoming::End(Some(_))));
    }

    #[test]
    fn other_input_ends_the_connection() {
        for text in ["hello\n\n", "Content-Length: x\r\n\r\n", &"x".repeat(5000)] {
            assert!(matches!(read(&mut text.as_bytes()), Incoming::End(Some(_))), "{text}");
        }
        assert_eq!(read(&mut &b""[..]), Incoming::End(None));
    }

    #[test]
    fn a_line_that_is_too_long_is_no_header() {
        let mut input = io::Cursor::new(vec![b'x'; 100_000]);
        let Incoming::End(Some(why)) = read(&mut input) else { panic!("a message") };
        assert_eq!(why.to_string(), "the line is no header of the Debug Adapter Protocol");
    }
}
