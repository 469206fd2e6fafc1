//! The settings of a verb: the options of the command line merged with those of `heddle.toml`.

use crate::cli::arguments::{ExploreArgs, ProgramArgs, SearchArgs};
use crate::cli::config_file::File;
use crate::cli::values::HarnessChoice;
use crate::exit::Problem;
use crate::processors;
use crate::report::text::clean;
use crate::text_file;
use replay_core::registry::listed;
use replay_core::{SearchOptions, StrategyChoice, Suppressions};
use std::path::Path;
use traces::FailureKind;
use traces::wire::FilePolicy;

/// The settings of a search.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The options of the search itself.
    pub options: SearchOptions,
    /// Whether to print the result as a JSON object.
    pub json: bool,
    /// Which files executions see in the working directory; none for the verb's default.
    pub files: Option<FilePolicy>,
    /// Which thread belongs to a test harness.
    pub harness: HarnessChoice,
}

/// The strategies that take a bound, as `icb, dfs or dpor`.
fn bounded_strategies() -> String {
    let bounded = listed().filter(|strategy| strategy.bound.is_some());
    let names: Vec<&str> = bounded.map(|strategy| strategy.name).collect();
    match names.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// Lets the clients run in each execution. They connect to the program's own address, which one execution at a time has,
/// and no execution is like an earlier one.
fn run_clients_live(
    options: &mut SearchOptions,
    has_strategy: bool,
    workers: Option<u32>,
) -> Result<(), Problem> {
    options.live_clients = true;
    if !has_strategy {
        options.strategy = StrategyChoice::RANDOM;
    }
    if !options.strategy.repeats_nothing() {
        return Err(Problem::Usage(format!(
            "--live-clients needs a strategy that repeats no part of an earlier execution, as {} does: add \
             --strategy random",
            options.strategy.name()
        )));
    }
    if workers.is_some_and(|workers| workers > 1) {
        return Err(Problem::Usage(
            "--live-clients runs one execution at a time, since the clients connect to one address: remove \
             --workers"
                .to_owned(),
        ));
    }
    options.workers = 1;
    Ok(())
}

impl Settings {
    /// The settings of `explore`. The command line takes precedence over the file.
    ///
    /// # Errors
    /// If two options exclude each other.
    pub fn explore(args: &ExploreArgs, file: File) -> Result<Settings, Problem> {
        let mut settings = Settings::common(&args.search, &file)?;
        settings.harness = args.harness.or(file.harness).unwrap_or_default();
        let options = &mut settings.options;
        options.bound = args.bound.or(file.bound);
        if let Some(most) = args.max_executions.or(file.max_executions) {
            options.max_executions = (most != 0).then_some(most);
        }
        options.beginning = args.beginnings.or(file.beginnings).unwrap_or(0);
        let workers = args.search.program.workers.or(file.workers);
        options.workers = workers.unwrap_or_else(processors::count);
        if args.live_clients {
            let has_strategy = args.search.strategy.is_some() || file.strategy.is_some();
            run_clients_live(options, has_strategy, workers)?;
        }
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
        options.serial = texts(&args.serial, &file.serial);
        options.prime = args.prime.or(file.prime).unwrap_or(0);
        options.keep_going = args.keep_going.or(file.keep_going).unwrap_or(false);
        options.store_buffers = args.store_buffers.or(file.store_buffers).unwrap_or(false);
        if let Some(path) = args.suppressions.as_ref().or(file.suppressions.as_ref()) {
            options.suppressions = suppressions(path)?;
            // A suppressed failure must not end the search.
            options.keep_going |= options.suppressions.are_of_failures();
        }
        if options.bound.is_some() && !options.strategy.is_bounded() {
            return Err(Problem::Usage(format!(
                "--bound needs a strategy that counts preemptions or delays, which {} does not: add \
                 --strategy {}, or remove --bound",
                options.strategy.name(),
                bounded_strategies()
            )));
        }
        Ok(settings)
    }

    /// The settings of `run`. The file's seed, strategy and time limit are for searches and do not
    /// apply.
    ///
    /// # Errors
    /// If a file of predicates cannot be read.
    pub fn run(args: &SearchArgs, file: File) -> Result<Settings, Problem> {
        let file = File { seed: None, strategy: None, max_time: None, ..file };
        let mut settings = Settings::common(args, &file)?;
        let options = &settings.options;
        if args.strategy.is_none() && options.when.is_empty() && options.through.is_empty() {
            settings.options.strategy = match args.program.seed {
                Some(_) => StrategyChoice::RANDOM,
                None => StrategyChoice::NON_PREEMPTIVE,
            };
        }
        Ok(settings)
    }

    /// How `ui` runs a program: on the schedule without preemptions, ignoring the file's seed. The kinds
    /// of failure are `None` if neither the command line nor the file names any: then `ui` shows all.
    #[must_use]
    pub fn ui(args: &ProgramArgs, file: &File) -> (SearchOptions, Option<Vec<FailureKind>>) {
        let file = File { seed: None, ..file.clone() };
        let mut options = Settings::program(args, &file);
        options.strategy = StrategyChoice::NON_PREEMPTIVE;
        let is_given = args.fail_on.is_some() || file.fail_on.is_some();
        let counts = is_given.then(|| options.fail_on.clone());
        (options, counts)
    }

    fn common(args: &SearchArgs, file: &File) -> Result<Settings, Problem> {
        let mut options = Settings::program(&args.program, file);
        let given = |typed: &[String], of_file: &Option<Vec<String>>| match typed {
            [] => of_files(of_file.as_deref().unwrap_or_default()),
            typed => of_files(typed),
        };
        options.when = given(&args.when, &file.when)?;
        options.always = given(&args.always, &file.always)?;
        options.never = given(&args.never, &file.never)?;
        options.through = given(&args.through, &file.through)?;
        if let Some(strategy) = args.strategy.or(file.strategy) {
            options.strategy = strategy;
        } else if !options.when.is_empty() || !options.through.is_empty() {
            options.strategy = StrategyChoice::WHEN;
        }
        options.max_time = args.max_time.or(file.max_time);
        let files = args.program.scratch.or(file.scratch).map(|choice| choice.0);
        let json = args.json.or(file.json).unwrap_or(false);
        Ok(Settings { options, json, files, harness: HarnessChoice::default() })
    }

    fn program(args: &ProgramArgs, file: &File) -> SearchOptions {
        let mut options = SearchOptions::default();
        if let Some(seed) = args.seed.or(file.seed) {
            options.seed = seed;
        }
        if let Some(steps) = args.max_steps.or(file.max_steps) {
            (options.max_steps, options.most_steps) = (steps, steps);
        }
        if let Some(bytes) = args.max_memory.or(file.max_memory) {
            options.max_memory = bytes;
        }
        options.spurious = args.spurious.or(file.spurious).unwrap_or(0);
        options.short_counts = args.short_counts.or(file.short_counts).unwrap_or(0);
        if let Some(reuse) = args.reuse.or(file.reuse) {
            options.reuse = reuse;
        }
        if let Some(slack) = args.slack.or(file.slack) {
            options.slack = slack.0;
        }
        if let Some(limit) = args.outside_limit.or(file.outside_limit) {
            options.outside_limit = limit;
        }
        options.begin_at = args.begin_at.clone().or(file.begin_at.clone()).unwrap_or_default();
        // The file names no program that would run.
        options.client_commands.clone_from(&args.clients);
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

/// The predicates, where `@FILE` stands for those in a file: one a line; empty lines and lines that begin
/// with `#` are ignored.
fn of_files(texts: &[String]) -> Result<Vec<String>, Problem> {
    let mut all = Vec::new();
    for text in texts {
        let Some(path) = text.strip_prefix('@') else {
            all.push(text.clone());
            continue;
        };
        let lines = text_file::named(Path::new(path)).map_err(|error| {
            Problem::Usage(format!("{}: cannot read the predicates: {error}", clean(path)))
        })?;
        let lines = lines.lines().map(str::trim);
        let before = all.len();
        all.extend(
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned),
        );
        if all.len() == before {
            return Err(Problem::Usage(format!(
                "{}: the file has no predicate; write one a line",
                clean(path)
            )));
        }
    }
    Ok(all)
}

/// Reads a file of suppressions.
fn suppressions(path: &Path) -> Result<Suppressions, Problem> {
    let name = clean(&path.display().to_string());
    let text = text_file::named(path).map_err(|error| {
        Problem::Usage(format!("{name}: cannot read the suppressions: {error}"))
    })?;
    Suppressions::parse(&text).map_err(|error| Problem::Usage(format!("{name}:{error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::values::Kinds;

    #[test]
    fn the_command_line_takes_precedence() {
        let args = ExploreArgs { search: seeded(7), max_executions: Some(0), ..Default::default() };
        let file =
            File { seed: Some(1), max_steps: Some(9), keep_going: Some(true), ..File::default() };
        let settings = Settings::explore(&args, file.clone()).expect("valid");
        assert_eq!(settings.options.seed, 7);
        assert_eq!(settings.options.max_steps, 9);
        assert_eq!(settings.options.max_executions, None);
        assert!(settings.options.keep_going);
        let run = |args| Settings::run(&args, file.clone()).expect("valid").options.strategy;
        assert_eq!(
            run(SearchArgs::default()),
            StrategyChoice::NON_PREEMPTIVE,
            "without a seed, run preempts no task"
        );
        assert_eq!(run(seeded(0)), StrategyChoice::RANDOM);
    }

    fn seeded(seed: u64) -> SearchArgs {
        let program = ProgramArgs { seed: Some(seed), ..Default::default() };
        SearchArgs { program, ..Default::default() }
    }

    #[test]
    fn the_explorer_uses_the_program_options() {
        let file = File { max_steps: Some(9), seed: Some(3), ..File::default() };
        let args = ProgramArgs { spurious: Some(1), ..Default::default() };
        let (options, counts) = Settings::ui(&args, &file);
        assert_eq!((options.max_steps, options.spurious, options.seed), (9, 1, 0));
        assert_eq!((options.strategy, counts), (StrategyChoice::NON_PREEMPTIVE, None));
        let fail_on = Some(Kinds(vec![FailureKind::Deadlock]));
        let (_, counts) = Settings::ui(&ProgramArgs { fail_on, ..args }, &file);
        assert_eq!(counts, Some(vec![FailureKind::Deadlock]));
    }

    #[test]
    fn a_bound_needs_a_bounded_strategy() {
        let args = ExploreArgs { bound: Some(2), ..Default::default() };
        assert!(Settings::explore(&args, File::default()).is_err());
        let file = File { strategy: Some(StrategyChoice::DFS), ..File::default() };
        assert!(Settings::explore(&args, file).is_ok());
    }
}
