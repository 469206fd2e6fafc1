//! Markdown pages whose commands are run: `README.md` and everything under `docs`.
//!
//! A block of commands is fenced as `console` (prompts and output) or `sh` (a script without
//! output), and the line before its fence is a comment that says what the test does with it:
//!
//! * `<!-- run: c -->`: run in `examples/c` of the page's own copy of the examples. All blocks of a
//!   page share that copy. `needs=cmake` after the directory skips the block on a machine without
//!   that command.
//! * `<!-- not run: reason -->`: not run, with the reason.
//!
//! In a `console` block a line that begins with `$ ` is a command and the lines below it are its
//! output. `(gdb) ` lines are sent to the command's standard input; a block that begins with one
//! continues the session of the block before. In expected output a line
//! `...` stands for any number of lines and `[..]` for any text within a line. Times and rates are
//! not compared.

use std::path::{Path, PathBuf};

/// What pages show in place of the directory that holds the copy of the examples.
pub const SHOWN_DIRECTORY: &str = "/home/me/examples";

/// A fenced block of a page.
#[derive(Debug, Clone)]
pub struct Block {
    /// Index of the first line after the opening fence.
    pub first: usize,
    /// Index of the closing fence.
    pub end: usize,
    /// The language after the opening fence.
    pub language: String,
    /// The HTML comment before the opening fence, without its delimiters.
    pub mark: Option<String>,
}

/// The meaning of a mark.
#[derive(Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// Run in this directory of the examples if these commands exist.
    Run {
        /// Relative to the copy of the examples.
        directory: &'a str,
        /// Commands that the block needs besides those that every test needs.
        needs: Vec<&'a str>,
    },
    /// Not run.
    NotRun,
}

impl Block {
    /// What the test does with the block; `None` if the mark is missing or malformed.
    #[must_use]
    pub fn mark(&self) -> Option<Mark<'_>> {
        let mark = self.mark.as_deref()?;
        if let Some(reason) = mark.strip_prefix("not run:") {
            return (!reason.trim().is_empty()).then_some(Mark::NotRun);
        }
        let mut words = mark.strip_prefix("run:")?.split_whitespace();
        let directory = words.next()?;
        let needs = words.map(|word| word.strip_prefix("needs=")).collect::<Option<Vec<_>>>()?;
        Some(Mark::Run { directory, needs })
    }

    /// Whether the block consists of commands.
    #[must_use]
    pub fn is_commands(&self) -> bool {
        matches!(self.language.as_str(), "console" | "sh")
    }
}

/// The fenced blocks of a page.
#[must_use]
pub fn blocks(lines: &[String]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark = None;
    let mut open: Option<Block> = None;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        if let Some(mut block) = open.take() {
            if text == "```" {
                block.end = index;
                blocks.push(block);
            } else {
                open = Some(block);
            }
        } else if let Some(language) = text.strip_prefix("```") {
            open = Some(Block {
                first: index + 1,
                end: index + 1,
                language: language.to_owned(),
                mark: mark.take(),
            });
        } else if let Some(comment) = text.strip_prefix("<!--") {
            mark = comment.strip_suffix("-->").map(|comment| comment.trim().to_owned());
        } else if !text.is_empty() {
            mark = None;
        }
    }
    blocks
}

/// The blocks of commands, each with the blocks that continue its debugger session.
#[must_use]
pub fn sessions(lines: &[String]) -> Vec<Vec<Block>> {
    let mut sessions: Vec<Vec<Block>> = Vec::new();
    for block in blocks(lines).into_iter().filter(Block::is_commands) {
        let continues = lines.get(block.first).is_some_and(|line| line.starts_with("(gdb) "));
        match sessions.last_mut() {
            Some(session) if continues => session.push(block),
            _ => sessions.push(vec![block]),
        }
    }
    sessions
}

/// A command of a `console` block, or a debugger command within one, with its expected output.
#[derive(Debug)]
pub struct Exchange {
    /// The command without its prompt.
    pub command: String,
    /// Commands for the debugger that `command` starts, each with its expected output.
    pub debugger: Vec<Exchange>,
    /// Index in the page of the first line of output.
    pub first: usize,
    /// The expected output.
    pub expected: Vec<String>,
}

