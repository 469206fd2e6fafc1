//! The terminal around the explorer: events in, effects out, and the screen as it was in the end.

use super::aside::Aside;
use super::beginning::{self, Beginning, Begun};
use super::debugger;
use super::engine::{Engine, Request};
use super::keyboard::Keyboard;
use super::loaded::{Loaded, is_long};
use super::model::{Debugging, Effect, Message, Mode, Model};
use super::preferences;
use super::render;
use super::screen::Screen;
use super::theme::Theme;
use super::update::{Event, opened, text_width, update};
use super::{notes, session};
use crate::changes::Changes;
use crate::exit::Problem;
use crate::views::text::wrapped_lines;
use base64::Engine as _;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use replay_core::runtime::{private_directory, write_whole};
use replay_core::source::Sources;
use signal_hook::consts::{SIGCONT, SIGTSTP};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How long to wait for events before looking whether the process is to end.
const TICK: Duration = Duration::from_millis(250);

/// What the explorer opens on.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The schedule, or how to come to one.
    pub beginning: Beginning,
    /// The file that it was read from.
    pub path: Option<PathBuf>,
    /// Where traces are written.
    pub out: &'a Path,
    /// How many processes may search at a time; none: one for each core but one.
    pub workers: Option<u32>,
    /// Whether the terminal is to have colours.
    pub color: bool,
    /// Whether to begin with the tour.
    pub tour: bool,
}

/// Opens the explorer, and runs it until the person leaves.
///
/// # Errors
/// Where the program cannot be run, or the terminal not be used.
pub fn run(opening: Opening<'_>, end: &Arc<AtomicBool>) -> Result<(), Problem> {
    let signals = Signals::watched()?;
    let mut screen = Screen::enter()?;
    let (sender, events) = channel();
    let keyboard = Keyboard::listen(sender.clone());
    let Some(begun) = beginning::wait(opening.beginning, &mut screen, (&events, &keyboard), end)?
    else {
        return Ok(());
    };
    let Begun { trace, walk, typed } = begun?;
    let session = session::file(opening.path.as_deref(), &trace);
    let first = session::is_first();
    if is_long(&trace) {
        // So that nobody looks at an empty screen meanwhile.
        let doing = "working out what happened before what";
        let name = render::headline(&trace);
        screen.terminal.draw(|frame| render::opening(&name, doing, frame))?;
    }
    let size = screen.terminal.size()?;
    let mut model = Model::new(Arc::new(Loaded::of(trace)), (size.width, size.height));
    model.path = opening.path;
    // One processor is left to whoever looks on.
    let processors = std::thread::available_parallelism().map_or(1, |number| number.get() as u32);
    model.workers = opening.workers.unwrap_or(processors.saturating_sub(1)).max(1);
    prefer(&mut model, opening.color);
    let engine = match walk {
        Ok(walk) => {
            watch(walk.target().program.clone(), sender.clone());
            let sender = sender.clone();
            Some(Engine::start(walk, move |reply| drop(sender.send(Event::Engine(reply)))))
        }
        Err(why) => {
            model.live = Err(why);
            None
        }
    };
    let aside = Aside::telling(sender);
    let out = opening.out.to_owned();
    let outside = Outside { engine, aside, keyboard, out, kept: RefCell::default() };
    let message = remember(&mut model).or(model.message.take());
    let left = session.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    let left = left.filter(|_| !opening.tour).and_then(|text| session::read(&text));
    let mut effects = opened(&mut model, left);
    model.message = message;
    if opening.tour {
        model.tour = Some(0);
    } else if first && model.message.is_none() {
        let text = "new here? T begins a tour, ? lists the keys".to_owned();
        model.message = Some(Message { text, bad: false });
    }
    for event in typed {
        effects.extend(update(&mut model, event));
    }
    // Nothing is drawn while nothing happens: an explorer that is left open costs nothing.
    let mut stale = true;
    let ended = loop {
        stale |= !effects.is_empty();
        for effect in std::mem::take(&mut effects) {
            if let Some(event) = outside.perform(effect, &model, &mut screen)? {
                effects.extend(update(&mut model, event));
            }
        }
        if model.quit || end.load(Ordering::Relaxed) || outside.keyboard.is_gone() {
            break Ok(());
        }
        if signals.stop.swap(false, Ordering::Relaxed) {
            outside.suspend(&mut screen)?;
        }
        if signals.went_on.swap(false, Ordering::Relaxed) {
            // Whoever had the terminal meanwhile left it as they liked.
            screen.again()?;
            stale = true;
        }
        // Events of several changes may come as one, or late: what counts is how large it is now.
        let size = screen.terminal.size()?;
        if (size.width, size.height) != model.size {
            effects.extend(update(&mut model, Event::Resize(size.width, size.height)));
            stale = true;
        }
        if std::mem::take(&mut stale)
            && let Err(error) = screen.terminal.draw(|frame| render::draw(&model, frame))
        {
            break Err(error.into());
        }
        let Ok(first) = events.recv_timeout(TICK) else { continue };
        stale = true;
        // Everything that waits is taken up before the screen is drawn again.
        for event in std::iter::once(first).chain(events.try_iter().take(1000)) {
            outside.keyboard.taken(&event);
            effects.extend(update(&mut model, event));
        }
        keep_last_look(&mut effects);
    };
    // Where it was left is worth no more than a try: nobody is there to be told.
    if let (Some(file), false) = (session, opening.tour) {
        let _ = keep(&file, &session::write(&session::of(&model)));
    }
    ended
}

