//! A lexer for Rust, C and C++ that also returns comments, with their lines.
//!
//! It never fails: invalid programs yield tokens, too.

/// The languages whose tokens differ in what an apostrophe and a nested comment mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// C and C++.
    C,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword; a raw identifier without its `r#`.
    Ident,
    /// One character of punctuation, except that `::` is one token.
    Punct,
    /// The contents of a string, as written (escapes stay).
    Text,
    /// The contents of a comment, without its delimiters.
    Comment,
    /// A number, a character, a lifetime.
    Other,
}

/// A part of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The kind of the token.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// The line it begins on, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether this is the punctuation `text`.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.kind == Kind::Punct && self.text == text
    }

    /// Whether this is the name or keyword `text`.
    #[must_use]
    pub fn names(&self, text: &str) -> bool {
        self.kind == Kind::Ident && self.text == text
    }
}

/// The tokens of `source`.
#[must_use]
pub fn tokens(source: &str, language: Language) -> Vec<Token<'_>> {
    let mut lexer = Lexer { source, language, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    tokens
}

struct Lexer<'a> {
    source: &'a str,
    language: Language,
    at: usize,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Advances by `length` bytes and returns them.
    fn take(&mut self, length: usize) -> &'a str {
        let text = &self.rest()[..length];
        self.line += text.bytes().filter(|&byte| byte == b'\n').count();
        self.at += length;
        text
    }

    /// Advances over `prefix` bytes, the contents, and the delimiter `end`; returns the contents.
    fn delimited(&mut self, prefix: usize, end: &str) -> &'a str {
        let rest = self.rest();
        let length = rest[prefix..].find(end).unwrap_or(rest.len() - prefix);
        self.take(prefix);
        let contents = self.take(length);
        self.take(end.len().min(self.rest().len()));
        contents
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let blank = rest.len() - rest.trim_start().len();
        self.take(blank);
        let line = self.line;
        let rest = self.rest();
        let first = rest.chars().next()?;
        let (kind, text) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let text = self.take(length).trim_start_matches('/');
            (Kind::Comment, text.strip_prefix('!').unwrap_or(text))
        } else if rest.starts_with("/*") {
            (Kind::Comment, self.block_comment())
        } else if first == '"' {
            (Kind::Text, self.string())
        } else if let Some(text) = self.prefixed_string() {
            (Kind::Text, text)
        } else if first == '_' || first.is_alphabetic() {
            let raw = self.language == Language::Rust && rest.starts_with("r#");
            if raw {
                self.take(2);
            }
            (Kind::Ident, self.take(word(self.rest())))
        } else if first.is_ascii_digit() {
            (Kind::Other, self.number())
        } else if first == '\'' {
            (Kind::Other, self.apostrophe())
        } else if rest.starts_with("::") {
            (Kind::Punct, self.take(2))
        } else {
            (Kind::Punct, self.take(first.len_utf8()))
        };
        Some(Token { kind, text, line })
    }

    fn block_comment(&mut self) -> &'a str {
        if self.language == Language::C {
            return self.delimited(2, "*/");
        }
        let rest = self.rest();
        let (mut depth, mut length) = (0, 0);
        while length < rest.len() {
            if rest[length..].starts_with("/*") {
                depth += 1;
                length += 2;
            } else if rest[length..].starts_with("*/") {
                depth -= 1;
                length += 2;
                if depth == 0 {
                    break;
                }
            } else {
                length += rest[length..].chars().next().map_or(1, char::len_utf8);
            }
        }
        self.take(length).trim_start_matches("/*").trim_end_matches("*/")
    }

    /// A string from its opening to its closing quote.
    fn string(&mut self) -> &'a str {
        let mut escaped = false;
        let rest = self.rest();
        let end = rest[1..].find(|character| {
            let closes = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            closes
        });
        self.take(1);
        let text = self.take(end.unwrap_or(rest.len() - 1));
        self.take(usize::from(end.is_some()));
        text
    }

    /// A string with a prefix: `b"`, `c"`, `r"`, `r#"`, `L"`, `u8"`, `R"x(`.
    fn prefixed_string(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let prefix = word(rest);
        let after = &rest[prefix..];
        let raw = match (self.language, &rest[..prefix]) {
            (Language::Rust, "b" | "c") | (Language::C, "L" | "u" | "U" | "u8") => false,
            (Language::Rust, "r" | "br" | "cr") | (Language::C, "R" | "LR" | "u8R") => true,
            _ => return None,
        };
        if !raw {
            return after.starts_with('"').then(|| {
                self.take(prefix);
                self.string()
            });
        }
        match self.language {
            Language::Rust => {
                let hashes = after.len() - after.trim_start_matches('#').len();
                let end = format!("\"{}", &after[..hashes]);
                after[hashes..].starts_with('"').then(|| self.delimited(prefix + hashes + 1, &end))
            }
            Language::C => {
                let open = after.find('(').filter(|_| after.starts_with('"'))?;
                let end = format!("){}\"", &after[1..open]);
                Some(self.delimited(prefix + open + 1, &end))
            }
        }
    }

    fn number(&mut self) -> &'a str {
        let rest = self.rest();
        let quotes = self.language == Language::C;
        let length = rest
            .char_indices()
            .find(|&(at, character)| {
                let fraction = character == '.'
                    && rest[at + 1..].starts_with(|next: char| next.is_ascii_digit());
                let separator = quotes && character == '\'';
                !(character == '_' || character.is_alphanumeric() || fraction || separator)
            })
            .map_or(rest.len(), |(at, _)| at);
        self.take(length)
    }

    /// A character or a lifetime.
    fn apostrophe(&mut self) -> &'a str {
        let rest = self.rest();
        let mut characters = rest[1..].char_indices();
        let second = characters.next().map(|(_, character)| character);
        let third = characters.next();
        let closed = third.is_some_and(|(_, character)| character == '\'');
        if self.language == Language::Rust && second != Some('\\') && !closed {
            return self.take(1 + word(&rest[1..]));
        }
        let mut escaped = false;
        let end = rest[1..].find(|character| {
            let closes = character == '\'' && !escaped;
            escaped = character == '\\' && !escaped;
            closes
        });
        self.take(end.map_or(1, |end| end + 2))
    }
}

