//! The code of a line without the calls of some functions.

use crate::symbols::Image;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use std::ops::Range;

/// What is left of a range of addresses without the direct calls of functions for whose entries `is_left_out`
/// is true.
pub(super) fn without(
    image: &Image,
    range: Range<u64>,
    is_left_out: &dyn Fn(u64) -> bool,
) -> Vec<Range<u64>> {
    let Some(bytes) = image.bytes_at(range.start) else { return Vec::new() };
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(bytes.len());
    let mut decoder = Decoder::with_ip(64, &bytes[..len], range.start, DecoderOptions::NONE);
    let mut parts = Vec::new();
    let mut from = range.start;
    for one in decoder.iter() {
        let is_call = one.mnemonic() == Mnemonic::Call && one.is_call_near();
        if is_call && is_left_out(one.near_branch_target()) {
            parts.push(from..one.ip());
            from = one.next_ip();
        }
    }
    parts.push(from..range.end);
    parts.retain(|part| part.start < part.end);
    parts
}
