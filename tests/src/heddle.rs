//! The real binary, as a user runs it.

use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use traces::report::Report;

static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    // Beside this test's own executable: target/PROFILE/deps/NAME.
    let me = std::env::current_exe().expect("a test knows its own executable");
    let directory = me.ancestors().nth(2).expect("tests lie two levels down").to_owned();
    let profile = if directory.ends_with("debug") { "dev" } else { "release" };
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        // The whole workspace's features, as the tests themselves were built with: another choice of
        // packages builds half of the libraries anew, which takes a minute and more.
        .args([
            "build",
            "--locked",
            "--workspace",
            "--bin",
            "heddle",
            "--bin",
            "cargo-heddle",
            "--bin",
            "heddle-cluster",
            "--bin",
            "screenshots",
            "--profile",
        ])
        .arg(profile)
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    directory.join("heddle")
});

/// The binary, built if it was not.
#[must_use]
pub fn binary() -> &'static Path {
    &BINARY
}

/// The program that draws the pictures of the documentation, built if it was not.
#[must_use]
pub fn screenshots() -> PathBuf {
    binary().with_file_name("screenshots")
}

/// The result of running the binary.
#[derive(Debug)]
pub struct Run {
    /// The exit status; -1 if a signal ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Standard output, parsed.
    ///
    /// # Panics
    /// If it is malformed.
    #[must_use]
    pub fn object<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The trace that `heddle run` left.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn trace(&self) -> &str {
        let trace = self.stderr.lines().find_map(|line| line.strip_prefix("trace "));
        trace.unwrap_or_else(|| panic!("no trace: {self:?}"))
    }

    /// The report of `explore --json`.
    #[must_use]
    pub fn report(&self) -> Report {
        self.object()
    }
}

/// A separate directory for one test, with the state files of Heddle's user.
#[derive(Debug)]
pub struct Home {
    directory: tempfile::TempDir,
}

impl Default for Home {
    fn default() -> Home {
        Home::new()
    }
}

impl Home {
    /// An empty one.
    ///
    /// # Panics
    /// If no temporary directory can be made.
    #[must_use]
    pub fn new() -> Home {
        Home { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// The directory in which commands run.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The binary with these arguments, to be run here.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env_remove("XDG_RUNTIME_DIR")
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The report of a search with these options.
    ///
    /// # Panics
    /// If there is none, or not within half an hour.
    #[must_use]
    pub fn explore(&self, options: &[&str], command: &[&str]) -> Report {
        let words = [&["explore", "--json"], options, &["--"], command].concat();
        run(self.command(words), Duration::from_secs(1800)).report()
    }

    /// Runs the binary to its end.
    ///
    /// # Panics
    /// If it does not end within ten minutes.
    pub fn heddle<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        run(self.command(args), Duration::from_secs(600))
    }
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started, or does not end in time: it is killed then.
#[must_use]
pub fn run(mut command: Command, bound: Duration) -> Run {
    use std::io::Read;
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let stderr = reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let status = end_within(&mut child, bound).expect("a child can be waited for");
    let status = status.unwrap_or_else(|| panic!("{command:?} did not end within {bound:?}"));
    Run {
        status: status.code().unwrap_or(-1),
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    }
}

/// Waits for the end of a process; none if it did not end in time: it is killed then.
///
/// # Errors
/// If it cannot be waited for or killed.
pub fn end_within(child: &mut Child, bound: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if began.elapsed() > bound => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
