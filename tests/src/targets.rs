//! The programs in `tests/targets`: their expected behaviour, and how they are built.
//!
//! The manifest says what each program does when it runs without Heddle, and what a search must
//! find. An executable is reused until its source or its flags change; concurrent tests, in one
//! process or in several, may request the same one.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use traces::FailureKind;
use traces::report::Verdict;

/// The language of a program, which determines the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Language {
    /// C.
    #[serde(rename = "c")]
    C,
    /// C++.
    #[serde(rename = "c++")]
    Cpp,
    /// Rust.
    #[serde(rename = "rust")]
    Rust,
}

impl Language {
    /// The compiler and the flags for every program of the language. The optimization level of C
    /// preserves lines and variables; warnings are shown, but are not errors.
    fn compiler(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Language::C => ("gcc", &["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-pthread"]),
            Language::Cpp => {
                ("g++", &["-std=gnu++17", "-O1", "-g", "-Wall", "-Wextra", "-pthread"])
            }
            Language::Rust => ("rustc", &["-O", "-g", "--edition", "2021"]),
        }
    }
}

/// How far a search can be expected to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// A depth-first search without a bound completes.
    #[default]
    Complete,
    /// There are too many schedules, or infinitely many.
    Long,
    /// Like `Long`, and each execution takes so long that few are run.
    Few,
    /// Random walks do not find the failure; a search of all schedules does.
    Rare,
    /// One in a million executions of a random walk fails.
    Seldom,
}

/// The scheduling points that are necessary for a bug to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// At calls.
    #[default]
    Api,
    /// At memory accesses as well.
    Racy,
}

impl Where {
    /// The value of the command-line option.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Where::Api => "api",
            Where::Racy => "racy",
        }
    }
}

/// One entry of the manifest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name by which tests refer to it; also the name of the executable.
    pub name: String,
    /// Its source, in `tests/targets`.
    pub file: String,
    /// In which language that is.
    pub language: Language,
    /// Further flags for the compiler.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The arguments to run it with.
    #[serde(default)]
    pub args: Vec<String>,
    /// How late a step may be (`--slack`), if the bug needs another value than the default.
    pub slack: Option<String>,
    /// The maximum number of tasks in an execution, including main.
    pub threads: u32,
    /// The kind of its failure, or `Unsupported`; none for a correct program.
    #[serde(deserialize_with = "kind")]
    pub bug: Option<FailureKind>,
    /// The verdict of a complete or long search with points at calls only. If this is `Clean`, a
    /// search that ran out of executions says `Incomplete` instead.
    pub verdict: Verdict,
    /// A pattern for the failure's message; see [`matches()`].
    #[serde(default = "anything")]
    pub message: String,
    /// How far a search can be expected to get.
    #[serde(default)]
    pub search: Reach,
    /// The scheduling points that are necessary for the bug to show.
    #[serde(default)]
    pub points: Where,
    /// The possible outcomes without Heddle: see [`Run::outcome`].
    pub native: Vec<String>,
    /// The output of every run that ends without a failure.
    pub stdout: Option<String>,
    /// Arguments that replace [`Program::args`], each of which selects a planted mistake, and its
    /// kind of failure.
    #[serde(default, deserialize_with = "kinds")]
    pub mistakes: BTreeMap<String, FailureKind>,
    /// Further remarks.
    #[serde(default)]
    pub notes: String,
}

fn anything() -> String {
    "*".to_owned()
}

fn kind<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<FailureKind>, D::Error> {
    let name = String::deserialize(from)?;
    if name == "none" { Ok(None) } else { named(&name).map(Some) }
}

fn kinds<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, FailureKind>, D::Error> {
    let names = BTreeMap::<String, String>::deserialize(from)?;
    names.into_iter().map(|(mistake, name)| Ok((mistake, named(&name)?))).collect()
}

fn named<E: serde::de::Error>(name: &str) -> Result<FailureKind, E> {
    FailureKind::from_name(name)
        .ok_or_else(|| E::custom(format!("no such kind of failure: {name}")))
}

/// The header with which a program creates its threads in another order.
const ANOTHER_ORDER: &str = "another_order.h";

#[derive(Deserialize)]
struct Manifest {
    target: Vec<Program>,
}

static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let path = sources().join("manifest.toml");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let manifest: Manifest =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    manifest.target
});

/// Every program of the manifest.
#[must_use]
pub fn programs() -> &'static [Program] {
    &PROGRAMS
}

/// The program with this name.
///
/// # Panics
/// If there is none: a test asks for it by a name that it knows.
#[must_use]
pub fn program(name: &str) -> &'static Program {
    programs()
        .iter()
        .find(|program| program.name == name)
        .unwrap_or_else(|| panic!("no program {name} in tests/targets/manifest.toml"))
}

