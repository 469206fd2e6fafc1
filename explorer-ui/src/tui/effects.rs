//! Performs effects.

use super::background::BackgroundJobs;
use super::keys::reader::InputReader;
use super::model::Model;
use super::model::effect::{DebuggerKind, Effect};
use super::model::event::Event;
use super::model::message::Message;
use super::model::notes;
use super::terminal::Screen;
use super::tmux;
use crate::walk::engine::{Engine, Request};
use base64::Engine as _;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use replay_core::debug::client::end_with_this_process;
use replay_core::runtime::write_whole;
use replay_core::scratch::Scratch;
use replay_core::source::Sources;
use signal_hook::consts::SIGTSTP;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Performs effects, with everything that they act on.
pub(super) struct EffectRunner {
    engine: Option<Engine>,
    jobs: BackgroundJobs,
    pub(super) input: InputReader,
    /// The directory that traces are written to.
    out: PathBuf,
    /// Trace files of the debuggers that run in tmux panes.
    debugged: RefCell<Vec<Scratch>>,
}

/// An event that shows a message.
fn message(text: impl Into<String>) -> Event {
    Event::Message(Message { text: text.into(), bad: false })
}

/// An event that shows an error.
fn error(text: impl Into<String>) -> Event {
    Event::Message(Message { text: text.into(), bad: true })
}

impl EffectRunner {
    pub(super) fn new(
        engine: Option<Engine>,
        jobs: BackgroundJobs,
        input: InputReader,
        out: PathBuf,
    ) -> EffectRunner {
        EffectRunner { engine, jobs, input, out, debugged: RefCell::default() }
    }

    fn request(&self, request: Request) {
        if let Some(engine) = &self.engine {
            engine.request(request);
        }
    }

    /// Performs an effect; the returned event reports its result.
    pub(super) fn perform(
        &self,
        effect: Effect,
        model: &Model,
        screen: &mut Screen,
    ) -> io::Result<Option<Event>> {
        let engine = self.engine.as_ref();
        let shown = || Arc::clone(&model.view.loaded);
        match effect {
            Effect::Run { choices, cursor } => self.request(Request::Run { choices, cursor }),
            Effect::Reverse(wishes) => {
                self.request(Request::Reverse { loaded: shown(), wishes });
            }
            Effect::Shrink => self.request(Request::Shrink(shown())),
            Effect::Explain => self.request(Request::Explain(shown())),
            Effect::Check(loaded) => {
                engine.inspect(|engine| engine.check(Arc::clone(&loaded)));
            }
            Effect::LookAhead { generation, loaded, step, moves } => {
                self.request(Request::LookAhead { generation, loaded, step, moves });
            }
            Effect::StartJob { number, job } => self.jobs.start(number, job),
            Effect::Search { number, order } => {
                engine.inspect(|engine| engine.search(number, order.clone()));
            }
            Effect::StopSearch => {
                engine.inspect(|engine| engine.stop_search());
            }
            Effect::CancelLookAhead => {
                engine.inspect(|engine| engine.cancel());
            }
            Effect::Cancel => {
                self.jobs.cancel();
                engine.inspect(|engine| engine.cancel());
            }
            Effect::Debug(step, kind) => return self.debug(model, step, kind, screen),
            Effect::Inspect(request) => {
                engine.inspect(|engine| engine.inspect(shown(), request.clone()));
            }
            Effect::Source(path) => {
                let source = Sources::of(&model.loaded().trace.header).get(&path).ok();
                return Ok(Some(Event::Source(path, source)));
            }
            Effect::Save => return Ok(Some(self.save(model))),
            Effect::Copy(text) => copy(&text)?,
            Effect::WriteNotes => {
                // Notes on other schedules are written when the schedule is saved.
                let original = Arc::ptr_eq(&model.original, &model.view.loaded);
                if let Some(path) = model.path.as_ref().filter(|_| original)
                    && let Err(why) = write_notes(path, model)
                {
                    return Ok(Some(error(format!("the notes cannot be written: {why}"))));
                }
            }
            Effect::Mouse(true) => execute!(io::stdout(), EnableMouseCapture)?,
            Effect::Mouse(false) => execute!(io::stdout(), DisableMouseCapture)?,
            Effect::Reload(loaded) => {
                engine.inspect(|engine| engine.stop_search());
                engine.inspect(|engine| engine.stop_checks());
                self.request(Request::Reload(loaded));
            }
            // The event loop has the screen as it was drawn.
            Effect::SaveScreen | Effect::Record => {}
            Effect::Redraw => screen.redraw()?,
            Effect::Suspend => EffectRunner::suspend(screen)?,
        }
        Ok(None)
    }

