//! What the source near the sites says about a cause: which variables it names, and which numbers. Pure.

use super::proposal::SiteOfThread;
use crate::explain::source::{Language, Source};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// How many lines before and behind a site are near it.
const NEAR: usize = 3;
/// The most numbers that variables are compared with.
const MOST_NUMBERS: usize = 6;
/// Larger numbers are sizes, masks and addresses.
const LARGEST: i64 = 1 << 20;

/// The names and numbers in the sources of the sites.
#[derive(Debug, Default)]
pub(super) struct Relevance {
    /// How often the sources name an identifier; lines near sites count more.
    weights: HashMap<String, u32>,
    /// The identifiers on the lines near each site.
    near: BTreeMap<(String, u32), BTreeSet<String>>,
    /// The elements of arrays that the lines near each site name.
    elements: BTreeMap<(String, u32), BTreeSet<String>>,
    /// Numbers in the sources, those near sites first.
    pub(super) numbers: Vec<i64>,
}

impl Relevance {
    /// From the sources of the sites; `lines` reads a file.
    pub(super) fn of(
        sites: &[SiteOfThread],
        lines: &dyn Fn(&str) -> Option<Vec<String>>,
    ) -> Relevance {
        let mut relevance = Relevance::default();
        let mut numbers: Vec<i64> = Vec::new();
        let paths: BTreeSet<&str> = sites.iter().map(|site| site.path.as_str()).collect();
        let mut all: Vec<Vec<String>> = Vec::new();
        for path in paths {
            let Some(source) = lines(path) else { continue };
            let parsed = Source::of(source.join("\n").as_bytes(), Language::of(Path::new(path)));
            for site in sites.iter().filter(|site| site.path == path) {
                let at = (site.line as usize).saturating_sub(1);
                let range = at.saturating_sub(NEAR)..(at + NEAR + 1).min(source.len());
                let near: Vec<&String> = source.get(range).unwrap_or_default().iter().collect();
                let words: Vec<String> = near.iter().flat_map(|line| words(line)).collect();
                numbers.extend(words.iter().filter_map(|word| number(word)));
                for word in &words {
                    *relevance.weights.entry(word.clone()).or_default() += 16;
                }
                let key = (path.to_owned(), site.line);
                relevance.near.entry(key.clone()).or_default().extend(words);
                let near = NEAR as u32;
                let elements = parsed.elements(site.line.saturating_sub(near)..=site.line + near);
                relevance.elements.insert(key, elements);
            }
            all.push(source.iter().flat_map(|line| words(line)).collect());
        }
        for word in all.into_iter().flatten() {
            numbers.extend(number(&word));
            *relevance.weights.entry(word).or_default() += 1;
        }
        for number in numbers {
            if relevance.numbers.len() < MOST_NUMBERS && !relevance.numbers.contains(&number) {
                relevance.numbers.push(number);
            }
        }
        relevance
    }

    /// How much the sources name a variable: the least of its parts, so that a member counts only where
    /// it is named, too.
    pub(super) fn weight(&self, expression: &str) -> u32 {
        let of = |word: String| self.weights.get(&word).copied().unwrap_or(0);
        identifiers(expression).map(of).min().unwrap_or(0)
    }

    /// The elements of arrays that the lines near a site name.
    pub(super) fn elements(&self, site: &SiteOfThread) -> impl Iterator<Item = &String> {
        self.elements.get(&(site.path.clone(), site.line)).into_iter().flatten()
    }

    /// Whether the lines near a site name a variable, with the members that lead to it.
    pub(super) fn is_near(&self, site: &SiteOfThread, expression: &str) -> bool {
        let near = self.near.get(&(site.path.clone(), site.line));
        near.is_some_and(|near| identifiers(expression).all(|word| near.contains(&word)))
    }
}

/// The identifiers of an expression such as `queue->next`.
fn identifiers(expression: &str) -> impl Iterator<Item = String> {
    words(expression).into_iter().filter(|word| !word.starts_with(|it: char| it.is_ascii_digit()))
}

/// The identifiers and numbers of a line of source. Comments and texts count like code: their words are names
/// of variables by chance only. A statement that marks a parameter as unused names none.
fn words(line: &str) -> Vec<String> {
    let code = line.trim();
    if code.starts_with("(void)") || code.starts_with("#include") {
        return Vec::new();
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.split(|letter| !is_part(letter)).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// A small decimal number.
fn number(word: &str) -> Option<i64> {
    word.parse().ok().filter(|number| (0..=LARGEST).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: u32) -> SiteOfThread {
        SiteOfThread {
            thread: "T1".into(),
            path: "a.c".into(),
            line,
            text: None,
            locks: false,
            write: false,
            step: 0,
            lateness: 0,
        }
    }

    #[test]
    fn names_near_a_site_weigh_more_and_unused_parameters_nothing() {
        let source = "enum { MANY = 7 };\nint far;\n\n\n\nint f(void *unused)\n{\n(void)unused;\n\
                      if (queue->next == 2)\nqueue->last = far2;\n}";
        let lines = |path: &str| {
            (path == "a.c").then(|| source.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let relevance = Relevance::of(&[site(9)], &lines);
        assert!(relevance.weight("queue->next") > relevance.weight("far"));
        assert!(relevance.weight("far") > 0 && relevance.weight("queue->other") == 0);
        assert!(relevance.is_near(&site(9), "queue->last") && !relevance.is_near(&site(9), "far"));
        assert_eq!(relevance.numbers, [2, 7]);
        let source = "void f(void)\n{\nassert(output[written] != 0 && table[g()] == 1);\n}";
        let lines = |_: &str| Some(source.lines().map(str::to_owned).collect::<Vec<_>>());
        let relevance_of_elements = Relevance::of(&[site(3)], &lines);
        let elements: Vec<&String> = relevance_of_elements.elements(&site(3)).collect();
        assert_eq!(elements, ["output[written]"]);
        let alone = Relevance::of(&[site(11)], &lines);
        assert!(!alone.is_near(&site(11), "unused"));
    }
}
