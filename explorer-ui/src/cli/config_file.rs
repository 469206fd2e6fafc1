//! `heddle.toml` in the working directory sets the options of `explore` under the same names.

use crate::cli::values::{self, Kinds, ResetChoice};
use crate::exit::Problem;
use crate::text_file;
use replay_core::StrategyChoice;
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the file.
pub const NAME: &str = "heddle.toml";

/// The options that the file sets.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct File {
    /// `--strategy`.
    #[serde(deserialize_with = "parse_strategy")]
    pub strategy: Option<StrategyChoice>,
    /// `--bound`.
    pub bound: Option<u32>,
    /// `--max-executions`.
    pub max_executions: Option<u64>,
    /// `--beginnings`.
    pub beginnings: Option<u64>,
    /// `--max-time`.
    #[serde(deserialize_with = "parse_duration")]
    pub max_time: Option<Duration>,
    /// `--max-steps`.
    #[serde(deserialize_with = "parse_positive")]
    pub max_steps: Option<u64>,
    /// `--max-memory`.
    #[serde(deserialize_with = "parse_memory")]
    pub max_memory: Option<u64>,
    /// `--prime`.
    pub prime: Option<u32>,
    /// `--spurious`.
    pub spurious: Option<u32>,
    /// `--reuse`.
    pub reuse: Option<u32>,
    /// `--short-counts`.
    pub short_counts: Option<u32>,
    /// `--slack`.
    #[serde(deserialize_with = "parse_slack")]
    pub slack: Option<values::SlackChoice>,
    /// `--patience`.
    #[serde(rename = "patience", deserialize_with = "parse_duration")]
    pub outside_limit: Option<Duration>,
    /// `--begin-at`.
    pub begin_at: Option<String>,
    /// `--scratch`.
    #[serde(deserialize_with = "parse_scratch")]
    pub scratch: Option<values::ScratchChoice>,
    /// `--seed`.
    #[serde(deserialize_with = "parse_seed")]
    pub seed: Option<u64>,
    /// `--reset`.
    #[serde(deserialize_with = "parse_reset")]
    pub reset: Option<ResetChoice>,
    /// `--points`.
    #[serde(deserialize_with = "parse_points")]
    pub points: Option<values::PointsChoice>,
    /// `--workers`.
    #[serde(deserialize_with = "parse_workers")]
    pub workers: Option<u32>,
    /// `--fail-on`, as a list or as one text.
    #[serde(deserialize_with = "parse_kinds")]
    pub fail_on: Option<Kinds>,
    /// `--atomic`, as a list.
    pub atomic: Option<Vec<String>>,
    /// `--focus`, as a list.
    pub focus: Option<Vec<String>>,
    /// `--serial`, as a list.
    pub serial: Option<Vec<String>>,
    /// `--harness`.
    #[serde(deserialize_with = "parse_harness")]
    pub harness: Option<values::HarnessChoice>,
    /// `--when`, as a list.
    pub when: Option<Vec<String>>,
    /// `--always`, as a list.
    pub always: Option<Vec<String>>,
    /// `--never`, as a list.
    pub never: Option<Vec<String>>,
    /// `--through`, as a list.
    pub through: Option<Vec<String>>,
    /// `--out`.
    #[serde(deserialize_with = "parse_path")]
    pub out: Option<PathBuf>,
    /// `--store-buffers`.
    pub store_buffers: Option<bool>,
    /// `--suppressions`.
    #[serde(deserialize_with = "parse_path")]
    pub suppressions: Option<PathBuf>,
    /// `--keep-going`.
    pub keep_going: Option<bool>,
    /// `--json`.
    pub json: Option<bool>,
}

/// Reads the file of a directory. Without a file, no option is set.
///
/// # Errors
/// If the file cannot be read or contains something that is not an option.
pub fn load(directory: &Path) -> Result<File, Problem> {
    let text = match text_file::found(&directory.join(NAME)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(Problem::Usage(format!("cannot read {NAME}: {error}"))),
    };
    parse(&text)
}

/// Reads the text of the file.
///
/// # Errors
/// If the text contains something that is not an option. The message names line and column, and quotes
/// the line.
pub fn parse(text: &str) -> Result<File, Problem> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(String::new(), |span| {
            let before = text.get(..span.start).unwrap_or_default();
            let line = before.matches('\n').count();
            let column = before.chars().rev().take_while(|&letter| letter != '\n').count() + 1;
            let shown = text.lines().nth(line).unwrap_or_default().trim();
            format!(":{}:{column}: `{}`", line + 1, crate::report::text::clean(shown))
        });
        let what = crate::report::text::clean(error.message());
        Problem::Usage(format!("{NAME}{line}: {what}"))
    })
}

macro_rules! parsed_values {
    ($($name:ident: $type:ty = $parse:path;)*) => {$(
        fn $name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<$type>, D::Error> {
            $parse(&from.deserialize_any(TypedValue)?).map(Some).map_err(de::Error::custom)
        }
    )*};
}

parsed_values! {
    parse_strategy: StrategyChoice = values::strategy;
    parse_duration: Duration = values::duration;
    parse_positive: u64 = values::positive;
    parse_memory: u64 = values::memory;
    parse_seed: u64 = values::seed;
    parse_reset: ResetChoice = values::reset;
    parse_workers: u32 = values::workers;
    parse_points: values::PointsChoice = values::points;
    parse_kinds: Kinds = values::fail_on;
    parse_path: PathBuf = values::path;
    parse_scratch: values::ScratchChoice = values::scratch;
    parse_slack: values::SlackChoice = values::slack;
    parse_harness: values::HarnessChoice = values::harness;
}

/// Reads a value as the text that would be typed on the command line: a string, a number, or a list of
/// strings joined by commas.
struct TypedValue;

impl<'de> de::Visitor<'de> for TypedValue {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a list of strings")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        let mut values: Vec<String> = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(values.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::wire::{Reset, Tracking};

    fn check(text: &str, expected: &str) {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}\n gives {error}\n and not {expected}");
    }

    #[test]
    fn every_option_is_read() {
        let file = parse(
            "strategy = 'dfs'\nbound = 2\nmax-executions = 0\nbeginnings = 500\nmax-time = '5m'\nmax-steps = 50\n\
             seed = 7\nreset = 'exec'\nworkers = 1\nfail-on = ['deadlock', 'panic']\nout = 'o'\n\
             keep-going = true\njson = false\n",
        )
        .expect("valid");
        assert_eq!(file.strategy, Some(StrategyChoice::DFS));
        assert_eq!(file.max_time, Some(Duration::from_secs(300)));
        assert_eq!(file.reset, Some(ResetChoice(Some(Reset::Exec), Tracking::Faults)));
        assert_eq!(file.fail_on.expect("named").0.len(), 2);
        assert_eq!(file.beginnings, Some(500));
        assert!(parse("").expect("valid").seed.is_none());
    }

    #[test]
    fn errors_name_line_and_column() {
        check("seed = 1\nsed = 2\n", "heddle.toml:2:1: `sed = 2`: unknown field `sed`");
        check("keep-going = 3\n", "heddle.toml:1:14: `keep-going = 3`: invalid type");
        check("\nstrategy = 'pit'", "heddle.toml:2:12: `strategy = 'pit'`: unknown strategy");
        check("max-time = '5 parsecs'", "not a time");
        check("workers = 0", "at least 1 worker");
        check("seed = -1", "not a number");
        check("seed = ", "heddle.toml:1");
    }
}
