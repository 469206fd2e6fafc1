//! Which messages occur in no test. A message counts as tested if the longest part of it that is the same
//! for all values occurs in what a test expects: in a string literal of test code, a snapshot, a table of
//! cases, or a page of the documentation whose text a test produces.
//!
//! The list of messages and the list of untested ones are generated from the messages, so they are not
//! among these texts.

use crate::messages::{self, FileMessages};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Directories with neither source code nor expectations.
const SKIPPED: [&str; 5] = ["target", ".git", "fuzz", "node_modules", "generated_docs"];

/// Pages of docs/ that a test generates from what the program says about itself.
const GENERATED_PAGES: [&str; 2] = ["docs/commands.md", "docs/serve.md"];

/// Tables of cases with the texts that they expect.
const TABLES: [&str; 2] = ["tests/targets/manifest.toml", "tests/corpus/manifest.toml"];

/// Macros and methods whose arguments are no expectations: what a test that fails prints.
const PRINTED: [&str; 6] = ["expect", "expect_err", "panic", "unreachable", "println", "eprintln"];

/// The messages that no test expects, as `file: message`, in the order of the list of messages.
pub(crate) fn untested(root: &Path) -> Vec<String> {
    let expected = Expected::read(root);
    let mut all = Vec::new();
    for FileMessages { file, messages } in messages::by_file(root) {
        let without = messages.iter().filter(|message| !expected.contains(fixed_part(message)));
        all.extend(without.map(|message| format!("{file}: {message}")));
    }
    all
}

/// The longest part of a message that is outside of its `{}`.
fn fixed_part(message: &str) -> String {
    // Doubled braces stand for braces.
    let text = message.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let parts = text.split('{').enumerate().map(|(index, part)| {
        if index == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) }
    });
    let longest = parts.map(str::trim).max_by_key(|part| part.len()).unwrap_or_default();
    longest.replace('\u{1}', "{").replace('\u{2}', "}")
}

/// All texts that tests expect.
struct Expected {
    /// Each text on one line, between line ends.
    texts: String,
    /// The words of the texts, since most messages without a test have a word that is not among them.
    words: HashSet<String>,
}

impl Expected {
    fn read(root: &Path) -> Expected {
        let mut texts = String::new();
        visit(root, root, &mut texts);
        let words = words(&texts).map(str::to_owned).collect();
        Expected { texts, words }
    }

    fn contains(&self, part: String) -> bool {
        // The first and the last word may be parts of words.
        let known = words(&part).filter(|word| self.words.contains(*word)).count();
        known + 2 >= words(&part).count() && self.texts.contains(&part)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Adds the expected texts in the files below a directory.
fn visit(root: &Path, directory: &Path, texts: &mut String) {
    for entry in fs::read_dir(directory).expect("a directory of the workspace") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !SKIPPED.contains(&&*name) {
                visit(root, &path, texts);
            }
            continue;
        }
        let file = path.strip_prefix(root).expect("a file of the workspace").to_string_lossy();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if file.ends_with(".rs") {
            let tokens: Result<TokenStream, _> = text.parse();
            let Ok(tokens) = tokens else { continue };
            if is_test_file(&file) {
                literals(tokens, texts);
            } else if file.contains("/src/") {
                literals_of_test_items(tokens, texts);
            }
        } else if file.ends_with(".snap") {
            // Behind the header, which repeats the test's expression.
            let body = text.splitn(3, "---\n").nth(2).unwrap_or(&text);
            add(texts, body);
        } else if file.starts_with("tests/bad-input/") || GENERATED_PAGES.contains(&&*file) {
            add(texts, &text);
        } else if TABLES.contains(&&*file) {
            text.lines()
                .filter(|line| line.starts_with("message"))
                .for_each(|line| add(texts, line));
        } else if file == "README.md" || file.starts_with("docs/guide/") {
            add_outputs(&text, texts);
        }
    }
}

/// Whether a source file contains only test code.
fn is_test_file(file: &str) -> bool {
    let of_tests = file.starts_with("tests/tests/") || file.contains("/src/simulation/");
    of_tests
        || file.ends_with("/tests.rs")
        || (file.contains("/tests/") && !file.starts_with("tests/"))
}

fn add(texts: &mut String, text: &str) {
    texts.push('\n');
    texts.push_str(&messages::on_one_line(text));
}

/// Adds the blocks of a page that the guide's test produces (`tests/src/pages.rs` describes the marks).
fn add_outputs(page: &str, texts: &mut String) {
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("<!-- run:") {
            continue;
        }
        let block: Vec<&str> = lines
            .by_ref()
            .skip(1)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .collect();
        add(texts, &block.join("\n"));
    }
}

/// Adds the string literals of test code, without those that only a failing test prints.
fn literals(tokens: TokenStream, texts: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    let mut name = String::new();
    while let Some(token) = tokens.next() {
        match token {
            // An attribute: a lint's reason, or a comment of documentation.
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                tokens.next_if(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '!'));
                tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
            }
            TokenTree::Punct(punct) if punct.as_char() == '!' => {}
            TokenTree::Punct(_) => name.clear(),
            TokenTree::Ident(ident) => name = ident.to_string(),
            TokenTree::Group(group) => {
                let is_call = group.delimiter() != Delimiter::Brace;
                if is_call && name == "assert" {
                    let groups = group.stream().into_iter();
                    let groups = groups.filter(|token| !matches!(token, TokenTree::Literal(_)));
                    literals(groups.collect(), texts);
                } else if !(is_call && PRINTED.contains(&name.as_str())) {
                    literals(group.stream(), texts);
                }
                name.clear();
            }
            TokenTree::Literal(literal) => {
                if let Some(text) = messages::text(&literal) {
                    add(texts, &text);
                }
                name.clear();
            }
        }
    }
}

/// Adds the string literals of the items that are compiled for tests only.
fn literals_of_test_items(tokens: TokenStream, texts: &mut String) {
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.next() else { continue };
                if messages::is_test(&attribute) {
                    literals(item(&mut tokens), texts);
                }
            }
            TokenTree::Group(group) => literals_of_test_items(group.stream(), texts),
            _ => {}
        }
    }
}

/// The tokens of an item: up to its block or its semicolon.
fn item(tokens: &mut impl Iterator<Item = TokenTree>) -> TokenStream {
    let mut all = Vec::new();
    for token in tokens {
        let ends = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(punct) => punct.as_char() == ';',
            _ => false,
        };
        all.push(token);
        if ends {
            break;
        }
    }
    all.into_iter().collect()
}

#[test]
fn the_longest_part_outside_of_braces_is_looked_for() {
    assert_eq!(fixed_part("no braces"), "no braces");
    assert_eq!(fixed_part("{} in {file}: no such line {line}"), ": no such line");
    assert_eq!(fixed_part("a {{ b }} {c} d"), "a { b }");
}

#[test]
fn what_a_failing_test_prints_is_no_expectation() {
    let mut texts = String::new();
    let code = r#"
        /// documented
        fn test() {
            assert!(text.contains("one"), "two");
            assert_eq!(text, "three");
            found.expect("four");
            // five
        }
    "#;
    literals(code.parse().expect("Rust"), &mut texts);
    assert_eq!(texts, "\none\nthree");
}
