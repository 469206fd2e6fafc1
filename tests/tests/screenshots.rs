//! The committed pictures are what the program draws now.

use std::process::Command;
use std::time::Duration;
use tests::heddle;

#[test]
fn pictures_are_up_to_date() {
    let mut command = Command::new(heddle::screenshots());
    command.arg("--check").current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let run = heddle::run(command, Duration::from_secs(300));
    assert_eq!(run.status, 0, "{run:?}");
}
