//! Links on the screen from places such as `queue.c:12` to the file and line (OSC 8), for terminals
//! that display them.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Size};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use traces::Trace;

/// A place on the screen and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    row: u16,
    columns: Range<u16>,
    url: String,
}

/// The links of the screen that is being drawn.
pub(super) type Links = Rc<RefCell<Vec<Link>>>;

/// Whether the terminal displays links, according to the environment. Others would mostly ignore
/// them, but some print what they do not know.
#[must_use]
pub(super) fn has_links(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let term = variable("TERM").unwrap_or_default();
    if matches!(term.as_str(), "" | "dumb" | "linux") || term.starts_with("vt") {
        return false;
    }
    let number = |name: &str| variable(name).and_then(|value| value.parse::<u32>().ok());
    let names = ["kitty", "ghostty", "foot", "alacritty", "wezterm", "contour"];
    let programs = ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"];
    // tmux passes links on since version 3.4, and names itself.
    let new_tmux = || {
        let version = variable("TERM_PROGRAM_VERSION").unwrap_or_default();
        let mut parts = version.split(|digit: char| !digit.is_ascii_digit());
        let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
        (next(), next()) >= (3, 4)
    };
    match variable("TERM_PROGRAM").as_deref() {
        Some("tmux") => new_tmux(),
        Some(program) if programs.contains(&program) => true,
        _ => {
            names.iter().any(|name| term.contains(name))
                || number("VTE_VERSION").is_some_and(|version| version >= 5000)
                || number("KONSOLE_VERSION").is_some_and(|version| version >= 201_200)
                || variable("WT_SESSION").is_some()
        }
    }
}

/// The source files of an execution by their last names; none if two have the same.
#[derive(Debug, Default)]
pub(super) struct Files(HashMap<String, Option<String>>);

impl Files {
    pub(super) fn of(trace: &Trace) -> Files {
        let mut files = HashMap::new();
        for (_, frames) in &trace.execution.places {
            for frame in frames.iter().filter(|frame| !frame.file.is_empty()) {
                let whole = Path::new(&trace.header.cwd).join(&frame.file);
                let whole = whole.to_string_lossy().into_owned();
                let name = frame.file.rsplit('/').next().unwrap_or_default().to_owned();
                let known = files.entry(name).or_insert_with(|| Some(whole.clone()));
                if known.as_ref() != Some(&whole) {
                    *known = None;
                }
            }
        }
        Files(files)
    }

    /// The address of a place such as `queue.c:12`.
    fn url(&self, place: &str) -> Option<String> {
        let (file, line) = place.split_once(':')?;
        let line: u32 = line.parse().ok()?;
        let path = self.0.get(file)?.as_ref().filter(|path| path.starts_with('/'))?;
        let mut url = "file://".to_owned();
        for &byte in path.as_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(byte)),
                _ if byte.is_ascii_alphanumeric() => url.push(char::from(byte)),
                _ => drop(write!(url, "%{byte:02X}")),
            }
        }
        url.push_str(&format!("#{line}"));
        Some(url)
    }

    /// The links of a screen.
    pub(super) fn links(&self, buffer: &Buffer) -> Vec<Link> {
        let mut links = Vec::new();
        if self.0.is_empty() {
            return links;
        }
        let area = buffer.area;
        let is_part = |symbol: &str| {
            let mut letters = symbol.chars();
            let letter = letters.next().unwrap_or(' ');
            letters.next().is_none()
                && (letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '+' | ':'))
        };
        for row in area.y..area.bottom() {
            let mut word = String::new();
            let mut start = area.x;
            for column in area.x..=area.right() {
                let symbol = match column < area.right() {
                    true => buffer[(column, row)].symbol(),
                    false => " ",
                };
                if is_part(symbol) {
                    if word.is_empty() {
                        start = column;
                    }
                    word.push_str(symbol);
                    continue;
                }
                let place = word.trim_end_matches([':', '.']);
                if let Some(url) = place.contains(':').then(|| self.url(place)).flatten() {
                    let end = start + place.chars().count() as u16;
                    links.push(Link { row, columns: start..end, url });
                }
                word.clear();
            }
        }
        links
    }
}

