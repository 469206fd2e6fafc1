//! Keys and their names, as `ui.toml`, the table of actions and the help write them.
//!
//! Key-name crates such as crokey fold `G` to `g` and name some keys differently, which would
//! change the meaning of existing `ui.toml` files.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;
use std::str::FromStr;

/// A key press. Shift is part of the character (`G`), so it is not a separate modifier; of ctrl and
/// alt together only ctrl counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key without modifiers.
    pub code: KeyCode,
    /// Ctrl or alt, if held down.
    pub modifier: Option<Modifier>,
}

/// A modifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// The control key.
    Control,
    /// The alt (meta) key.
    Alt,
}

/// Keys whose name is not the character they type.
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

impl Key {
    /// A key without modifier.
    #[must_use]
    pub const fn of(code: KeyCode) -> Key {
        Key { code, modifier: None }
    }

    /// A character typed with the control key held down.
    #[must_use]
    pub const fn control(letter: char) -> Key {
        Key { code: KeyCode::Char(letter), modifier: Some(Modifier::Control) }
    }

    /// The key's code if no modifier is held down.
    #[must_use]
    pub fn plain(self) -> Option<KeyCode> {
        self.modifier.is_none().then_some(self.code)
    }

    /// Whether the key closes a window: `esc` or `ctrl-c`.
    #[must_use]
    pub fn closes(self) -> bool {
        self == Key::of(KeyCode::Esc) || self == Key::control('c')
    }

    /// The key of a terminal event; none for keys without a name here.
    #[must_use]
    pub fn of_event(event: KeyEvent) -> Option<Key> {
        let named = NAMED.iter().any(|(code, _)| *code == event.code);
        let known = matches!(event.code, KeyCode::Char(_) | KeyCode::F(_));
        let modifier = if event.modifiers.contains(KeyModifiers::CONTROL) {
            Some(Modifier::Control)
        } else if event.modifiers.contains(KeyModifiers::ALT) {
            Some(Modifier::Alt)
        } else {
            None
        };
        (named || known).then_some(Key { code: event.code, modifier })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.modifier {
            Some(Modifier::Control) => "ctrl-",
            Some(Modifier::Alt) => "alt-",
            None => "",
        })?;
        match (NAMED.iter().find(|(code, _)| *code == self.code), self.code) {
            (Some((_, name)), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

/// A name that no key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownKey;

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Key, UnknownKey> {
        let (modifier, base) = match (name.strip_prefix("ctrl-"), name.strip_prefix("alt-")) {
            (Some(base), _) => (Some(Modifier::Control), base),
            (None, Some(base)) => (Some(Modifier::Alt), base),
            (None, None) => (None, name),
        };
        let mut letters = base.chars();
        let named = NAMED.iter().find(|(_, known)| *known == base).map(|(code, _)| *code);
        let code = match (named, letters.next(), letters.next()) {
            (Some(code), ..) => code,
            (None, Some(letter), None) if letter != ' ' => KeyCode::Char(letter),
            (None, Some('f'), Some(_)) => match base[1..].parse::<u8>() {
                Ok(number @ 1..=24) => KeyCode::F(number),
                _ => return Err(UnknownKey),
            },
            _ => return Err(UnknownKey),
        };
        Ok(Key { code, modifier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::actions::ACTIONS;

    #[test]
    fn every_key_of_the_table_of_actions_has_a_name_that_parses() {
        for name in ACTIONS.iter().flat_map(|one| one.keys) {
            let key: Key = name.parse().unwrap_or_else(|_| panic!("{name}"));
            assert_eq!(key.to_string(), *name);
        }
        for unknown in ["", "f0", "f25", "ctrl-", "hyper-x", "xx", " "] {
            assert!(unknown.parse::<Key>().is_err(), "{unknown}");
        }
    }

    #[test]
    fn terminal_events_become_named_keys() {
        let named = |code, modifiers| {
            Key::of_event(KeyEvent::new(code, modifiers)).map(|key| key.to_string())
        };
        let shift = KeyModifiers::SHIFT;
        assert_eq!(named(KeyCode::Char('G'), shift).as_deref(), Some("G"));
        assert_eq!(named(KeyCode::Char('d'), KeyModifiers::CONTROL).as_deref(), Some("ctrl-d"));
        assert_eq!(named(KeyCode::Char('n'), KeyModifiers::ALT).as_deref(), Some("alt-n"));
        assert_eq!(named(KeyCode::Char(' '), KeyModifiers::NONE).as_deref(), Some("space"));
        assert_eq!(named(KeyCode::F(9), KeyModifiers::NONE).as_deref(), Some("f9"));
        assert_eq!(named(KeyCode::CapsLock, KeyModifiers::NONE), None);
    }
}
