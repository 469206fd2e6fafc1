//! The user's own keys and colours, in `ui.toml` of the configuration directory.

use super::action::Keys;
use super::theme::Theme;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    theme: Option<String>,
    ascii: Option<bool>,
    #[serde(default)]
    keys: BTreeMap<String, Vec<String>>,
}

/// What a user prefers.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// The colours; none where the terminal is to decide.
    pub theme: Option<Theme>,
    /// Whether to keep to ASCII.
    pub ascii: bool,
    /// Which key does what.
    pub keys: Keys,
}

/// Where the file is looked for.
#[must_use]
pub fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(config.join("heddle").join("ui.toml"))
}

/// Reads what a file says. What is wrong with it comes back as a line, and the usual is used.
#[must_use]
pub fn read(text: &str, path: &str) -> (Preferences, Option<String>) {
    match parse(text) {
        Ok(preferences) => (preferences, None),
        Err((at, what)) => {
            let before = &text[..at.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
            let what = what.lines().next().unwrap_or_default();
            let told =
                format!("{path}:{line}:{column}: {what}; the usual keys and colours are used");
            (Preferences::default(), Some(told))
        }
    }
}

fn parse(text: &str) -> Result<Preferences, (usize, String)> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, error.message().to_owned())
    })?;
    let mut preferences =
        Preferences { ascii: file.ascii.unwrap_or(false), ..Preferences::default() };
    if let Some(name) = file.theme {
        let names: Vec<&str> = Theme::ALL.iter().map(|theme| theme.name()).collect();
        let at = text.find(&name).unwrap_or(0);
        preferences.theme = Some(Theme::from_name(&name).ok_or_else(|| {
            (at, format!("there is no theme `{name}`: there are {}", names.join(", ")))
        })?);
    }
    for (name, keys) in file.keys {
        let at = text.find(&name).unwrap_or(0);
        preferences.keys.set(&name, &keys).map_err(|what| (at, what))?;
    }
    Ok(preferences)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::action::Action;

    #[test]
    fn keys_and_colours_can_be_chosen() {
        let (preferences, wrong) = read(
            "theme = \"light\"\nascii = true\n[keys]\nforward = [\"x\", \"down\"]\n",
            "ui.toml",
        );
        assert_eq!(wrong, None);
        assert_eq!((preferences.theme, preferences.ascii), (Some(Theme::Light), true));
        assert_eq!(preferences.keys.action("x"), Some(Action::Forward));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_the_usual_is_used() {
        for (text, place) in [
            ("theme = \"pink\"\n", "ui.toml:1:10: there is no theme `pink`"),
            ("\n[keys]\nfly = [\"x\"]\n", "ui.toml:3:1: there is no action `fly`"),
            ("theme = \n", "ui.toml:1:"),
            ("colour = 1\n", "ui.toml:1:1: unknown field"),
        ] {
            let (preferences, wrong) = read(text, "ui.toml");
            let wrong = wrong.expect(text);
            assert!(wrong.starts_with(place), "{wrong}");
            assert_eq!(preferences.keys.action("j"), Some(Action::Forward));
        }
    }
}
