//! Messages of JSON-RPC 2.0: one JSON value on a line.

use serde_json::{Map, Value, json};
use std::io::{self, BufRead};

/// The longest message that is read, in bytes.
pub(super) const MAX_MESSAGE: usize = 1 << 20;

/// Why a request failed, as JSON-RPC has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
}

impl Fault {
    pub(super) const PARSE: i64 = -32_700;
    pub(super) const REQUEST: i64 = -32_600;
    pub(super) const METHOD: i64 = -32_601;
    pub(super) const PARAMS: i64 = -32_602;
    pub(super) const INTERNAL: i64 = -32_603;
    pub(super) const FAILED: i64 = -32_000;
    /// The number that the language server protocol uses.
    pub(super) const CANCELLED: i64 = -32_800;

    pub(super) fn new(code: i64, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into() }
    }

    pub(super) fn cancelled() -> Fault {
        Fault::new(Fault::CANCELLED, "the request was cancelled")
    }
}

/// A request, or a notification if it has no id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// A request, or the answer to a malformed one.
pub(super) type Parsed = Result<Request, Value>;

/// What a line holds.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing to answer.
    Empty,
    /// One request.
    One(Parsed),
    /// Several, whose answers are sent together.
    Batch(Vec<Parsed>),
}

/// Reads a line without its end; none at the end of the input. The line is empty, with the length
/// that it had, if it is too long.
pub(super) fn read_line(reader: &mut dyn BufRead) -> io::Result<Option<(Vec<u8>, usize)>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let some = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if some.is_empty() {
            return Ok((length > 0).then_some((line, length)));
        }
        let end = some.iter().position(|&byte| byte == b'\n');
        let part = &some[..end.unwrap_or(some.len())];
        length += part.len();
        if length <= MAX_MESSAGE {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some((line, length)));
        }
    }
}

/// Parses a line of this length.
pub(super) fn parse(line: &[u8], length: usize) -> Line {
    let refuse =
        |code, message: String| Line::One(Err(error(&Value::Null, Fault::new(code, message))));
    if length > MAX_MESSAGE {
        let text = format!("the message has {length} bytes, {MAX_MESSAGE} are allowed");
        return refuse(Fault::REQUEST, text);
    }
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim(),
        Err(error) => {
            let at = error.valid_up_to();
            return refuse(Fault::PARSE, format!("the message is not UTF-8 from byte {at} on"));
        }
    };
    if text.is_empty() {
        return Line::Empty;
    }
    match serde_json::from_str::<Value>(text) {
        Err(error) => refuse(
            Fault::PARSE,
            format!("the message is not JSON ({error}): send one JSON value on each line"),
        ),
        Ok(Value::Array(values)) if values.is_empty() => {
            refuse(Fault::REQUEST, "the batch is empty".to_owned())
        }
        Ok(Value::Array(values)) => {
            let requests: Vec<Parsed> = values.into_iter().filter_map(request).collect();
            if requests.is_empty() { Line::Empty } else { Line::Batch(requests) }
        }
        Ok(value) => request(value).map_or(Line::Empty, Line::One),
    }
}

/// The request that a value is; none for a response, since this side asks nothing.
fn request(value: Value) -> Option<Parsed> {
    let refuse = |id: &Value, what: &str| Some(Err(error(id, Fault::new(Fault::REQUEST, what))));
    let Value::Object(mut map) = value else {
        return refuse(&Value::Null, "a request is a JSON object");
    };
    if !map.contains_key("method") && (map.contains_key("result") || map.contains_key("error")) {
        return None;
    }
    let id = map.remove("id");
    if !matches!(id, None | Some(Value::Null | Value::String(_) | Value::Number(_))) {
        return refuse(&Value::Null, "`id` must be text or a number");
    }
    let shown = id.clone().unwrap_or(Value::Null);
    if map.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(&shown, "`jsonrpc` must be \"2.0\"");
    }
    let Some(Value::String(method)) = map.remove("method") else {
        return refuse(&shown, "`method` must be text");
    };
    let params = match map.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            let fault = Fault::new(Fault::PARAMS, "`params` must be an object");
            return Some(Err(error(&shown, fault)));
        }
    };
    Some(Ok(Request { id, method, params }))
}

/// The answer to a request that succeeded.
pub(super) fn result(id: &Value, value: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": value })
}

/// The answer to a request that failed.
pub(super) fn error(id: &Value, fault: Fault) -> Value {
    let fault = json!({ "code": fault.code, "message": fault.message });
    json!({ "jsonrpc": "2.0", "id": id, "error": fault })
}

/// A message without an answer.
pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &[u8]) -> i64 {
        match parse(line, line.len()) {
            Line::One(Err(answer)) => answer["error"]["code"].as_i64().expect("a code"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn malformed_messages_are_refused() {
        assert_eq!(code(br#"{"jsonrpc": "2.0", "method": "#), Fault::PARSE);
        assert_eq!(code(b"\xff\xfe"), Fault::PARSE);
        assert_eq!(code("[".repeat(100_000).as_bytes()), Fault::PARSE);
        assert_eq!(code(b"[]"), Fault::REQUEST);
        assert_eq!(code(b"3"), Fault::REQUEST);
        assert_eq!(code(br#"{"method": "status", "id": 1}"#), Fault::REQUEST);
        assert_eq!(code(br#"{"jsonrpc": "2.0", "method": 3, "id": 1}"#), Fault::REQUEST);
        assert_eq!(code(br#"{"jsonrpc": "2.0", "method": "m", "id": {}}"#), Fault::REQUEST);
        assert_eq!(code(br#"{"jsonrpc": "2.0", "method": "m", "params": 3}"#), Fault::PARAMS);
        let Line::One(Err(answer)) = parse(b"", MAX_MESSAGE + 1) else { panic!("accepted") };
        assert_eq!(answer["error"]["code"], Fault::REQUEST);
    }

    #[test]
    fn a_refusal_says_which_field_is_wrong() {
        let message = |line: &str| match parse(line.as_bytes(), line.len()) {
            Line::One(Err(answer)) => {
                answer["error"]["message"].as_str().unwrap_or_default().to_owned()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(message(r#"{"method": "status", "id": 1}"#), "`jsonrpc` must be \"2.0\"");
        assert_eq!(message(r#"{"jsonrpc": "2.0", "method": 3}"#), "`method` must be text");
        assert_eq!(Fault::cancelled().message, "the request was cancelled");
    }

    #[test]
    fn responses_and_blank_lines_need_no_answer() {
        for line in ["", "  ", r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#] {
            assert_eq!(parse(line.as_bytes(), line.len()), Line::Empty, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let mut text = vec![b'x'; 3 * MAX_MESSAGE];
        text.extend(b"\nshort\nlast");
        let mut reader = io::BufReader::new(&text[..]);
        let mut next = || read_line(&mut reader).expect("it can be read");
        assert_eq!(next(), Some((Vec::new(), 3 * MAX_MESSAGE)));
        assert_eq!(next(), Some((b"short".to_vec(), 5)));
        assert_eq!(next(), Some((b"last".to_vec(), 4)));
        assert_eq!(next(), None);
    }
}
