//! Parsers for the values of options, shared by the command line and `heddle.toml`.

use clap::builder::{PossibleValue, TypedValueParser};
use replay_core::registry::{listed, usage};
use replay_core::{FollowedChild, SearchOptions, StrategyChoice};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;
use traces::FailureKind;
use traces::points::Granularity;
use traces::wire::{FilePolicy, Probing, Reset, Tracking};

/// The value of `--fail-on`: the kinds that count as failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds(pub Vec<FailureKind>);

/// The value of `--reset`; no reset for `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetChoice(pub Option<Reset>, pub Tracking);

/// The value of `--scratch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchChoice(pub FilePolicy);

/// The value of `--harness`: which thread belongs to a test harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HarnessChoice {
    /// Main, where it creates the thread of the test that the command selects.
    #[default]
    Auto,
    /// Main.
    Main,
    /// None: main is a thread of the program like the others.
    None,
}

/// The value of `--points`: which memory accesses are scheduling points, and how they are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointsChoice(pub Granularity, pub Probing);

/// First and last step, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRange(pub usize, pub usize);

/// A strategy's name, with its parameter after a colon.
///
/// # Errors
/// If the name or the parameter is unknown.
pub fn strategy(text: &str) -> Result<StrategyChoice, String> {
    StrategyChoice::parse(text)
}

/// Parses a strategy on the command line, and lists the names for shell completion.
#[derive(Debug, Clone, Copy)]
pub struct StrategyParser;

impl TypedValueParser for StrategyParser {
    type Value = StrategyChoice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<StrategyChoice, clap::Error> {
        strategy.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = listed().map(|it| PossibleValue::new(it.name).help(it.summary));
        Some(Box::new(values))
    }
}

/// The help text of `--strategy`.
#[must_use]
pub fn strategy_help() -> String {
    format!("Search strategy: {} [auto]", usage())
}

/// How to reset the program: `auto`, `memory`, `fork` or `exec`. The suffixes `:faults`, `:scan` and
/// `:compare` select how a memory reset finds modified pages, `:whole` and `:checked` whether executions
/// are resumed at checkpoints; they serve tests.
///
/// # Errors
/// If the text is not one of these.
pub fn reset(text: &str) -> Result<ResetChoice, String> {
    match text {
        "auto" => Ok(ResetChoice(None, Tracking::Faults)),
        "memory" | "memory:faults" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Faults)),
        "memory:scan" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Scan)),
        "memory:compare" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Compare)),
        "memory:whole" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Whole)),
        "memory:checked" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Checked)),
        "fork" => Ok(ResetChoice(Some(Reset::Fork), Tracking::Faults)),
        "exec" => Ok(ResetChoice(Some(Reset::Exec), Tracking::Faults)),
        _ => Err("unknown reset; the resets are: auto, memory, fork, exec".into()),
    }
}

/// Which of the programs that a command starts is meant: a number from 1, or a name.
///
/// # Errors
/// If the text is empty or 0.
pub fn followed_child(text: &str) -> Result<FollowedChild, String> {
    match text.parse() {
        Ok(0) => Err("the programs are numbered from 1".into()),
        Ok(number) => Ok(FollowedChild::Number(number)),
        Err(_) if text.is_empty() => Err("a name or a number is needed".into()),
        Err(_) => Ok(FollowedChild::Name(text.into())),
    }
}

/// When executions get their own copies of the working directory.
///
/// # Errors
/// If the text is not one of the choices.
pub fn scratch(text: &str) -> Result<ScratchChoice, String> {
    match text {
        "auto" => Ok(ScratchChoice(FilePolicy::Hold)),
        "always" => Ok(ScratchChoice(FilePolicy::Private)),
        "never" => Ok(ScratchChoice(FilePolicy::Shared)),
        _ => Err("unknown choice; the choices are: auto, always, never".into()),
    }
}

/// Which thread belongs to a test harness.
///
/// # Errors
/// If the text is not one of the choices.
pub fn harness(text: &str) -> Result<HarnessChoice, String> {
    match text {
        "auto" => Ok(HarnessChoice::Auto),
        "main" => Ok(HarnessChoice::Main),
        "none" => Ok(HarnessChoice::None),
        _ => Err("unknown choice; the choices are: auto, main, none".into()),
    }
}

/// Which accesses are scheduling points: `api`, `racy` or `all`. The suffix `:breakpoints` avoids jump
/// probes; it serves tests.
///
/// # Errors
/// If the text is not one of these.
pub fn points(text: &str) -> Result<PointsChoice, String> {
    let (name, probing) = match text.strip_suffix(":breakpoints") {
        Some(name) if name != Granularity::Api.name() => (name, Probing::Breakpoints),
        _ => (text, Probing::Jumps),
    };
    Granularity::from_name(name)
        .map(|points| PointsChoice(points, probing))
        .ok_or_else(|| "unknown scheduling points; the choices are: api, racy, all".into())
}

