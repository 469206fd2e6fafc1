//! Sessions of gdb and lldb on a schedule.

use crate::heddle::{Home, Run, run};
use crate::targets::{matches, program};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The time limit for a session.
pub const BOUND: Duration = Duration::from_secs(120);

/// A failing trace of a target, with points at calls only.
///
/// # Panics
/// If the target does not compile, or no schedule of it fails.
#[must_use]
pub fn failing(home: &Home, name: &str) -> String {
    failing_with(home, name, "api")
}

/// A failing trace of a target, with these points.
///
/// # Panics
/// If the target does not compile, or no schedule of it fails.
#[must_use]
pub fn failing_with(home: &Home, name: &str, points: &str) -> String {
    let target = program(name);
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let args: Vec<&str> = target.args.iter().map(String::as_str).collect();
    failing_program(home, &path, points, &args)
}

/// A failing trace of a program, with these points and arguments.
///
/// # Panics
/// If no schedule of it fails.
#[must_use]
pub fn failing_program(home: &Home, path: &str, points: &str, args: &[&str]) -> String {
    if points == "racy" {
        store_points(home, path, args);
    }
    let words = ["explore", "--points", points, "--strategy", "random", "--json", "--", path];
    let run = home.heddle(words.iter().chain(args).copied());
    run.report().bugs[0].trace.clone().expect("a trace")
}

/// Stores the learned points of a program, so that the next search fails in an execution of its strategy.
pub fn store_points(home: &Home, path: &str, args: &[&str]) {
    let words = ["explore", "--keep-going", "--max-executions", "200", "--", path];
    home.heddle(words.iter().chain(args).copied());
}

/// A failing trace of a program with a loop that never ends.
///
/// # Panics
/// If it does not compile, or does not fail.
#[must_use]
pub fn endless(home: &Home) -> String {
    let path = crate::hostile::build(home, "endless", "endless", &[]);
    failing_program(home, &path.to_string_lossy(), "api", &[])
}

/// The output of gdb for these commands.
#[must_use]
pub fn gdb(home: &Home, trace: &str, at: &str, commands: &[&str]) -> Run {
    let mut words = vec!["gdb", trace, "--at", at, "--with", "-nx", "--with", "-batch"];
    for command in commands {
        words.extend(["--with", "-ex", "--with", command]);
    }
    run(home.command(words), BOUND)
}

/// Asserts that these lines occur in this order; `*` stands for any text.
///
/// # Panics
/// If one does not.
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

/// The output of gdb on a program under the schedule without preemptions.
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
/// If it does not compile.
#[must_use]
pub fn built(name: &str) -> String {
    program(name).build().expect("targets compile").to_string_lossy().into_owned()
}

/// The address that an expression evaluates to, at the beginning of a session with the program.
///
/// # Panics
/// If it is not.
#[must_use]
pub fn address(home: &Home, program: &str, expression: &str) -> u64 {
    let run = gdb_on(home, &[program], &[&format!("print/x (long){expression}")]);
    let digits = run.stdout.split("$1 = 0x").nth(1).and_then(|text| text.lines().next());
    let digits = digits.unwrap_or_else(|| panic!("no address of {expression}: {run:?}"));
    u64::from_str_radix(digits.trim(), 16).expect("a number")
}

/// The output of lldb for these commands.
#[must_use]
pub fn lldb(home: &Home, trace: &str, at: &str, commands: &[&str]) -> Run {
    let mut words = vec!["gdb", trace, "--at", at, "--lldb", "--with", "-b"];
    for command in commands {
        words.extend(["--with", "-o", "--with", command]);
    }
    run(home.command(words), BOUND)
}

/// Compiles a source into the test's directory.
///
/// # Panics
/// If it does not compile.
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

/// Compiles a text, which is stored as `name.c` next to the program.
///
/// # Panics
/// If it does not compile.
#[must_use]
pub fn compiled_text(home: &Home, name: &str, text: &str, flags: &[&str]) -> String {
    let source = home.path().join(format!("{name}.c"));
    std::fs::write(&source, text).expect("written");
    compiled(home, &source.to_string_lossy(), name, flags)
}

/// The program of a session.
#[derive(Debug)]
pub enum On<'a> {
    /// A failing schedule of a target, beginning at this position.
    Failing(&'a str, &'a str),
    /// A target with these arguments, under the schedule without preemptions.
    Target(&'a str, &'a [&'a str]),
    /// A C source, compiled with these flags, under the schedule without preemptions.
    Text(&'a str, &'a [&'a str]),
}

/// Compares gdb with a written session: commands begin with `(gdb)`; each is followed by expected
/// lines of its output, in this order; `*` stands for any text. A line with `!` is expected on the
/// other stream, at any time; a line with `~` must not occur in this output.
///
/// # Panics
/// If the output differs.
#[track_caller]
pub fn session(on: &On, text: &str) {
    const MARK: &str = "~~~~";
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let inputs = lines.iter().filter_map(|line| line.strip_prefix("(gdb)").map(str::trim));
    let mark = format!("echo {MARK}\\n");
    let commands: Vec<&str> = inputs.flat_map(|command| [mark.as_str(), command]).collect();
    let home = Home::new();
    let run = match on {
        On::Failing(target, at) => gdb(&home, &failing(&home, target), at, &commands),
        On::Target(target, arguments) => {
            let program = built(target);
            gdb_on(&home, &[&[program.as_str()], *arguments].concat(), &commands)
        }
        On::Text(text, flags) => {
            gdb_on(&home, &[&compiled_text(&home, "program", text, flags)], &commands)
        }
    };
    let mut answers = run.stdout.split(MARK);
    let mut answer = answers.next().unwrap_or_default();
    let mut rest = answer.lines();
    for line in lines {
        if line.starts_with("(gdb)") {
            answer = answers.next().unwrap_or_default();
            rest = answer.lines();
        } else if let Some(line) = line.strip_prefix("! ") {
            let pattern = format!("*{line}*");
            let said = run.stderr.lines().any(|said| matches(&pattern, said));
            assert!(said, "standard error has no {line:?}: {run:?}");
        } else if let Some(part) = line.strip_prefix("~ ") {
            assert!(!answer.contains(part), "{part:?} occurs in {answer:?}: {run:?}");
        } else {
            let pattern = format!("*{line}*");
            assert!(
                rest.any(|printed| matches(&pattern, printed)),
                "{line:?} is not the answer in {answer:?}:\n{}\n{}",
                run.stdout,
                run.stderr
            );
        }
    }
}

/// A test for each session.
#[macro_export]
macro_rules! sessions {
    ($($(#[$doc:meta])* $name:ident, $on:expr, $text:literal;)*) => {
        $($(#[$doc])* #[test] fn $name() { $crate::debugging::session(&$on, $text) })*
    };
}
