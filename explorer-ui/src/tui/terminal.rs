//! The terminal while the explorer uses it; its modes are restored in every case.

use super::links::{LinkBackend, Links};
use crate::walk::panics;
use ratatui::Terminal;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};
use std::io::{self, Stdout};

/// The terminal while the explorer uses it. Dropping it restores the terminal.
pub(super) struct Screen {
    pub(super) terminal: Terminal<LinkBackend<Stdout>>,
    /// The links of the screen that is being drawn.
    pub(super) links: Links,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Screen> {
        let before = std::panic::take_hook();
        let owner = std::thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == owner {
                restore();
                return before(panic);
            }
            // The screen is still in use, and the code that catches this panic continues.
            panics::keep(panic);
        }));
        take()?;
        let links = Links::default();
        let terminal = Terminal::new(LinkBackend::new(io::stdout(), Links::clone(&links)))?;
        Ok(Screen { terminal, links })
    }

    pub(super) fn leave(&mut self) {
        restore();
    }

    pub(super) fn again(&mut self) -> io::Result<()> {
        take()?;
        self.redraw()
    }

    /// Redraws everything at the next draw. (`Terminal::clear` would query the cursor position, and
    /// the thread that reads keys would receive the answer.)
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        cursor::Hide
    )
}

fn restore() {
    // Errors are ignored: if the terminal is closed, every command fails, and there is no screen to
    // report it on.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::panics::catch_panic;
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;

    /// Set in the process that a test starts in a terminal.
    const INNER: &str = "HEDDLE_TEST_INNER";

    /// Runs one of these tests in a terminal, in a separate process; returns its output.
    fn in_a_terminal(name: &str) -> String {
        let pair = native_pty_system().openpty(PtySize::default()).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(std::env::current_exe().expect("this test's path"));
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        command.env(INNER, "1");
        let before = pair.master.get_termios().expect("a terminal has settings");
        let mut child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let mut written = Vec::new();
        // Reading from a closed terminal returns an error.
        let _ = reader.read_to_end(&mut written);
        child.wait().expect("it ends");
        let after = pair.master.get_termios().expect("a terminal has settings");
        assert_eq!(before.local_flags, after.local_flags, "lines are edited and echoed again");
        String::from_utf8_lossy(&written).into_owned()
    }

    #[test]
    fn a_panic_restores_the_terminal_before_its_message() {
        if std::env::var_os(INNER).is_some() {
            let _screen = Screen::enter().expect("a terminal");
            panic!("an unexpected panic");
        }
        let written =
            in_a_terminal("tui::terminal::tests::a_panic_restores_the_terminal_before_its_message");
        let at =
            |text: &str| written.find(text).unwrap_or_else(|| panic!("no {text:?}: {written:?}"));
        // The alternate screen, the mouse and pasting end; the cursor is shown.
        for sequence in ["\x1b[?1049l", "\x1b[?1000l", "\x1b[?2004l", "\x1b[?25h"] {
            assert!(at("\x1b[?1049h") < at(sequence), "{written:?}");
            assert!(at(sequence) < at("an unexpected panic"), "{written:?}");
        }
    }

    #[test]
    fn a_panic_in_the_background_is_reported_without_damage_to_the_screen() {
        if std::env::var_os(INNER).is_some() {
            let screen = Screen::enter().expect("a terminal");
            let work = || catch_panic(|| panic!("this did not work"));
            let caught: Result<(), String> = std::thread::spawn(work).join().expect("it is caught");
            drop(screen);
            println!("caught: {caught:?}");
            return;
        }
        let written = in_a_terminal(
            "tui::terminal::tests::a_panic_in_the_background_is_reported_without_damage_to_the_screen",
        );
        let (on_screen, after) = written.split_once("\x1b[?1049l").expect("it was given back");
        assert!(!on_screen.contains("this did not work"), "{written:?}");
        assert!(
            after.contains("caught: Err(") && after.contains("this did not work"),
            "{written:?}"
        );
    }
}