/// The directory of the sources.
#[must_use]
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("targets")
}

/// The directory of the executables.
fn built() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    // `join` keeps a path that is absolute.
    root.join(target).join("heddle-targets")
}

impl Program {
    /// The same program, but it creates its threads in the order given by the environment
    /// (`tests/targets/another_order.h`).
    #[must_use]
    pub fn in_another_order(&self) -> Program {
        let header = ["-include".to_owned(), ANOTHER_ORDER.to_owned()];
        Program {
            name: format!("{}_ordered", self.name),
            flags: self.flags.iter().cloned().chain(header).collect(),
            ..self.clone()
        }
    }

    /// Builds the program if its source or its flags changed, and returns its path.
    ///
    /// # Errors
    /// What the compiler says, or the file system.
    pub fn build(&self) -> io::Result<PathBuf> {
        let directory = built();
        fs::create_dir_all(&directory)?;
        let path = directory.join(&self.name);
        let stamp_file = directory.join(format!(".{}.stamp", self.name));
        let stamp = self.stamp()?;
        // Held until the end of this function, to exclude other threads and other processes.
        let lock = File::create(directory.join(format!(".{}.lock", self.name)))?;
        lock.lock()?;
        if path.exists() && fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
            return Ok(path);
        }
        // The old executable may be running: it is replaced, never overwritten.
        let fresh = directory.join(format!(".{}.new", self.name));
        self.compile(&fresh)?;
        fs::rename(&fresh, &path)?;
        fs::write(&stamp_file, stamp)?;
        Ok(path)
    }

    /// A value that changes whenever the program must be rebuilt.
    fn stamp(&self) -> io::Result<String> {
        let mut digest = blake3::Hasher::new();
        digest.update(&fs::read(sources().join(&self.file))?);
        let shared =
            [("conform_", "conform.h"), ("classic_", "classic.h"), ("classic_", "classic.rs")];
        for (prefix, header) in shared {
            if self.file.starts_with(prefix) {
                digest.update(&fs::read(sources().join(header))?);
            }
        }
        if self.flags.iter().any(|flag| flag == ANOTHER_ORDER) {
            digest.update(&fs::read(sources().join(ANOTHER_ORDER))?);
        }
        if self.file.starts_with("program_predicates") {
            for header in ["heddle.h", "heddle.rs"] {
                digest.update(&fs::read(sources().join("../../probes/include").join(header))?);
            }
        }
        digest.update(format!("{:?} {:?}", self.language.compiler(), self.flags).as_bytes());
        Ok(digest.finalize().to_hex().to_string())
    }

    fn compile(&self, to: &Path) -> io::Result<()> {
        self.compile_source(Path::new(&self.file), to)
    }

    /// Builds another source with this program's compiler and flags.
    ///
    /// # Errors
    /// What the compiler says, or the file system.
    pub fn compile_source(&self, source: &Path, to: &Path) -> io::Result<()> {
        let (compiler, flags) = self.language.compiler();
        let output = Command::new(compiler)
            .args(flags)
            .arg(source)
            .args(&self.flags)
            .arg("-o")
            .arg(to)
            // So that messages and debug information name the file without a directory.
            .current_dir(sources())
            .output()
            .map_err(|error| io::Error::new(error.kind(), format!("{compiler}: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{compiler} cannot build {}:\n{said}", self.name)))
    }

    /// Whether this is an expected message of the program's failure.
    #[must_use]
    pub fn message_matches(&self, message: &str) -> bool {
        matches(&self.message, message)
    }

    /// Builds the program and runs it without Heddle, for at most `bound`.
    ///
    /// # Errors
    /// If it cannot be built or started.
    pub fn run(&self, bound: Duration) -> io::Result<Run> {
        let mut command = Command::new(self.build()?);
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in ["LD_PRELOAD", "LD_BIND_NOW", "GLIBC_TUNABLES"] {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
        let end = Instant::now() + bound;
        let status = loop {
            match child.try_wait()? {
                Some(status) => break Some(status),
                None if Instant::now() > end => break None,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        // The output fits into the pipe, so it can be read at the end.
        let mut stdout = Vec::new();
        child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout))?;
        Ok(Run { outcome: outcome(status), stdout: String::from_utf8_lossy(&stdout).into_owned() })
    }
}

/// The result of running a program without Heddle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended: an exit status (`0`), a signal (`SIGSEGV`), or `hang`.
    pub outcome: String,
    /// What it printed.
    pub stdout: String,
}

fn outcome(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "hang".to_owned() };
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (None, Some(6)) => "SIGABRT".to_owned(),
        (None, Some(11)) => "SIGSEGV".to_owned(),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// Whether a text matches a pattern, in which `*` stands for any text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first match leaves the most text for the remaining parts.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}
