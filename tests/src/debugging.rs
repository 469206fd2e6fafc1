//! Sessions of real gdb and lldb on a schedule.

use crate::heddle::{Home, Run, run};
use crate::targets::{matches, program};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// No session takes longer.
pub const BOUND: Duration = Duration::from_secs(120);

/// A failing trace of a target, with points at calls alone.
///
/// # Panics
/// Where the target does not compile, or no schedule of it fails.
#[must_use]
pub fn failing(home: &Home, name: &str) -> String {
    failing_with(home, name, "api")
}

/// A failing trace of a target, with these points.
///
/// # Panics
/// Where the target does not compile, or no schedule of it fails.
#[must_use]
pub fn failing_with(home: &Home, name: &str, points: &str) -> String {
    let target = program(name);
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let mut words =
        vec!["explore", "--points", points, "--strategy", "random", "--json", "--", &path];
    words.extend(target.args.iter().map(String::as_str));
    home.heddle(words).report().bugs[0].trace.clone().expect("a trace")
}

/// What gdb prints when it is given these commands.
#[must_use]
pub fn gdb(home: &Home, trace: &str, at: &str, commands: &[&str]) -> Run {
    let mut words = vec!["gdb", trace, "--at", at, "--with", "-nx", "--with", "-batch"];
    for command in commands {
        words.extend(["--with", "-ex", "--with", command]);
    }
    run(home.command(words), BOUND)
}

/// Each of these lines comes after the one before; `*` stands for anything.
///
/// # Panics
/// Where one does not.
#[track_caller]
pub fn expect(run: &Run, lines: &[&str]) {
    let mut printed = run.stdout.lines();
    for line in lines {
        let pattern = format!("*{line}*");
        assert!(
            printed.any(|printed| matches(&pattern, printed)),
            "{line:?} does not come where it should:\n{}\n{}",
            run.stdout,
            run.stderr
        );
    }
}

/// What gdb prints on a program that is run under the schedule that preempts nobody.
#[must_use]
pub fn gdb_on(home: &Home, program: &[&str], commands: &[&str]) -> Run {
    let mut words = vec!["gdb", "--with", "-nx", "--with", "-batch"];
    for command in commands {
        words.extend(["--with", "-ex", "--with", command]);
    }
    words.push("--");
    words.extend(program);
    run(home.command(words), BOUND)
}

/// A target's program.
///
/// # Panics
/// Where it does not compile.
#[must_use]
pub fn built(name: &str) -> String {
    program(name).build().expect("targets compile").to_string_lossy().into_owned()
}

/// What lldb prints when it is given these commands.
#[must_use]
pub fn lldb(home: &Home, trace: &str, at: &str, commands: &[&str]) -> Run {
    let mut words = vec!["gdb", trace, "--at", at, "--lldb", "--with", "-b"];
    for command in commands {
        words.extend(["--with", "-o", "--with", command]);
    }
    run(home.command(words), BOUND)
}

/// Compiles a source into the test's own directory.
///
/// # Panics
/// Where it does not compile.
#[must_use]
pub fn compiled(home: &Home, source: &str, name: &str, flags: &[&str]) -> String {
    let path = home.path().join(name);
    let done = Command::new("cc")
        .args(["-g", "-O0", "-pthread", "-o"])
        .args([path.as_path(), Path::new(source)])
        .args(flags)
        .status()
        .expect("a compiler");
    assert!(done.success());
    path.to_string_lossy().into_owned()
}

/// Compiles a text, which is kept as `name.c` beside the program.
///
/// # Panics
/// Where it does not compile.
#[must_use]
pub fn compiled_text(home: &Home, name: &str, text: &str, flags: &[&str]) -> String {
    let source = home.path().join(format!("{name}.c"));
    std::fs::write(&source, text).expect("written");
    compiled(home, &source.to_string_lossy(), name, flags)
}
