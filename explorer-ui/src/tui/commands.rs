//! All commands: the table of actions and one command for each pane.

use super::keys::actions::{ACTIONS, Action, Described};
use super::keys::bindings::Keys;
use super::panes;
use fuzzy_matcher::FuzzyMatcher;
use fuzzy_matcher::skim::SkimMatcherV2;
use std::sync::LazyLock;

/// All commands, in the order of the help.
#[must_use]
pub fn all() -> &'static [Described] {
    static ALL: LazyLock<Vec<Described>> = LazyLock::new(|| {
        let pane = |(id, keys, what): (panes::id::PaneId, _, _)| Described {
            action: Action::ShowPane(id),
            group: "Panes",
            name: Box::leak(format!("pane-{}", id.0).into_boxed_str()),
            keys,
            what,
        };
        ACTIONS.iter().copied().chain(panes::described().map(pane)).collect()
    });
    &ALL
}

/// The default key bindings.
#[must_use]
pub fn default_keys() -> Keys {
    Keys::of_table(all())
}

/// The name of an action's command.
#[must_use]
pub fn name_of(action: Action) -> &'static str {
    all().iter().find(|one| one.action == action).map_or("", |one| one.name)
}

/// Commands for a text typed into the palette, best match first: those whose name contains the
/// typed characters in order; those with a word in their description that begins with the typed text;
/// those with a word in their name that differs by a typing error; those whose description contains the
/// typed characters in order.
#[must_use]
pub fn matching(typed: &str) -> Vec<&'static Described> {
    let matcher = SkimMatcherV2::default().ignore_case();
    // Each typed word, in any order.
    let score = |text: &str| {
        let words = typed.split_whitespace();
        words
            .map(|word| matcher.fuzzy_match(text, word))
            .try_fold(0i64, |sum, one| Some(sum + one?))
    };
    let mut found: Vec<(Rank, &Described)> = all()
        .iter()
        .filter_map(|one| {
            let by_name = score(one.name).map(Rank::Name);
            let by_text = score(one.what).map(|score| match begins_a_word(one.what, typed) {
                true => Rank::Word(score),
                false => Rank::Description(score),
            });
            let word = by_text.filter(|rank| matches!(rank, Rank::Word(_)));
            let misspelled = || typing_errors(one.name, typed).map(Rank::misspelled);
            by_name.or(word).or_else(misspelled).or(by_text).map(|rank| (rank, one))
        })
        .collect();
    found.sort_by_key(|&(rank, _)| std::cmp::Reverse(rank));
    found.into_iter().map(|(_, one)| one).collect()
}

/// How well a command matches, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The matcher's score of the description.
    Description(i64),
    /// The negated number of typing errors.
    Misspelled(i32),
    /// The matcher's score of a description with a word that begins with the typed text.
    Word(i64),
    /// The matcher's score of the name.
    Name(i64),
}

impl Rank {
    fn misspelled(errors: usize) -> Rank {
        Rank::Misspelled(-(errors as i32))
    }
}

/// Whether a word of the text begins with what was typed.
fn begins_a_word(text: &str, typed: &str) -> bool {
    let typed = typed.trim().to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.map(str::to_lowercase).any(|word| !typed.is_empty() && word.starts_with(&typed))
}

/// The number of typing errors between a text and the closest word of a command's name, if it is
/// at most one, or two for texts of more than five characters.
fn typing_errors(name: &str, typed: &str) -> Option<usize> {
    let typed = typed.trim().to_lowercase();
    let allowed = match typed.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        _ => 2,
    };
    let words = name.split('-').chain(std::iter::once(name));
    let errors = words.map(|word| strsim::damerau_levenshtein(word, &typed)).min()?;
    (errors <= allowed).then_some(errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::key::Key;
    use std::collections::HashSet;

    fn key(name: &str) -> Key {
        name.parse().expect("a key's name")
    }

    #[test]
    fn keys_and_names_are_unique() {
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for one in all() {
            assert!(names.insert(one.name), "{}", one.name);
            for key in one.keys {
                assert!(keys.insert(*key), "{key}");
                assert!(key.parse::<Key>().is_ok(), "{key}");
            }
        }
    }

    #[test]
    fn the_palette_matches_characters_in_order() {
        assert_eq!(matching("npre")[0].name, "next-preemption");
        assert_eq!(matching("save")[0].name, "save");
        assert_eq!(matching("").len(), all().len());
        assert!(matching("qqqq").is_empty());
    }

    #[test]
    fn the_palette_finds_panes_by_name() {
        for id in panes::ids() {
            // `search` is also the name of an action.
            let mut found = matching(id.0).into_iter().take(3);
            assert!(found.any(|one| one.action == Action::ShowPane(id)), "{}", id.0);
        }
    }

    #[test]
    fn the_palette_prefers_words_of_descriptions_to_typing_errors() {
        for typed in ["dif", "diff"] {
            assert_eq!(matching(typed)[0].name, "compare");
        }
        assert!(matching("asciicast").iter().any(|one| one.name == "record"));
    }

    #[test]
    fn the_palette_forgives_a_typing_error() {
        assert_eq!(matching("shirnk")[0].name, "shrink");
        assert_eq!(matching("lokcs")[0].name, "pane-locks");
        assert!(matching("bookmrak").iter().any(|one| one.name == "bookmark"));
        assert!(matching("zzzzzz").is_empty());
    }

    #[test]
    fn bound_keys_replace_the_default_ones() {
        let mut keys = default_keys();
        keys.set(Action::Forward, &[key("x")]);
        assert_eq!(keys.action(key("x")), Some(Action::Forward));
        assert_eq!(keys.action(key("j")), None);
        assert_eq!(keys.names_of(Action::Back), "k up left backspace");
    }

    #[test]
    fn an_empty_list_of_quit_keys_leaves_ctrl_c() {
        let mut keys = default_keys();
        keys.set(Action::Quit, &[]);
        assert_eq!(keys.names_of(Action::Quit), "ctrl-c");
        keys.set(Action::Forward, &[key("ctrl-c")]);
        assert_eq!(keys.action(key("ctrl-c")), Some(Action::Quit));
    }
}
