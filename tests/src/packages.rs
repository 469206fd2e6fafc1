//! Programs that use a crate, built by cargo.

use crate::heddle::Home;
use std::process::{Command, Stdio};

/// A package in the home that uses this version of a crate; `None`, with a message, if cargo cannot build it.
///
/// # Panics
/// If cargo cannot be started, or the home cannot be written.
#[must_use]
pub fn package(home: &Home, dependency: &str, source: &str) -> Option<String> {
    let manifest = format!(
        "[package]\nname = \"uses-crate\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{dependency}\n"
    );
    std::fs::create_dir_all(home.path().join("src")).expect("a directory");
    std::fs::write(home.path().join("Cargo.toml"), manifest).expect("a file");
    std::fs::write(home.path().join("src/main.rs"), source).expect("a file");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .arg("build")
        .current_dir(home.path())
        .env("CARGO_TARGET_DIR", home.path().join("target"))
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs");
    if !built.status.success() {
        println!("SKIPPED: {dependency}: {}", String::from_utf8_lossy(&built.stderr));
        return None;
    }
    Some("target/debug/uses-crate".to_owned())
}
