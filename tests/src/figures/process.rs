//! Builds and runs what prints a table, each for a bounded time.

use super::list::{Source, Table};
use crate::installed::is_installed;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a build may take.
const BUILD: Duration = Duration::from_secs(30 * 60);

/// Why there is no output.
#[derive(Debug)]
pub enum Lack {
    /// Something is absent: what.
    Absent(String),
    /// The example failed: how.
    Failed(String),
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every process below this one, by the parents that the kernel lists.
fn descendants(of: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may contain anything; the state and the parent follow it.
        let after = stat.rsplit(')').next().unwrap_or_default();
        if let Some(parent) = after.split_whitespace().nth(1).and_then(|text| text.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![of];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let below = children.get(pid).cloned().unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found.split_off(1)
}

/// Standard output of a command; standard error is this process's own. After the time it is ended
/// with everything that it started: what remained would take time from the next table.
fn output(mut command: Command, most: Duration) -> Result<String, Lack> {
    let failed = |what: String| Lack::Failed(what);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{command:?} does not start: {error}")))?;
    let pipe = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < most => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let below = descendants(child.id()).iter().map(u32::to_string).collect::<Vec<_>>();
                let _ = child.kill();
                let _ = Command::new("kill").args(["-s", "KILL"]).args(&below).output();
                let _ = child.wait();
                return Err(failed(format!("no end after {} minutes", most.as_secs() / 60)));
            }
            Err(error) => return Err(failed(format!("{command:?}: {error}"))),
        }
    };
    let text = reader.join().unwrap_or_default();
    if status.success() { Ok(text) } else { Err(failed(format!("{status}"))) }
}

fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// Runs what prints a table.
///
/// # Errors
/// Why it printed none.
pub fn print(table: &Table, quick: bool) -> Result<String, Lack> {
    if let Source::Nothing(why) = table.source {
        return Err(Lack::Absent(format!("no command prints it: {why}")));
    }
    let absent: Vec<&str> =
        table.needs.iter().copied().filter(|command| !is_installed(command)).collect();
    if !absent.is_empty() {
        return Err(Lack::Absent(format!("not installed: {}", absent.join(", "))));
    }
    // In the directory of the profile, beside this program's own: target/PROFILE/examples.
    let me = std::env::current_exe().map_err(|error| Lack::Failed(error.to_string()))?;
    let profile = me.ancestors().nth(2).unwrap_or(Path::new("target/release"));
    let target = profile.parent().unwrap_or(Path::new("target")).to_string_lossy().into_owned();
    let mut program = match table.source {
        Source::Example(name) => {
            // The features of the whole workspace: those of one package build its libraries anew.
            let words = ["build", "--release", "--locked", "--workspace", "--example", name];
            output(cargo(&[&words[..], &["--target-dir", &target]].concat()), BUILD)?;
            Command::new(Path::new(&target).join("release/examples").join(name))
        }
        _ => {
            let manifest = ["--locked", "--manifest-path", "tests/speed/Cargo.toml"];
            let fetched = output(cargo(&[&["fetch"], &manifest[..]].concat()), BUILD);
            fetched.map_err(|_| {
                Lack::Absent("the crates of tests/speed cannot be fetched".to_owned())
            })?;
            let apart = format!("{target}/speed");
            let words = ["build", "--release", "--target-dir", &apart];
            output(cargo(&[&words[..], &manifest].concat()), BUILD)?;
            Command::new(Path::new(&apart).join("release/speed"))
        }
    };
    program.args(if quick { table.quick } else { table.args }).current_dir(root());
    output(program, Duration::from_secs(60 * table.minutes))
}
