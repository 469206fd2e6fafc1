//! The values of options, read the same way from the command line and from `heddle.toml`; and the
//! settings that the two come to.

use crate::cli::{ExploreArgs, ProgramArgs, SearchArgs};
use crate::config::File;
use crate::exit::Problem;
use crate::views::text::clean;
use replay_core::{SearchOptions, StrategyName, Suppressions};
use std::path::{Path, PathBuf};
use std::time::Duration;
use traces::FailureKind;
use traces::points::Granularity;
use traces::wire::{Probing, Reset, Tracking};

/// Kinds of failure, as a list of them was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds(pub Vec<FailureKind>);

/// How to get back to the start, as it was typed; none for `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetChoice(pub Option<Reset>, pub Tracking);

/// Which accesses to memory are scheduling points, and how they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointsChoice(pub Granularity, pub Probing);

/// First and last step, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRange(pub usize, pub usize);

/// What a search was asked to do.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For the search itself.
    pub options: SearchOptions,
    /// Whether standard output gets a JSON object.
    pub json: bool,
}

impl Settings {
    /// The settings of `explore`: the command line wins over the file.
    ///
    /// # Errors
    /// Where two options exclude each other.
    pub fn explore(args: &ExploreArgs, file: File) -> Result<Settings, Problem> {
        let mut settings = Settings::common(&args.search, &file);
        let options = &mut settings.options;
        options.bound = args.bound.or(file.bound);
        if let Some(most) = args.max_executions.or(file.max_executions) {
            options.max_executions = (most != 0).then_some(most);
        }
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        options.workers = args.search.program.workers.or(file.workers).unwrap_or_else(cores);
        if let Some(directory) = &args.resume {
            options.out.clone_from(directory);
            options.resume = true;
        }
        let texts = |typed: &[String], file: &Option<Vec<String>>| match typed {
            [] => file.clone().unwrap_or_default(),
            typed => typed.to_vec(),
        };
        options.atomic = texts(&args.atomic, &file.atomic);
        options.focus = texts(&args.focus, &file.focus);
        options.prime = args.prime.or(file.prime).unwrap_or(0);
        options.keep_going = args.keep_going.or(file.keep_going).unwrap_or(false);
        options.store_buffers = args.store_buffers.or(file.store_buffers).unwrap_or(false);
        if let Some(path) = args.suppressions.as_ref().or(file.suppressions.as_ref()) {
            options.suppressions = suppressions(path)?;
            // What is suppressed may be the first that fails.
            options.keep_going |= options.suppressions.are_of_failures();
        }
        if options.bound.is_some() && !options.strategy.is_bounded() {
            return Err(Problem::Usage(format!(
                "a bound needs a strategy that counts preemptions or delays: add --strategy icb, dfs, \
                 dpor, hapset or delay, or leave the bound out ({} has none)",
                options.strategy.name()
            )));
        }
        Ok(settings)
    }

    /// The settings of `run`. Of the file only what says how a program is to be run: a seed there
    /// is one for searches.
    #[must_use]
    pub fn run(args: &SearchArgs, file: File) -> Settings {
        let file = File { seed: None, strategy: None, max_time: None, ..file };
        let mut settings = Settings::common(args, &file);
        if args.strategy.is_none() {
            settings.options.strategy = match args.program.seed {
                Some(_) => StrategyName::Random,
                None => StrategyName::Default,
            };
        }
        settings
    }

    /// How `ui` runs a program, on the schedule that preempts nobody: of the file only what says how it
    /// is to be run. None where nobody said what counts as a failure: then everything is told.
    #[must_use]
    pub fn ui(args: &ProgramArgs, file: &File) -> (SearchOptions, Option<Vec<FailureKind>>) {
        let file = File { seed: None, ..file.clone() };
        let mut options = Settings::program(args, &file);
        options.strategy = StrategyName::Default;
        let named = args.fail_on.is_some() || file.fail_on.is_some();
        let counts = named.then(|| options.fail_on.clone());
        (options, counts)
    }

