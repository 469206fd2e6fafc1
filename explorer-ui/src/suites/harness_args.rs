//! The command line of Rust's test harness, as cargo and cargo-nextest write it.

use super::filter::{Filter, Ignored};

/// What the arguments ask for.
#[derive(Debug, Clone, Default)]
pub struct HarnessArgs {
    /// The tests.
    pub filter: Filter,
    /// The number of tests at a time, if it is given.
    pub threads: Option<u32>,
    /// Whether the program itself answers: a list of tests, a help text, benchmarks.
    pub is_for_program: bool,
}

impl HarnessArgs {
    /// Reads the arguments after the program.
    #[must_use]
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> HarnessArgs {
        let mut args = HarnessArgs::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            match name {
                "--list" | "--help" | "-h" | "--bench" => args.is_for_program = true,
                "--exact" => args.filter.exact = true,
                "--ignored" => args.filter.ignored = Ignored::Only,
                "--include-ignored" => args.filter.ignored = Ignored::Included,
                "--skip" => {
                    args.filter.skip.extend(joined.or_else(|| words.next()).map(str::to_owned))
                }
                "--test-threads" => {
                    args.threads = joined.or_else(|| words.next()).and_then(|n| n.parse().ok());
                }
                // Options with a value that do not matter here.
                "--format" | "--color" | "--logfile" | "--shuffle-seed" | "-Z" => {
                    if joined.is_none() {
                        words.next();
                    }
                }
                _ if word.starts_with('-') => {}
                _ => args.filter.texts.push(word.to_owned()),
            }
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_cargo_and_nextest_are_read() {
        let parse = |line: &str| HarnessArgs::parse(line.split_whitespace());
        let nextest = parse("--exact tests::lost --nocapture --ignored");
        assert_eq!(nextest.filter.texts, ["tests::lost"]);
        assert!(nextest.filter.exact && nextest.filter.ignored == Ignored::Only);
        assert!(parse("--list --format terse").is_for_program);
        let cargo = parse("lost --skip slow --skip=odd --test-threads=3 --color always -q kept");
        assert_eq!(cargo.filter.texts, ["lost", "kept"]);
        assert_eq!(cargo.filter.skip, ["slow", "odd"]);
        assert_eq!((cargo.threads, cargo.is_for_program), (Some(3), false));
    }
}