    fn save(&self, model: &Model) -> Event {
        let trace = &model.loaded().trace;
        let kind = trace.failure.as_ref().map_or("walk", |failure| failure.kind.name());
        match replay_core::store::save(trace, &self.out, kind) {
            Ok(path) => match write_notes(&path, model) {
                Ok(()) => message(format!("written to {}", path.display())),
                Err(why) => error(format!("the notes cannot be written: {why}")),
            },
            Err(why) => error(why.to_string()),
        }
    }

    /// Suspends this process, with the terminal restored, until the shell resumes it.
    pub(super) fn suspend(screen: &mut Screen) -> io::Result<()> {
        screen.leave();
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
        screen.again()
    }

    /// Opens a debugger at a step of the displayed schedule.
    fn debug(
        &self,
        model: &Model,
        step: usize,
        kind: DebuggerKind,
        screen: &mut Screen,
    ) -> io::Result<Option<Event>> {
        let split = kind == DebuggerKind::Split;
        if split && std::env::var_os("TMUX").is_none() {
            let text = "splitting the terminal needs tmux around the explorer (D uses the whole \
                        screen)";
            return Ok(Some(error(text)));
        }
        let directory = Scratch::new()?;
        let path = directory.path().join("schedule.heddle");
        if let Err(why) = replay_core::store::save_as(&model.loaded().trace, &path) {
            return Ok(Some(error(why.to_string())));
        }
        let command = self.debugger_command(model, step, kind, &path)?;
        if split {
            return Ok(Some(match tmux::split(&command) {
                Ok(()) => {
                    // The debugger may read the trace at any later time.
                    self.debugged.borrow_mut().push(directory);
                    message("gdb runs in the other half of the terminal")
                }
                Err(why) => error(why),
            }));
        }
        let status = self.input.while_paused(|| {
            screen.leave();
            let mut child = Command::new(&command[0]);
            end_with_this_process(child.args(&command[1..]));
            let status = child.status();
            screen.again().map(|()| status)
        })?;
        Ok(Some(match status {
            Ok(status) if status.success() => message("back from the debugger"),
            Ok(_) => {
                let lldb = if kind == DebuggerKind::Lldb { " --lldb" } else { "" };
                error(format!("the debugger failed: `heddle gdb{lldb}` says why"))
            }
            Err(why) => error(format!("the debugger cannot be started: {why}")),
        }))
    }

    /// The command that opens a debugger at a step of a schedule.
    fn debugger_command(
        &self,
        model: &Model,
        step: usize,
        kind: DebuggerKind,
        schedule: &Path,
    ) -> io::Result<Vec<OsString>> {
        let ends = step >= model.loaded().len();
        let at = match (ends, &model.loaded().trace.failure) {
            (false, _) => (step + 1).to_string(),
            (true, Some(_)) => "failure".to_owned(),
            (true, None) => "end".to_owned(),
        };
        let mut command: Vec<OsString> = vec![std::env::current_exe()?.into(), "gdb".into()];
        if kind == DebuggerKind::Lldb {
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

/// Copies text to the clipboard with the escape sequence OSC 52, which also works over ssh.
fn copy(text: &str) -> io::Result<()> {
    let text = base64::engine::general_purpose::STANDARD.encode(text);
    let mut terminal = io::stdout();
    write!(terminal, "\x1b]52;c;{text}\x07")?;
    terminal.flush()
}

/// Writes the notes beside a trace; removes the file if there are none.
fn write_notes(trace: &Path, model: &Model) -> io::Result<()> {
    let path = notes::beside(trace);
    match (model.view.notes.is_empty(), path.exists()) {
        (true, false) => Ok(()),
        (true, true) => std::fs::remove_file(path),
        (false, _) => write_whole(&path, notes::write(&model.view.notes).as_bytes(), 0o644),
    }
}