/// The number of processes that search in parallel.
///
/// # Errors
/// If the text is not a number from 1 to 256.
pub fn workers(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("a search needs at least 1 worker".into()),
        Ok(number @ 1..=256) => Ok(number),
        Ok(_) => Err("at most 256 workers are possible; use one per core".into()),
        Err(_) => Err("not a number of workers; give 1 or more".into()),
    }
}

/// An unsigned 64-bit number, decimal or `0x...`.
///
/// # Errors
/// If the text is not such a number.
pub fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "not a number from 0 to 18446744073709551615 (or 0x...)".into())
}

/// A number above 0.
///
/// # Errors
/// If the text is not such a number.
pub fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "not a number above 0".into())
}

/// The maximum number of preemptions or delays of a schedule.
///
/// # Errors
/// If the text is not such a number.
pub fn bound(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "the bound is a number of preemptions or delays; give 0 or more".into())
}

/// The number of warm-up runs before a search.
///
/// # Errors
/// If the text is not such a number.
pub fn priming(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not a number of runs; give 0 or more".into())
}

/// The maximum number of spurious wake-ups of each thread.
///
/// # Errors
/// If the text is not such a number.
pub fn wakeups(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not a number of wake-ups; give 0 or more".into())
}

/// The maximum number of short transfers of each thread.
///
/// # Errors
/// If the text is not such a number.
pub fn transfers(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not a number of transfers; give 0 or more".into())
}

/// The maximum number of freed blocks that come back at their old addresses.
///
/// # Errors
/// If the text is not such a number.
pub fn blocks(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not a number of freed blocks; give 0 or more".into())
}

/// The maximum number of executions of a search; 0 for no limit.
///
/// # Errors
/// If the text is not such a number.
pub fn executions(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a number of executions; give 1 or more, or 0 for no limit".into())
}

/// A number of steps: 0 means no limit.
///
/// # Errors
/// If the text is not a number.
pub fn step_limit(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a number of steps; give 1 or more, or 0 for no limit".into())
}

/// An amount of memory: `512M`, `4G`; a bare number is bytes.
///
/// # Errors
/// If the text is not an amount of memory, or the amount is less than a megabyte.
pub fn memory(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim_end_matches(['B', 'b']).trim_end_matches('i');
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err("not an amount of memory: write 512M or 4G".into()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "not an amount of memory: write 512M or 4G".to_owned())?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes >= LEAST => Ok(bytes),
        Some(_) => Err("less than 1M, which is too little for any program".into()),
        None => Err("more than 64 bits can address".into()),
    }
}

/// A time: `500ms`, `60s`, `5m`, `1h`; a bare number is seconds.
///
/// # Errors
/// If the text is not a time, or the time is 0.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "not a time: write 500ms, 60s, 5m or 1h".to_owned();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if time.is_zero() { Err("not a time above 0".into()) } else { Ok(time) }
}

/// The value of `--slack`: nanoseconds, or none for any delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlackChoice(pub Option<u64>);

/// A time as for [`duration`], 0, or `inf`.
///
/// # Errors
/// If the text is none of these.
pub fn slack(text: &str) -> Result<SlackChoice, String> {
    if matches!(text, "inf" | "0") {
        return Ok(SlackChoice((text == "0").then_some(0)));
    }
    let time = duration(text);
    let time = time.map_err(|_| "not a time: write 0, 500ms, 1s, 5m, or inf for any delay")?;
    let nanoseconds = u64::try_from(time.as_nanos());
    Ok(SlackChoice(Some(nanoseconds.map_err(|_| "more than 500 years: write inf")?)))
}

/// A list of failure kinds. Plain names replace the default set; `default`, `all` and `lock-misuse` are
/// sets; `+kind` and `-kind` change the default set, or the set that precedes them in the list.
///
/// # Errors
/// If a name is unknown, or names a kind that this version does not detect.
pub fn fail_on(text: &str) -> Result<Kinds, String> {
    let defaults = || SearchOptions::default().fail_on;
    let mut kinds: Option<Vec<FailureKind>> = None;
    for word in text.split(',').map(str::trim) {
        let (add, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => (true, word),
        };
        let changes = word.starts_with(['+', '-']);
        let named = kinds_named(name)?;
        let set = kinds.get_or_insert_with(|| if changes { defaults() } else { Vec::new() });
        set.retain(|kind| !named.contains(kind));
        if add {
            set.extend(named);
        }
    }
    let mut kinds = kinds.unwrap_or_default();
    kinds.sort();
    if kinds.is_empty() {
        return Err("the list is empty; leave the option out for the default kinds".into());
    }
    Ok(Kinds(kinds))
}