/// The exchanges of a `console` block, and of the blocks that continue its session.
///
/// # Panics
/// If output comes before the first command.
#[must_use]
pub fn exchanges(lines: &[String], blocks: &[Block]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for index in blocks.iter().flat_map(|block| block.first..block.end) {
        let line = &lines[index];
        let new = |command: &str| Exchange {
            command: command.to_owned(),
            debugger: Vec::new(),
            first: index + 1,
            expected: Vec::new(),
        };
        if let Some(command) = line.strip_prefix("$ ") {
            exchanges.push(new(command));
            continue;
        }
        let last = exchanges.last_mut().expect("a block of commands begins with a command");
        if let Some(command) = line.strip_prefix("(gdb) ") {
            last.debugger.push(new(command));
        } else {
            let shown = match last.debugger.last_mut() {
                Some(command) => &mut command.expected,
                None => &mut last.expected,
            };
            shown.push(line.clone());
        }
    }
    exchanges
}

const COMMAND: &str = "\u{1}command\u{1}";

/// A shell script that runs the exchanges; [`outputs`] takes its output apart.
#[must_use]
pub fn script(exchanges: &[Exchange]) -> String {
    let mut script = String::from("exec 2>&1\n");
    for exchange in exchanges {
        // The marker leaves `$?` as the command before it set it.
        script += &format!("{{ s=$?; printf '\\n{COMMAND}\\n'; (exit $s); }}\n");
        script += &exchange.command;
        if !exchange.debugger.is_empty() {
            script += " <<'END_OF_SESSION'\n";
            for command in &exchange.debugger {
                script += &format!("{}\n", command.command);
            }
            script += "quit\nEND_OF_SESSION";
        }
        script += "\n";
    }
    script
}

/// The output of each exchange and debugger command, in the order of [`flattened`].
#[must_use]
pub fn outputs(exchanges: &[Exchange], output: &str, directory: &Path) -> Vec<Vec<String>> {
    let output = output.replace(&*directory.to_string_lossy(), SHOWN_DIRECTORY);
    let mut parts = output.split(COMMAND).skip(1);
    let mut all = Vec::new();
    for exchange in exchanges {
        let part = parts.next().unwrap_or_default();
        if exchange.debugger.is_empty() {
            all.push(text_lines(part));
            continue;
        }
        let mut sections = part.split("(gdb) ");
        all.push(text_lines(sections.next().unwrap_or_default()));
        for _ in &exchange.debugger {
            all.push(text_lines(sections.next().unwrap_or_default()));
        }
    }
    all
}

/// Every exchange followed by its debugger commands.
#[must_use]
pub fn flattened(exchanges: &[Exchange]) -> Vec<&Exchange> {
    exchanges
        .iter()
        .flat_map(|exchange| std::iter::once(exchange).chain(&exchange.debugger))
        .collect()
}

/// Lines without trailing spaces, and without empty lines at the ends.
fn text_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines.split_off(first)
}

/// Whether output is what the page shows.
#[must_use]
pub fn agrees(expected: &[String], actual: &[String]) -> bool {
    let trimmed = text_lines(&expected.join("\n"));
    let segments: Vec<&[String]> = trimmed.split(|line| line == "...").collect();
    let mut rest = actual;
    for (index, segment) in segments.iter().enumerate() {
        let fits = |at: usize| {
            rest.len() >= at + segment.len()
                && segment.iter().zip(&rest[at..]).all(|(shown, line)| line_agrees(shown, line))
        };
        let last = index + 1 == segments.len();
        let at = if index == 0 {
            (fits(0) && (!last || segment.len() == rest.len())).then_some(0)
        } else if last {
            rest.len().checked_sub(segment.len()).filter(|&at| fits(at))
        } else {
            (0..=rest.len()).find(|&at| fits(at))
        };
        match at {
            Some(at) => rest = &rest[at + segment.len()..],
            None => return false,
        }
    }
    true
}

fn line_agrees(shown: &str, line: &str) -> bool {
    let (shown, line) = (without_times(shown), without_times(line));
    let mut rest = line.as_str();
    let mut pieces = shown.split("[..]");
    let first = pieces.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    let mut open = false;
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
        open = piece.is_empty();
    }
    open || rest.is_empty()
}

/// The line with numbers before `s`, `ms` and `a second` masked, and with single spaces.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &str| {
        word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',')) && !word.is_empty()
    };
    let masked = words.iter().enumerate().map(|(index, word)| {
        let unit = words.get(index + 1).map(|unit| unit.trim_end_matches([',', ';', ')']));
        let rate = unit == Some("a") && words.get(index + 2).is_some_and(|unit| *unit == "second");
        let time = matches!(unit, Some("s" | "ms"));
        if is_number(word) && (rate || time) { "N" } else { word }
    });
    masked.collect::<Vec<_>>().join(" ")
}

