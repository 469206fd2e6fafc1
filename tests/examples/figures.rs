//! Measures everything that `docs/figures.md` shows and compares it with what is asked of it: `cargo
//! run --release -p tests --example figures -- [--list] [--quick] [TABLE...]`.

use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match tests::figures::run(&args, &mut stdout(), &mut stderr()) {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(1)),
        // A reader that closes early is no error.
        Err(_) => ExitCode::SUCCESS,
    }
}
