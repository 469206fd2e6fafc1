//! The headers of the C library.

use std::io::Write;
use std::process::{Command, Stdio};

/// The text of these headers and of those that they include, as the compiler sees it, with markers (`# LINE "FILE"`)
/// of where it comes from.
///
/// # Panics
/// If the compiler cannot be started, or does not find the headers.
#[must_use]
pub fn preprocessed(headers: &[&str]) -> String {
    let mut gcc = Command::new("gcc")
        .args(["-E", "-D_GNU_SOURCE", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gcc starts");
    let source: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    gcc.stdin.take().expect("a pipe").write_all(source.as_bytes()).expect("gcc reads");
    let output = gcc.wait_with_output().expect("gcc ends");
    assert!(output.status.success(), "{headers:?} cannot be read");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
