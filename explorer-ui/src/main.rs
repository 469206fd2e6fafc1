//! The `heddle` command. Everything is in the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    explorer_ui::main()
}
