//! Runs the tests of the workspace, two test programs at a time: `run_tests [NAME]...`, after
//! `cargo test --workspace --release --locked --no-run`.
//!
//! It prints the output of each program when it ends, in one piece, then what failed, and how long it took.

use cargo_metadata::{Artifact, Message};
use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use tests::runner::{Done, Job, run};

/// Each of them uses all processors where it can. The other one uses those that wait for its last test.
const AT_A_TIME: usize = 2;
/// Far longer than any takes on a busy machine.
const BOUND: Duration = Duration::from_secs(45 * 60);

fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--workspace", "--release", "--locked"]).args(words);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// The test programs, built if they were not.
fn programs() -> Vec<Artifact> {
    let mut command = cargo(&["--no-run", "--message-format", "json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("cargo runs");
    let pipe = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let programs = Message::parse_stream(pipe)
        .map(|message| message.expect("cargo prints messages"))
        .filter_map(|message| match message {
            // Examples are built by the same command, but are no tests.
            Message::CompilerArtifact(it) if it.profile.test && it.executable.is_some() => Some(it),
            _ => None,
        })
        .collect();
    assert!(child.wait().expect("a child").success(), "the tests do not compile");
    programs
}

/// The search path of programs that cargo gives to tests: it begins with the compiler's directory, so that a test
/// finds the same one in another home directory, where rustup has no default.
fn search_path() -> OsString {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let root = Command::new(compiler).args(["--print", "sysroot"]).output().expect("rustc runs");
    let own = Path::new(String::from_utf8_lossy(&root.stdout).trim()).join("bin");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&others));
    std::env::join_paths(all).expect("a path without a colon")
}

/// The program as cargo runs it.
fn job(program: &Artifact, search_path: &OsString) -> Option<Job> {
    let package = program.manifest_path.parent()?;
    let mut command = Command::new(program.executable.as_ref()?);
    command.current_dir(package).env("CARGO_MANIFEST_DIR", package).env("PATH", search_path);
    // The runtime has one kernel thread, and its tests use the same statics.
    if program.target.name == "heddle_probes" {
        command.env("RUST_TEST_THREADS", "1");
    }
    let source = &program.target.src_path;
    let source = source.strip_prefix(package).unwrap_or(source);
    Some(Job { name: format!("{} ({source})", program.target.name), command })
}

/// The processor time of the processes that ended so far, in seconds.
fn used() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the usage of children");
    (used.user_time() + used.system_time()).tv_sec()
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut programs = programs();
    programs.retain(|it| wanted.is_empty() || wanted.contains(&it.target.name));
    // The same order each time: that of cargo's messages is that in which the compiler finished.
    programs.sort_by(|a, b| {
        let key = |it: &Artifact| (it.manifest_path.clone(), it.target.src_path.clone());
        key(a).cmp(&key(b))
    });
    let search_path = search_path();
    let jobs: Vec<Job> = programs.iter().filter_map(|it| job(it, &search_path)).collect();
    if let Some(name) =
        wanted.iter().find(|&name| programs.iter().all(|it| it.target.name != *name))
    {
        eprintln!("no test program is called {name}");
        return ExitCode::from(2);
    }
    let (began, built, count, mut failed) = (Instant::now(), used(), jobs.len(), Vec::new());
    let report = |done: Done| {
        println!("     Running {}: {:.1} s", done.name, done.elapsed.as_secs_f64());
        print!("{}", done.output);
        if !done.passed() {
            let how = done.status.map_or_else(
                || format!("no end after {} minutes", BOUND.as_secs() / 60),
                |status| status.to_string(),
            );
            failed.push(format!("{}: {how}", done.name));
        }
    };
    run(jobs, AT_A_TIME, BOUND, report).expect("test programs can be started");
    if wanted.is_empty() && !cargo(&["--doc"]).status().expect("cargo runs").success() {
        failed.push("the examples of the documentation".to_owned());
    }
    println!(
        "\n{count} test programs: {:.0} s, {} s of processor time",
        began.elapsed().as_secs_f64(),
        used() - built
    );
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nfailed:\n    {}", failed.join("\n    "));
    ExitCode::FAILURE
}
