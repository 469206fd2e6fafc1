//! The fuzz targets of `fuzz/` on stable Rust: their corpus, and a fixed number of mutated inputs.
//! `HEDDLE_FUZZ=100000` sets the number of mutations of each input, `HEDDLE_FUZZ_SEED` the seed.
#![allow(unreachable_pub, reason = "the included files belong to other crates")]

#[path = "../../fuzz/src/condition.rs"]
mod condition;
#[path = "../../fuzz/src/decoder.rs"]
mod decoder;
#[path = "../../fuzz/src/expression.rs"]
mod expression;
#[path = "../../fuzz/src/instrument/mod.rs"]
mod instrument;
#[path = "../../fuzz/src/packets.rs"]
mod packets;
#[path = "../../fuzz/src/state/mod.rs"]
mod state;
#[path = "../../fuzz/src/trace.rs"]
mod trace;

use search::rng::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Bytes that mean something in several of the formats.
const USEFUL: &[u8] = b"\x00\x01\x7f\x80\xff$#}*:.[]()&-\x0f\xe8\xff\x25";

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(bound as u32) as usize
}

/// Changes, inserts, removes or repeats a few bytes.
fn mutate(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=rng.below(4) {
        let at = below(rng, bytes.len() + 1);
        let len = below(rng, 9).min(bytes.len() - at);
        let useful = USEFUL[below(rng, USEFUL.len())];
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = useful,
            2 => bytes.insert(at, useful),
            3 => _ = bytes.drain(at..at + len),
            4 => {
                let part = bytes[at..at + len].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let from = below(rng, other.len() + 1);
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
        }
    }
    bytes
}

/// Runs a target over its corpus, the empty input, and mutations.
fn check(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut corpus: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(file).expect("an input")).collect();
    assert!(!corpus.is_empty(), "{}", folder.display());
    corpus.push(Vec::new());
    let mut rng = Rng::new(number("HEDDLE_FUZZ_SEED", 1), 0);
    let mutations = number("HEDDLE_FUZZ", 2_000);
    for input in &corpus {
        run(input);
        for _ in 0..mutations {
            let other = &corpus[below(&mut rng, corpus.len())];
            let input = mutate(input, other, &mut rng);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&input))) {
                eprintln!("{target} fails on {input:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn any_trace_file_is_read_or_refused() {
    check("trace", trace::run);
}

#[test]
fn any_bytes_are_divided_into_packets() {
    check("packets", packets::run);
}

#[test]
fn any_code_is_decoded_or_skipped() {
    check("decoder", decoder::run);
}

#[test]
fn any_expression_is_parsed_or_refused() {
    check("expression", expression::run);
}

#[test]
fn any_condition_of_a_breakpoint_terminates() {
    check("condition", condition::run);
}
