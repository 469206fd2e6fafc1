//! Extracts the texts that the program can print from its source code: all string literals that contain
//! a phrase, without tests, help texts (which are in the command reference), the messages of assertions,
//! and texts that the program only compares with others: patterns, and arguments of methods such as
//! `contains`.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose messages reach a user.
const CRATES: [&str; 6] =
    ["traces", "search", "probes", "replay-core", "explorer-ui", "explorer-ui/cluster"];

/// Functions and macros whose arguments no user reads: internal errors, constants of the build and patterns.
const INTERNAL: [&str; 22] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "compile_error",
    "concat",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "expect",
    "expect_err",
    "include_bytes",
    "include_str",
    "panic",
    "todo",
    "unimplemented",
    "unreachable",
    "asm",
    "global_asm",
    "naked_asm",
    "matches",
];

/// Methods whose arguments are compared with a text that another program printed.
const COMPARING: [&str; 8] = [
    "contains",
    "ends_with",
    "find",
    "rsplit_once",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Longer texts are scripts and templates, not messages.
const MAX_LINES: usize = 4;

/// The messages of a source file.
pub(crate) struct FileMessages {
    /// The file, relative to the workspace.
    pub(crate) file: String,
    /// Each message once, on one line.
    pub(crate) messages: Vec<String>,
}

/// The messages of every source file that has some.
pub(crate) fn by_file(root: &Path) -> Vec<FileMessages> {
    let mut all = Vec::new();
    for name in CRATES {
        let mut files = Vec::new();
        source_files(&root.join(name).join("src"), &mut files);
        files.sort();
        for path in files {
            let source = fs::read_to_string(&path).expect("a source file");
            let mut messages = Vec::new();
            collect(source.parse().expect("valid Rust"), &mut messages);
            if !messages.is_empty() {
                let file = path.strip_prefix(root).expect("a file of the workspace");
                all.push(FileMessages { file: file.display().to_string(), messages });
            }
        }
    }
    all
}

/// The list of messages as Markdown, grouped by source file.
pub(crate) fn markdown(root: &Path) -> String {
    let mut text = String::from(
        "# Messages\n\n\
         Generated from the source code: every text that the program can print, apart from the help\n\
         (see [commands.md](commands.md)). `{}` stands for a value.\n",
    );
    for FileMessages { file, messages } in by_file(root) {
        text += &format!("\n## {file}\n\n");
        for message in messages {
            // A code span keeps Markdown from changing the text.
            let fence = if message.contains('`') { "``" } else { "`" };
            let space = if message.contains('`') { " " } else { "" };
            text += &format!("* {fence}{space}{message}{space}{fence}\n");
        }
    }
    text
}

/// The source files below a directory, without files of tests.
fn source_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if matches!(stem.as_str(), "tests" | "samples" | "simulate") {
            continue;
        }
        if path.is_dir() {
            source_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn collect(tokens: TokenStream, messages: &mut Vec<String>) {
    let tokens = without_patterns(tokens.into_iter().collect());
    let mut tokens = tokens.into_iter().peekable();
    let mut name = String::new();
    // The punctuation marks before the token, such as `.` or `==`.
    let mut marks = String::new();
    let mut is_method = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                // `#![...]`, an attribute of the enclosing item.
                tokens.next_if(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '!'));
                let Some(TokenTree::Group(attribute)) = tokens.next() else { continue };
                if is_test(&attribute) {
                    skip_item(&mut tokens);
                } else if attribute.stream().to_string().starts_with("error") {
                    // The message of an error that `thiserror` derives.
                    collect(attribute.stream(), messages);
                }
                marks.clear();
            }
            TokenTree::Ident(ident) => {
                name = ident.to_string();
                is_method = marks == ".";
                marks.clear();
            }
            TokenTree::Group(group) => {
                let is_call = group.delimiter() != Delimiter::Brace && matches!(&*marks, "" | "!");
                let compares = is_method && COMPARING.contains(&name.as_str());
                if !(is_call && (compares || INTERNAL.contains(&name.as_str()))) {
                    collect(group.stream(), messages);
                }
                name.clear();
                marks.clear();
            }
            TokenTree::Literal(literal) => {
                let is_compared = matches!(&*marks, "==" | "!=");
                let message = message(&literal).filter(|message| !messages.contains(message));
                messages.extend(message.filter(|_| !is_compared));
                name.clear();
                marks.clear();
            }
            TokenTree::Punct(punct) => marks.push(punct.as_char()),
        }
    }
}

/// The tokens without the patterns of a `match`, which are in front of `=>`.
fn without_patterns(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    let is = |token: &TokenTree, mark| matches!(token, TokenTree::Punct(p) if p.as_char() == mark);
    let mut remaining: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let is_arrow = is(&token, '>') && remaining.last().is_some_and(|last| is(last, '='));
        remaining.push(token);
        if !is_arrow {
            continue;
        }
        let ends = |token: &TokenTree| {
            is(token, ',')
                || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        };
        let start = remaining.iter().rposition(ends).map_or(0, |at| at + 1);
        let is_if = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "if");
        let guard = remaining[start..].iter().position(is_if).map(|at| start + at);
        remaining.drain(start..guard.unwrap_or(remaining.len()));
    }
    remaining
}

/// Whether an attribute is `[cfg(test)]` or a condition that contains `test`.
pub(crate) fn is_test(attribute: &Group) -> bool {
    let text = attribute.stream().to_string();
    text.starts_with("cfg") && text.contains("test")
}

/// Skips the tokens of an item: up to its block or its semicolon.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            _ => {}
        }
    }
}

/// The text of a string literal on one line, if it contains a phrase.
fn message(literal: &Literal) -> Option<String> {
    let text = text(literal)?;
    let text = text.trim_matches(['\n', '\0', ' ']);
    if text.lines().count() > MAX_LINES || !has_phrase(text) {
        return None;
    }
    Some(on_one_line(text))
}

/// The text of a string literal.
pub(crate) fn text(literal: &Literal) -> Option<String> {
    let source = literal.to_string();
    let text = source.trim_start_matches(['b', 'c', 'r']).trim_matches('#');
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    Some(join_continued_lines(text).replace("\\n", "\n").replace("\\\"", "\""))
}

/// A text with one space in place of each sequence of spaces and line ends.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Joins the lines that a backslash continues, as the compiler does.
fn join_continued_lines(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| joined + part.trim_start())
}

/// Whether a text has two adjacent words of lower-case letters.
fn has_phrase(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic());
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || "'-`".contains(c))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
}

#[test]
fn texts_that_are_only_compared_are_no_messages() {
    let code = r#"
        fn describe(text: &str) -> String {
            match text {
                "pattern one" | "pattern two" => return "result one".to_owned(),
                Some("pattern three") if text.contains("argument one") => "result two".len(),
                _ => format!("result {three}: of a format", contains("result four")),
            }
            if text == "operand one" || matches!(text, "pattern four") || a != "result five" {
                "result six"
            } else {
                ["result seven" | "result eight"]
            }
        }
    "#;
    let mut found = Vec::new();
    collect(code.parse().expect("Rust"), &mut found);
    let expected = [
        "result one",
        "result two",
        "result {three}: of a format",
        "result four",
        "result six",
        "result seven",
        "result eight",
    ];
    assert_eq!(found, expected);
}
