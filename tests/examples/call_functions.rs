//! Prints the generated functions of the test `oracle_calls` as one C++ program.
//!
//! `cargo run --release -p tests --example call_functions -- FIRST COUNT`

use tests::oracle::calls::{functions, source};

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let (first, count) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(1));
    let functions = functions(first, count);
    for (number, (function, outcomes)) in functions.iter().enumerate() {
        println!("// {number}: {} outcomes: {function:?}", outcomes.len());
    }
    println!("{}", source::text(&functions));
}
