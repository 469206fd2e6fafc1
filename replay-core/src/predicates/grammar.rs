//! The text of a predicate: `THREAD@SITE && THREAD@SITE: CONDITION`. In a condition that is watched, the
//! part before the colon may be absent, and `until CONDITION` may follow. `/write` after a line means its
//! first write to memory.

use std::ops::Range;

/// An error with its position in the text of a predicate, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn new<T>(at: usize, what: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { at, what: what.into() })
    }
}

/// Where a task is to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SiteText {
    /// A line of a file.
    Line(String, u32),
    /// The line of a file that contains a text.
    Containing(String, String),
    /// The lines of a file from one to another, each given by its number or a text.
    Lines(Box<SiteText>, Box<SiteText>),
    /// The beginning of a function.
    Function(String),
}

/// One part before the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoleText {
    /// The thread as written, and how many of them.
    pub(super) thread: String,
    pub(super) count: usize,
    pub(super) site: SiteText,
    /// Whether the site is the first write of the line.
    pub(super) write: bool,
    pub(super) span: Range<usize>,
    pub(super) site_at: usize,
}

/// The parts of a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) roles: Vec<RoleText>,
    /// The condition, as a range of the text.
    pub(super) condition: Option<Range<usize>>,
    /// What ends the watching, as a range of the text.
    pub(super) until: Option<Range<usize>>,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.blank();
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len() } else { 0 };
        there
    }

    /// The characters up to the first one that does not belong.
    fn while_in(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter| !belongs(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn role(&mut self) -> Result<RoleText, Wrong> {
        self.blank();
        let begin = self.at;
        let count = self.count()?;
        self.blank();
        let thread_at = self.at;
        let thread = match count {
            Some(_) => "*".to_owned(),
            None => {
                let until = self.rest().find(['@', '\n']).unwrap_or(self.rest().len());
                let thread = self.rest()[..until].trim_end().to_owned();
                self.at += until;
                thread
            }
        };
        if thread.is_empty() {
            return Wrong::new(
                thread_at,
                "expected a thread: T1, its name, its start function, * or `any 3`",
            );
        }
        if !self.takes("@") {
            return Wrong::new(thread_at, format!("expected @ and a site after `{thread}`"));
        }
        self.blank();
        let site_at = self.at;
        let site = self.site()?;
        let write = self.write(&site)?;
        let span = begin..self.at;
        Ok(RoleText { thread, count: count.unwrap_or(1), site, write, span, site_at })
    }

    /// `/write`, if it is there.
    fn write(&mut self, site: &SiteText) -> Result<bool, Wrong> {
        let at = self.at;
        let is_line = matches!(site, SiteText::Line(..) | SiteText::Containing(..));
        if !is_line || !self.rest().starts_with('/') {
            return Ok(false);
        }
        self.at += 1;
        match self.while_in(belongs_to_name) {
            "write" => Ok(true),
            other => Wrong::new(at, format!("expected /write after a line, and found /{other}")),
        }
    }

    /// `any 3`, if it is there.
    fn count(&mut self) -> Result<Option<usize>, Wrong> {
        let Some(rest) = self.rest().strip_prefix("any") else { return Ok(None) };
        if !rest.starts_with(char::is_whitespace) {
            return Ok(None);
        }
        self.at += 3;
        self.blank();
        let at = self.at;
        let digits = self.while_in(|letter| letter.is_ascii_digit());
        match digits.parse() {
            Ok(count) if (1..=traces::predicate::MOST_ROLES).contains(&count) => Ok(Some(count)),
            _ => Wrong::new(
                at,
                format!(
                    "expected a number of threads, from 1 to {}",
                    traces::predicate::MOST_ROLES
                ),
            ),
        }
    }

    fn site(&mut self) -> Result<SiteText, Wrong> {
        let at = self.at;
        let mut name = String::new();
        loop {
            name += self.while_in(|letter| !letter.is_whitespace() && !"&:\"".contains(letter));
            if !self.rest().starts_with("::") {
                break;
            }
            self.at += 2;
            name += "::";
        }
        if name.is_empty() {
            return Wrong::new(at, "expected a site: file:line, a function, or file:\"text\"");
        }
        let Some(rest) = self.rest().strip_prefix(':') else { return Ok(SiteText::Function(name)) };
        if !rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == '"') {
            return Ok(SiteText::Function(name));
        }
        self.at += 1;
        let first = self.line(&name)?;
        if !self.rest().starts_with("..") {
            return Ok(first);
        }
        self.at += 2;
        let last_at = self.at;
        let last = self.line(&name)?;
        if let (SiteText::Line(_, first), SiteText::Line(_, last)) = (&first, &last)
            && last < first
        {
            return Wrong::new(last_at, format!("line {last} is before line {first}"));
        }
        Ok(SiteText::Lines(Box::new(first), Box::new(last)))
    }

    /// A line of a file, by its number or a text that it contains.
    fn line(&mut self, file: &str) -> Result<SiteText, Wrong> {
        let file = file.to_owned();
        let at = self.at;
        if !self.takes("\"") {
            return match self.while_in(|letter| letter.is_ascii_digit()).parse() {
                Ok(line) if line > 0 => Ok(SiteText::Line(file, line)),
                _ => Wrong::new(at, "there is no line with this number"),
            };
        }
        let text_at = self.at;
        let text = self.while_in(|letter| letter != '"').to_owned();
        if !self.takes("\"") {
            return Wrong::new(text_at, "the text of the line has no closing quotation mark");
        }
        if text.trim().is_empty() {
            return Wrong::new(text_at, "the text of the line is empty");
        }
        Ok(SiteText::Containing(file, text))
    }
}

