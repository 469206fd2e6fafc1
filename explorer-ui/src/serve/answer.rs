//! The size of answers is bounded.

use super::message::Fault;
use crate::report::json_text;
use serde_json::Value;

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// The longest text in a result, in bytes.
const MAX_TEXT: usize = 16_000;

/// Cuts long texts, so that names of a megabyte fill no answer.
fn bound(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let end = (0..=MAX_TEXT).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let more = text.len() - end;
            text.truncate(end);
            text.push_str(&format!(" ... ({more} more bytes)"));
        }
        Value::Array(values) => values.iter_mut().for_each(bound),
        Value::Object(map) => map.values_mut().for_each(bound),
        _ => {}
    }
}

/// A result whose texts are cut where they are too long, unless it is too large even so.
pub(super) fn bounded(mut value: Value) -> Result<Value, Fault> {
    bound(&mut value);
    let length = json_text::text(&value).len();
    if length > MAX_ANSWER {
        return Err(Fault::new(
            Fault::FAILED,
            format!(
                "the answer has {length} bytes, more than {MAX_ANSWER}: ask for less at once with \
                 a smaller `limit`"
            ),
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let mut value = json!({ "a": ["é".repeat(MAX_TEXT)], "b": "short" });
        bound(&mut value);
        let text = value["a"][0].as_str().expect("a text");
        assert!(text.ends_with("é ... (16000 more bytes)"), "{}", &text[text.len() - 40..]);
        assert_eq!(value["b"], "short");
    }

    #[test]
    fn an_answer_that_is_too_large_is_refused() {
        let value = json!(vec!["x".repeat(MAX_TEXT); 100]);
        let length = json_text::text(&value).len();
        let why = bounded(value).map(drop).expect_err("too large").message;
        assert_eq!(
            why,
            format!(
                "the answer has {length} bytes, more than {MAX_ANSWER}: ask for less at once with a \
                 smaller `limit`"
            )
        );
    }
}
