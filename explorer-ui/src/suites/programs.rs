//! Where test programs come from besides the command line: Meson, and files of command lines.

use super::expectation::Expectation;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program that may contain tests, with what it is run with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// The name in reports.
    pub name: String,
    /// The program and its fixed arguments.
    pub command: Vec<OsString>,
    /// The directory in which it runs.
    pub directory: PathBuf,
    /// Variables that are added to the environment.
    pub environment: Vec<(String, String)>,
    /// Whether the arguments already choose a test, so that the program is not asked for its tests.
    pub is_one_test: bool,
    /// Why the program is left out, if it is.
    pub disabled: Option<String>,
    /// Why the program cannot be run, if that is known.
    pub unusable: Option<String>,
    /// How its result is judged.
    pub expectation: Expectation,
    /// Files without which it cannot run.
    pub needed_files: Vec<PathBuf>,
    /// What it needs, makes and removes.
    pub fixtures: Fixtures,
}

/// The fixtures of a test: names of what some tests set up for others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fixtures {
    /// It runs only with these.
    pub needs: Vec<String>,
    /// It makes these, and runs before those that need them.
    pub sets_up: Vec<String>,
    /// It removes these, and runs after all others.
    pub cleans_up: Vec<String>,
}

impl Fixtures {
    /// Whether the program serves other tests.
    #[must_use]
    pub fn serves(&self) -> bool {
        !self.sets_up.is_empty() || !self.cleans_up.is_empty()
    }
}

/// The programs of `meson introspect --tests`, run in `build`.
///
/// # Errors
/// If the text is not the list that Meson prints.
pub fn of_meson(
    text: &str,
    build: &Path,
    inherited: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Program>, String> {
    let wrong = |what: &str| format!("meson introspect --tests printed {what}");
    let list: Value =
        serde_json::from_str(text).map_err(|error| wrong(&format!("no JSON: {error}")))?;
    let tests = list.as_array().ok_or_else(|| wrong("no list of tests"))?;
    let program = |test: &Value| {
        let command = words(&test["cmd"]);
        let variables = test["env"].as_object().into_iter().flatten();
        let variables =
            variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        // Of a variable that a project extends, Meson's list has the project's part only.
        let whole = |(name, value): (String, String)| match inherited(&name) {
            Some(inherited) if name == "PATH" => (name, format!("{value}:{inherited}")),
            _ => (name, value),
        };
        let by_status = |protocol: &&str| !matches!(*protocol, "exitcode" | "gtest" | "rust");
        let protocol = test["protocol"].as_str();
        // As Meson and Automake define it.
        const SKIPPED: i32 = 77;
        Some(Program {
            name: test["name"].as_str()?.to_owned(),
            is_one_test: command.len() > 1,
            unusable: command.is_empty().then(|| "Meson knows no program for it".to_owned()),
            command,
            directory: test["workdir"]
                .as_str()
                .map_or_else(|| build.to_owned(), |own| build.join(own)),
            environment: variables.map(whole).collect(),
            expectation: Expectation {
                skips_with: (protocol == Some("exitcode")).then_some(SKIPPED),
                protocol: protocol.filter(by_status).map(str::to_owned),
                ..Expectation::default()
            },
            ..Program::default()
        })
    };
    Ok(tests.iter().filter_map(program).collect())
}

/// The programs of a file with a command on each line. Words are separated by blanks; quotation
/// marks keep them together, and `#` begins a comment. The name is the line.
///
/// # Errors
/// If a quotation mark has no partner. The message names the line.
pub fn of_lines(text: &str, directory: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(words) = split(line) else {
            return Err(format!("line {}: a quotation mark has no partner", at + 1));
        };
        if words.is_empty() {
            continue;
        }
        programs.push(Program {
            name: line.trim().to_owned(),
            is_one_test: words.len() > 1,
            command: words.into_iter().map(OsString::from).collect(),
            directory: directory.to_owned(),
            ..Program::default()
        });
    }
    Ok(programs)
}

pub(super) fn words(list: &Value) -> Vec<OsString> {
    let words = list.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).map(OsString::from).collect()
}

/// The words of a line, or `None` if a quotation mark has no partner.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meson_gives_command_directory_and_environment() {
        let text = r#"[{"name":"queue","cmd":["/b/queue"],"env":{"A":"1"},"workdir":null,
            "protocol":"exitcode"},{"name":"t","cmd":["/b/t"],"env":{"PATH":"/x"},"protocol":"tap"}]"#;
        let path = |name: &str| (name == "PATH").then(|| "/bin".to_owned());
        let programs = of_meson(text, Path::new("/b"), path).expect("valid");
        assert_eq!(programs[0].expectation.skips_with, Some(77));
        assert_eq!(programs[1].expectation.protocol.as_deref(), Some("tap"));
        assert_eq!(programs[1].environment, [("PATH".to_owned(), "/x:/bin".to_owned())]);
        assert_eq!(programs[0].command, ["/b/queue"]);
        assert_eq!(programs[0].directory, Path::new("/b"));
        assert_eq!(programs[0].environment, [("A".to_owned(), "1".to_owned())]);
        assert!(of_meson("{}", Path::new("/b"), path).is_err());
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        let text = "# all\n./queue 'two words' a\\ b \"c\\\"d\" ''\n\n./bank # fast\n";
        let programs = of_lines(text, Path::new("/b")).expect("valid");
        assert_eq!(programs[0].command, ["./queue", "two words", "a b", "c\"d", ""]);
        assert_eq!(programs[1].command, ["./bank"]);
        assert_eq!(programs.len(), 2);
        let wrong = of_lines("./a\n./b 'x\n", Path::new("/b")).expect_err("open");
        assert!(wrong.contains("line 2"), "{wrong}");
    }

    #[test]
    fn tests_without_a_program_and_lists_of_other_tools() {
        let programs =
            of_meson(r#"[{"name":"queue","cmd":[]}]"#, Path::new("/b"), |_| None).expect("valid");
        assert_eq!(programs[0].unusable.as_deref(), Some("Meson knows no program for it"));
        assert_eq!(
            of_meson("{}", Path::new("/b"), |_| None).expect_err("not of Meson"),
            "meson introspect --tests printed no list of tests"
        );
    }
}
