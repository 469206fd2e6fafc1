//! Phrases and names that the project does not use.

use super::prose;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// The list of phrases and names, relative to the repository.
const LIST: &str = "tests/style/words.toml";
/// How many hits each part of the repository may have.
pub const LIMITS: &str = "tests/style/limits.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    phrase: Vec<Phrase>,
    definition: Vec<Names>,
    identifier: Vec<Names>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    find: Vec<String>,
    write: String,
    #[serde(default)]
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    names: Vec<String>,
    write: String,
}

/// A phrase or name where it must not be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The file, relative to the repository.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The text that was found.
    pub found: String,
    /// What to write instead.
    pub write: String,
}

impl Display for Hit {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{}: `{}` -> {}",
            self.file.display(),
            self.line,
            self.found,
            self.write
        )
    }
}

/// The list, compiled.
pub struct Words {
    /// Any of the phrases: most passages have none.
    any: Regex,
    /// What is found, in which contexts it is legal, and what to write instead.
    phrases: Vec<(Regex, Option<Regex>, String)>,
    definitions: BTreeMap<String, String>,
    identifiers: BTreeMap<String, String>,
}

impl Words {
    /// Reads the list of the repository `root`.
    ///
    /// # Panics
    ///
    /// If it cannot be read, or is malformed.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let text = std::fs::read_to_string(root.join(LIST)).expect("the list of words");
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let list: List = toml::from_str(text).expect("a list of words");
        let all: Vec<String> = list.phrase.iter().flat_map(|phrase| phrase.find.clone()).collect();
        let phrases = list.phrase.into_iter().map(|phrase| {
            let allow = (!phrase.allow.is_empty()).then(|| any_of(&phrase.allow));
            (any_of(&phrase.find), allow, phrase.write)
        });
        let names = |lists: Vec<Names>| {
            lists
                .into_iter()
                .flat_map(|list| list.names.into_iter().map(move |name| (name, list.write.clone())))
                .collect()
        };
        Self {
            any: any_of(&all),
            phrases: phrases.collect(),
            definitions: names(list.definition),
            identifiers: names(list.identifier),
        }
    }

    /// All hits in the repository `root`, sorted by file and line.
    #[must_use]
    pub fn hits(&self, root: &Path) -> Vec<Hit> {
        let mut hits = Vec::new();
        for file in prose::files(root) {
            let bytes = std::fs::read(root.join(&file)).unwrap_or_default();
            self.hits_in(&file, &String::from_utf8_lossy(&bytes), &mut hits);
        }
        hits.sort();
        hits
    }

    fn hits_in(&self, file: &Path, source: &str, hits: &mut Vec<Hit>) {
        let prose = prose::of_file(file, source);
        let mut hit = |line: usize, found: &str, write: &str| {
            let (found, write) = (found.to_owned(), write.to_owned());
            hits.push(Hit { file: file.into(), line, found, write });
        };
        for passage in prose.passages.iter().filter(|passage| self.any.is_match(&passage.text)) {
            for (find, allow, write) in &self.phrases {
                for found in find.find_iter(&passage.text) {
                    let inside = |legal: regex::Match<'_>| {
                        legal.start() <= found.start() && found.end() <= legal.end()
                    };
                    let legal = allow
                        .as_ref()
                        .is_some_and(|allow| allow.find_iter(&passage.text).any(inside));
                    if !legal {
                        hit(passage.line(found.start()), found.as_str(), write);
                    }
                }
            }
        }
        for (name, line) in &prose.definitions {
            if let Some(write) = self.definitions.get(name) {
                hit(*line, name, write);
            }
        }
        for (name, line) in &prose.identifiers {
            let mut parts = parts(name);
            if let Some(write) = parts.find_map(|part| self.identifiers.get(&part)) {
                hit(*line, name, write);
            }
        }
    }
}

/// A regular expression that matches any of `alternatives`.
fn any_of(alternatives: &[String]) -> Regex {
    let pattern = format!("(?:{})", alternatives.join(")|(?:"));
    RegexBuilder::new(&pattern).case_insensitive(true).build().expect("a regular expression")
}

/// The words of a name in snake case or camel case, in lower case.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut separated = String::new();
    for character in name.chars() {
        if character.is_uppercase() {
            separated.push('_');
        }
        separated.extend(character.to_lowercase());
    }
    separated.split('_').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// The part of the repository whose limit counts for `file`: a folder at the root, or a file there.
#[must_use]
pub fn part(file: &Path) -> String {
    let first = file.components().next().map(|component| component.as_os_str().to_string_lossy());
    first.unwrap_or_default().into_owned()
}

/// The number of hits in each part of the repository that has any.
#[must_use]
pub fn counts(hits: &[Hit]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for hit in hits {
        *counts.entry(part(&hit.file)).or_default() += 1;
    }
    counts
}

/// The limits of the repository `root`.
///
/// # Panics
///
/// If they cannot be read, or are malformed.
#[must_use]
pub fn limits(root: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(root.join(LIMITS)).expect("the limits");
    toml::from_str(&text).expect("a number for each part of the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r"
        [[phrase]]
        find = ['\bperchance\b', '\bgoes hence\b']
        write = 'in the background'
        allow = ['\bperchance from\b']
        [[definition]]
        names = ['Thing', 'gizmo']
        write = 'a name'
        [[identifier]]
        names = ['quoth']
        write = 'reported'
    ";

    fn found(file: &str, source: &str) -> Vec<(usize, String)> {
        let mut hits = Vec::new();
        Words::parse(LIST).hits_in(file.as_ref(), source, &mut hits);
        hits.sort();
        hits.into_iter().map(|hit| (hit.line, hit.found)).collect()
    }

    #[test]
    fn a_phrase_is_found_in_comments_strings_and_names_of_functions() {
        let source = "// it goes\n// hence\nfn a_test_that_goes_hence() { f(\"Perchance\") }";
        let expected =
            [(1, "goes hence".into()), (3, "Perchance".into()), (3, "goes hence".into())];
        assert_eq!(found("a.rs", source), expected);
    }

    #[test]
    fn an_allowed_context_is_legal() {
        assert_eq!(found("a.md", "perchance from this, perchance"), [(1, "perchance".into())]);
    }

    #[test]
    fn a_definition_is_found_and_a_use_is_not() {
        let source = "struct Thing; fn f(gizmo: u8) { x.gizmo() }";
        assert_eq!(found("a.rs", source), [(1, "Thing".into())]);
        assert_eq!(found("gizmo.rs", ""), [(1, "gizmo".into())]);
    }

    #[test]
    fn a_word_is_found_in_any_name_once_a_file() {
        let source = "a.quoth_apart;\nb.quoth_apart;\nItIsQuoth;\nunquoths;";
        assert_eq!(found("a.rs", source), [(1, "quoth_apart".into()), (3, "ItIsQuoth".into())]);
    }
}
