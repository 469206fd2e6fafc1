//! The `heddle` command. Its code is in the library of this crate.
#![forbid(unsafe_code)]

use replay_core::budget::CountingAllocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    explorer_ui::main()
}
