//! Trace files: reading any bytes ends with a trace or an error, and a trace that was read can be
//! written and read again.

use traces::file::{decode, encode};

/// Reads `input`, and once more with a valid checksum: most mutations would only damage that.
///
/// # Panics
/// If a trace that was read differs after writing and reading it.
pub fn run(input: &[u8]) {
    check(input);
    let mut sealed = input.to_vec();
    sealed.extend(blake3::hash(input).as_bytes());
    sealed.extend([0; 32]);
    check(&sealed);
}

fn check(bytes: &[u8]) {
    let Ok(decoded) = decode(bytes) else { return };
    let again = encode(&decoded.trace, None);
    let again = decode(&again).expect("a written trace is readable");
    assert_eq!(again.trace, decoded.trace);
}
