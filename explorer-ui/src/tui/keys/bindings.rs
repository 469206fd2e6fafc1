//! Which key performs which action.

use super::actions::{Action, Described};
use super::key::Key;

/// The key that quits whatever the user's bindings say, so that the explorer can always be left.
pub const ALWAYS_QUITS: Key = Key::control('c');

/// Key bindings, in the order in which help lists the keys of an action.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<(Key, Action)>);

impl Keys {
    /// The default bindings of these actions.
    #[must_use]
    pub fn of_table(table: &[Described]) -> Keys {
        let keys = |one: &Described| {
            let action = one.action;
            // A test parses every default key.
            one.keys.iter().filter_map(move |name| Some((name.parse().ok()?, action)))
        };
        Keys(table.iter().flat_map(keys).collect())
    }

    /// The action bound to a key.
    #[must_use]
    pub fn action(&self, key: Key) -> Option<Action> {
        self.0.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
    }

    /// Binds an action to these keys and no others. `ctrl-c` always quits.
    pub fn set(&mut self, action: Action, keys: &[Key]) {
        let quits = |key: &Key| *key == ALWAYS_QUITS;
        self.0.retain(|(key, bound)| *bound != action && (quits(key) || !keys.contains(key)));
        let new = keys.iter().filter(|key| action == Action::Quit || !quits(key));
        self.0.extend(new.map(|&key| (key, action)));
        if action == Action::Quit && !keys.iter().any(quits) {
            self.0.push((ALWAYS_QUITS, action));
        }
    }

    /// The keys of an action.
    #[must_use]
    pub fn of(&self, action: Action) -> Vec<Key> {
        self.0.iter().filter(|(_, bound)| *bound == action).map(|(key, _)| *key).collect()
    }

    /// The first key of an action by its name, or another text if it has none.
    #[must_use]
    pub fn name_of(&self, action: Action, otherwise: &str) -> String {
        self.of(action).first().map_or_else(|| otherwise.to_owned(), ToString::to_string)
    }

    /// The keys of an action by their names, separated by spaces.
    #[must_use]
    pub fn names_of(&self, action: Action) -> String {
        let names: Vec<String> = self.of(action).iter().map(ToString::to_string).collect();
        names.join(" ")
    }
}