    fn common(args: &SearchArgs, file: &File) -> Settings {
        let mut options = Settings::program(&args.program, file);
        if let Some(strategy) = args.strategy.or(file.strategy) {
            options.strategy = strategy;
        }
        options.max_time = args.max_time.or(file.max_time);
        Settings { options, json: args.json.or(file.json).unwrap_or(false) }
    }

    fn program(args: &ProgramArgs, file: &File) -> SearchOptions {
        let mut options = SearchOptions::default();
        if let Some(seed) = args.seed.or(file.seed) {
            options.seed = seed;
        }
        if let Some(steps) = args.max_steps.or(file.max_steps) {
            options.max_steps = steps;
        }
        if let Some(bytes) = args.max_memory.or(file.max_memory) {
            options.max_memory = bytes;
        }
        options.spurious = args.spurious.or(file.spurious).unwrap_or(0);
        if let Some(reset) = args.reset.or(file.reset) {
            (options.reset, options.tracking) = (reset.0, reset.1);
        }
        if let Some(kinds) = args.fail_on.clone().or(file.fail_on.clone()) {
            options.fail_on = kinds.0;
        }
        if let Some(points) = args.points.or(file.points) {
            (options.points, options.probing) = (points.0, points.1);
        }
        if let Some(out) = args.out.clone().or(file.out.clone()) {
            options.out = out;
        }
        options
    }
}

/// Reads a file of suppressions.
fn suppressions(path: &Path) -> Result<Suppressions, Problem> {
    let name = clean(&path.display().to_string());
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::Usage(format!("{name}: the suppressions cannot be read: {error}"))
    })?;
    Suppressions::parse(&text).map_err(|error| Problem::Usage(format!("{name}:{error}")))
}

/// A strategy's name.
///
/// # Errors
/// Where there is none with this name.
pub fn strategy(text: &str) -> Result<StrategyName, String> {
    let (name, parameter) = match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (text, None),
    };
    let number = |what: &str, by_default: u32| match parameter.map(str::parse) {
        None => Ok(by_default),
        Some(Ok(number)) if number > 0 => Ok(number),
        Some(_) => Err(format!("{name}: takes {what}, 1 or more")),
    };
    let plain = |strategy| match parameter {
        None => Ok(strategy),
        Some(_) => Err(format!("{name} takes nothing after a colon")),
    };
    match name {
        "auto" => plain(StrategyName::Auto),
        "directed" => plain(StrategyName::Directed),
        "random" => plain(StrategyName::Random),
        "sticky" => Ok(StrategyName::Sticky(number("the weight of the running task", 2)?)),
        "pct" => Ok(StrategyName::Pct(number("how many orderings a failure needs", 3)?)),
        "pos" => plain(StrategyName::Pos),
        "surw" => plain(StrategyName::Surw),
        "feedback" => plain(StrategyName::Feedback),
        "hapset" => match parameter {
            None => Ok(StrategyName::Hapset(0)),
            Some(_) => Ok(StrategyName::Hapset(number("how many walks to learn from first", 0)?)),
        },
        "dfs" => plain(StrategyName::Dfs),
        "icb" => plain(StrategyName::Icb),
        "delay" => plain(StrategyName::Delay),
        "dpor" => plain(StrategyName::Dpor),
        _ => Err(
            "there are: auto, directed, random, sticky[:W], pct[:D], pos, surw, feedback, dfs, \
                  icb, delay, dpor, hapset[:N]"
                .into(),
        ),
    }
}

/// `auto`, `memory`, `fork` or `exec`.
///
/// # Errors
/// Where it is none of them.
pub fn reset(text: &str) -> Result<ResetChoice, String> {
    match text {
        "auto" => Ok(ResetChoice(None, Tracking::Faults)),
        "memory" | "memory:faults" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Faults)),
        "memory:scan" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Scan)),
        "memory:compare" => Ok(ResetChoice(Some(Reset::Memory), Tracking::Compare)),
        "fork" => Ok(ResetChoice(Some(Reset::Fork), Tracking::Faults)),
        "exec" => Ok(ResetChoice(Some(Reset::Exec), Tracking::Faults)),
        _ => Err("there are: auto, memory[:faults|scan|compare], fork, exec".into()),
    }
}

