//! The committed pictures are what the program draws now.

use std::process::Command;
use std::time::Duration;
use tests::heddle;

#[test]
fn pictures_are_up_to_date() {
    let profile = if heddle::binary().parent().is_some_and(|dir| dir.ends_with("debug")) {
        "dev"
    } else {
        "release"
    };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--locked", "-p", "screenshots", "--profile", profile])
        .args(["--", "--check"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let run = heddle::run(command, Duration::from_secs(900));
    assert_eq!(run.status, 0, "{run:?}");
}
