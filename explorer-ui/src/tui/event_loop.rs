//! The event loop: reads events, updates the model, performs effects, redraws the screen.

use super::arrangement::{self, Arrangement};
use super::background::BackgroundJobs;
use super::capability::{ColorDepth, needs_ascii, variable};
use super::effects::EffectRunner;
use super::keys::reader::InputReader;
use super::model::Model;
use super::model::effect::Effect;
use super::model::event::Event;
use super::model::message::Message;
use super::model::mode::Mode;
use super::model::notes;
use super::recording::Captures;
use super::startup::{self, Started, Startup};
use super::terminal::Screen;
use super::theme::Theme;
use super::update::{new_model, opened, text_width, update};
use super::{links, preferences, render, session};
use crate::exit::Problem;
use crate::file_watch::FileWatch;
use crate::report::text::wrapped_lines;
use crate::text_file;
use crate::walk::engine::{Engine, Urgency};
use crate::walk::loaded_trace::{LoadedTrace, is_long};
use replay_core::runtime::{private_directory, write_whole};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How long to wait for events before checking whether the process should end.
const TICK: Duration = Duration::from_millis(250);
/// Events handled between two redraws.
const BATCH: usize = 1000;

/// The schedule to open in the explorer, and the settings.
#[derive(Debug)]
pub struct Options<'a> {
    /// The schedule, or how to record one.
    pub startup: Startup,
    /// The trace file it was read from.
    pub path: Option<PathBuf>,
    /// The directory that traces are written to.
    pub out: &'a Path,
    /// The number of processes that search in parallel; none: the number of processors minus one.
    pub workers: Option<u32>,
    /// Whether to use colours.
    pub color: bool,
    /// Whether to start the tour.
    pub tour: bool,
}

/// Opens the explorer, and runs it until the user quits.
///
/// # Errors
/// If the target cannot be run or the terminal cannot be used.
pub fn run(options: Options<'_>, end: &Arc<AtomicBool>) -> Result<(), Problem> {
    let signals = Signals::register()?;
    let mut screen = Screen::enter()?;
    let (sender, events) = channel();
    let input = InputReader::start(sender.clone())?;
    let Some(started) = startup::wait(options.startup, &mut screen, (&events, &input), end)? else {
        return Ok(());
    };
    let Started { trace, walk, typed } = started?;
    let session = session::file(options.path.as_deref(), &trace);
    let first = session::is_first();
    if is_long(&trace) {
        let doing = "computing the happens-before order";
        let name = render::headline(&trace);
        screen.terminal.draw(|frame| render::opening(&name, doing, frame))?;
    }
    let size = screen.terminal.size()?;
    let size = (size.width, size.height);
    let loaded = Arc::new(LoadedTrace::of(trace));
    let mut model = new_model(loaded, size);
    model.path = options.path;
    // One processor is left for the explorer itself.
    let processors = crate::processors::count();
    model.workers = options.workers.unwrap_or(processors.saturating_sub(1)).max(1);
    apply_preferences(&mut model, options.color);
    let configured = model.open_panes.clone();
    let arranged = arrangement::file();
    let kept = arranged.as_ref().and_then(|file| text_file::found(file).ok());
    if let Some(open) = kept
        .and_then(|text| Arrangement::read(&text))
        .and_then(|arrangement| arrangement.open_panes(&configured))
    {
        model.open_panes = open;
    }
    let panes_before = model.open_panes.clone();
    let engine = match walk {
        Ok(walk) => {
            watch_program(walk.target().program.clone(), sender.clone());
            let sender = sender.clone();
            let started = Engine::start(walk, Urgency::Background, move |reply| {
                drop(sender.send(Event::Engine(reply)));
            });
            Some(started?)
        }
        Err(why) => {
            model.can_run = Err(why);
            None
        }
    };
    let jobs = BackgroundJobs::new(sender);
    let runner = EffectRunner::new(engine, jobs, input, options.out.to_owned());
    let mut captures = Captures::new(options.out.to_owned());
    let message = load_notes(&mut model).or(model.message.take());
    let saved = session.as_ref().and_then(|file| text_file::found(file).ok());
    let saved = saved.filter(|_| !options.tour).and_then(|text| session::read(&text));
    let mut effects = opened(&mut model, saved);
    model.message = message.or(model.message.take());
    if options.tour {
        model.tour = Some(0);
    } else if first && model.message.is_none() {
        model.notify("new here? T starts a tour, ? lists the keys");
    }
    for event in typed {
        effects.extend(update(&mut model, event));
    }
    let mut linked = links::has_links(&variable)
        .then(|| (Arc::clone(&model.view.loaded), links::Files::of(&model.loaded().trace)));
    // Redraws only after something changed, so that an idle explorer takes no processor time.
    let mut stale = true;
    let ended = loop {
        stale |= !effects.is_empty();
        for effect in std::mem::take(&mut effects) {
            let event = match effect {
                Effect::SaveScreen => {
                    captures.save();
                    None
                }
                Effect::Record => Some(Event::Message(captures.toggle_recording())),
                effect => runner.perform(effect, &model, &mut screen)?,
            };
            if let Some(event) = event {
                effects.extend(update(&mut model, event));
            }
        }
        if model.quit || end.load(Ordering::Relaxed) || runner.input.is_closed() {
            break Ok(());
        }
        if signals.stop.swap(false, Ordering::Relaxed) {
            EffectRunner::suspend(&mut screen)?;
        }
        if signals.continued.swap(false, Ordering::Relaxed) {
            // Another program may have changed the terminal's modes and contents.
            screen.again()?;
            stale = true;
        }
        // Resize events can be merged or late: the size is asked for.
        let size = screen.terminal.size()?;
        if (size.width, size.height) != model.size {
            effects.extend(update(&mut model, Event::Resize(size.width, size.height)));
            stale = true;
        }
        if std::mem::take(&mut stale) {
            if linked.as_ref().is_some_and(|(of, _)| !Arc::ptr_eq(of, &model.view.loaded)) {
                let files = links::Files::of(&model.loaded().trace);
                linked = Some((Arc::clone(&model.view.loaded), files));
            }
            let drawn_links = Rc::clone(&screen.links);
            let drawn = screen.terminal.draw(|frame| {
                render::draw(&model, frame);
                let files = linked.as_ref().map(|(_, files)| files);
                let found = files.map(|files| files.links(frame.buffer_mut()));
                drawn_links.replace(found.unwrap_or_default());
            });
            let captured = match drawn {
                Ok(drawn) => captures.drawn(drawn.buffer),
                Err(error) => break Err(error.into()),
            };
            if let Some(message) = captured {
                effects.extend(update(&mut model, Event::Message(message)));
                stale = true;
                continue;
            }
        }
        let Ok(first) = events.recv_timeout(TICK) else { continue };
        stale = true;
        for event in std::iter::once(first).chain(events.try_iter().take(BATCH)) {
            runner.input.event_handled(&event);
            effects.extend(update(&mut model, event));
        }
        drop_stale_look_aheads(&mut effects);
    };
    // Saving the session may fail: the screen is gone by then, and nothing important is lost.
    if let (Some(file), false) = (session, options.tour) {
        let _ = write_private(&file, &session::write(&session::of(&model)));
    }
    if let (Some(file), true) = (arranged, model.open_panes != panes_before) {
        let arrangement = Arrangement::new(&model.open_panes, &configured);
        let _ = write_private(&file, &arrangement.write());
    }
    ended
}