/// `api`, `racy` or `all`.
///
/// # Errors
/// Where it is none of them.
pub fn points(text: &str) -> Result<PointsChoice, String> {
    let (name, probing) = match text.strip_suffix(":breakpoints") {
        Some(name) if name != Granularity::Api.name() => (name, Probing::Breakpoints),
        _ => (text, Probing::Jumps),
    };
    Granularity::from_name(name)
        .map(|points| PointsChoice(points, probing))
        .ok_or_else(|| "there are: api, racy[:breakpoints], all[:breakpoints]".into())
}

/// How many processes search at a time.
///
/// # Errors
/// Where it is no number, or one that makes no sense.
pub fn workers(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("nothing is searched by no worker: give 1 or more, or leave it out".into()),
        Ok(number @ 1..=256) => Ok(number),
        Ok(_) => Err("more than 256 workers: give as many as there are cores".into()),
        Err(_) => Err("not a number of processes: give 1 or more".into()),
    }
}

/// A number, decimal or `0x...`.
///
/// # Errors
/// Where it is no number of 64 bits.
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
/// Where it is none.
pub fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "not a number above 0".into())
}

/// The most preemptions or delays of a schedule.
///
/// # Errors
/// Where it is no such number.
pub fn bound(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "a bound is how many preemptions or delays there may be: 0 or more".into())
}

/// How many executions come before a search.
///
/// # Errors
/// Where it is no such number.
pub fn priming(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "not a number of executions: 0 or more".into())
}

/// The most executions of a search.
///
/// # Errors
/// Where it is no such number.
pub fn executions(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a number of executions: 1 or more, or 0 for no limit".into())
}

/// An amount of memory: `512M`, `4G`; a bare number is bytes.
///
/// # Errors
/// Where it is none, or less than a megabyte.
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
        Some(_) => Err("less than 1M, which no program can do with".into()),
        None => Err("more than there can be".into()),
    }
}

/// A time: `500ms`, `60s`, `5m`, `1h`; a bare number is seconds.
///
/// # Errors
/// Where it is none of them, or 0.
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

/// A list of kinds. Plain names say all that counts; `default` and `all` are sets; `+kind` and
/// `-kind` change the usual set, or what stands before them.
///
/// # Errors
/// Where a name is unknown, or names what this version does not look for.
pub fn fail_on(text: &str) -> Result<Kinds, String> {
    let usual = || SearchOptions::default().fail_on;
    let mut kinds: Option<Vec<FailureKind>> = None;
    for word in text.split(',').map(str::trim) {
        let (add, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => (true, word),
        };
        let changes = word.starts_with(['+', '-']);
        let named = kinds_named(name)?;
        let set = kinds.get_or_insert_with(|| if changes { usual() } else { Vec::new() });
        set.retain(|kind| !named.contains(kind));
        if add {
            set.extend(named);
        }
    }
    let mut kinds = kinds.unwrap_or_default();
    kinds.sort();
    if kinds.is_empty() {
        return Err("names nothing that could fail: leave it out for the usual kinds".into());
    }
    Ok(Kinds(kinds))
}

fn kinds_named(name: &str) -> Result<Vec<FailureKind>, String> {
    let looked_for = |kind: &FailureKind| *kind != FailureKind::Conflict;
    match name {
        "default" => Ok(SearchOptions::default().fail_on),
        "lock-misuse" => {
            Ok(FailureKind::ALL.iter().copied().filter(|kind| kind.is_lock_misuse()).collect())
        }
        "all" => Ok(FailureKind::ALL.iter().copied().filter(looked_for).collect()),
        _ => match FailureKind::from_name(name) {
            Some(kind) if looked_for(&kind) => Ok(vec![kind]),
            Some(kind) => Err(format!("this version does not look for `{kind}`: leave it out")),
            None => {
                let all = FailureKind::ALL.iter().filter(|kind| looked_for(kind));
                let names: Vec<&str> = all.map(|kind| kind.name()).collect();
                Err(format!("`{name}` is no kind of failure; there are: {}", names.join(", ")))
            }
        },
    }
}

