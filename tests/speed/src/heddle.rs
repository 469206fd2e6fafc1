//! Heddle on the unmodified program, compiled as usual.

use crate::size::Size;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The same program in three languages.
pub(crate) const LANGUAGES: [&str; 3] = ["C", "C++", "Rust"];

pub(crate) struct Heddle {
    binary: PathBuf,
    programs: [PathBuf; 3],
    directory: tempfile::TempDir,
}

pub(crate) struct Figures {
    pub(crate) elapsed: Duration,
    pub(crate) executions: u64,
    pub(crate) lost: u64,
    pub(crate) steps: u64,
    /// The reset that it used.
    pub(crate) reset: String,
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

impl Heddle {
    /// Builds Heddle and the programs.
    pub(crate) fn build() -> Result<Heddle> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // The features of the whole workspace: others build its libraries anew.
        let words = ["build", "--release", "--locked", "--workspace", "--bin", "heddle"];
        succeed(Command::new(cargo).args(words).current_dir(&root))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let directory = tempfile::tempdir().context("no temporary directory")?;
        let programs = LANGUAGES.map(|language| directory.path().join(language));
        let here = root.join("tests/speed/programs");
        let compile = |compiler: &str, flags: &[&str], source: PathBuf, output: &Path| {
            succeed(Command::new(compiler).args(flags).arg(source).arg("-o").arg(output))
        };
        let source = root.join("tests/targets/increment.c");
        compile("cc", &["-O2", "-g", "-pthread"], source, &programs[0])?;
        let source = here.join("increment.cpp");
        compile("c++", &["-O2", "-g", "-pthread"], source, &programs[1])?;
        let source = here.join("increment.rs");
        compile("rustc", &["-O", "-g", "--edition=2024"], source, &programs[2])?;
        Ok(Heddle { binary: target.join("release/heddle"), programs, directory })
    }

    /// Runs executions under the random strategy.
    pub(crate) fn random(&self, language: usize, size: Size, seed: u64) -> Result<Figures> {
        let executions = size.executions.to_string();
        let output = Command::new(&self.binary)
            .args(["explore", "--strategy", "random", "--workers", "1", "--keep-going", "--json"])
            .args(["--points", "api"])
            .args(["--max-executions", &executions])
            .args(["--seed", &seed.to_string(), "--"])
            .arg(&self.programs[language])
            .args([size.threads.to_string(), size.rounds.to_string()])
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .context("heddle cannot be started")?;
        let report: Value = serde_json::from_slice(&output.stdout).with_context(|| {
            format!("no report: {}", String::from_utf8_lossy(&output.stderr).trim())
        })?;
        let number = |name: &str| report[name].as_u64().with_context(|| format!("no {name}"));
        let bugs = report["bugs"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Figures {
            elapsed: Duration::from_secs_f64(report["elapsed_s"].as_f64().context("no elapsed_s")?),
            executions: number("executions")?,
            lost: bugs.iter().filter_map(|bug| bug["count"].as_u64()).sum(),
            steps: number("max_steps")?,
            reset: report["reset"].as_str().context("no reset")?.to_owned(),
        })
    }
}
