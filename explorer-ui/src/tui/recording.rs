//! Files with the contents of the screen.

use super::model::message::Message;
use super::screen_export::{cast_frame, cast_header, cast_resize, svg, text};
use ratatui::buffer::Buffer;
use ratatui::layout::Size;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Writes the screen as a picture and as text; returns the path of the picture.
///
/// # Errors
/// If a file cannot be written.
fn save(screen: &Buffer, directory: &Path) -> io::Result<PathBuf> {
    let (path, mut picture) = create(directory, "svg")?;
    picture.write_all(svg(screen).as_bytes())?;
    std::fs::write(path.with_extension("txt"), text(screen))?;
    Ok(path)
}

/// Creates the first file of the kind `screen-1.svg` that does not exist yet.
fn create(directory: &Path, extension: &str) -> io::Result<(PathBuf, File)> {
    std::fs::create_dir_all(directory)?;
    let mut number = 1;
    loop {
        let path = directory.join(format!("screen-{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// An asciicast that is being written.
#[derive(Debug)]
struct Recording {
    path: PathBuf,
    file: File,
    began: Instant,
    /// The size of the last screen; none before the first.
    size: Option<Size>,
}

impl Recording {
    /// Creates the file.
    fn start(directory: &Path) -> io::Result<Recording> {
        let (path, file) = create(directory, "cast")?;
        Ok(Recording { path, file, began: Instant::now(), size: None })
    }

    /// Adds a screen.
    fn add(&mut self, screen: &Buffer) -> io::Result<()> {
        let at = self.began.elapsed();
        let size = screen.area.as_size();
        let mut lines = match self.size.replace(size) {
            None => cast_header(screen),
            Some(before) if before != size => cast_resize(screen, at),
            Some(_) => String::new(),
        };
        lines += &cast_frame(screen, at);
        self.file.write_all(lines.as_bytes())
    }
}

/// Files that were requested and need the screen when it is drawn next, and the recording.
#[derive(Debug)]
pub(super) struct Captures {
    directory: PathBuf,
    save: bool,
    recording: Option<Recording>,
}

impl Captures {
    /// Nothing is requested; files go to this directory.
    pub(super) fn new(directory: PathBuf) -> Captures {
        Captures { directory, save: false, recording: None }
    }

    /// Requests files with the next screen.
    pub(super) fn save(&mut self) {
        self.save = true;
    }

    /// Starts a recording or ends it; returns a message for the user.
    pub(super) fn toggle_recording(&mut self) -> Message {
        if let Some(recording) = self.recording.take() {
            return Message {
                text: format!("recorded in {}", recording.path.display()),
                bad: false,
            };
        }
        match Recording::start(&self.directory) {
            Ok(recording) => {
                let path = recording.path.display();
                let text = format!("recording the screen in {path}; the same key ends it");
                self.recording = Some(recording);
                Message { text, bad: false }
            }
            Err(error) => {
                Message { text: format!("the screen cannot be recorded: {error}"), bad: true }
            }
        }
    }

    /// Writes a screen that was drawn where it was requested; returns a message for the user.
    pub(super) fn drawn(&mut self, screen: &Buffer) -> Option<Message> {
        let failed =
            |error| Message { text: format!("the screen cannot be written: {error}"), bad: true };
        if let Some(Err(error)) = self.recording.as_mut().map(|recording| recording.add(screen)) {
            self.recording = None;
            return Some(failed(error));
        }
        if !std::mem::take(&mut self.save) {
            return None;
        }
        Some(match save(screen, &self.directory) {
            Ok(path) => {
                Message { text: format!("written to {} and .txt", path.display()), bad: false }
            }
            Err(error) => failed(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;

    #[test]
    fn files_are_numbered_and_never_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let screen = Buffer::empty(Rect::new(0, 0, 4, 1));
        let saved = || save(&screen, directory.path()).expect("it is written");
        assert!(saved().ends_with("screen-1.svg"));
        assert!(saved().ends_with("screen-2.svg"));
        assert!(directory.path().join("screen-2.txt").exists());
    }

    #[test]
    fn a_recording_has_a_header_frames_and_changes_of_size() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut recording = Recording::start(directory.path()).expect("a file");
        for width in [4, 4, 5] {
            recording.add(&Buffer::empty(Rect::new(0, 0, width, 1))).expect("it is written");
        }
        let text = std::fs::read_to_string(&recording.path).expect("the file");
        let kinds: Vec<char> = text
            .lines()
            .map(|line| line.chars().find(|it| matches!(it, '{' | 'o' | 'r')).expect("a line"))
            .collect();
        assert_eq!(kinds, ['{', 'o', 'o', 'r', 'o']);
    }

    #[test]
    fn recordings_begin_end_and_fail_with_a_message() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut captures = Captures::new(directory.path().to_owned());
        let path = directory.path().join("screen-1.cast");
        let started = captures.toggle_recording();
        assert_eq!(
            started.text,
            format!("recording the screen in {}; the same key ends it", path.display())
        );
        assert_eq!(captures.toggle_recording().text, format!("recorded in {}", path.display()));
        let mut nowhere = Captures::new("/dev/null/none".into());
        let refused = nowhere.toggle_recording();
        assert!(refused.bad && refused.text.starts_with("the screen cannot be recorded: "));
        nowhere.save();
        let screen = Buffer::empty(Rect::new(0, 0, 4, 1));
        let failed = nowhere.drawn(&screen).expect("a message");
        assert!(failed.bad && failed.text.starts_with("the screen cannot be written: "));
    }
}
