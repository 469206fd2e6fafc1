//! The size of trace files, and the time to write, read and order them: `cargo bench -p traces
//! --bench trace_file`.

#[path = "../tests/large/mod.rs"]
mod large;

use std::hint::black_box;
use std::time::Instant;
use traces::file::{decode, encode};
use traces::order::Clocks;

fn main() {
    println!("1,000,000 steps; the best of 5 runs");
    for (tasks, sorts, value_bits) in [(8, 200, 8), (8, 200, 64), (2, 20, 1), (64, 5000, 64)] {
        let trace = large::worst(1_000_000, tasks, sorts, value_bits);
        let bytes = encode(&trace, Some(&[7; 32]));
        println!(
            "{tasks:3} tasks, {sorts:4} sorts, values of {value_bits:2} bits: {:.2} MB, \
             encode {:.0} ms, decode {:.0} ms, clocks {:.0} ms",
            bytes.len() as f64 / 1e6,
            milliseconds(|| encode(&trace, Some(&[7; 32])).len()),
            milliseconds(|| decode(&bytes).is_ok()),
            milliseconds(|| Clocks::of(&trace.execution)),
        );
    }
}

fn milliseconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    best
}