/// A backend that surrounds places with the sequences of links.
pub(super) struct LinkBackend<W: Write> {
    inner: CrosstermBackend<W>,
    links: Links,
}

impl<W: Write> LinkBackend<W> {
    pub(super) fn new(writer: W, links: Links) -> LinkBackend<W> {
        LinkBackend { inner: CrosstermBackend::new(writer), links }
    }
}

impl<W: Write> Backend for LinkBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let links = Rc::clone(&self.links);
        let links = links.borrow();
        if links.is_empty() {
            return self.inner.draw(content);
        }
        // Both are ordered by row and column.
        let place = |(x, y): (u16, u16)| {
            let next = links.partition_point(|it| (it.row, it.columns.end) <= (y, x));
            let link = links.get(next)?;
            (link.row == y && link.columns.contains(&x)).then_some(next)
        };
        let cells: Vec<_> = content.collect();
        for run in cells.chunk_by(|a, b| place((a.0, a.1)) == place((b.0, b.1))) {
            let Some(&(x, y, _)) = run.first() else { continue };
            let link = place((x, y)).map(|at| &links[at].url);
            if let Some(url) = link {
                write!(self.inner, "\x1b]8;;{url}\x1b\\")?;
            }
            self.inner.draw(run.iter().copied())?;
            if link.is_some() {
                write!(self.inner, "\x1b]8;;\x1b\\")?;
            }
        }
        Ok(())
    }

    fn append_lines(&mut self, lines: u16) -> io::Result<()> {
        self.inner.append_lines(lines)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn terminals_without_links_get_none() {
        let has = |set: &[(&str, &str)]| {
            has_links(&|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, it)| (*it).to_owned())
            })
        };
        assert!(has(&[("TERM", "xterm-kitty")]));
        assert!(has(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7200")]));
        assert!(has(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")]));
        let tmux = |version| {
            has(&[("TERM", "tmux"), ("TERM_PROGRAM", "tmux"), ("TERM_PROGRAM_VERSION", version)])
        };
        assert!(tmux("3.4") && tmux("3.10a") && !tmux("3.3a"));
        assert!(!has(&[("TERM", "linux"), ("VTE_VERSION", "7200")]));
        assert!(!has(&[("TERM", "xterm-256color"), ("VTE_VERSION", "4200")]));
        assert!(!has(&[]));
    }

    #[test]
    fn places_are_links_and_other_text_is_none() {
        let mut trace = samples::two_tasks();
        trace.header.cwd = "/home/me/my tests".into();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 60, 2));
        let line = "T1's write at queue.c:12: then other.c:7 and 12:30";
        buffer.set_string(3, 1, line, Style::new());
        let links = Files::of(&trace).links(&buffer);
        let url = "file:///home/me/my%20tests/src/queue.c#12".to_owned();
        let start = 3 + line.find("queue").expect("it is there") as u16;
        assert_eq!(links, [Link { row: 1, columns: start..start + 10, url: url.clone() }]);
        // What is written to the terminal.
        let mut written = Vec::new();
        let shared = Rc::new(RefCell::new(links));
        let mut backend = LinkBackend::new(&mut written, shared);
        let cells = (0..60).map(|x| (x, 1, &buffer[(x, 1)]));
        backend.draw(cells).expect("it is written");
        let text = String::from_utf8(written).expect("it is text");
        let (_, rest) = text.split_once(&format!("\x1b]8;;{url}\x1b\\")).expect("a link");
        let (inside, _) = rest.split_once("\x1b]8;;\x1b\\").expect("its end");
        assert!(inside.contains("queue.c:12") && !inside.contains("then"), "{text:?}");
        assert_eq!(text.matches("\x1b]8;;").count(), 2, "{text:?}");
    }
}