/// A range of steps as people count them: from 1, both ends included.
///
/// # Errors
/// Where it is none.
pub fn steps(text: &str) -> Result<StepRange, String> {
    let wrong = || "write A..B, A.. or ..B, with A from 1 and not above B".to_owned();
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

/// A position in a schedule: before a step, from 0, or behind all of them.
///
/// # Errors
/// Where it is none.
pub fn position(text: &str) -> Result<usize, String> {
    match (text, text.parse::<usize>()) {
        ("end", _) => Ok(usize::MAX),
        (_, Ok(step @ 1..)) => Ok(step - 1),
        _ => Err("write the number of a step from 1, or end".into()),
    }
}

/// A place in a schedule where a debugger may begin.
///
/// # Errors
/// Where it is none.
pub fn place(text: &str) -> Result<replay_core::debug::Start, String> {
    use replay_core::debug::Start;
    Ok(match text {
        "main" | "start" => Start::Main,
        "failure" => Start::Failure,
        "end" => Start::End,
        _ => match text.parse() {
            Ok(step @ 1..) => Start::Step(step),
            _ => return Err("write main, failure, end, or the number of a step from 1".into()),
        },
    })
}

/// A directory; here so that both sources read it alike.
///
/// # Errors
/// Where it is empty.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("not a directory".into()) } else { Ok(PathBuf::from(text)) }
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
        assert!(fail_on("conflict").expect_err("not yet").contains("does not look for"));
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

    #[test]
    fn the_command_line_wins() {
        let args = ExploreArgs { search: seeded(7), max_executions: Some(0), ..Default::default() };
        let file =
            File { seed: Some(1), max_steps: Some(9), keep_going: Some(true), ..File::default() };
        let settings = Settings::explore(&args, file.clone()).expect("valid");
        assert_eq!(settings.options.seed, 7);
        assert_eq!(settings.options.max_steps, 9);
        assert_eq!(settings.options.max_executions, None);
        assert!(settings.options.keep_going);
        let run = |args| Settings::run(&args, file.clone()).options.strategy;
        assert_eq!(run(SearchArgs::default()), StrategyName::Default, "no seed was typed");
        assert_eq!(run(seeded(0)), StrategyName::Random);
    }

    fn seeded(seed: u64) -> SearchArgs {
        let program = ProgramArgs { seed: Some(seed), ..Default::default() };
        SearchArgs { program, ..Default::default() }
    }

    #[test]
    fn the_explorer_runs_a_program_as_it_is_told_to() {
        let file = File { max_steps: Some(9), seed: Some(3), ..File::default() };
        let args = ProgramArgs { spurious: Some(1), ..Default::default() };
        let (options, counts) = Settings::ui(&args, &file);
        assert_eq!((options.max_steps, options.spurious, options.seed), (9, 1, 0));
        assert_eq!((options.strategy, counts), (StrategyName::Default, None));
        let fail_on = Some(Kinds(vec![FailureKind::Deadlock]));
        let (_, counts) = Settings::ui(&ProgramArgs { fail_on, ..args }, &file);
        assert_eq!(counts, Some(vec![FailureKind::Deadlock]));
    }

    #[test]
    fn a_bound_needs_dfs() {
        let args = ExploreArgs { bound: Some(2), ..Default::default() };
        assert!(Settings::explore(&args, File::default()).is_err());
        let file = File { strategy: Some(StrategyName::Dfs), ..File::default() };
        assert!(Settings::explore(&args, file).is_ok());
    }
}
