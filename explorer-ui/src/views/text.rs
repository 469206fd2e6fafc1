//! Text in a terminal: how wide it is, how it is cut, and what must never reach it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many cells `text` takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` with everything escaped that would act on the terminal or hide itself.
///
/// Names, messages and paths come from the program or from a trace that anyone may have made.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}

/// Marks that reorder or hide text: a name with them could pass for another.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` cut to at most `cells`, with `cut` at its end where something is missing.
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

/// The same, but the end of `text` is what stays.
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

/// The words in lines of at most so many cells; a word that is longer has a line of its own.
#[must_use]
pub fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        match lines[last].is_empty() {
            true => lines[last] += word,
            false if width(&lines[last]) + 1 + width(word) <= cells => {
                lines[last] = format!("{} {word}", lines[last]);
            }
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The lines of a text, those that are too long in several, further in than they began.
#[must_use]
pub fn wrapped_lines(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        if width(line) <= cells {
            lines.push(line.to_owned());
            continue;
        }
        let words = line.trim_start();
        let indent = width(line) - width(words);
        let parts = wrap(words, cells.saturating_sub(indent + 2).max(10));
        let put = |(at, part): (usize, &String)| fill(0, indent + 2 * usize::from(at > 0)) + part;
        lines.extend(parts.iter().enumerate().map(put));
    }
    lines
}

/// Spaces that bring a text of `used` cells to `cells`.
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

/// A word of a command line that a shell reads as one.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.chars().any(|c| c.is_control() || is_invisible(c)) {
        let escaped: String = word
            .chars()
            .map(|c| match c {
                '\\' | '\'' => format!("\\{c}"),
                c if c.is_control() || is_invisible(c) => format!("\\U{:08x}", u32::from(c)),
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
