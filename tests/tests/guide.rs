//! The commands in README.md and docs/ are run in a copy of examples/, and their output is compared
//! with what the pages show. `tests::pages` describes how blocks are marked.
//!
//! `HEDDLE_UPDATE_DOCS=1 cargo test -p tests --release --test guide` writes the actual output into the
//! pages where it differs; elided lines stay elided.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tests::heddle;
use tests::installed::is_installed;
use tests::pages::{self, Block, Mark};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace exists")
}

fn read(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page));
    text.unwrap_or_else(|error| panic!("{}: {error}", page.display()))
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A fresh copy of examples/, where commands run.
struct Examples {
    directory: tempfile::TempDir,
}

impl Examples {
    fn new() -> Examples {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let copied = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "examples"])
            .current_dir(root())
            .output();
        // A source tree without git holds no build products to leave out.
        match copied {
            Ok(list) if list.status.success() && !list.stdout.is_empty() => {
                for name in String::from_utf8_lossy(&list.stdout)
                    .split('\0')
                    .filter(|name| !name.is_empty())
                {
                    let to = directory.path().join(name);
                    std::fs::create_dir_all(to.parent().expect("a file is in a directory"))
                        .expect("a directory");
                    std::fs::copy(root().join(name), to).expect("an example can be copied");
                }
            }
            _ => {
                let copied = Command::new("cp")
                    .arg("-r")
                    .arg(root().join("examples"))
                    .arg(directory.path())
                    .status();
                assert!(copied.is_ok_and(|status| status.success()), "examples/ can be copied");
            }
        }
        Examples { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("the copy exists").join("examples")
    }

    fn shell(&self, directory: &str, script: &str) -> heddle::Run {
        let binary = heddle::binary();
        let mut path =
            binary.parent().expect("the binary is in a directory").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .current_dir(self.path().join(directory))
            .env("PATH", path)
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .env("XDG_CACHE_HOME", self.directory.path().join("cache"))
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .env_remove("MAKEFLAGS")
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        heddle::run(command, Duration::from_secs(180))
    }
}

/// Runs a session; adds what differs to `differences` and the lines to replace to `updates`.
fn run_session(
    examples: &Examples,
    directory: &str,
    lines: &[String],
    session: &[Block],
    differences: &mut Vec<String>,
    updates: &mut Vec<(usize, usize, Vec<String>)>,
) {
    let block = &session[0];
    if block.language == "sh" {
        let script = format!("set -e\n{}", lines[block.first..block.end].join("\n"));
        let run = examples.shell(directory, &script);
        if run.status != 0 {
            differences.push(format!("line {}: {run:?}", block.first));
        }
        return;
    }
    let exchanges = pages::exchanges(lines, session);
    let run = examples.shell(directory, &pages::script(&exchanges));
    let outputs = pages::outputs(&exchanges, &run.stdout, &examples.path());
    for (exchange, actual) in pages::flattened(&exchanges).into_iter().zip(outputs) {
        if !pages::agrees(&exchange.expected, &actual) {
            differences.push(format!(
                "line {}: {}\n--- the page shows\n{}\n--- the command prints\n{}\n---",
                exchange.first,
                exchange.command,
                exchange.expected.join("\n"),
                actual.join("\n")
            ));
            let end = exchange.first + exchange.expected.len();
            updates.push((exchange.first, end, pages::elided_like(&exchange.expected, &actual)));
        }
    }
}

fn check_page(page: &Path) -> Vec<String> {
    let mut lines = read(page);
    let mut differences = Vec::new();
    let mut updates = Vec::new();
    let examples = Examples::new();
    for session in pages::sessions(&lines) {
        let block = &session[0];
        let Some(Mark::Run { directory, needs }) = block.mark() else { continue };
        if let Some(missing) = needs.iter().find(|command| !is_installed(command)) {
            println!("SKIPPED: {}, line {}: needs {missing}", page.display(), block.first);
            continue;
        }
        run_session(&examples, directory, &lines, &session, &mut differences, &mut updates);
    }
    if std::env::var_os("HEDDLE_UPDATE_DOCS").is_some() && !updates.is_empty() {
        for (first, end, new) in updates.into_iter().rev() {
            lines.splice(first..end, new);
        }
        std::fs::write(root().join(page), lines.join("\n") + "\n")
            .expect("the page can be written");
    }
    differences.into_iter().map(|difference| format!("{}, {difference}", page.display())).collect()
}

#[test]
fn commands_in_the_pages_print_what_the_pages_show() {
    let pages = pages::pages(&root());
    let differences: Vec<String> = pages.iter().flat_map(|page| check_page(page)).collect();
    assert!(
        differences.is_empty(),
        "{}\n\nHEDDLE_UPDATE_DOCS=1 writes the actual output into the pages",
        differences.join("\n\n")
    );
}

#[test]
fn every_block_of_commands_says_whether_it_is_run() {
    let mut unmarked = Vec::new();
    for page in pages::pages(&root()) {
        for block in pages::blocks(&read(&page)).iter().filter(|block| block.is_commands()) {
            if block.mark().is_none() {
                unmarked.push(format!("{}, line {}", page.display(), block.first));
            }
        }
    }
    assert!(unmarked.is_empty(), "no <!-- run: --> or <!-- not run: --> before: {unmarked:#?}");
}

#[test]
fn links_between_the_pages_lead_somewhere() {
    let mut broken = Vec::new();
    let mut pages = pages::pages(&root());
    pages.extend(["ARCHITECTURE.md", "CHANGELOG.md"].map(PathBuf::from));
    for page in pages {
        let text = read(&page).join("\n");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            if !root().join(page.parent().unwrap_or(Path::new(""))).join(file).exists() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_kind_of_failure_is_described() {
    let page = read(Path::new("docs/guide/reading-a-report.md")).join("\n");
    let described = |kind: &&traces::FailureKind| page.contains(&format!("`{}`", kind.name()));
    let missing: Vec<_> = traces::FailureKind::ALL.iter().filter(|kind| !described(kind)).collect();
    assert!(missing.is_empty(), "not in docs/guide/reading-a-report.md: {missing:?}");
}

#[test]
fn every_strategy_is_described() {
    let page = read(Path::new("docs/guide/strategies.md")).join("\n");
    let missing: Vec<_> = search::strategy::registry::listed()
        .map(|descriptor| descriptor.name)
        .filter(|name| !page.contains(&format!("`{name}`")) && !page.contains(&format!("`{name}:")))
        .collect();
    assert!(missing.is_empty(), "not in docs/guide/strategies.md: {missing:?}");
}

#[test]
fn the_readme_is_a_first_page() {
    let lines = read(Path::new("README.md")).len();
    assert!(lines <= 150, "README.md has {lines} lines; details belong under docs/");
}
