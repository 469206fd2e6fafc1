#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| heddle_fuzz::expression::run(input));
