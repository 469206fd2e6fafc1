//! The tables in `tests/bad-input`: commands with mistakes, each with the exact output and exit status.
//!
//! A line that begins with `$ ` is a command of the shell, and the lines below it are its output on both
//! streams, with `[N]` at the end for an exit status N other than 0. `(gdb) ` lines are the standard input
//! of the command above them. A line that begins with `# ` is a comment, and an empty line ends an output.
//! `tests::pages` describes `...` and `[..]`. The commands of a table run in one directory, one after the
//! other; `$TARGETS` is `tests/targets`.
//!
//! `HEDDLE_UPDATE_DOCS=1 cargo test -p tests --release --test bad_input_tables` writes the actual outputs
//! into the tables.

use std::path::Path;
use std::time::Duration;
use tests::heddle::{self, Home};
use tests::pages::{self, Exchange};

/// Some tables search a program. None of them takes longer than this.
const BOUND: Duration = Duration::from_secs(300);

/// The commands of a table with their outputs.
fn exchanges(lines: &[String]) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    let mut open = false;
    for (index, line) in lines.iter().enumerate() {
        let new = |command: &str| Exchange {
            command: command.to_owned(),
            debugger: Vec::new(),
            first: index + 1,
            expected: Vec::new(),
        };
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(new(command));
            open = true;
        } else if line.is_empty() || line.starts_with("# ") {
            open = false;
        } else {
            let last = all.last_mut().filter(|_| open).expect("an output is below a command");
            if let Some(command) = line.strip_prefix("(gdb) ") {
                last.debugger.push(new(command));
            } else {
                let output = last.debugger.last_mut().map(|command| &mut command.expected);
                output.unwrap_or(&mut last.expected).push(line.clone());
            }
        }
    }
    all
}

/// Runs the commands of a table and compares what they print.
fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bad-input").join(name);
    let text = std::fs::read_to_string(&path).expect("the table exists");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let exchanges = exchanges(&lines);
    assert!(!exchanges.is_empty(), "{name} has no command");
    let home = Home::new();
    let run = run(&home, &exchanges);
    assert_eq!(run.status, 0, "the shell did not run the whole table: {run:?}");
    let directory = home.path().canonicalize().expect("it exists");
    let outputs = pages::outputs(&exchanges, &run.stdout, &directory);
    let mut differences = Vec::new();
    let mut updates = Vec::new();
    for (exchange, actual) in pages::flattened(&exchanges).into_iter().zip(outputs) {
        // An empty line in the table would end the output.
        let actual: Vec<String> = actual.into_iter().filter(|line| !line.is_empty()).collect();
        if !pages::agrees(&exchange.expected, &actual) {
            let (first, command) = (exchange.first, &exchange.command);
            differences.push(format!("line {first}: {command}\n{}", actual.join("\n")));
            let end = first + exchange.expected.len();
            updates.push((first, end, pages::elided_like(&exchange.expected, &actual)));
        }
    }
    if std::env::var_os("HEDDLE_UPDATE_DOCS").is_some() {
        for (first, end, new) in updates.into_iter().rev() {
            lines.splice(first..end, new);
        }
        std::fs::write(&path, lines.join("\n") + "\n").expect("the table is writable");
    }
    assert!(differences.is_empty(), "{name}, {}", differences.join("\n"));
}

fn run(home: &Home, exchanges: &[Exchange]) -> heddle::Run {
    // The commands print their status; the script itself ends with 0.
    let with_status = |exchange: &Exchange| Exchange {
        command: format!("{{ {}\ns=$?; [ $s = 0 ] || echo \"[$s]\"; }}", exchange.command),
        debugger: exchange.debugger.iter().map(copied).collect(),
        first: exchange.first,
        expected: Vec::new(),
    };
    let script = pages::script(&exchanges.iter().map(with_status).collect::<Vec<_>>());
    let mut path =
        heddle::binary().parent().expect("the binary is in a directory").as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    // A copy of the environment of `heddle`, with a shell in its place.
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("{script}\nexit 0"));
    let heddle = home.command([""; 0]);
    for (name, value) in heddle.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .current_dir(home.path())
        .env("PATH", path)
        .env("HOME", home.path())
        .env("TARGETS", Path::new(env!("CARGO_MANIFEST_DIR")).join("targets"))
        .env("COLUMNS", "200")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("DEBUGINFOD_URLS")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    heddle::run(command, BOUND)
}

fn copied(exchange: &Exchange) -> Exchange {
    Exchange {
        command: exchange.command.clone(),
        debugger: Vec::new(),
        first: exchange.first,
        expected: Vec::new(),
    }
}

/// A test for each table, so that they run at the same time, and a test that none is missing.
macro_rules! tables {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(concat!(stringify!($name), ".txt"));
            }
        )*

        #[test]
        fn every_table_is_run() {
            let listed = [$(concat!(stringify!($name), ".txt")),*];
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("bad-input");
            let entries = std::fs::read_dir(directory).expect("it can be listed");
            for entry in entries {
                let name = entry.expect("it can be listed").file_name();
                assert!(listed.iter().any(|listed| name == *listed), "{name:?} is in no test");
            }
        }
    };
}

tables! {
    machine command_line configuration programs requests predicates conditions variants resumed traces
    debugger debugger_commands misuse unmodelled library_states outcomes served resets refused suites
}