/// The signals that others may send to a program on a terminal.
struct Signals {
    stop: Arc<AtomicBool>,
    went_on: Arc<AtomicBool>,
}

impl Signals {
    fn watched() -> io::Result<Signals> {
        let signals = Signals { stop: Arc::default(), went_on: Arc::default() };
        signal_hook::flag::register(SIGTSTP, Arc::clone(&signals.stop))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&signals.went_on))?;
        Ok(signals)
    }
}

/// Tells when the program is rebuilt. Where files cannot be watched, nobody is told.
fn watch(program: PathBuf, events: Sender<Event>) {
    std::thread::spawn(move || {
        let Ok(mut changes) = Changes::of(&[&program]) else { return };
        let never = AtomicBool::new(false);
        while changes.wait(&never).is_some() && events.send(Event::Rebuilt).is_ok() {}
    });
}

/// Reads the notes that stand beside the trace; what is wrong with them comes back.
fn remember(model: &mut Model) -> Option<Message> {
    let path = notes::beside(model.path.as_ref()?);
    let text = std::fs::read_to_string(&path).ok()?;
    match notes::read(&text) {
        Ok(notes) => {
            model.spot.notes = notes;
            None
        }
        Err(what) => {
            let text = format!("{}: {what}; it is left as it is", path.display());
            // Not to be written over.
            model.path = None;
            Some(Message { text, bad: true })
        }
    }
}

/// Writes a private file, whole, in a directory that is made if need be.
fn keep(file: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        private_directory(directory)?;
    }
    write_whole(file, text.as_bytes(), 0o600)
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

fn prefer(model: &mut Model, color: bool) {
    let told = preferences::path().map_or_else(Vec::new, |path| {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![format!("{} cannot be read: {error}", path.display())],
        };
        let (preferences, wrong) = preferences::read(&text, &path.display().to_string());
        model.keys = preferences.keys;
        model.ascii = preferences.ascii;
        if let Some(theme) = preferences.theme {
            model.theme = theme;
        }
        wrong
    });
    if !color {
        model.theme = Theme::Plain;
    }
    // One thing has room in the footer; more of them are read first.
    if told.len() > 1 {
        let title = "the file of keys and colours: what is not said here holds".to_owned();
        let lines = wrapped_lines(&told.join("\n"), text_width(model));
        model.mode = Mode::Text(title, Arc::new(lines), 0);
    }
    model.message = told.into_iter().next().map(|text| Message { text, bad: true });
}

/// All that effects reach.
struct Outside {
    engine: Option<Engine>,
    aside: Aside,
    keyboard: Keyboard,
    /// Where traces are written.
    out: PathBuf,
    /// Schedules that debuggers beside the explorer were opened on.
    kept: RefCell<Vec<tempfile::TempDir>>,
}

