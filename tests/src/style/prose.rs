//! The parts of the project's files that people read: comments, strings, documentation, names.

use super::lexer::{Kind, Language, Token, tokens};
use std::path::{Path, PathBuf};

/// Folders without text of the project's.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "node_modules"];

/// The list of phrases contains all of them, and is no violation.
const LIST: &str = "tests/style/words.toml";

/// A passage: a comment, a string, a paragraph. Its lines are joined by spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The text.
    pub text: String,
    /// For each line of the source: where it begins in `text`, and its number.
    lines: Vec<(usize, usize)>,
}

impl Passage {
    fn new(text: &str, line: usize) -> Self {
        let mut passage = Self { text: String::new(), lines: Vec::new() };
        for (index, text) in text.lines().enumerate() {
            passage.append(text, line + index);
        }
        passage
    }

    fn append(&mut self, text: &str, line: usize) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), line));
        self.text +=
            text.trim_matches(|character: char| character.is_whitespace() || character == '*');
    }

    /// The line of the source in which the byte `offset` of the text is.
    #[must_use]
    pub fn line(&self, offset: usize) -> usize {
        let after = self.lines.partition_point(|&(begin, _)| begin <= offset);
        self.lines.get(after.saturating_sub(1)).map_or(0, |&(_, line)| line)
    }
}

/// The human-readable text of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Prose {
    /// Comments, strings, documentation, and names of functions with spaces in them.
    pub passages: Vec<Passage>,
    /// Names that the file defines: types, functions, modules; and of the file. With their lines.
    pub definitions: Vec<(String, usize)>,
    /// Every other name in the file once, with the line of its first use.
    pub identifiers: Vec<(String, usize)>,
}

/// The files with text, relative to `root`, sorted.
#[must_use]
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    folders.push(path);
                }
                continue;
            }
            let text = matches!(
                path.extension().and_then(|extension| extension.to_str()),
                Some(
                    "rs" | "c"
                        | "cpp"
                        | "h"
                        | "md"
                        | "toml"
                        | "sh"
                        | "snap"
                        | "txt"
                        | "py"
                        | "yml"
                        | "yaml"
                        | "json"
                        | "cmake"
                        | "mk"
                )
            ) || name == "Makefile";
            let relative = path.strip_prefix(root).unwrap_or(&path);
            if text && relative != Path::new(LIST) {
                files.push(relative.into());
            }
        }
    }
    files.sort();
    files
}

/// Extracts the human-readable text from the file `path`, whose content is `source`.
#[must_use]
pub fn of_file(path: &Path, source: &str) -> Prose {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let mut prose = match extension {
        "rs" => of_code(source, Language::Rust),
        "c" | "cpp" | "h" => of_code(source, Language::C),
        "md" => Prose { passages: paragraphs(source), ..Prose::default() },
        _ => Prose { passages: of_lines(source), ..Prose::default() },
    };
    if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
        prose.definitions.push((name.into(), 1));
    }
    prose
}

fn of_code(source: &str, language: Language) -> Prose {
    let mut prose = Prose::default();
    let mut before: Option<Token<'_>> = None;
    // The last comment, if nothing but a line break came after it.
    let mut open: Option<(usize, Passage)> = None;
    for token in tokens(source, language) {
        if token.kind != Kind::Comment {
            prose.passages.extend(open.take().map(|(_, passage)| passage));
        }
        match token.kind {
            Kind::Comment => {
                let end = token.line + token.text.lines().count().saturating_sub(1);
                match &mut open {
                    Some((last, passage)) if *last + 1 == token.line && !token.text.is_empty() => {
                        let lines = token.text.lines().enumerate();
                        lines.for_each(|(index, text)| passage.append(text, token.line + index));
                        *last = end;
                    }
                    _ => {
                        prose.passages.extend(open.take().map(|(_, passage)| passage));
                        open = Some((end, Passage::new(token.text, token.line)));
                    }
                }
            }
            Kind::Text => {
                let text =
                    token.text.replace("\\n", " ").replace("\\t", " ").replace("\\\n", " \n");
                prose.passages.push(Passage::new(&text, token.line));
            }
            Kind::Ident => {
                let name = token.text.to_owned();
                let keyword =
                    before.filter(|token| token.kind == Kind::Ident).map(|token| token.text);
                let defines = matches!(
                    keyword,
                    Some("fn" | "struct" | "enum" | "union" | "trait" | "type" | "mod")
                );
                if keyword == Some("fn") {
                    prose.passages.push(Passage::new(&name.replace('_', " "), token.line));
                }
                if defines && language == Language::Rust {
                    prose.definitions.push((name.clone(), token.line));
                }
                prose.identifiers.push((name, token.line));
            }
            _ => {}
        }
        before = Some(token);
    }
    prose.passages.extend(open.map(|(_, passage)| passage));
    prose.identifiers.sort();
    prose.identifiers.dedup_by(|second, first| second.0 == first.0);
    prose
}

/// Paragraphs are separated by empty lines.
fn paragraphs(source: &str) -> Vec<Passage> {
    let mut passages = vec![Passage::new("", 0)];
    for (index, line) in source.lines().enumerate() {
        if line.trim().is_empty() {
            passages.push(Passage::new("", 0));
        } else if let Some(passage) = passages.last_mut() {
            passage.append(line, index + 1);
        }
    }
    passages
}

/// Each line is a passage; comments that begin with `#` join their lines.
fn of_lines(source: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut in_comment = false;
    for (index, line) in source.lines().enumerate() {
        let comment = line.trim_start().strip_prefix('#');
        match (comment, passages.last_mut()) {
            (Some(text), Some(passage)) if in_comment => passage.append(text, index + 1),
            _ => passages.push(Passage::new(comment.unwrap_or(line), index + 1)),
        }
        in_comment = comment.is_some();
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str, source: &str) -> Vec<String> {
        let passages = of_file(path.as_ref(), source).passages;
        passages.into_iter().map(|passage| passage.text).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn comments_of_adjacent_lines_are_one_passage() {
        let source = "//! a\n//! b\n\n// c\nfn d() {} // e\n/* f\n * g */\n";
        assert_eq!(texts("x.rs", source), ["a b", "c", "d", "e f g"]);
    }

    #[test]
    fn strings_and_function_names_are_read_as_text() {
        let source = "fn a_b() { p(\"x\\ny \\\n   z\") }";
        assert_eq!(texts("x.rs", source), ["a b", "x y z"]);
    }

    #[test]
    fn a_line_is_found_from_an_offset() {
        let prose = of_file("x.md".as_ref(), "a b\nc d\n\ne");
        let passage = &prose.passages[0];
        assert_eq!(passage.text, "a b c d");
        assert_eq!([0, 3, 4, 6].map(|offset| passage.line(offset)), [1, 1, 2, 2]);
        assert_eq!(prose.passages[1].line(0), 4);
    }

    #[test]
    fn comments_of_configuration_join_their_lines_and_values_do_not() {
        assert_eq!(texts("x.toml", "# a\n# b\nc = \"d\"\ne = 1"), ["a b", "c = \"d\"", "e = 1"]);
    }

    #[test]
    fn definitions_are_types_functions_modules_and_the_file() {
        let prose = of_file("src/f.rs".as_ref(), "struct A; fn b(c: D) {} mod e;");
        let names: Vec<&str> = prose.definitions.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "b", "e", "f"]);
    }
}
