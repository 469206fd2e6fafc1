//! The terminal around the explorer: events in, effects out, and the screen as it was in the end.

use super::engine::{Engine, Request};
use super::loaded::Loaded;
use super::model::{Effect, Message, Model};
use super::preferences;
use super::render;
use super::theme::Theme;
use super::update::{Event, opened, update};
use base64::Engine as _;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, backend::CrosstermBackend};
use replay_core::source::Sources;
use replay_core::walk::Walk;
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use traces::Trace;

/// How long to wait for events before looking whether the process is to end.
const TICK: Duration = Duration::from_millis(100);

/// Opens the explorer on an execution, and runs it until the person leaves.
///
/// `walk` is how to run the program again, or why that cannot be.
///
/// # Errors
/// Where the terminal cannot be used.
pub fn run(
    trace: Trace,
    path: Option<PathBuf>,
    walk: Result<Walk, String>,
    out: &Path,
    end: &AtomicBool,
) -> io::Result<()> {
    let mut screen = Screen::enter()?;
    let size = screen.terminal.size()?;
    let mut model = Model::new(Arc::new(Loaded::of(trace)), (size.width, size.height));
    model.path = path;
    prefer(&mut model);
    let (sender, events) = channel();
    let engine = match walk {
        Ok(walk) => {
            let sender = sender.clone();
            Some(Engine::start(walk, move |reply| drop(sender.send(Event::Engine(reply)))))
        }
        Err(why) => {
            model.live = Err(why);
            None
        }
    };
    listen(sender);
    let mut effects = opened(&mut model);
    loop {
        for effect in std::mem::take(&mut effects) {
            if let Some(event) = perform(effect, &model, engine.as_ref(), &mut screen, out)? {
                effects.extend(update(&mut model, event));
            }
        }
        if model.quit || end.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Events of several changes may come as one, or late: what counts is how large it is now.
        let size = screen.terminal.size()?;
        if (size.width, size.height) != model.size {
            effects.extend(update(&mut model, Event::Resize(size.width, size.height)));
        }
        screen.terminal.draw(|frame| render::draw(&model, frame))?;
        let Ok(first) = events.recv_timeout(TICK) else { continue };
        // Everything that waits is taken up before the screen is drawn again.
        for event in std::iter::once(first).chain(events.try_iter().take(1000)) {
            effects.extend(update(&mut model, event));
        }
        keep_last_look(&mut effects);
    }
}

/// Of several looks only the last is still of use.
fn keep_last_look(effects: &mut Vec<Effect>) {
    let last = effects.iter().rposition(|effect| matches!(effect, Effect::Look { .. }));
    let mut at = 0;
    effects.retain(|effect| {
        at += 1;
        !matches!(effect, Effect::Look { .. }) || Some(at - 1) == last
    });
}

fn prefer(model: &mut Model) {
    let told = preferences::path().and_then(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        let (preferences, wrong) = preferences::read(&text, &path.display().to_string());
        model.keys = preferences.keys;
        model.ascii = preferences.ascii;
        if let Some(theme) = preferences.theme {
            model.theme = theme;
        }
        wrong
    });
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        model.theme = Theme::Plain;
    }
    model.message = told.map(|text| Message { text, bad: true });
}

/// Reads the terminal's events in a thread of its own, which ends with the process.
fn listen(events: Sender<Event>) {
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let event = match event {
                event::Event::Key(key) if key.kind != KeyEventKind::Release => match name(key) {
                    Some(name) => Event::Key(name),
                    None => continue,
                },
                event::Event::Mouse(mouse) => match mouse.kind {
                    MouseEventKind::Down(MouseButton::Left) => {
                        Event::Click(mouse.column, mouse.row)
                    }
                    MouseEventKind::ScrollDown => Event::Wheel(1),
                    MouseEventKind::ScrollUp => Event::Wheel(-1),
                    _ => continue,
                },
                event::Event::Paste(text) => Event::Paste(text),
                event::Event::Resize(width, height) => Event::Resize(width, height),
                _ => continue,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    });
}

/// The name of a key, as it stands in the table and in the preferences.
fn name(key: KeyEvent) -> Option<String> {
    let base = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Enter => "enter".into(),
        KeyCode::Esc => "esc".into(),
        KeyCode::Backspace => "backspace".into(),
        KeyCode::Tab => "tab".into(),
        KeyCode::BackTab => "backtab".into(),
        KeyCode::Up => "up".into(),
        KeyCode::Down => "down".into(),
        KeyCode::Left => "left".into(),
        KeyCode::Right => "right".into(),
        KeyCode::Home => "home".into(),
        KeyCode::End => "end".into(),
        KeyCode::PageUp => "pageup".into(),
        KeyCode::PageDown => "pagedown".into(),
        KeyCode::Delete => "delete".into(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match (control, alt) {
        (true, _) => format!("ctrl-{base}"),
        (false, true) => format!("alt-{base}"),
        (false, false) => base,
    })
}

fn perform(
    effect: Effect,
    model: &Model,
    engine: Option<&Engine>,
    screen: &mut Screen,
    out: &Path,
) -> io::Result<Option<Event>> {
    let told = |text: String, bad| Some(Event::Told(Message { text, bad }));
    Ok(match effect {
        Effect::Run { choices, cursor } => {
            if let Some(engine) = engine {
                engine.ask(Request::Run { choices, cursor });
            }
            None
        }
        Effect::Shrink => {
            if let Some(engine) = engine {
                engine.ask(Request::Shrink(Arc::clone(&model.spot.loaded)));
            }
            None
        }
        Effect::Explain => {
            if let Some(engine) = engine {
                engine.ask(Request::Explain(Arc::clone(&model.spot.loaded)));
            }
            None
        }
        Effect::Look { generation, moves } => {
            if let Some(engine) = engine {
                engine.ask(Request::Look { generation, moves });
            }
            None
        }
        Effect::Source(path) => {
            let source = Sources::of(&model.loaded().trace.header).get(&path).ok();
            Some(Event::Source(path, source))
        }
        Effect::Save => {
            let trace = &model.loaded().trace;
            let kind = trace.failure.as_ref().map_or("walk", |failure| failure.kind.name());
            match replay_core::store::save(trace, out, kind) {
                Ok(path) => told(format!("written to {}", path.display()), false),
                Err(error) => told(error.to_string(), true),
            }
        }
        Effect::Copy(text) => {
            // OSC 52: the terminal puts it on the clipboard, over ssh, too.
            let text = base64::engine::general_purpose::STANDARD.encode(text);
            let mut terminal = io::stdout();
            write!(terminal, "\x1b]52;c;{text}\x07")?;
            terminal.flush()?;
            None
        }
        Effect::Redraw => {
            screen.redraw()?;
            None
        }
        Effect::Suspend => {
            screen.leave();
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
            screen.again()?;
            None
        }
    })
}

/// The terminal while the explorer has it. It is given back whatever happens.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Screen { terminal })
    }

    fn leave(&mut self) {
        restore();
    }

    fn again(&mut self) -> io::Result<()> {
        take()?;
        self.redraw()
    }

    /// Everything is drawn anew at the next draw. (`Terminal::clear` would ask the terminal where
    /// its cursor is, and the answer would go to the thread that waits for keys.)
    fn redraw(&mut self) -> io::Result<()> {
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
    // Each by itself: a terminal that is gone refuses all of them, and nobody is left to be told.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}