/// Takes a predicate apart.
pub(super) fn parse(text: &str) -> Result<Parts, Wrong> {
    let mut reader = Reader { text, at: 0 };
    let mut roles = Vec::new();
    loop {
        roles.push(reader.role()?);
        if !reader.takes("&&") {
            break;
        }
    }
    reader.blank();
    if reader.rest().is_empty() {
        return Ok(Parts { roles, condition: None, until: None });
    }
    if !reader.takes(":") {
        return Wrong::new(reader.at, "expected && and another part, or : and a condition");
    }
    reader.blank();
    if reader.rest().is_empty() {
        return Wrong::new(reader.at, "expected a condition after the colon");
    }
    let end = reader.at + reader.rest().trim_end().len();
    Ok(Parts { roles, condition: Some(reader.at..end), until: None })
}

/// Takes a condition apart that is watched.
pub(super) fn parse_watched(text: &str) -> Result<Parts, Wrong> {
    // Only sites have this sign, and they come first.
    let has_sites = text.find('@').is_some_and(|at| !text[..at].contains(['"', '\'']));
    let mut parts = if has_sites {
        parse(text)?
    } else {
        let from = text.len() - text.trim_start().len();
        if text.trim().is_empty() {
            return Wrong::new(0, "expected a condition");
        }
        Parts { roles: Vec::new(), condition: Some(from..text.trim_end().len()), until: None }
    };
    let Some(all) = parts.condition.clone() else { return Ok(parts) };
    if let Some(word) = until(&text[all.clone()]) {
        let word = all.start + word;
        let behind = word + UNTIL.len();
        let watched = all.start..text[..word].trim_end().len();
        let from = behind + text[behind..].len() - text[behind..].trim_start().len();
        if watched.is_empty() || watched.start > watched.end {
            return Wrong::new(word, "expected a condition before until");
        }
        if from >= all.end {
            return Wrong::new(word, "expected a condition after until");
        }
        parts.condition = Some(watched);
        parts.until = Some(from..all.end);
    }
    Ok(parts)
}

const UNTIL: &str = "until";

/// Where the word is in a condition, outside of characters in quotation marks.
fn until(condition: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in condition.char_indices() {
        match quote {
            Some(sign) if letter == sign && before != '\\' => quote = None,
            Some(_) => {}
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None => {
                let is_word = condition[at..].starts_with(UNTIL)
                    && !belongs_to_name(before)
                    && !condition[at + UNTIL.len()..].starts_with(belongs_to_name);
                if is_word {
                    return Some(at);
                }
            }
        }
        before = letter;
    }
    None
}

