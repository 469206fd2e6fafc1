//! The time before there is a schedule to show: the program is looked at and run, and the screen says
//! so from the first moment on.

use super::keyboard::Keyboard;
use super::render;
use super::screen::{Screen, guarded};
use super::update::Event;
use crate::views::text::count;
use replay_core::walk::Walk;
use replay_core::{Error, Observer, Progress};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use traces::Trace;
use traces::report::Bug;

/// How long to wait for news before looking whether the process is to end.
const TICK: Duration = Duration::from_millis(20);

/// Comes to a schedule and to how the program is run; what takes long is told, and ends early when the
/// flag is set.
type Work = dyn FnOnce(&dyn Fn(&str), &AtomicBool) -> Result<(Trace, Walk), Error> + Send;

/// What the explorer begins with.
pub enum Beginning {
    /// A schedule, and how to run the program again, or why that cannot be.
    Known(Box<(Trace, Result<Walk, String>)>),
    /// A program of this name that is to be run first.
    Run(String, Box<Work>),
}

impl fmt::Debug for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Beginning::Known(_) => f.write_str("Known"),
            Beginning::Run(name, _) => f.debug_tuple("Run").field(name).finish_non_exhaustive(),
        }
    }
}

/// What came of a beginning.
pub(super) struct Begun {
    pub(super) trace: Trace,
    pub(super) walk: Result<Walk, String>,
    /// What was typed meanwhile.
    pub(super) typed: Vec<Event>,
}

/// Waits for the schedule to begin with; none if the person left meanwhile.
pub(super) fn wait(
    beginning: Beginning,
    screen: &mut Screen,
    (events, keyboard): (&Receiver<Event>, &Keyboard),
    end: &Arc<AtomicBool>,
) -> io::Result<Option<Result<Begun, Error>>> {
    let (name, work) = match beginning {
        Beginning::Known(known) => {
            let (trace, walk) = *known;
            return Ok(Some(Ok(Begun { trace, walk, typed: Vec::new() })));
        }
        Beginning::Run(name, work) => (name, work),
    };
    let mut typed = Vec::new();
    let mut doing = "starting the program".to_owned();
    let (sender, news) = channel();
    let flag = Arc::clone(end);
    let thread = std::thread::spawn(move || {
        guarded(|| work(&|what| drop(sender.send(what.to_owned())), &flag))
    });
    loop {
        screen.terminal.draw(|frame| render::opening(&name, &doing, frame))?;
        match news.recv_timeout(TICK) {
            Ok(what) => doing = what,
            Err(RecvTimeoutError::Timeout) => {}
            // It is done.
            Err(RecvTimeoutError::Disconnected) => break,
        }
        for event in events.try_iter() {
            keyboard.taken(&event);
            match event {
                Event::Key(key) if key == "q" || key == "ctrl-c" => {
                    end.store(true, Ordering::Relaxed);
                    doing = "leaving".to_owned();
                }
                other => typed.push(other),
            }
        }
    }
    let came = thread.join().unwrap_or_else(|_| Err("its thread broke".into()));
    if end.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(match came {
        Ok(came) => came.map(|(trace, walk)| Begun { trace, walk: Ok(walk), typed }),
        Err(why) => return Err(io::Error::other(why)),
    }))
}

/// Tells what is told while the program is learned.
pub struct Telling<'a>(pub &'a dyn Fn(&str));

impl Observer for Telling<'_> {
    fn progress(&mut self, progress: &Progress) {
        if progress.learning > 0 {
            let executions = count(progress.learning, "execution");
            (self.0)(&format!("looking where its tasks meet: {executions} so far"));
        }
    }

    fn bug(&mut self, _: &Bug, _: &Trace) {}

    fn note(&mut self, line: &str) {
        (self.0)(line);
    }
}
