//! Before the first schedule exists: runs the target, and shows progress meanwhile.

use super::keys::bindings::ALWAYS_QUITS;
use super::keys::key::Key;
use super::keys::reader::InputReader;
use super::model::event::Event;
use super::render;
use super::terminal::Screen;
use crate::report::text::count;
use crate::walk::panics::catch_panic;
use ratatui::crossterm::event::KeyCode;
use replay_core::runner::Runner;
use replay_core::{Error, Observer, Progress};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use traces::Trace;
use traces::report::Bug;

/// How long to wait for progress before checking whether the process should end.
const TICK: Duration = Duration::from_millis(20);

/// Records a schedule. Reports its progress; ends early when the flag is set.
type Work = dyn FnOnce(&dyn Fn(&str), &AtomicBool) -> Result<(Trace, Runner), Error> + Send;

/// How the explorer gets its first schedule.
pub enum Startup {
    /// A schedule, and how to run the target or why it cannot be run.
    Known(Box<(Trace, Result<Runner, String>)>),
    /// The name of a program to run first, and how.
    Run(String, Box<Work>),
}

impl fmt::Debug for Startup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Startup::Known(_) => f.write_str("Known"),
            Startup::Run(name, _) => f.debug_tuple("Run").field(name).finish_non_exhaustive(),
        }
    }
}

/// The first schedule.
pub(super) struct Started {
    pub(super) trace: Trace,
    pub(super) walk: Result<Runner, String>,
    /// Input that arrived meanwhile.
    pub(super) typed: Vec<Event>,
}

/// Waits for the first schedule; none if the user quit meanwhile.
pub(super) fn wait(
    startup: Startup,
    screen: &mut Screen,
    (events, input): (&Receiver<Event>, &InputReader),
    end: &Arc<AtomicBool>,
) -> io::Result<Option<Result<Started, Error>>> {
    let (name, work) = match startup {
        Startup::Known(known) => {
            let (trace, walk) = *known;
            return Ok(Some(Ok(Started { trace, walk, typed: Vec::new() })));
        }
        Startup::Run(name, work) => (name, work),
    };
    let mut typed = Vec::new();
    let mut doing = "starting the program".to_owned();
    let (sender, progress) = channel();
    let flag = Arc::clone(end);
    let thread = std::thread::Builder::new()
        .spawn(move || catch_panic(|| work(&|what| drop(sender.send(what.to_owned())), &flag)))?;
    loop {
        screen.terminal.draw(|frame| render::opening(&name, &doing, frame))?;
        match progress.recv_timeout(TICK) {
            Ok(what) => doing = what,
            Err(RecvTimeoutError::Timeout) => {}
            // The thread has finished.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        for event in events.try_iter() {
            input.event_handled(&event);
            match event {
                Event::Key(key) if key == ALWAYS_QUITS || key == Key::of(KeyCode::Char('q')) => {
                    end.store(true, Ordering::Relaxed);
                    doing = "quitting".to_owned();
                }
                other => typed.push(other),
            }
        }
    }
    let result = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if end.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(match result {
        Ok(result) => result.map(|(trace, walk)| Started { trace, walk: Ok(walk), typed }),
        Err(why) => return Err(io::Error::other(why)),
    }))
}

/// Forwards progress of the learning phase.
pub struct LearningProgress<'a>(pub &'a dyn Fn(&str));

impl Observer for LearningProgress<'_> {
    fn progress(&mut self, progress: &Progress) {
        if progress.learning > 0 {
            let executions = count(progress.learning, "execution");
            (self.0)(&format!("learning phase: {executions} so far"));
        }
    }

    fn bug(&mut self, _: &Bug, _: &Trace) {}

    fn note(&mut self, line: &str) {
        (self.0)(line);
    }
}