/// The length of the name at the beginning of `text`.
fn word(text: &str) -> usize {
    text.find(|character: char| character != '_' && !character.is_alphanumeric())
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str, language: Language) -> Vec<(Kind, &str, usize)> {
        tokens(source, language).iter().map(|token| (token.kind, token.text, token.line)).collect()
    }

    #[test]
    fn comments_strings_and_names_are_distinguished() {
        let source = "//! a\nlet r#type = b\"x\\\"y\"; /* b /* c */ d */ f('\\'', 'a, r#\"z\"w\"#)";
        assert_eq!(
            kinds(source, Language::Rust),
            [
                (Kind::Comment, " a", 1),
                (Kind::Ident, "let", 2),
                (Kind::Ident, "type", 2),
                (Kind::Punct, "=", 2),
                (Kind::Text, "x\\\"y", 2),
                (Kind::Punct, ";", 2),
                (Kind::Comment, " b /* c */ d ", 2),
                (Kind::Ident, "f", 2),
                (Kind::Punct, "(", 2),
                (Kind::Other, "'\\''", 2),
                (Kind::Punct, ",", 2),
                (Kind::Other, "'a", 2),
                (Kind::Punct, ",", 2),
                (Kind::Text, "z\"w", 2),
                (Kind::Punct, ")", 2),
            ]
        );
    }

    #[test]
    fn c_has_character_literals_and_digit_separators() {
        let source = "x = 1'000; /* a /* b */ c(L\"d\", 'ab')";
        let texts: Vec<&str> = tokens(source, Language::C).iter().map(|token| token.text).collect();
        assert_eq!(texts, ["x", "=", "1'000", ";", " a /* b ", "c", "(", "d", ",", "'ab'", ")"]);
    }

    #[test]
    fn text_that_ends_early_yields_tokens_up_to_its_end() {
        for source in ["\"a", "/* a", "r#\"a", "'", "b'", "'\\", "R\"x(", "//", "\"\\"] {
            for language in [Language::Rust, Language::C] {
                assert!(!tokens(source, language).is_empty(), "{source} {language:?}");
            }
        }
    }
}
