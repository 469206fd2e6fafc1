//! The explorer in a pseudo-terminal: keys in, screens out.

use crate::debugging::failing_program;
use crate::heddle::{Home, binary};
use crate::targets::program;
use base64::Engine as _;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time limit of a test for anything it waits for.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A terminal in which the explorer runs.
pub struct Terminal {
    /// The home with its files.
    pub home: Home,
    /// The explorer.
    pub child: Box<dyn Child + Send + Sync>,
    /// The terminal's other end.
    pub master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    /// The screen.
    pub parser: vt100::Parser<Clipboard>,
}

/// The last clipboard contents, in base64.
#[derive(Debug, Default)]
pub struct Clipboard(pub Vec<u8>);

impl vt100::Callbacks for Clipboard {
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0 = data.to_vec();
    }
}

impl Terminal {
    /// Starts the explorer with these arguments, on a screen of this size.
    pub fn open(home: Home, args: &[&str], size: (u16, u16)) -> Terminal {
        Terminal::open_with(home, args, size, &[])
    }

    /// The same with additional environment variables.
    pub fn open_with(
        home: Home,
        args: &[&str],
        (width, height): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Terminal {
        let size = PtySize { rows: height, cols: width, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(binary());
        command.args(args);
        command.cwd(home.path());
        command.env("XDG_STATE_HOME", home.path().join("state"));
        command.env("XDG_CACHE_HOME", home.path().join("cache"));
        command.env("XDG_CONFIG_HOME", home.path().join("config"));
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LC_ALL", "C.UTF-8");
        command.env_remove("TMUX");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("heddle starts");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let keys = pair.master.take_writer().expect("a writer");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(len) = reader.read(&mut buffer) {
                if len == 0 || sender.send(buffer[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser =
            vt100::Parser::new_with_callbacks(cells(height), cells(width), 0, Clipboard::default());
        Terminal { home, child, master: pair.master, keys, output, parser }
    }

    /// The text of the screen.
    pub fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    /// Waits until the screen satisfies a condition.
    pub fn wait(&mut self, what: &str, is: impl Fn(&str) -> bool) {
        self.wait_with(what, |parser| is(&parser.screen().contents()));
    }

    /// Waits until the terminal is as `is` says.
    pub fn wait_with(&mut self, what: &str, is: impl Fn(&vt100::Parser<Clipboard>) -> bool) {
        let end = Instant::now() + TIME_LIMIT;
        while !is(&self.parser) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("no {what} in:\n{}", self.screen()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended before there was {what}:\n{}", self.screen())
                }
            }
        }
    }

    /// Waits until the clipboard changes, and returns its text.
    pub fn copied(&mut self) -> String {
        self.parser.callbacks_mut().0.clear();
        self.wait_with("text on the clipboard", |parser| !parser.callbacks().0.is_empty());
        let data = base64::engine::general_purpose::STANDARD.decode(&self.parser.callbacks().0);
        String::from_utf8(data.expect("it is base64")).expect("it is text")
    }

    /// Clicks with the left button on the first occurrence of a text, from the top of the screen.
    pub fn click(&mut self, text: &str) {
        self.wait_for(text);
        let (x, y) = self.place(text).expect("it is there");
        self.click_at(x, y);
    }

    /// Clicks with the left button.
    pub fn click_at(&mut self, x: u16, y: u16) {
        let (x, y) = (x + 1, y + 1);
        self.press(&format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"));
    }

    /// The first occurrence of a text on the screen: column and row.
    pub fn place(&self, text: &str) -> Option<(u16, u16)> {
        let screen = self.parser.screen();
        let (_, width) = screen.size();
        screen.rows(0, width.get()).enumerate().find_map(|(y, row)| {
            let before = &row[..row.find(text)?];
            Some((before.chars().count() as u16, y as u16))
        })
    }

    /// Waits until the screen holds a text.
    pub fn wait_for(&mut self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Selects the end of the schedule, once the explorer has opened on another step.
    pub fn go_to_end(&mut self) {
        self.wait_for("next to run");
        self.press("G");
        self.wait_for("at the end");
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.keys.flush().expect("the terminal takes keys");
    }

    /// Types, unless the explorer has ended.
    ///
    /// # Errors
    /// If the terminal takes no keys any more.
    pub fn try_press(&mut self, keys: &str) -> std::io::Result<()> {
        self.keys.write_all(keys.as_bytes())?;
        self.keys.flush()
    }

    /// Makes the terminal as large as this.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.master.resize(PtySize { rows, cols, ..PtySize::default() }).expect("it resizes");
        self.parser.screen_mut().set_size(cells(rows), cells(cols));
    }

    /// Sends a signal to the explorer.
    pub fn signal(&self, name: &str) {
        let pid = self.child.process_id().expect("it runs");
        let sent = std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits until the kernel reports that it is stopped.
    pub fn waits_until_stopped(&mut self) {
        let pid = self.child.process_id().expect("it runs");
        let end = Instant::now() + TIME_LIMIT;
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
            if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')) {
                return;
            }
            assert!(Instant::now() < end, "it does not stop: {stat}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(10)) {
                self.parser.process(&bytes);
            }
        }
    }

    /// Reads the output up to now.
    pub fn drain(&mut self) {
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(1)) {
            self.parser.process(&bytes);
        }
    }

    /// Waits for the end: the status as a shell shows it, after the terminal was restored.
    pub fn end(mut self) -> (u32, Home) {
        let end = Instant::now() + TIME_LIMIT;
        loop {
            match self.output.recv_timeout(Duration::from_millis(20)) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                // A process that another thread starts can inherit the other end and keep it open, so
                // that the state of the explorer is tested as well.
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.screen()),
            }
            if let Ok(Some(_)) = self.child.try_wait() {
                while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
                    self.parser.process(&bytes);
                }
                break;
            }
        }
        let status = self.child.wait().expect("it ended");
        let status = match status.signal() {
            Some("Terminated") => 128 + 15,
            Some("Hangup") => 128 + 1,
            Some(other) => panic!("it was ended by {other}"),
            None => status.exit_code(),
        };
        let screen = self.parser.screen();
        assert!(!screen.alternate_screen(), "the screen is given back");
        assert!(!screen.hide_cursor(), "the cursor is given back");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        (status, self.home)
    }
}

/// A number of cells.
pub fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("no terminal has no cells")
}

/// The path of a target, built.
pub fn target(name: &str) -> String {
    program(name).build().expect("targets compile").to_string_lossy().into_owned()
}

/// A trace of a target's failure, with points at calls only if that is enough to show it.
pub fn failing(home: &Home, name: &str) -> String {
    failing_program(home, &target(name), program(name).points.name(), &[])
}
