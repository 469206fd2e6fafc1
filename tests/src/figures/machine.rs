//! The machine on which figures are measured, and what is measured there.

use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

/// The first value of a field of a file such as `/proc/cpuinfo`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
    Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first line that a command prints.
fn says(command: &[&str]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(command[0]).args(&command[1..]).current_dir(root).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned).filter(|_| output.status.success())
}

/// How many processes run or wait for a processor, over one, five and fifteen minutes.
#[must_use]
pub fn load() -> String {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(", ")
}

/// One line for each thing that figures depend on.
#[must_use]
pub fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kilobytes: f64 = text.split(' ').next()?.parse().ok()?;
        Some(format!("{:.1} GB", kilobytes / 1e6))
    });
    let kernel = read_to_string("/proc/sys/kernel/osrelease").ok();
    let changed = says(&["git", "status", "--porcelain", "--untracked-files=no"]);
    let commit = says(&["git", "rev-parse", "--short=12", "HEAD"]).map(|commit| match changed {
        Some(_) => format!("{commit}, with changes that are not committed"),
        None => commit,
    });
    let lines = [
        ("processor", field("/proc/cpuinfo", "model name")),
        ("cores", Some(cores.to_string())),
        ("load before", Some(load())),
        ("memory", memory),
        ("kernel", kernel.map(|text| text.trim().to_owned())),
        ("C compiler", says(&["cc", "--version"])),
        ("Rust compiler", says(&["rustc", "--version"])),
        ("date", says(&["date", "-u", "+%Y-%m-%d %H:%M UTC"])),
        ("commit", commit),
    ];
    let line = |(name, value): (&str, Option<String>)| {
        format!("* {name}: {}\n", value.unwrap_or_else(|| "not known".to_owned()))
    };
    lines.into_iter().map(line).collect()
}