/// Signals of the shell's job control.
struct Signals {
    stop: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
}

impl Signals {
    fn register() -> io::Result<Signals> {
        let signals = Signals { stop: Arc::default(), continued: Arc::default() };
        signal_hook::flag::register(SIGTSTP, Arc::clone(&signals.stop))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&signals.continued))?;
        Ok(signals)
    }
}

/// Sends an event whenever the target is rebuilt. Does nothing if files cannot be watched.
fn watch_program(program: PathBuf, events: Sender<Event>) {
    // Nor if no thread can be started.
    let _ = std::thread::Builder::new().spawn(move || {
        let Ok(mut changes) = FileWatch::of(&[&program]) else { return };
        let never = AtomicBool::new(false);
        while changes.wait(&never).is_some() && events.send(Event::Rebuilt).is_ok() {}
    });
}

/// Reads the notes beside the trace. Returns an error message if the file cannot be read or is malformed.
fn load_notes(model: &mut Model) -> Option<Message> {
    let path = notes::beside(model.path.as_ref()?);
    let text = match text_file::found(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        read => read.map_err(|error| format!("the notes cannot be read: {error}")),
    };
    match text.and_then(|text| notes::read(&text)) {
        Ok(notes) => {
            model.view.notes = notes;
            None
        }
        Err(what) => {
            let text = format!("{}: {what}; the file is left unchanged", path.display());
            // Without a path the notes are never written.
            model.path = None;
            Some(Message { text, bad: true })
        }
    }
}

/// Writes a private file atomically, in a directory that is created if necessary.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        private_directory(directory)?;
    }
    write_whole(file, text.as_bytes(), 0o600)
}

/// Of several look-aheads only the last is for the current position.
fn drop_stale_look_aheads(effects: &mut Vec<Effect>) {
    let last = effects.iter().rposition(|effect| matches!(effect, Effect::LookAhead { .. }));
    let mut at = 0;
    effects.retain(|effect| {
        at += 1;
        !matches!(effect, Effect::LookAhead { .. }) || Some(at - 1) == last
    });
}

/// Applies `ui.toml`, and shows what is wrong with it.
fn apply_preferences(model: &mut Model, color: bool) {
    model.color_depth = ColorDepth::detect(&variable);
    model.theme = model.color_depth.default_theme();
    let problems = preferences::path().map_or_else(Vec::new, |path| {
        let text = match text_file::found(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![format!("{} cannot be read: {error}", path.display())],
        };
        let (preferences, problems) = preferences::read(&text, &path.display().to_string());
        model.keys = preferences.keys;
        model.ascii = preferences.ascii;
        model.open_panes = preferences.open_panes;
        if let Some(theme) = preferences.theme {
            model.theme = theme;
        }
        problems
    });
    model.ascii |= needs_ascii(&variable);
    if !color {
        model.theme = Theme::Plain;
    }
    // The footer has room for one problem; more of them open in a window.
    if problems.len() > 1 {
        let title = "problems in ui.toml; everything else in it is applied".to_owned();
        let lines = wrapped_lines(&problems.join("\n"), text_width(model));
        model.mode = Mode::Text(title, Arc::new(lines), 0);
    }
    model.message = problems.into_iter().next().map(|text| Message { text, bad: true });
}