impl Outside {
    fn perform(
        &self,
        effect: Effect,
        model: &Model,
        screen: &mut Screen,
    ) -> io::Result<Option<Event>> {
        let engine = self.engine.as_ref();
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
            Effect::Look { generation, loaded, step, moves } => {
                if let Some(engine) = engine {
                    engine.ask(Request::Look { generation, loaded, step, moves });
                }
                None
            }
            Effect::Aside { number, task } => {
                self.aside.begin(number, task);
                None
            }
            Effect::Search { number, order } => {
                if let Some(engine) = engine {
                    engine.search(number, order);
                }
                None
            }
            Effect::StopSearch => {
                engine.inspect(|engine| engine.stop());
                None
            }
            Effect::GiveUp => {
                self.aside.give_up();
                engine.inspect(|engine| engine.give_up());
                None
            }
            Effect::Debug(step, with) => self.debug(model, step, with, screen)?,
            Effect::See(asked) => {
                if let Some(engine) = engine {
                    engine.see(Arc::clone(&model.spot.loaded), asked);
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
                match replay_core::store::save(trace, &self.out, kind) {
                    Ok(path) => match self.keep_notes(&path, model) {
                        Ok(()) => told(format!("written to {}", path.display()), false),
                        Err(error) => told(format!("the notes cannot be written: {error}"), true),
                    },
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
            Effect::KeepNotes => {
                // Those on another schedule are written when that is.
                let original = Arc::ptr_eq(&model.original, &model.spot.loaded);
                match model
                    .path
                    .as_ref()
                    .filter(|_| original)
                    .map(|path| self.keep_notes(path, model))
                {
                    None | Some(Ok(())) => None,
                    Some(Err(error)) => told(format!("the notes cannot be written: {error}"), true),
                }
            }
            Effect::Mouse(on) => {
                match on {
                    true => execute!(io::stdout(), EnableMouseCapture)?,
                    false => execute!(io::stdout(), DisableMouseCapture)?,
                }
                None
            }
            Effect::Reload => {
                if let Some(engine) = engine {
                    engine.stop();
                    engine.ask(Request::Reload(Arc::clone(&model.spot.loaded)));
                }
                None
            }
            Effect::Redraw => {
                screen.redraw()?;
                None
            }
            Effect::Suspend => {
                self.suspend(screen)?;
                None
            }
        })
    }

    /// Writes the notes beside a trace; a file for none is taken away.
    fn keep_notes(&self, trace: &Path, model: &Model) -> io::Result<()> {
        let path = notes::beside(trace);
        match (model.spot.notes.is_empty(), path.exists()) {
            (true, false) => Ok(()),
            (true, true) => std::fs::remove_file(path),
            (false, _) => write_whole(&path, notes::write(&model.spot.notes).as_bytes(), 0o644),
        }
    }

    /// Stops this process, with the terminal as it was, until somebody lets it go on.
    fn suspend(&self, screen: &mut Screen) -> io::Result<()> {
        screen.leave();
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
        screen.again()
    }

    /// Opens a debugger at a step of the schedule that is shown: beside the explorer, or on its
    /// screen, which it takes back when the debugger ends.
    fn debug(
        &self,
        model: &Model,
        step: usize,
        with: Debugging,
        screen: &mut Screen,
    ) -> io::Result<Option<Event>> {
        let told = |text: String, bad| Ok(Some(Event::Told(Message { text, bad })));
        let split = with == Debugging::Split;
        if split && std::env::var_os("TMUX").is_none() {
            let text = "no terminal to split: that takes tmux around the explorer (D takes the \
                        whole screen)";
            return told(text.to_owned(), true);
        }
        let kept = tempfile::tempdir()?;
        let path = kept.path().join("schedule.heddle");
        if let Err(error) = replay_core::store::save_as(&model.loaded().trace, &path) {
            return told(error.to_string(), true);
        }
        let command = self.debugger(model, step, with, &path)?;
        if split {
            return match debugger::beside(&command) {
                Ok(()) => {
                    // It is read when the debugger starts, which may be at any time from now on.
                    self.kept.borrow_mut().push(kept);
                    told("gdb has the other half of the terminal".to_owned(), false)
                }
                Err(why) => told(why, true),
            };
        }
        let came = self.keyboard.leave_to(|| {
            screen.leave();
            let came = Command::new(&command[0]).args(&command[1..]).status();
            screen.again().map(|()| came)
        })?;
        match came {
            Ok(status) if status.success() => told("back from the debugger".to_owned(), false),
            Ok(_) => {
                let lldb = if with == Debugging::Lldb { " --lldb" } else { "" };
                told(format!("the debugger did not work: `heddle gdb{lldb}` says why"), true)
            }
            Err(error) => told(format!("the debugger cannot be started: {error}"), true),
        }
    }

    /// The command that opens a debugger at a step of a schedule.
    fn debugger(
        &self,
        model: &Model,
        step: usize,
        with: Debugging,
        schedule: &Path,
    ) -> io::Result<Vec<OsString>> {
        let ends = step >= model.loaded().len();
        let at = match (ends, &model.loaded().trace.failure) {
            (false, _) => (step + 1).to_string(),
            (true, Some(_)) => "failure".to_owned(),
            (true, None) => "end".to_owned(),
        };
        let mut command: Vec<OsString> = vec![std::env::current_exe()?.into(), "gdb".into()];
        if with == Debugging::Lldb {
            command.push("--lldb".into());
        }
        command.extend(["--at".into(), at.into(), schedule.into()]);
        if let Some(target) = self.engine.as_ref().map(Engine::target) {
            command.extend(["--".into(), target.program.into_os_string()]);
            command.extend(target.args);
        }
        Ok(command)
    }
}
