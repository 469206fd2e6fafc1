//! The guaranteed size of trace files.

mod large;

use traces::file::{decode, encode};

#[test]
fn a_million_steps_fit_in_four_megabytes() {
    // Values are usually error numbers and small counts, but they can be arbitrary.
    for value_bits in [8, 64] {
        let trace = large::worst(1_000_000, 8, 200, value_bits);
        let bytes = encode(&trace, Some(&[7; 32]));
        assert!(bytes.len() < 4_000_000, "{value_bits} bits: {} bytes", bytes.len());
        assert_eq!(decode(&bytes).unwrap().trace, trace);
    }
}
