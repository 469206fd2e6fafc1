//! Messages in the footer.

/// A message that stays in the footer until the next key press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The text.
    pub text: String,
    /// Whether the message reports an error.
    pub bad: bool,
}
