//! `cargo heddle ...`: starts `heddle cargo ...`, which is beside this program or in `PATH`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Cargo passes its subcommand's name first.
    if words.first().is_some_and(|word| word == "heddle") {
        words.remove(0);
    }
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("heddle"));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("heddle"));
    let error = Command::new(&program).arg("cargo").args(words).exec();
    eprintln!(
        "cargo-heddle: {} cannot be started ({error}): install heddle beside cargo-heddle or in PATH",
        program.display()
    );
    ExitCode::from(2)
}