/// The output as the page is to show it: as many lines before, between and after its elisions as
/// now, taken from where they resemble the page's lines most.
#[must_use]
pub fn elided_like(expected: &[String], actual: &[String]) -> Vec<String> {
    let segments: Vec<&[String]> = expected.split(|line| line == "...").collect();
    if segments.len() == 1 {
        return actual.to_vec();
    }
    let mut shown = Vec::new();
    let mut begin = 0;
    for (index, segment) in segments.iter().enumerate() {
        let last = actual.len().saturating_sub(segment.len()).max(begin);
        let at = if index == 0 {
            begin
        } else if index + 1 == segments.len() {
            last
        } else {
            let score = |at: &usize| {
                let pairs = segment.iter().zip(&actual[*at..]);
                pairs.map(|(shown, line)| resemblance(shown, line)).sum::<usize>()
            };
            (begin..=last).rev().max_by_key(score).unwrap_or(begin)
        };
        if index > 0 {
            shown.push("...".to_owned());
        }
        let end = (at + segment.len()).min(actual.len());
        shown.extend(actual[at..end].iter().zip(*segment).map(|(line, before)| {
            if line_agrees(before, line) { before.clone() } else { line.clone() }
        }));
        begin = end;
    }
    shown
}

fn resemblance(shown: &str, line: &str) -> usize {
    shown
        .split_whitespace()
        .filter(|word| line.split_whitespace().any(|other| other == *word))
        .count()
}

/// The Markdown files of the repository whose commands are run, relative to `root`.
///
/// # Panics
/// If a directory cannot be read.
#[must_use]
pub fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("CONTRIBUTING.md")];
    for directory in ["docs", "docs/guide"] {
        for entry in std::fs::read_dir(root.join(directory)).expect("docs can be listed") {
            let path = Path::new(directory).join(entry.expect("docs can be listed").file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_elision_stands_for_any_number_of_lines() {
        let actual = lines("a\nb\nc\nd");
        assert!(agrees(&lines("a\nb\nc\nd"), &actual));
        assert!(agrees(&lines("a\n...\nd"), &actual));
        assert!(agrees(&lines("...\nb\n..."), &actual));
        assert!(agrees(&lines("a\nb\n..."), &actual));
        assert!(!agrees(&lines("a\nb"), &actual));
        assert!(!agrees(&lines("a\n...\nc"), &actual));
        assert!(!agrees(&lines("...\nc\n...\nb\n..."), &actual));
    }

    #[test]
    fn times_and_rates_are_not_compared() {
        assert!(line_agrees(
            "2 executions · 0.20 s · 49 a second",
            "2 executions · 9.1 s · 3,000 a second"
        ));
        assert!(!line_agrees("2 executions · 0.20 s", "3 executions · 0.20 s"));
        assert!(line_agrees("at 0x[..] in put (item=[..])", "at 0x55 in put (item=2)"));
        assert!(!line_agrees("at 0x[..] in put", "at 0x55 in take"));
    }

    #[test]
    fn updated_output_keeps_the_elisions() {
        let actual = lines("one\ntwo\nthree words here\nfour\nfive");
        let shown = elided_like(&lines("ONE\n...\nthree words there\n...\nFIVE"), &actual);
        assert_eq!(shown, lines("one\n...\nthree words here\n...\nfive"));
    }

    #[test]
    fn debugger_commands_belong_to_the_command_that_starts_it() {
        let page = lines(
            "<!-- run: c -->\n```console\n$ heddle gdb t\nstart\n(gdb) when\nhere\n$ true\n```",
        );
        let blocks = blocks(&page);
        assert_eq!(blocks[0].mark(), Some(Mark::Run { directory: "c", needs: vec![] }));
        let exchanges = exchanges(&page, &blocks);
        assert_eq!(exchanges.len(), 2);
        assert_eq!(exchanges[0].expected, ["start"]);
        assert_eq!(exchanges[0].debugger[0].expected, ["here"]);
        let output = format!("{COMMAND}\nstart\n(gdb) here\n(gdb) {COMMAND}\n");
        let outputs = outputs(&exchanges, &output, Path::new("/tmp/none"));
        assert_eq!(outputs, [lines("start"), lines("here"), vec![]]);
    }
}
