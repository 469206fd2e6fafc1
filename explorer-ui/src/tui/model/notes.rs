//! Bookmarks and notes on steps, and the file beside the trace that stores them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Notes by step, counted from 0; a bookmark is an empty note.
pub type Notes = BTreeMap<usize, String>;

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    note: Vec<Note>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// Counted from 1, as on the screen.
    step: usize,
    #[serde(default)]
    text: String,
}

/// The path of the file with the notes on a trace.
#[must_use]
pub fn beside(trace: &Path) -> PathBuf {
    let mut name = trace.file_name().unwrap_or_default().to_owned();
    name.push(".notes.toml");
    trace.with_file_name(name)
}

/// The contents of the file.
#[must_use]
pub fn write(notes: &Notes) -> String {
    let note = |(&step, text): (&usize, &String)| Note { step: step + 1, text: text.clone() };
    toml::to_string(&File { note: notes.iter().map(note).collect() }).unwrap_or_default()
}

/// Parses the contents of a file.
///
/// # Errors
/// What is malformed, with its line.
pub fn read(text: &str) -> Result<Notes, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..at].matches('\n').count() + 1;
        format!("line {line}: {}", error.message().lines().next().unwrap_or_default())
    })?;
    let notes = file.note.into_iter().filter(|note| note.step > 0);
    Ok(notes.map(|note| (note.step - 1, note.text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_and_errors_name_their_line() {
        let notes: Notes = [(0, String::new()), (41, "here \"it\" begins".to_owned())].into();
        assert_eq!(read(&write(&notes)), Ok(notes));
        assert_eq!(read(""), Ok(Notes::new()));
        let wrong = read("[[note]]\nstep = 1\n[[note]]\nstep = \"x\"\n").expect_err("no number");
        assert!(wrong.starts_with("line 4:"), "{wrong}");
    }

    #[test]
    fn the_file_is_beside_the_trace() {
        let path = beside(Path::new("out/deadlock-1.heddle"));
        assert_eq!(path, Path::new("out/deadlock-1.heddle.notes.toml"));
    }
}
