//! The user's key bindings and colours, in `ui.toml` of the configuration directory.

use super::commands::{self, name_of};
use super::keys::actions::Action;
use super::keys::bindings::{ALWAYS_QUITS, Keys};
use super::keys::key::Key;
use super::panes;
use super::panes::id::PaneId;
use super::theme::Theme;
use std::collections::HashMap;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The preferences of the user.
#[derive(Debug, Clone)]
pub struct Preferences {
    /// The colours; none to follow the terminal's capabilities.
    pub theme: Option<Theme>,
    /// Whether to use ASCII only.
    pub ascii: bool,
    /// The panes that are open at first on wide screens, from top to bottom.
    pub open_panes: Vec<PaneId>,
    /// The key bindings.
    pub keys: Keys,
}

/// The path of the file.
#[must_use]
pub fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(config.join("heddle").join("ui.toml"))
}

/// The contents of a file that sets every option to its default.
#[must_use]
pub fn default_file() -> String {
    let path = path().map_or_else(
        || "nowhere: set HOME or XDG_CONFIG_HOME".into(),
        |it| it.display().to_string(),
    );
    let themes: Vec<&str> = Theme::ALL.iter().map(|theme| theme.name()).collect();
    let mut text = format!(
        "# {path}\n\n# {}\ntheme = \"{}\"\nascii = false\n\n# {}\npanes = {:?}\n\n[keys]\n",
        themes.join(", "),
        Theme::Dark.name(),
        pane_names().join(", "),
        panes::OPEN.map(|pane| pane.0),
    );
    for one in commands::all() {
        let keys: Vec<String> = one.keys.iter().map(|key| format!("{key:?}")).collect();
        let line = format!("{} = [{}]", one.name, keys.join(", "));
        text += &format!("{line:<46} # {}\n", one.what);
    }
    text
}

fn pane_names() -> Vec<&'static str> {
    panes::ids().map(|pane| pane.0).collect()
}

/// Reads the contents of the file. Returns the preferences, and one line for each error, with its
/// position; everything else in the file is applied.
#[must_use]
pub fn read(text: &str, path: &str) -> (Preferences, Vec<String>) {
    let (table, broken) = DeTable::parse_recoverable(text);
    let preferences = Preferences {
        theme: None,
        ascii: false,
        open_panes: panes::OPEN.to_vec(),
        keys: commands::default_keys(),
    };
    let mut reading = Reading { preferences, complaints: Vec::new() };
    for error in broken {
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        reading.wrong(error.span().map_or(0, |span| span.start), what);
    }
    reading.file(table.get_ref());
    let Reading { preferences, mut complaints } = reading;
    complaints.sort_by_key(|(at, _)| *at);
    // Only the first error at a position is reported: further ones follow from it.
    complaints.dedup_by_key(|(at, _)| *at);
    let messages = complaints.into_iter().map(|(at, what)| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
        format!("{path}:{line}:{column}: {what}")
    });
    (preferences, messages.collect())
}

/// A value with its position in the text.
type Value<'a> = Spanned<DeValue<'a>>;

/// The state of reading a file.
struct Reading {
    preferences: Preferences,
    /// Position in the text, and message.
    complaints: Vec<(usize, String)>,
}

impl Reading {
    fn wrong(&mut self, at: usize, what: String) {
        self.complaints.push((at, what));
    }

