//! `heddle clean`: what Heddle keeps outside of the directories of traces, and how to remove it.

use crate::cli::arguments::CleanArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::text::clean;
use crate::tui::session;
use replay_core::{runtime, scratch, store};
use std::fs;
use std::path::{Path, PathBuf};

/// A file or directory outside of the directories of traces.
struct StoredItem {
    what: &'static str,
    path: PathBuf,
    /// Whether it cannot be made again.
    is_precious: bool,
}

/// Runs the verb.
///
/// # Errors
/// If standard output cannot be written, or something cannot be removed.
pub fn main(args: &CleanArgs, console: &Console) -> Result<Status, Problem> {
    let mut text = String::new();
    let mut failed = Vec::new();
    for StoredItem { what, path, is_precious } in stored_items() {
        let kilobytes = size(&path).div_ceil(1024);
        let removes = args.remove && (args.all || !is_precious);
        let in_use = removes && is_in_use(&path);
        let state = match (removes, in_use) {
            (true, true) => State::InUse,
            (true, false) => match remove(&path) {
                Ok(()) => State::Removed,
                Err(error) => {
                    failed.push(format!("{}: {error}", path.display()));
                    State::NotRemoved
                }
            },
            (false, _) if args.remove => State::Precious,
            (false, _) => State::Listed,
        };
        text += &line(what, kilobytes, &path, state);
    }
    if text.is_empty() {
        text = "nothing is kept\n".to_owned();
    }
    console.print(&text)?;
    not_removed(&failed).map_or(Ok(Status::Fine), Err)
}

/// What was done with an item.
#[derive(Clone, Copy)]
enum State {
    Listed,
    Removed,
    NotRemoved,
    InUse,
    Precious,
}

/// The line for an item.
fn line(what: &str, kilobytes: u64, path: &Path, state: State) -> String {
    let state = match state {
        State::Listed => "",
        State::Removed => "  removed",
        State::NotRemoved => "  not removed",
        State::InUse => "  kept: a running program uses it",
        State::Precious => "  kept: --all removes it, too",
    };
    let shown = clean(&path.display().to_string());
    format!("{what:<22} {kilobytes:>8} kB  {shown}{state}\n")
}

/// The error for items that could not be removed, each with its reason.
fn not_removed(failed: &[String]) -> Option<Problem> {
    let all = failed.join(", ");
    (!failed.is_empty()).then(|| Problem::Usage(format!("cannot remove {all}")))
}

/// The files and directories that exist.
fn stored_items() -> Vec<StoredItem> {
    let mut all = Vec::new();
    let mut add = |what, path: PathBuf, is_precious| {
        if fs::symlink_metadata(&path).is_ok() {
            all.push(StoredItem { what, path, is_precious });
        }
    };
    let base = scratch::base();
    for path in scratch::stale(&base) {
        add("of a killed process", path, false);
    }
    add("demo", base.join("demo"), false);
    for directory in runtime::directories() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if ["heddle-runtime-", "heddle_gdb_", "heddle_lldb_", "sanitizer"]
                .iter()
                .any(|known| name.starts_with(known))
            {
                add("runtime", entry.path(), false);
            }
        }
    }
    if let Some(path) = session::directory() {
        add("saved sessions", path, false);
    }
    if let Some(state) = store::state_directory() {
        add("demo", state.join("demo"), false);
        add("traces saved there", state.join("traces"), true);
        add("key for signing", state.join("author-key"), true);
    }
    all
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// The bytes of a file, or of all files in a directory.
fn size(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

/// Whether a process has a file below this path in its memory: programs load the runtime from there.
fn is_in_use(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = path.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
        })
        .filter_map(|entry| fs::read_to_string(entry.path().join("maps")).ok())
        .any(|maps| maps.lines().any(|line| line.contains(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_has_a_line_that_says_what_was_done() {
        let of = |state| line("traces saved there", 12, Path::new("/s/traces"), state);
        let begin = "traces saved there           12 kB  /s/traces";
        for (state, end) in [
            (State::Listed, ""),
            (State::Removed, "  removed"),
            (State::NotRemoved, "  not removed"),
            (State::InUse, "  kept: a running program uses it"),
            (State::Precious, "  kept: --all removes it, too"),
        ] {
            assert_eq!(of(state), format!("{begin}{end}\n"));
        }
        assert!(not_removed(&[]).is_none());
        assert_eq!(
            not_removed(&["/a: busy".to_owned(), "/b: read-only".to_owned()])
                .map(|problem| problem.to_string())
                .as_deref(),
            Some("cannot remove /a: busy, /b: read-only")
        );
    }
}
