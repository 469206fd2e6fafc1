//! Rules for reports that the user does not want, in the format of ThreadSanitizer's suppression
//! files: one `race:PATTERN` per line. `*` matches any text; `^` at the start and `$` at the end
//! anchor the pattern, which otherwise matches any part of the text.

use crate::glob::matches;
use traces::{Failure, FailureKind, Frame};

/// What a rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Races with a matching frame in either stack, or on a matching variable.
    Race,
    /// Races with a matching frame at the top of either stack.
    RaceTop,
    /// Deadlocks.
    Deadlock,
    /// Misuse of locks, condition variables, barriers and semaphores.
    Mutex,
    /// Anything reported in a matching library.
    CalledFromLib,
    /// Kinds of report that ThreadSanitizer has and Heddle does not.
    Nothing,
}

const KINDS: [(&str, Subject); 7] = [
    ("race", Subject::Race),
    ("race_top", Subject::RaceTop),
    ("deadlock", Subject::Deadlock),
    ("mutex", Subject::Mutex),
    ("called_from_lib", Subject::CalledFromLib),
    ("thread", Subject::Nothing),
    ("signal", Subject::Nothing),
];

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    subject: Subject,
    /// The rule as written, trimmed.
    text: String,
    pattern: String,
}

/// The rules, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suppressions(Vec<Rule>);

/// Why a line is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct NotARule {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and the correct form.
    pub what: String,
}

impl Suppressions {
    /// Parses the text of a suppression file.
    ///
    /// # Errors
    /// At the first line that is not a rule, a comment (`#`) or empty.
    pub fn parse(text: &str) -> Result<Suppressions, NotARule> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let rule = line.trim();
            if rule.is_empty() || rule.starts_with('#') {
                continue;
            }
            let before = line.len() - line.trim_start().len();
            let wrong = |at: usize, what: String| NotARule {
                line: number + 1,
                column: line[..before + at].chars().count() + 1,
                what,
            };
            let names = || KINDS.map(|(name, _)| name).join(", ");
            let Some((kind, pattern)) = rule.split_once(':') else {
                let what =
                    format!("not a rule: write KIND:PATTERN, where KIND is one of {}", names());
                return Err(wrong(0, what));
            };
            let Some((_, subject)) = KINDS.iter().find(|(name, _)| *name == kind) else {
                return Err(wrong(
                    0,
                    format!("`{kind}` is not a kind of report; the kinds are: {}", names()),
                ));
            };
            if pattern.trim_matches(['*', '^', '$', ' ']).is_empty() {
                let what = format!("the pattern after `{kind}:` is empty");
                return Err(wrong(kind.len() + 1, what));
            }
            let (text, pattern) = (rule.to_owned(), pattern.to_owned());
            rules.push(Rule { subject: *subject, text, pattern });
        }
        Ok(Suppressions(rules))
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a rule may apply to a failure that ends an execution, so that the search must
    /// continue after it.
    #[must_use]
    pub fn are_of_failures(&self) -> bool {
        self.0.iter().any(|rule| {
            !matches!(rule.subject, Subject::Race | Subject::RaceTop | Subject::Nothing)
        })
    }

    /// The first rule that applies to a failure.
    #[must_use]
    pub fn rule_for(&self, failure: &Failure) -> Option<&str> {
        let kind = failure.kind;
        let of_task = failure.stacks.iter().filter(|stack| Some(stack.task) == failure.task);
        let waiting = failure
            .stacks
            .iter()
            .filter(|stack| failure.waits.iter().any(|wait| wait.task == stack.task));
        let stacks: Vec<&[Frame]> = match kind {
            FailureKind::Race => failure.past.iter().map(|past| &past.frames[..]).collect(),
            _ if kind.is_deadlock() => waiting.map(|stack| &stack.frames[..]).collect(),
            _ => of_task.map(|stack| &stack.frames[..]).collect(),
        };
        let object = match kind {
            FailureKind::Race => raced_for(&failure.message),
            _ => "",
        };
        self.rule(kind, &stacks, object)
    }

    /// The first rule that applies to two conflicting code locations.
    #[must_use]
    pub fn rule_for_conflict(&self, places: [&[Frame]; 2], object: &str) -> Option<&str> {
        self.rule(FailureKind::Race, &places, object)
    }

    fn rule(&self, kind: FailureKind, stacks: &[&[Frame]], object: &str) -> Option<&str> {
        let applies = |rule: &&Rule| {
            let matches_pattern =
                |text: &str| !text.is_empty() && matches_pattern(text, &rule.pattern);
            let of_frame = |frame: &Frame| {
                matches_pattern(&frame.function)
                    || matches_pattern(&frame.file)
                    || matches_pattern(&frame.module)
            };
            let anywhere = || stacks.iter().any(|stack| stack.iter().any(of_frame));
            let tops = || stacks.iter().filter_map(|stack| stack.first());
            match rule.subject {
                Subject::Race => {
                    kind == FailureKind::Race && (matches_pattern(object) || anywhere())
                }
                Subject::RaceTop => kind == FailureKind::Race && tops().any(of_frame),
                Subject::Deadlock => kind.is_deadlock() && anywhere(),
                Subject::Mutex => kind.is_lock_misuse() && anywhere(),
                Subject::CalledFromLib => {
                    let judged =
                        kind == FailureKind::Race || kind.is_deadlock() || kind.is_lock_misuse();
                    judged && tops().any(|frame| matches_pattern(&frame.module))
                }
                Subject::Nothing => false,
            }
        };
        self.0.iter().find(applies).map(|rule| rule.text.as_str())
    }
}

