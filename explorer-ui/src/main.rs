//! The `heddle` command. Its code is in the library of this crate.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    explorer_ui::main()
}
