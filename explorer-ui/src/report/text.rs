//! Text for a terminal: width, clipping, wrapping, and escaping of control characters.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of `text` in cells.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` with control and invisible characters escaped.
///
/// Names, messages and paths come from the program or a trace, so they are not trusted.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}

/// Lines for a terminal: as [`clean`], but with line feeds, tabs and, if `colored`, colours.
///
/// Reports clean what they show, one piece at a time. This is the last gate, for what one of them forgot.
#[must_use]
pub fn clean_lines(text: &str, colored: bool) -> Cow<'_, str> {
    let is_harmless = |c: char| !is_unsafe(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        if is_harmless(c) {
            clean.push(c);
        } else if let Some(color) = color_sequence(rest).filter(|_| colored) {
            clean.push_str(color);
            len = color.len();
        } else {
            clean.extend(c.escape_default());
        }
        rest = &rest[len..];
    }
    Cow::Owned(clean)
}

/// The sequence at the start of `text` that sets colours, if there is one.
fn color_sequence(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..text.len() - numbers.len() + end + 1])
}

/// Whether a terminal acts on the character, or shows nothing or another order of text for it: a name
/// with such characters could look like another.
pub(crate) fn is_unsafe(c: char) -> bool {
    let is_invisible = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    c.is_control() || is_invisible
}

/// `text` clipped to at most `cells`; `cut` marks the end of clipped text.
#[must_use]
pub fn clip(text: &str, cells: usize, cut: &str) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let room = cells.saturating_sub(width(cut));
    let mut clipped = String::new();
    let mut used = 0;
    for c in text.chars() {
        let cell = c.width().unwrap_or(0);
        if used + cell > room {
            break;
        }
        used += cell;
        clipped.push(c);
    }
    if cells >= width(cut) {
        clipped.push_str(cut);
    }
    clipped
}

/// Like [`clip`], but keeps the end of `text`.
#[must_use]
pub fn clip_front(text: &str, cells: usize, cut: &str) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let reversed: String = text.chars().rev().collect();
    let mut kept: Vec<char> =
        clip(&reversed, cells.saturating_sub(width(cut)), "").chars().collect();
    kept.reverse();
    let mut clipped = if cells >= width(cut) { cut.to_owned() } else { String::new() };
    clipped.extend(kept);
    clipped
}

/// Wraps `text` at spaces to lines of at most `cells`; a longer word is not broken.
#[must_use]
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    wrap_with(text, wrap_options(cells))
}

/// The lines of a text. A line that is too long is wrapped; its continuation lines are indented by two
/// more cells than its first.
#[must_use]
pub fn wrapped_lines(text: &str, cells: usize) -> Vec<String> {
    let wrapped = |line: &str| {
        if width(line) <= cells {
            return vec![line.to_owned()];
        }
        let words = line.trim_start();
        let (first, rest) = (width(line) - width(words), width(line) - width(words) + 2);
        let (initial_indent, subsequent_indent) = (fill(0, first), fill(0, rest));
        let options = wrap_options(cells.max(rest + 10))
            .initial_indent(&initial_indent)
            .subsequent_indent(&subsequent_indent);
        wrap_with(words, options)
    };
    text.lines().flat_map(wrapped).collect()
}

fn wrap_options<'a>(cells: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(cells)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
}

fn wrap_with(text: &str, options: textwrap::Options<'_>) -> Vec<String> {
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// The spaces that pad a text of `used` cells to `cells`.
#[must_use]
pub fn fill(used: usize, cells: usize) -> String {
    " ".repeat(cells.saturating_sub(used))
}

/// `12345678` as `12,345,678`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 step`, `2 steps`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    let plural = match (number, noun) {
        (1, _) => "",
        (_, noun) if noun.ends_with('h') => "es",
        _ => "s",
    };
    format!("{} {noun}{plural}", grouped(number))
}

/// A word of a command line, quoted for a shell if necessary.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.chars().any(is_unsafe) {
        let escaped: String = word
            .chars()
            .map(|c| match c {
                '\\' | '\'' => format!("\\{c}"),
                c if is_unsafe(c) => format!("\\U{:08x}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{escaped}'");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_cells_not_characters() {
        assert_eq!(clip("abcdef", 4, "…"), "abc…");
        assert_eq!(clip("日本語", 5, "…"), "日本…");
        assert_eq!(clip("日本語", 4, "…"), "日…");
        assert_eq!(clip("abc", 0, "…"), "");
        assert_eq!(clip_front("/a/long/path.c", 7, "…"), "…path.c");
        assert_eq!(width("日本"), 4);
    }

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(clean("a\u{1b}[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
        assert_eq!(clean("naïve 日本"), "naïve 日本");
        for c in "\u{ad}\u{61c}\u{7f}\u{9b}\u{200f}\u{2066}\u{fff9}\u{e0041}".chars() {
            assert_eq!(clean(&c.to_string()), c.escape_default().to_string());
        }
    }

    #[test]
    fn lines_keep_colours_and_nothing_else() {
        let lines = "a\tb\n\u{1b}[1;31mred\u{1b}[0m\n";
        assert_eq!(clean_lines(lines, true), lines);
        assert_eq!(clean_lines(lines, false), "a\tb\n\\u{1b}[1;31mred\\u{1b}[0m\n");
        for bad in ["\u{1b}[2J", "\u{1b}[31", "\u{1b}]0;m", "\u{1b}", "\r", "\u{9b}31m", "\u{202e}"]
        {
            let escaped = clean(&bad[..bad.chars().next().map_or(0, char::len_utf8)]);
            assert!(clean_lines(bad, true).starts_with(&escaped), "{bad:?}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("/tmp/a-b.c"), "/tmp/a-b.c");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a\nb'c\\"), r"$'a\U0000000ab\'c\\'");
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(count(1, "switch"), "1 switch");
        assert_eq!(count(1000, "switch"), "1,000 switches");
        assert_eq!(count(2, "step"), "2 steps");
    }
}