fn belongs_to_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicate_is_taken_apart() {
        let text = "T1@queue.c:41 && reader@Queue::pop && any 3@q.rs:\"let x\": q->len == 0";
        let parts = parse(text).expect("valid");
        let sites: Vec<_> =
            parts.roles.iter().map(|r| (r.thread.as_str(), r.count, r.site.clone())).collect();
        assert_eq!(
            sites,
            [
                ("T1", 1, SiteText::Line("queue.c".into(), 41)),
                ("reader", 1, SiteText::Function("Queue::pop".into())),
                ("*", 3, SiteText::Containing("q.rs".into(), "let x".into())),
            ]
        );
        assert_eq!(&text[parts.condition.expect("there is one")], "q->len == 0");
        assert_eq!(&text[parts.roles[0].span.clone()], "T1@queue.c:41");
        let written = |text| parse(text).expect("valid").roles[0].write;
        assert!(written("T1@q.c:41/write && T2@f: x > 1") && written("*@q.c:\"a/b\"/write"));
        assert!(!written("T1@a/write.c:41") && !written("T1@q.c:41"));
        let line = |line| Box::new(SiteText::Line("q.c".into(), line));
        let until = Box::new(SiteText::Containing("q.c".into(), "done()".into()));
        let site = |text| parse(text).expect("valid").roles[0].site.clone();
        assert_eq!(site("T1@q.c:41..45 && T2@f"), SiteText::Lines(line(41), line(45)));
        assert_eq!(site("T1@q.c:41..\"done()\": x > 1"), SiteText::Lines(line(41), until));
        assert_eq!(parse("*@main").expect("valid").condition, None);
        assert_eq!(parse("*@main:x > 1").expect("valid").condition, Some(7..12));
    }

    #[test]
    fn a_watched_condition_is_taken_apart() {
        let shown = |text: &'static str| {
            let parts = parse_watched(text).expect("valid");
            let part = |range: Option<Range<usize>>| range.map(|range| &text[range]);
            (parts.roles.len(), part(parts.condition), part(parts.until))
        };
        assert_eq!(shown(" x >= 0 "), (0, Some("x >= 0"), None));
        assert_eq!(shown("x == 0 until ready"), (0, Some("x == 0"), Some("ready")));
        assert_eq!(shown("T1@f && *@g: a until (b)"), (2, Some("a"), Some("(b)")));
        assert_eq!(shown("T1@f"), (1, None, None));
        assert_eq!(shown("c == '@' && until_now"), (0, Some("c == '@' && until_now"), None));
        for (text, at, what) in [
            ("", 0, "expected a condition"),
            ("until x", 0, "expected a condition before until"),
            ("x until ", 2, "expected a condition after until"),
            ("T1@", 3, "expected a site"),
        ] {
            let wrong = parse_watched(text).expect_err(text);
            assert_eq!(wrong.at, at, "{text}: {wrong:?}");
            assert!(wrong.what.starts_with(what), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn errors_have_a_position() {
        for (text, at, what) in [
            ("", 0, "expected a thread"),
            ("T1", 0, "expected @ and a site after `T1`"),
            ("T1@", 3, "expected a site"),
            ("any x@f", 4, "expected a number of threads"),
            ("any 65@f", 4, "expected a number of threads"),
            ("T1@f && ", 8, "expected a thread"),
            ("T1@f T2@g", 5, "expected && and another part"),
            ("T1@a.c:\"x", 8, "the text of the line has no closing"),
            ("T1@a.c:\" \"", 8, "the text of the line is empty"),
            ("T1@a.c:0", 7, "there is no line"),
            ("T1@a.c:4..", 10, "there is no line"),
            ("T1@a.c:4..3", 10, "line 3 is before line 4"),
            ("T1@a.c:4..\"x", 11, "the text of the line has no closing"),
            ("T1@a.c:4/read", 8, "expected /write after a line, and found /read"),
            ("T1@f:  ", 7, "expected a condition"),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!(wrong.at, at, "{text}");
            assert!(wrong.what.starts_with(what), "{text}: {}", wrong.what);
        }
    }
}
