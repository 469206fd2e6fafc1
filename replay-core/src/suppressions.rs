//! Reports that are known and not wanted, in the form of the sanitizer's suppression files: one rule a
//! line, `race:PATTERN`. `*` stands for anything, `^` at the start and `$` at the end for the ends of
//! the text; without them a part that fits is enough.

use crate::scope::matches;
use traces::{Failure, FailureKind, Frame};

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Races with the pattern in either stack, or of a variable of that name.
    Race,
    /// Races with it at the place of either access.
    RaceTop,
    /// Deadlocks.
    Deadlock,
    /// Locks, conditions, barriers and semaphores used against their rules.
    Mutex,
    /// Whatever happens in a library of that name.
    CalledFromLib,
    /// Threads and handlers of which the sanitizer has reports of its own, and Heddle none.
    Nothing,
}

const KINDS: [(&str, About); 7] = [
    ("race", About::Race),
    ("race_top", About::RaceTop),
    ("deadlock", About::Deadlock),
    ("mutex", About::Mutex),
    ("called_from_lib", About::CalledFromLib),
    ("thread", About::Nothing),
    ("signal", About::Nothing),
];

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    about: About,
    /// As it stands in the file, without what is around it.
    text: String,
    pattern: String,
}

/// The rules of a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suppressions(Vec<Rule>);

/// Why a line is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct NotARule {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Suppressions {
    /// Reads a file's text.
    ///
    /// # Errors
    /// At the first line that is no rule, no comment (`#`) and not empty.
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
                let what = format!("no rule: write KIND:PATTERN, with a kind of {}", names());
                return Err(wrong(0, what));
            };
            let Some((_, about)) = KINDS.iter().find(|(name, _)| *name == kind) else {
                return Err(wrong(
                    0,
                    format!("`{kind}` is no kind of report; there are: {}", names()),
                ));
            };
            if pattern.trim_matches(['*', '^', '$', ' ']).is_empty() {
                let what = format!("nothing after `{kind}:` that a name could be compared with");
                return Err(wrong(kind.len() + 1, what));
            }
            let (text, pattern) = (rule.to_owned(), pattern.to_owned());
            rules.push(Rule { about: *about, text, pattern });
        }
        Ok(Suppressions(rules))
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a rule may be about what ends an execution, so that the search has to go on after it.
    #[must_use]
    pub fn are_of_failures(&self) -> bool {
        self.0
            .iter()
            .any(|rule| !matches!(rule.about, About::Race | About::RaceTop | About::Nothing))
    }

    /// The first rule that a failure falls under.
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

    /// The first rule that two places in conflict fall under.
    #[must_use]
    pub fn rule_for_conflict(&self, places: [&[Frame]; 2], object: &str) -> Option<&str> {
        self.rule(FailureKind::Race, &places, object)
    }

    fn rule(&self, kind: FailureKind, stacks: &[&[Frame]], object: &str) -> Option<&str> {
        let applies = |rule: &&Rule| {
            let fits = |text: &str| !text.is_empty() && fits(text, &rule.pattern);
            let of_frame =
                |frame: &Frame| fits(&frame.function) || fits(&frame.file) || fits(&frame.module);
            let anywhere = || stacks.iter().any(|stack| stack.iter().any(of_frame));
            let tops = || stacks.iter().filter_map(|stack| stack.first());
            match rule.about {
                About::Race => kind == FailureKind::Race && (fits(object) || anywhere()),
                About::RaceTop => kind == FailureKind::Race && tops().any(of_frame),
                About::Deadlock => kind.is_deadlock() && anywhere(),
                About::Mutex => kind.is_lock_misuse() && anywhere(),
                About::CalledFromLib => {
                    let judged =
                        kind == FailureKind::Race || kind.is_deadlock() || kind.is_lock_misuse();
                    judged && tops().any(|frame| fits(&frame.module))
                }
                About::Nothing => false,
            }
        };
        self.0.iter().find(applies).map(|rule| rule.text.as_str())
    }
}

/// The variable that a race's message names.
fn raced_for(message: &str) -> &str {
    let after = message.split_once("two accesses to ").map_or("", |(_, rest)| rest);
    after.split(':').next().unwrap_or_default()
}

/// Whether a text fits a pattern of a suppression.
fn fits(text: &str, pattern: &str) -> bool {
    let (from_start, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (to_end, pattern) = match pattern.strip_suffix('$') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    // `?` is a character like any other here.
    let star = |is: bool| if is { "" } else { "*" };
    matches(text, &format!("{}{pattern}{}", star(from_start), star(to_end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Past, TaskId};

    #[test]
    fn patterns_fit_a_part_unless_they_say_otherwise() {
        for (text, pattern) in [
            ("push_back", "push"),
            ("push_back", "^push"),
            ("push_back", "back$"),
            ("push_back", "p*b*k"),
            ("queue::push(int)", "queue::*("),
            ("/src/queue.c", "queue.c"),
        ] {
            assert!(fits(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [("push_back", "^back"), ("push_back", "push$"), ("push", "pop")] {
            assert!(!fits(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn mistakes_are_named_with_line_and_column() {
        for (text, expected) in [
            ("race:a\nraces:b\n", "2:1: `races` is no kind of report; there are: race, race_top"),
            ("# c\n\n  race\n", "3:3: no rule: write KIND:PATTERN"),
            ("\u{e9}", "1:1: no rule"),
            ("  deadlock: *", "1:12: nothing after `deadlock:`"),
        ] {
            let error = Suppressions::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let rules =
            Suppressions::parse("# all kinds\nrace:a\nthread:b\nsignal:c\n").expect("valid");
        assert!(!rules.is_empty() && !rules.are_of_failures());
    }

    #[test]
    fn a_race_is_known_by_its_stacks_and_its_variable() {
        let frame = |function: &str, module: &str| Frame {
            function: function.to_owned(),
            module: module.to_owned(),
            ..Frame::default()
        };
        let stack = [frame("inner", "/usr/lib/libzmq.so.5"), frame("outer", "/opt/test")];
        let past = Past {
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
