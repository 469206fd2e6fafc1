//! Watched expressions (`q->len`, `T2:a[3].b`): any text is parsed, or refused with a message.

#[allow(dead_code, reason = "the debugger's symbols use the rest")]
#[path = "../../replay-core/src/symbols/expressions.rs"]
mod expressions;

/// Parses `input`.
///
/// # Panics
/// If a refusal has no message.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Err(message) = expressions::parse(&text) {
        assert!(message.starts_with("expected"), "{message}");
    }
}