    fn file(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let at = value.span().start;
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("theme", DeValue::String(theme)) => self.theme(theme, at),
                ("theme", _) => self.wrong(at, "a theme is a text: theme = \"light\"".into()),
                ("ascii", DeValue::Boolean(ascii)) => self.preferences.ascii = *ascii,
                ("ascii", _) => self.wrong(at, "ascii is true or false".into()),
                ("panes", DeValue::Array(names)) => self.panes(names),
                ("panes", _) => self.wrong(at, "panes is a list: panes = [\"source\"]".into()),
                ("keys", DeValue::Table(keys)) => self.keys(keys),
                ("keys", _) => self.wrong(at, "keys must be a table: [keys]".into()),
                (name, _) => {
                    let what =
                        format!("there is no `{name}` here: there are theme, ascii, panes, [keys]");
                    self.wrong(name_at(table, name), what);
                }
            }
        }
    }

    fn theme(&mut self, name: &str, at: usize) {
        self.preferences.theme = Theme::from_name(name);
        if self.preferences.theme.is_none() {
            let names: Vec<&str> = Theme::ALL.iter().map(|theme| theme.name()).collect();
            let names = names.join(", ");
            self.wrong(at, format!("there is no theme `{name}`: there are {names}"));
        }
    }

    fn panes(&mut self, names: &[Value<'_>]) {
        let mut open: Vec<PaneId> = Vec::new();
        for value in names {
            let name = value.get_ref().as_str().unwrap_or_default();
            match panes::find(name) {
                Some(pane) if !open.contains(&pane) => open.push(pane),
                Some(_) => {}
                None => {
                    let names = pane_names().join(", ");
                    let what = format!("there is no pane `{name}`: there are {names}");
                    self.wrong(value.span().start, what);
                }
            }
        }
        self.preferences.open_panes = open;
    }

    fn keys(&mut self, table: &DeTable<'_>) {
        // In the order of the file: if two actions name the same key, the first one gets it.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let mut taken: HashMap<Key, &'static str> = HashMap::new();
        let mut named: Vec<(Action, usize)> = Vec::new();
        for (name, value) in entries {
            let at = name.span().start;
            let Some(one) = commands::all().iter().find(|one| one.name == name.get_ref().as_ref())
            else {
                self.wrong(at, unknown_action(name.get_ref()));
                continue;
            };
            let keys = self.keys_of(one.name, value, &mut taken);
            if let Some(keys) = keys {
                self.preferences.keys.set(one.action, &keys);
                named.push((one.action, at));
            }
        }
        // A key that is another action's default may be rebound. If that leaves the other action
        // without a key, it is reported unless the file sets that action's keys, too.
        for one in commands::all() {
            let configured = named.iter().any(|(action, _)| *action == one.action);
            let parsed = one.keys.iter().filter_map(|name| name.parse::<Key>().ok());
            let taker = parsed.filter_map(|key| Some((key, taken.get(&key)?))).next();
            if let (false, true, Some((key, by))) =
                (configured, self.preferences.keys.of(one.action).is_empty(), taker)
            {
                let at = named.iter().find(|(action, _)| name_of(*action) == *by);
                let at = at.map_or(0, |(_, at)| *at);
                let name = one.name;
                self.wrong(
                    at,
                    format!(
                        "`{key}` now runs `{by}` and was the only key of `{name}`: bind `{name}` to another \
                         key, or write `{name} = []` to leave it without"
                    ),
                );
            }
        }
    }

    /// The keys that a value names, without invalid and occupied ones.
    fn keys_of(
        &mut self,
        action: &'static str,
        value: &Value<'_>,
        taken: &mut HashMap<Key, &'static str>,
    ) -> Option<Vec<Key>> {
        let one = std::slice::from_ref(value);
        let values: &[Value<'_>] = match value.get_ref() {
            DeValue::Array(values) => values,
            DeValue::String(_) => one,
            _ => {
                let what = format!("keys are a list of texts: {action} = [\"x\", \"ctrl-x\"]");
                self.wrong(value.span().start, what);
                return None;
            }
        };
        let mut keys = Vec::new();
        for value in values {
            let at = value.span().start;
            let DeValue::String(name) = value.get_ref() else {
                self.wrong(at, "a key is a text: \"x\", \"ctrl-x\", \"pagedown\"".into());
                continue;
            };
            let Ok(key) = name.parse::<Key>() else {
                self.wrong(
                    at,
                    format!(
                        "no key is called `{name}`: a letter, ctrl-x, alt-x, f1, or up, down, left, \
                         right, home, end, pageup, pagedown, space, enter, esc, tab, backtab, \
                         backspace, delete"
                    ),
                );
                continue;
            };
            if key == ALWAYS_QUITS && action != name_of(Action::Quit) {
                self.wrong(at, "`ctrl-c` always quits".into());
            } else if let Some(other) = taken.get(&key).filter(|other| **other != action) {
                self.wrong(at, format!("`{key}` is bound to `{other}` already"));
            } else {
                taken.insert(key, action);
                keys.push(key);
            }
        }
        // A list with only invalid keys is an error, not a request for no keys.
        (values.is_empty() || !keys.is_empty()).then_some(keys)
    }
}

fn name_at(table: &DeTable<'_>, name: &str) -> usize {
    table.get_key_value(name).map_or(0, |(key, _)| key.span().start)
}

