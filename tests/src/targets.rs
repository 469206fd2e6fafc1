//! The programs in `tests/targets`: what is known of them, and how to get them built.
//!
//! The manifest there says what each does when it is just run and what a search has to find. A
//! built program is kept until its source or its flags change; tests that run at the same time,
//! in one process or in several, may ask for the same one.

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

/// The language of a program, which says how it is compiled.
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
    /// The compiler and the flags that every program of the language gets. C is not optimised so
    /// far that lines and variables are lost; warnings are for people, and stop nobody.
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

/// How far a search can be expected to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// A depth-first search without a bound comes to its end.
    #[default]
    Complete,
    /// There are too many schedules, or infinitely many.
    Long,
    /// So, and each takes so long that few are looked at.
    Few,
    /// Random walks do not come to the failure; a search of all schedules does.
    Rare,
    /// One in a million executions of a random walk comes to the failure.
    Seldom,
}

/// Where the scheduler has to be able to choose for a bug to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// At calls.
    #[default]
    Api,
    /// At accesses to memory, too.
    Racy,
}

impl Where {
    /// As on the command line.
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
    /// What tests call it; also the name of the executable.
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
    /// The most tasks in an execution, main included.
    pub threads: u32,
    /// How it can fail, or `Unsupported`; none for a correct program.
    #[serde(deserialize_with = "kind")]
    pub bug: Option<FailureKind>,
    /// What a complete or long search comes to with points at the API only. Where this is
    /// `Clean`, a search that ran out says `Incomplete` instead.
    pub verdict: Verdict,
    /// What the failure's message looks like; see [`matches()`].
    #[serde(default = "anything")]
    pub message: String,
    /// How far a search can be expected to come.
    #[serde(default)]
    pub search: Reach,
    /// Where the scheduler has to be able to choose for the bug to show.
    #[serde(default)]
    pub points: Where,
    /// How it may end when it is just run: see [`Run::outcome`].
    pub native: Vec<String>,
    /// What it prints in every run that ends by itself.
    pub stdout: Option<String>,
    /// Arguments in place of [`Program::args`], each of which plants a mistake, and how that fails.
    #[serde(default, deserialize_with = "kinds")]
    pub mistakes: BTreeMap<String, FailureKind>,
    /// Anything else.
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

/// The header by which a program creates its threads in another order.
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
/// Where there is none: a test asks for it by a name that it knows.
#[must_use]
pub fn program(name: &str) -> &'static Program {
    programs()
        .iter()
        .find(|program| program.name == name)
        .unwrap_or_else(|| panic!("no program {name} in tests/targets/manifest.toml"))
}

/// Where the sources are.
#[must_use]
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("targets")
}

/// Where the built programs are.
fn built() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    // `join` keeps a path that is absolute.
    root.join(target).join("heddle-targets")
}

impl Program {
    /// The same program, which creates its threads in the order that the environment names
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

    /// Builds the program, if its source or its flags changed, and answers with its path.
    ///
    /// # Errors
    /// What the compiler says, or the file system.
    pub fn build(&self) -> io::Result<PathBuf> {
        let directory = built();
        fs::create_dir_all(&directory)?;
        let path = directory.join(&self.name);
        let stamp_file = directory.join(format!(".{}.stamp", self.name));
        let stamp = self.stamp()?;
        // Held until the end of this function, against other threads and other processes.
        let lock = File::create(directory.join(format!(".{}.lock", self.name)))?;
        lock.lock()?;
        if path.exists() && fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
            return Ok(path);
        }
        // The old program may be running: it is replaced, never written to.
        let fresh = directory.join(format!(".{}.new", self.name));
        self.compile(&fresh)?;
        fs::rename(&fresh, &path)?;
        fs::write(&stamp_file, stamp)?;
        Ok(path)
    }

    /// Changes whenever the program has to be built again.
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
        digest.update(format!("{:?} {:?}", self.language.compiler(), self.flags).as_bytes());
        Ok(digest.finalize().to_hex().to_string())
    }

    fn compile(&self, to: &Path) -> io::Result<()> {
        let (compiler, flags) = self.language.compiler();
        let output = Command::new(compiler)
            .args(flags)
            .arg(&self.file)
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

    /// Whether this is a message that the program's failure is expected to have.
    #[must_use]
    pub fn message_matches(&self, message: &str) -> bool {
        matches(&self.message, message)
    }

    /// Builds the program and just runs it, for no longer than `bound`.
    ///
    /// # Errors
    /// Where it cannot be built or started.
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
        // What these programs print fits into the pipe, so it can be read when they are done.
        let mut stdout = Vec::new();
        child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stdout))?;
        Ok(Run { outcome: outcome(status), stdout: String::from_utf8_lossy(&stdout).into_owned() })
    }
}

/// What came of just running a program.
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

/// Whether a text fits a pattern, in which `*` stands for anything, also for nothing.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place that fits leaves the most for what follows.
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}
