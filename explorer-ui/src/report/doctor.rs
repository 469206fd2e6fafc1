//! The results of the checks of `heddle doctor`.

use crate::report::style::{Role, Style};
use crate::report::text::{clean, fill, width};
use replay_core::doctor::{Check, State};

/// The checks, one per line, each followed by its advice.
#[must_use]
pub fn render(checks: &[Check], style: &Style) -> String {
    let widest = checks.iter().map(|check| width(check.name)).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let (role, word) = match check.state {
            State::Good => (Role::Good, "ok  "),
            State::Warning => (Role::Title, "warn"),
            State::Bad => (Role::Bad, "bad "),
        };
        let gap = fill(width(check.name), widest);
        let (word, found) = (style.paint(role, word), clean(&check.found));
        text.push_str(&format!("{word}  {}{gap}  {found}\n", check.name));
        if !check.advice.is_empty() {
            let indent = fill(0, "ok  ".len() + 2 + widest + 2);
            text.push_str(&format!("{indent}{}\n", style.paint(Role::Dim, &clean(&check.advice))));
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    text.push('\n');
    text.push_str(&match (count(State::Bad), count(State::Warning)) {
        (0, 0) => style.paint(Role::Good, "all checks passed"),
        (0, _) => {
            style.paint(Role::Good, "heddle works on this machine, with the limitations above")
        }
        (_, _) => style.paint(
            Role::Bad,
            "heddle cannot work on this machine until the problems above are fixed",
        ),
    });
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_whether_heddle_works_here() {
        let check = |state, advice: &str| Check {
            name: "proc file system",
            state,
            found: "what was found".to_owned(),
            advice: advice.to_owned(),
        };
        let good = check(State::Good, "");
        let warning = check(State::Warning, "what to do");
        let bad = check(State::Bad, "");
        let style = Style { color: false, ascii: true };
        assert_eq!(
            render(std::slice::from_ref(&good), &style),
            "ok    proc file system  what was found\n\nall checks passed\n"
        );
        assert_eq!(
            render(&[warning.clone(), good.clone()], &style),
            "warn  proc file system  what was found\n                        what to do\n\
             ok    proc file system  what was found\n\n\
             heddle works on this machine, with the limitations above\n"
        );
        assert_eq!(
            render(&[bad, warning], &style),
            "bad   proc file system  what was found\n\
             warn  proc file system  what was found\n                        what to do\n\n\
             heddle cannot work on this machine until the problems above are fixed\n"
        );
    }
}