/// The variable in the message of a race.
fn raced_for(message: &str) -> &str {
    let after = message.split_once("two accesses to ").map_or("", |(_, rest)| rest);
    after.split(':').next().unwrap_or_default()
}

/// Whether a text matches the pattern of a suppression.
fn matches_pattern(text: &str, pattern: &str) -> bool {
    let (from_start, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (to_end, pattern) = match pattern.strip_suffix('$') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    // `?` is an ordinary character here.
    let star = |is: bool| if is { "" } else { "*" };
    matches(text, &format!("{}{pattern}{}", star(from_start), star(to_end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{HistoryEvent, TaskId};

    #[test]
    fn patterns_match_a_part_unless_anchored() {
        for (text, pattern) in [
            ("push_back", "push"),
            ("push_back", "^push"),
            ("push_back", "back$"),
            ("push_back", "p*b*k"),
            ("queue::push(int)", "queue::*("),
            ("/src/queue.c", "queue.c"),
        ] {
            assert!(matches_pattern(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("push_back", "^back"), ("push_back", "push$"), ("push", "pop")] {
            assert!(!matches_pattern(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn errors_are_reported_with_line_and_column() {
        for (text, expected) in [
            (
                "race:a\nraces:b\n",
                "2:1: `races` is not a kind of report; the kinds are: race, race_top",
            ),
            ("# c\n\n  race\n", "3:3: not a rule: write KIND:PATTERN"),
            ("\u{e9}", "1:1: not a rule"),
            ("  deadlock: *", "1:12: the pattern after `deadlock:` is empty"),
        ] {
            let error = Suppressions::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let rules =
            Suppressions::parse("# all kinds\nrace:a\nthread:b\nsignal:c\n").expect("valid");
        assert!(!rules.is_empty() && !rules.are_of_failures());
    }

    #[test]
    fn a_race_matches_by_its_stacks_or_its_variable() {
        let frame = |function: &str, module: &str| Frame {
            function: function.to_owned(),
            module: module.to_owned(),
            ..Frame::default()
        };
        let stack = [frame("inner", "/usr/lib/libzmq.so.5"), frame("outer", "/opt/test")];
        let past = HistoryEvent {
            what: "wrote 1".into(),
            task: TaskId(1),
            step: 3,
            frames: stack.to_vec(),
            locks: vec![],
        };
        let failure = Failure {
            kind: FailureKind::Race,
            signature: String::new(),
            message: "nothing orders two accesses to counter: T1 writes at a.c:3".into(),
            task: Some(TaskId(1)),
            site: None,
            place: String::new(),
            waits: vec![],
            stacks: vec![],
            past: vec![past],
        };
        let rule = |text: &str| {
            Suppressions::parse(text).expect("valid").rule_for(&failure).map(ToOwned::to_owned)
        };
        for text in ["race:outer", "race:inner", "race:^counter$", "race_top:inner", "race:/opt/"] {
            assert_eq!(rule(text).as_deref(), Some(text));
        }
        assert_eq!(rule("called_from_lib:libzmq").as_deref(), Some("called_from_lib:libzmq"));
        for text in
            ["race_top:outer", "deadlock:outer", "mutex:outer", "thread:outer", "race:a.c:3"]
        {
            assert_eq!(rule(text), None, "{text}");
        }
    }
}