fn kinds_named(name: &str) -> Result<Vec<FailureKind>, String> {
    // A satisfied predicate is no failure. It ends an execution in any case, as a broken condition does.
    let is_detected = |kind: &FailureKind| {
        use FailureKind::{BrokenCondition, Conflict, Satisfied};
        !matches!(kind, Conflict | Satisfied | BrokenCondition)
    };
    match name {
        "default" => Ok(SearchOptions::default().fail_on),
        "lock-misuse" => {
            Ok(FailureKind::ALL.iter().copied().filter(|kind| kind.is_lock_misuse()).collect())
        }
        "all" => Ok(FailureKind::ALL.iter().copied().filter(is_detected).collect()),
        _ => match FailureKind::from_name(name) {
            Some(kind) if is_detected(&kind) => Ok(vec![kind]),
            Some(kind) => {
                Err(format!("this version does not detect `{kind}`; remove it from the list"))
            }
            None => {
                let all = FailureKind::ALL.iter().filter(|kind| is_detected(kind));
                let names: Vec<&str> = all.map(|kind| kind.name()).collect();
                Err(format!(
                    "unknown kind of failure `{name}`; the kinds are: {}",
                    names.join(", ")
                ))
            }
        },
    }
}

/// A range of steps, counted from 1, both ends included.
///
/// # Errors
/// If the text is not a range.
pub fn steps(text: &str) -> Result<StepRange, String> {
    let wrong = || "not a range of steps; write A..B, A.. or ..B, with 1 <= A <= B".to_owned();
    let number = |text: &str, default: usize| match text {
        "" => Ok(default),
        _ => text.parse::<usize>().ok().filter(|&step| step > 0).ok_or_else(wrong),
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first, 1)?, number(last, usize::MAX)?),
        None if text.is_empty() => return Err(wrong()),
        None => (number(text, 1)?, number(text, 1)?),
    };
    if first > last { Err(wrong()) } else { Ok(StepRange(first - 1, last - 1)) }
}

/// A position in a schedule: before a step (returned counted from 0), or after the last step.
///
/// # Errors
/// If the text is not a position.
pub fn position(text: &str) -> Result<usize, String> {
    match (text, text.parse::<usize>()) {
        ("end", _) => Ok(usize::MAX),
        (_, Ok(step @ 1..)) => Ok(step - 1),
        _ => Err("not a position; write a step number from 1, or end".into()),
    }
}

/// The position in a schedule where a debugger session starts.
///
/// # Errors
/// If the text is not a position.
pub fn start(text: &str) -> Result<replay_core::debug::Start, String> {
    use replay_core::debug::Start;
    Ok(match text {
        "main" | "start" => Start::Main,
        "failure" => Start::Failure,
        "end" => Start::End,
        _ => match text.parse() {
            Ok(step @ 1..) => Start::Step(step),
            _ => {
                return Err(
                    "not a position; write main, failure, end, or a step number from 1".into()
                );
            }
        },
    })
}

/// The path of a directory or file.
///
/// # Errors
/// If the text is empty.
pub fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("the path is empty".into()) } else { Ok(PathBuf::from(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for wrong in ["", "s", "5 m", "-1s", "0", "1e99h", "9y", "1..2s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn kinds() {
        use FailureKind as K;
        assert_eq!(fail_on("deadlock,assertion"), Ok(Kinds(vec![K::Deadlock, K::Assertion])));
        let usual = SearchOptions::default().fail_on;
        let less = fail_on("-exit").expect("valid").0;
        assert_eq!(less.len(), usual.len() - 1);
        assert!(!less.contains(&K::Exit));
        let more = fail_on("+unsupported").expect("valid").0;
        assert_eq!(more.len(), usual.len() + 1);
        assert_eq!(fail_on("default").expect("valid").0, usual);
        assert_eq!(fail_on("leak"), Ok(Kinds(vec![K::Leak])));
        assert!(fail_on("conflict").expect_err("not yet").contains("does not detect"));
        assert!(fail_on("").is_err());
        assert!(fail_on("deadlock,-deadlock").is_err());
    }

    #[test]
    fn ranges() {
        assert_eq!(steps("3..5"), Ok(StepRange(2, 4)));
        assert_eq!(steps("..5"), Ok(StepRange(0, 4)));
        assert_eq!(steps("3.."), Ok(StepRange(2, usize::MAX - 1)));
        assert_eq!(steps("7"), Ok(StepRange(6, 6)));
        for wrong in ["", "0..2", "5..3", "a..b", "1...3"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }
}
