//! Expressions over a program's variables: `q->len`, `accounts[1].balance`, `*head`, `T2:i`.

/// A selector of a part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selector {
    /// `.name`, also through a pointer.
    Member(String),
    /// `[3]`.
    Index(i64),
    /// `*`.
    Target,
    /// `&`.
    Address,
}

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The task whose frames are searched for the variable.
    pub task: Option<u16>,
    pub(super) root: String,
    pub(super) parts: Vec<Selector>,
}

/// Parses an expression.
///
/// # Errors
/// If the text is not an expression; the message says where and why.
pub fn parse(text: &str) -> Result<Expression, String> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let task = reader.task();
    let (root, parts) = reader.unary(0)?;
    reader.blank();
    if reader.at < reader.text.len() {
        return Err(reader.wrong("the end, `.`, `->` or `[`"));
    }
    Ok(Expression { task, root, parts })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, expected: &str) -> String {
        match self.text.get(self.at..).filter(|rest| !rest.is_empty()) {
            Some(rest) => {
                format!("expected {expected} before `{}`", String::from_utf8_lossy(rest))
            }
            None => format!("expected {expected} at the end"),
        }
    }

    fn blank(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.blank();
        let there = self.text[self.at..].starts_with(sign.as_bytes());
        self.at += if there { sign.len() } else { 0 };
        there
    }

    /// `T2:`, unless what follows is `T2::`.
    fn task(&mut self) -> Option<u16> {
        let text = std::str::from_utf8(self.text).ok()?.trim_start();
        let (task, rest) = text.split_once(':')?;
        let number = task.trim().strip_prefix('T')?.parse().ok()?;
        if rest.starts_with(':') {
            return None;
        }
        self.at = self.text.len() - rest.len();
        Some(number)
    }

    fn unary(&mut self, depth: u32) -> Result<(String, Vec<Selector>), String> {
        let prefix = match () {
            () if depth > 32 => return Err(self.wrong("less")),
            () if self.takes("*") => Selector::Target,
            () if self.takes("&") => Selector::Address,
            () => return self.postfix(depth),
        };
        let (root, mut parts) = self.unary(depth + 1)?;
        parts.push(prefix);
        Ok((root, parts))
    }

    fn postfix(&mut self, depth: u32) -> Result<(String, Vec<Selector>), String> {
        let (root, mut parts) = if self.takes("(") {
            let inner = self.unary(depth + 1)?;
            if !self.takes(")") {
                return Err(self.wrong("`)`"));
            }
            inner
        } else {
            (self.path()?, Vec::new())
        };
        loop {
            if self.takes("->") || self.takes(".") {
                parts.push(Selector::Member(self.word(true)?));
            } else if self.takes("[") {
                parts.push(Selector::Index(self.number()?));
                if !self.takes("]") {
                    return Err(self.wrong("`]`"));
                }
            } else {
                return Ok((root, parts));
            }
        }
    }

    /// `name`, `shop::till`.
    fn path(&mut self) -> Result<String, String> {
        let mut path = self.word(false)?;
        while self.takes("::") {
            path = format!("{path}::{}", self.word(false)?);
        }
        Ok(path)
    }

    /// A name; the fields of a tuple are numbers.
    fn word(&mut self, numbers: bool) -> Result<String, String> {
        self.blank();
        let rest = &self.text[self.at..];
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let len = rest.iter().take_while(|byte| letter(byte)).count();
        let begins = rest.first().is_some_and(|first| numbers || !first.is_ascii_digit());
        if len == 0 || !begins {
            return Err(self.wrong("a name"));
        }
        self.at += len;
        Ok(String::from_utf8_lossy(&rest[..len]).into_owned())
    }

    fn number(&mut self) -> Result<i64, String> {
        self.blank();
        let rest = &self.text[self.at..];
        let sign = usize::from(rest.first() == Some(&b'-'));
        let len = sign + rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..len]).ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.wrong("a number"))?;
        self.at += len;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_from_the_inside_out() {
        let member = |name: &str| Selector::Member(name.into());
        for (text, task, root, parts) in [
            ("n", None, "n", vec![]),
            ("q->len", None, "q", vec![member("len")]),
            ("accounts[1].balance", None, "accounts", vec![Selector::Index(1), member("balance")]),
            (" * head . next ", None, "head", vec![member("next"), Selector::Target]),
            ("(*head).next", None, "head", vec![Selector::Target, member("next")]),
            ("&a[-2]", None, "a", vec![Selector::Index(-2), Selector::Address]),
            ("T2:i", Some(2), "i", vec![]),
            ("T2::i", None, "T2::i", vec![]),
            ("shop::till.0", None, "shop::till", vec![member("0")]),
        ] {
            let expected = Expression { task, root: root.into(), parts };
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_invalid_expression_is_reported_with_its_position() {
        for (text, message) in [
            ("", "expected a name at the end"),
            ("a.", "expected a name at the end"),
            ("a[x]", "expected a number before `x]`"),
            ("a[1", "expected `]` at the end"),
            ("(a", "expected `)` at the end"),
            ("a + b", "expected the end, `.`, `->` or `[` before `+ b`"),
            ("3", "expected a name before `3`"),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()), "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
    }
}
