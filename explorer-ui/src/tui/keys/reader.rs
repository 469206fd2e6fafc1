//! Reads the terminal's events on a separate thread, which can be paused while another program
//! reads them.

use super::key::Key;
use crate::tui::model::event::Event;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time-out of one poll for events. A request to pause waits for the end of the current poll.
const POLL: Duration = Duration::from_millis(500);

/// Which side reads the terminal's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// The thread reads events.
    Reading,
    /// Another part of Heddle has requested that the thread pause.
    PauseRequested,
    /// The thread does not read.
    Paused,
    /// The terminal is closed.
    Closed,
}

/// The most events that may be pending. When this limit is reached, the thread stops reading until
/// some are handled, so that pasted text does not fill the memory.
const MAX_PENDING: usize = 2000;

/// The state that the thread shares with the event loop.
#[derive(Debug)]
struct State {
    turn: ReaderState,
    /// Events that were sent and not yet handled.
    waiting: usize,
}

/// Handle of the reading thread.
#[derive(Debug, Clone)]
pub(in crate::tui) struct InputReader(Arc<(Mutex<State>, Condvar)>);

impl InputReader {
    /// Starts the thread; it ends with the process.
    pub(in crate::tui) fn start(events: Sender<Event>) -> io::Result<InputReader> {
        let state = State { turn: ReaderState::Reading, waiting: 0 };
        let keyboard = InputReader(Arc::new((Mutex::new(state), Condvar::new())));
        let reader = keyboard.clone();
        // A terminal that is gone is none any more: asked before.
        let is_terminal = io::stdin().is_terminal();
        std::thread::Builder::new().spawn(move || {
            loop {
                reader.wait_while_paused();
                match event::poll(POLL) {
                    // A closed terminal always seems to have input, and none can be read.
                    Ok(false) if is_terminal && has_hung_up() => break,
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => break,
                }
                let Ok(event) = event::read() else { break };
                let Some(event) = convert(event) else { continue };
                reader.state().waiting += 1;
                if events.send(event).is_err() {
                    break;
                }
            }
            reader.set(ReaderState::Closed);
        })?;
        Ok(keyboard)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, turn: ReaderState) {
        self.state().turn = turn;
        self.0.1.notify_all();
    }

    /// Records that an event was handled.
    pub(in crate::tui) fn event_handled(&self, event: &Event) {
        if event.is_input() {
            let mut state = self.state();
            state.waiting = state.waiting.saturating_sub(1);
            if state.waiting == MAX_PENDING / 2 {
                self.0.1.notify_all();
            }
        }
    }

    /// Waits while the thread is paused, or too many events are pending.
    fn wait_while_paused(&self) {
        let mut state = self.state();
        while state.turn != ReaderState::Reading || state.waiting >= MAX_PENDING {
            if state.turn == ReaderState::PauseRequested {
                state.turn = ReaderState::Paused;
                self.0.1.notify_all();
            }
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Pauses reading while `work` runs.
    pub(in crate::tui) fn while_paused<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        if state.turn == ReaderState::Reading {
            state.turn = ReaderState::PauseRequested;
            self.0.1.notify_all();
        }
        while state.turn == ReaderState::PauseRequested {
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let done = work();
        let paused = self.state().turn == ReaderState::Paused;
        if paused {
            self.set(ReaderState::Reading);
        }
        done
    }

    /// Whether the terminal is closed, so that no more events will arrive.
    pub(in crate::tui) fn is_closed(&self) -> bool {
        self.state().turn == ReaderState::Closed
    }
}

/// Whether the other end of the terminal on standard input was closed.
fn has_hung_up() -> bool {
    let input = io::stdin();
    let mut descriptors = [PollFd::new(input.as_fd(), PollFlags::empty())];
    let polled = nix::poll::poll(&mut descriptors, PollTimeout::ZERO);
    let events = descriptors[0].revents().unwrap_or(PollFlags::empty());
    polled.is_ok() && events.contains(PollFlags::POLLHUP)
}

/// Converts an event of the terminal to an event of the explorer.
fn convert(event: event::Event) -> Option<Event> {
    Some(match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            Event::Key(Key::of_event(key)?)
        }
        event::Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => Event::Click(mouse.column, mouse.row),
            MouseEventKind::Drag(MouseButton::Left) => Event::Drag(mouse.column, mouse.row),
            MouseEventKind::Up(MouseButton::Left) => Event::Release(mouse.column, mouse.row),
            MouseEventKind::ScrollDown => Event::Wheel(mouse.column, mouse.row, 1),
            MouseEventKind::ScrollUp => Event::Wheel(mouse.column, mouse.row, -1),
            _ => return None,
        },
        event::Event::Paste(text) => Event::Paste(text),
        event::Event::Resize(width, height) => Event::Resize(width, height),
        _ => return None,
    })
}
