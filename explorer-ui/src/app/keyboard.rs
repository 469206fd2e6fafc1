//! The terminal's events, read in a thread of its own, which can be made to leave them to others.

use super::update::Event;
use ratatui::crossterm::event::{
    self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a look for events lasts: whoever wants the terminal waits for the end of one.
const LOOK: Duration = Duration::from_millis(500);

/// Who has the terminal's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The explorer reads them.
    Ours,
    /// Somebody else wants them.
    Wanted,
    /// Nobody here reads them.
    Theirs,
    /// The terminal is gone.
    Gone,
}

/// So many events may wait to be taken up. Whoever types faster, a paste or a program, waits: what
/// waits takes memory.
const MOST: usize = 2000;

/// What the reader and the others know of each other.
#[derive(Debug)]
struct State {
    turn: Turn,
    /// Events that were sent and not yet taken up.
    waiting: usize,
}

/// The reader of keys.
#[derive(Debug, Clone)]
pub(super) struct Keyboard(Arc<(Mutex<State>, Condvar)>);

impl Keyboard {
    /// Begins to read; the thread ends with the process.
    pub(super) fn listen(events: Sender<Event>) -> Keyboard {
        let state = State { turn: Turn::Ours, waiting: 0 };
        let keyboard = Keyboard(Arc::new((Mutex::new(state), Condvar::new())));
        let reader = keyboard.clone();
        std::thread::spawn(move || {
            loop {
                reader.wait_for_turn();
                match event::poll(LOOK) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => break,
                }
                let Ok(event) = event::read() else { break };
                let Some(event) = told(event) else { continue };
                reader.state().waiting += 1;
                if events.send(event).is_err() {
                    break;
                }
            }
            reader.set(Turn::Gone);
        });
        keyboard
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, turn: Turn) {
        self.state().turn = turn;
        self.0.1.notify_all();
    }

    /// An event was taken up.
    pub(super) fn taken(&self, event: &Event) {
        if event.is_typed() {
            let mut state = self.state();
            state.waiting = state.waiting.saturating_sub(1);
            if state.waiting == MOST / 2 {
                self.0.1.notify_all();
            }
        }
    }

    /// Waits while the keys are others', or too many wait to be taken up.
    fn wait_for_turn(&self) {
        let mut state = self.state();
        while state.turn != Turn::Ours || state.waiting >= MOST {
            if state.turn == Turn::Wanted {
                state.turn = Turn::Theirs;
                self.0.1.notify_all();
            }
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves the keys to somebody else while `work` is done.
    pub(super) fn leave_to<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        if state.turn == Turn::Ours {
            state.turn = Turn::Wanted;
            self.0.1.notify_all();
        }
        while state.turn == Turn::Wanted {
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let done = work();
        let theirs = self.state().turn == Turn::Theirs;
        if theirs {
            self.set(Turn::Ours);
        }
        done
    }

    /// Whether nothing will ever come any more.
    pub(super) fn is_gone(&self) -> bool {
        self.state().turn == Turn::Gone
    }
}

/// What an event of the terminal is to the explorer.
fn told(event: event::Event) -> Option<Event> {
    Some(match event {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => Event::Key(name(key)?),
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

/// Keys with names of their own.
const NAMED: [(KeyCode, &str); 15] = [
    (KeyCode::Char(' '), "space"),
    (KeyCode::Enter, "enter"),
    (KeyCode::Esc, "esc"),
    (KeyCode::Backspace, "backspace"),
    (KeyCode::Tab, "tab"),
    (KeyCode::BackTab, "backtab"),
    (KeyCode::Up, "up"),
    (KeyCode::Down, "down"),
    (KeyCode::Left, "left"),
    (KeyCode::Right, "right"),
    (KeyCode::Home, "home"),
    (KeyCode::End, "end"),
    (KeyCode::PageUp, "pageup"),
    (KeyCode::PageDown, "pagedown"),
    (KeyCode::Delete, "delete"),
];

/// The name of a key, as it stands in the table and in the preferences.
fn name(key: KeyEvent) -> Option<String> {
    let named = NAMED.iter().find(|(code, _)| *code == key.code);
    let base = match (named, key.code) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, KeyCode::Char(letter)) => letter.to_string(),
        (None, KeyCode::F(number)) => format!("f{number}"),
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

/// Whether a key can have this name.
pub(super) fn is_key(name: &str) -> bool {
    let base = ["ctrl-", "alt-"].into_iter().find_map(|before| name.strip_prefix(before));
    let base = base.unwrap_or(name);
    let function = base.strip_prefix('f').and_then(|number| number.parse::<u8>().ok());
    base.chars().count() == 1 && base != " "
        || NAMED.iter().any(|(_, name)| *name == base)
        || function.is_some_and(|number| (1..=24).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::action::ACTIONS;

    #[test]
    fn every_key_of_the_table_can_be_pressed() {
        for key in ACTIONS.iter().flat_map(|one| one.keys) {
            assert!(is_key(key), "{key}");
        }
        for none in ["", "f0", "f25", "ctrl-", "hyper-x", "xx", " "] {
            assert!(!is_key(none), "{none}");
        }
    }
}
