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
    /// Exact versions of packages that only a lock file selects, because they were withdrawn.
    #[serde(default)]
    pub packages: BTreeMap<String, String>,
    /// The kind of failure that a search must find.
    #[serde(deserialize_with = "kind")]
    pub kind: FailureKind,
    /// The number in the RustSec database.
    pub advisory: Option<String>,
    /// What happens, in one sentence.
    pub shows: String,
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
    /// The crate and its version, as in `tokio 1.13.0`.
    #[must_use]
    pub fn version(&self) -> String {
        let one = |(name, wanted): (&String, &toml::Value)| {
            let version = wanted.get("version").unwrap_or(wanted).as_str().unwrap_or_default();
            format!("{name} {}", version.trim_start_matches('='))
        };
        self.dependencies.iter().map(one).collect::<Vec<_>>().join(", ")
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
    pub fn build(&self, shared: &Path) -> Result<PathBuf, String> {
        let package = shared.join(&self.name);
        fs::create_dir_all(package.join("tests")).expect("a directory");
        fs::create_dir_all(package.join("src")).expect("a directory");
        fs::write(package.join("src/lib.rs"), "").expect("written");
        let source = format!("{}.rs", self.name);
        fs::copy(directory().join(&source), package.join("tests").join(&source)).expect("copied");
        let name = format!("known-bug-{}", self.name);
        let about = [("name", name.as_str()), ("version", "0.0.0"), ("edition", "2021")];
        let about =
            toml::Table::from_iter(about.map(|(key, value)| (key.to_owned(), value.into())));
        let sections = [
            ("package", about),
            // Not a member of the workspace around it.
            ("workspace", toml::Table::new()),
            ("dependencies", self.dependencies.clone()),
        ];
        let sections = sections.map(|(name, table)| (name.to_owned(), toml::Value::Table(table)));
        let manifest = toml::to_string(&toml::Table::from_iter(sections)).expect("a table");
        fs::write(package.join("Cargo.toml"), manifest).expect("written");
        if !self.packages.is_empty() && !package.join("Cargo.lock").exists() {
            fs::write(package.join("Cargo.lock"), self.lock_file(&name)).expect("written");
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

    /// A lock file that selects the withdrawn packages; cargo adds the others.
    fn lock_file(&self, name: &str) -> String {
        let own = fs::read_to_string(repository().join("Cargo.lock")).expect("a lock file");
        let registry = own.lines().find(|line| line.starts_with("source = ")).expect("a registry");
        let names: Vec<String> = self.packages.keys().map(|name| format!("\"{name}\"")).collect();
        let mut text = format!(
            "version = 3\n\n[[package]]\nname = \"{name}\"\nversion = \"0.0.0\"\ndependencies = [{}]\n",
            names.join(", ")
        );
        for (package, version) in &self.packages {
            text += &format!(
                "\n[[package]]\nname = \"{package}\"\nversion = \"{version}\"\n{registry}\n"
            );
        }
        text
    }

    /// Searches the test with the default options, but for a limit on executions.
    ///
    /// # Panics
    /// If the report cannot be read.
    #[must_use]
    pub fn explore(&self, home: &Home, executable: &Path) -> Report {
        let executable = executable.to_string_lossy();
        let limit = ["--max-executions", "2000", "--workers", "1"];
        let test = self.test();
        let command = ["--", &executable, "--exact", &test];
        home.heddle([&["explore", "--json"], &limit[..], &command].concat()).report()
    }
}