fn unknown_action(name: &str) -> String {
    // The name may be incomplete.
    let holds = |whole: &str| {
        let mut letters = whole.chars();
        name.chars().all(|wanted| letters.any(|letter| letter == wanted))
    };
    let like = commands::all().iter().find(|one| holds(one.name));
    let like = like.map(|one| format!("; is it `{}`?", one.name));
    let like = like.unwrap_or_else(|| "; the palette (:) lists them".into());
    format!("there is no action `{name}`{like}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        name.parse().expect("a key's name")
    }

    #[test]
    fn keys_and_colours_can_be_chosen() {
        let (preferences, wrong) = read(
            "theme = \"light\"\nascii = true\npanes = [\"locks\", \"tree\"]\n[keys]\nforward = [\"x\", \
             \"down\"]\nexplain = []\n",
            "ui.toml",
        );
        assert_eq!(wrong, Vec::<String>::new());
        let open: Vec<&str> = preferences.open_panes.iter().map(|pane| pane.0).collect();
        assert_eq!(open, ["locks", "tree"]);
        assert_eq!((preferences.theme, preferences.ascii), (Some(Theme::Light), true));
        assert_eq!(preferences.keys.action(key("x")), Some(Action::Forward));
        assert_eq!(preferences.keys.names_of(Action::Explain), "");
    }

    /// Checks the errors of a file, in order, and that a valid line in the same file is applied.
    fn check(text: &str, messages: &[&str]) {
        let text = format!("{text}back = [\"Q\"]\n");
        let (preferences, wrong) = read(&text, "ui.toml");
        assert_eq!(wrong.len(), messages.len(), "{wrong:#?}");
        for (wrong, messages) in wrong.iter().zip(messages) {
            assert!(wrong.starts_with(messages), "{wrong} for {messages}");
        }
        assert_eq!(preferences.keys.action(key("Q")), Some(Action::Back), "{text}");
        assert_eq!(preferences.keys.action(key("ctrl-c")), Some(Action::Quit), "{text}");
    }

    #[test]
    fn errors_have_positions_and_the_rest_is_applied() {
        check("theme = \"pink\"\n[keys]\n", &["ui.toml:1:9: there is no theme `pink`: there are"]);
        check("\n[keys]\nfly = [\"x\"]\n", &["ui.toml:3:1: there is no action `fly`; the palette"]);
        check(
            "[keys]\nforwrd = [\"x\"]\n",
            &["ui.toml:2:1: there is no action `forwrd`; is it `forward`?"],
        );
        check("colour = 1\n[keys]\n", &["ui.toml:1:1: there is no `colour` here"]);
        check("ascii = 1\n[keys]\n", &["ui.toml:1:9: ascii is true or false"]);
        check("panes = 1\n[keys]\n", &["ui.toml:1:9: panes is a list: panes = [\"source\"]"]);
        check(
            "panes = [\"locks\", \"clocks\"]\n[keys]\n",
            &["ui.toml:1:19: there is no pane `clocks`: there are source, locks"],
        );
        check("[keys]\nforward = 3\n", &["ui.toml:2:11: keys are a list"]);
        check("[keys]\nforward = [3]\n", &["ui.toml:2:12: a key is a text"]);
        check("[keys]\nforward = [\"hyper-x\"]\n", &["ui.toml:2:12: no key is called `hyper-x`"]);
        check("[keys]\nforward = [\"ctrl-c\"]\n", &["ui.toml:2:12: `ctrl-c` always quits"]);
        check("theme = \n[keys]\n", &["ui.toml:1:"]);
        check(
            "theme = \"pink\"\n[keys]\nfly = [\"x\"]\n",
            &["ui.toml:1:9: there is no theme", "ui.toml:3:1: there is no action"],
        );
    }

    #[test]
    fn the_first_of_two_bindings_of_a_key_is_applied() {
        check(
            "[keys]\nforward = [\"x\"]\nexplain = [\"x\"]\n",
            &[
                "ui.toml:2:1: `x` now runs `forward` and was the only key of `explain`",
                "ui.toml:3:12: `x` is bound to `forward` already",
            ],
        );
    }

    #[test]
    fn an_empty_list_of_quit_keys_leaves_ctrl_c() {
        let (preferences, wrong) = read("[keys]\nquit = []\n", "ui.toml");
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(preferences.keys.action(key("ctrl-c")), Some(Action::Quit));
        assert_eq!(preferences.keys.action(key("q")), None);
    }

    #[test]
    fn the_default_file_changes_nothing() {
        let (preferences, wrong) = read(&default_file(), "ui.toml");
        assert_eq!(wrong, Vec::<String>::new());
        for one in commands::all() {
            assert_eq!(preferences.keys.names_of(one.action), one.keys.join(" "), "{}", one.name);
        }
    }

    #[test]
    fn an_action_left_without_a_key_is_reported_unless_requested() {
        check(
            "[keys]\nforward = [\"x\"]\n",
            &["ui.toml:2:1: `x` now runs `forward` and was the only key of `explain`"],
        );
        check("[keys]\nforward = [\"x\"]\nexplain = []\n", &[]);
        check("[keys]\nforward = [\"down\", \"n\"]\nbest-move = [\"alt-b\"]\n", &[]);
    }
}
