//! Which instructions copy or fill, as the runtime's `bulk` names them.

/// What copies or fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bulk {
    None,
    #[allow(dead_code, reason = "the decoder only makes it")]
    RepeatedMove(u8),
    #[allow(dead_code, reason = "the decoder only makes it")]
    RepeatedStore(u8),
}
