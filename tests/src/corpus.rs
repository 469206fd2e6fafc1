//! Known concurrency bugs of released crates (`tests/corpus`): builds a test of each and searches it.

use crate::heddle::Home;
use crate::style::repository;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use traces::FailureKind;
use traces::report::Report;

/// A bug of a released version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownBug {
    /// The name of its test, `tests/corpus/NAME.rs`.
    pub name: String,
    /// The `[dependencies]` of the test's package.
    pub dependencies: toml::Table,
    /// The same with the version that mended the bug; without it, the newest release has the bug.
    pub fixed: Option<toml::Table>,
    /// The kind of failure that a search must find.
    #[serde(deserialize_with = "kind")]
    pub kind: FailureKind,
    /// The options that a search for this kind of failure needs.
    #[serde(default)]
    pub options: Vec<String>,
    /// The number in the RustSec database.
    pub advisory: Option<String>,
    /// What happens, in one sentence.
    pub shows: String,
}

/// Which of a crate's versions a test is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The one that has the bug.
    Affected,
    /// The one that mended it.
    Fixed,
}

fn kind<'de, D: serde::Deserializer<'de>>(from: D) -> Result<FailureKind, D::Error> {
    let name = String::deserialize(from)?;
    FailureKind::from_name(&name)
        .ok_or_else(|| serde::de::Error::custom(format!("{name} is no kind of failure")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    bug: Vec<KnownBug>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The bugs of the manifest.
///
/// # Panics
/// If the manifest is malformed.
#[must_use]
pub fn known_bugs() -> Vec<KnownBug> {
    let path = directory().join("manifest.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let manifest: Manifest = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    manifest.bug
}

impl KnownBug {
    fn dependencies(&self, release: Release) -> &toml::Table {
        match (release, &self.fixed) {
            (Release::Fixed, Some(fixed)) => fixed,
            _ => &self.dependencies,
        }
    }

    /// The exact versions that a release asks for.
    fn exact_versions(&self, release: Release) -> BTreeMap<&str, &str> {
        let mut exact = BTreeMap::new();
        for (name, wanted) in self.dependencies(release) {
            let version = wanted.get("version").unwrap_or(wanted).as_str();
            if let Some(version) = version.and_then(|version| version.strip_prefix('=')) {
                exact.insert(name.as_str(), version);
            }
        }
        exact
    }

    /// The crate and its version, as in `tokio 1.13.0`.
    #[must_use]
    pub fn version(&self, release: Release) -> String {
        let exact = self.exact_versions(release);
        exact
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The name of the test function.
    ///
    /// # Panics
    /// If the source contains no test.
    #[must_use]
    pub fn test(&self) -> String {
        let path = directory().join(format!("{}.rs", self.name));
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let (_, after) = source.split_once("#[test]\nfn ").expect("a test");
        after.split_once('(').expect("a function").0.to_owned()
    }

    /// Builds the test as cargo does for its users. Builds of the same directory share dependencies.
    ///
    /// # Errors
    /// What cargo says, for instance that the registry cannot be reached.
    ///
    /// # Panics
    /// If files cannot be written.
    pub fn build(&self, shared: &Path, release: Release) -> Result<PathBuf, String> {
        let directory_name = match release {
            Release::Affected => self.name.clone(),
            Release::Fixed => format!("{}-fixed", self.name),
        };
        let package = shared.join(&directory_name);
        fs::create_dir_all(package.join("tests")).expect("a directory");
        fs::create_dir_all(package.join("src")).expect("a directory");
        fs::write(package.join("src/lib.rs"), "").expect("written");
        let source = format!("{}.rs", self.name);
        fs::copy(directory().join(&source), package.join("tests").join(&source)).expect("copied");
        let name = format!("known-bug-{directory_name}");
        let about = [("name", name.as_str()), ("version", "0.0.0"), ("edition", "2021")];
        let about =
            toml::Table::from_iter(about.map(|(key, value)| (key.to_owned(), value.into())));
        let sections = [
            ("package", about),
            // Not a member of the workspace around it.
            ("workspace", toml::Table::new()),
            ("dependencies", self.dependencies(release).clone()),
        ];
        let sections = sections.map(|(name, table)| (name.to_owned(), toml::Value::Table(table)));
        let manifest = toml::to_string(&toml::Table::from_iter(sections)).expect("a table");
        fs::write(package.join("Cargo.toml"), manifest).expect("written");
        if !package.join("Cargo.lock").exists() {
            let lock_file = self.lock_file(&name, release);
            fs::write(package.join("Cargo.lock"), lock_file).expect("written");
        }
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--no-run", "--message-format=json", "--test", &self.name])
            .current_dir(&package)
            .env("CARGO_TARGET_DIR", shared.join("target"))
            .stdin(Stdio::null())
            .output()
            .expect("cargo runs");
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let messages = String::from_utf8_lossy(&output.stdout).into_owned();
        let executable = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .find_map(|message| message["executable"].as_str().map(PathBuf::from));
        executable.ok_or_else(|| format!("cargo built no test: {messages}"))
    }

    /// Whether an error of [`build`](KnownBug::build) means that the compiler refuses the test itself.
    #[must_use]
    pub fn is_refused(&self, error: &str) -> bool {
        error.contains(&format!("could not compile `known-bug-{}-fixed`", self.name))
    }

    /// A lock file that selects the exact versions, since the registry itself no longer selects those
    /// that were withdrawn; cargo adds the other packages.
    fn lock_file(&self, name: &str, release: Release) -> String {
        let own = fs::read_to_string(repository().join("Cargo.lock")).expect("a lock file");
        let registry = own.lines().find(|line| line.starts_with("source = ")).expect("a registry");
        let exact = self.exact_versions(release);
        let names: Vec<String> = exact.keys().map(|name| format!("\"{name}\"")).collect();
        let mut text = format!(
            "version = 3\n\n[[package]]\nname = \"{name}\"\nversion = \"0.0.0\"\ndependencies = [{}]\n",
            names.join(", ")
        );
        for (package, version) in exact {
            text += &format!(
                "\n[[package]]\nname = \"{package}\"\nversion = \"{version}\"\n{registry}\n"
            );
        }
        text
    }

    /// Searches the test with the default options, but for a limit on executions and the bug's own options.
    ///
    /// # Panics
    /// If the report cannot be read.
    #[must_use]
    pub fn explore(&self, home: &Home, executable: &Path) -> Report {
        let executable = executable.to_string_lossy();
        let limit = ["--max-executions", "2000", "--workers", "1"];
        let test = self.test();
        let command = ["--", &executable, "--exact", &test];
        let own: Vec<&str> = self.options.iter().map(String::as_str).collect();
        home.heddle([&["explore", "--json"], &limit[..], &own, &command].concat()).report()
    }
}
