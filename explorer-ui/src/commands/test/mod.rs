//! `heddle test`.

mod child;
mod cluster;
mod discover;
mod expected;
mod fixtures;
pub(super) mod harness;
pub(super) mod misnamed;
mod pool;
mod search;
pub(super) mod selected;
pub(super) mod watch;

use crate::cli::arguments::{Cli, ClusterArgs, ExploreArgs, SuiteArgs, TestArgs, Verb};
use crate::cli::config_file;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::export::junit_suite;
use crate::file_watch::FileWatch;
use crate::interrupt;
use crate::report::json_text;
use crate::report::suite;
use crate::report::text::{clean, count};
use crate::suites::filter::{Filter, Ignored};
use crate::suites::outcome::{Baseline, counts, full_name};
use crate::suites::{Outcome, Program, Verdict};
use crate::text_file;
use clap::Parser;
use discover::Suite;
use search::Test;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

/// Runs the verb.
///
/// # Errors
/// If the options are invalid, no program can be asked for its tests, or a file cannot be read or
/// written.
pub fn main(args: TestArgs, console: &Console) -> Result<Status, Problem> {
    let interrupted = interrupt::flag();
    let request = Request {
        args: args.suite.clone(),
        filter: args.filter.clone(),
        options: args.options.clone(),
        cluster: args.cluster.clone(),
    };
    let mut programs = || {
        let programs = discover::programs(&args, &interrupted)?;
        match programs.is_empty() {
            false => Ok(programs),
            true => Err(Problem::Usage(
                "no test program: name one, a build directory of CMake or Meson, or a file of \
                 commands with --commands"
                    .into(),
            )),
        }
    };
    let found = match programs() {
        // What lists the tests was interrupted, too.
        Err(_) if interrupted.load(Relaxed) => return Ok(Status::Interrupted),
        found => found?,
    };
    if !request.args.watch {
        return run(&request, found, &interrupted, console);
    }
    let files: Vec<PathBuf> = found.iter().filter_map(discover::executable).collect();
    let mut changes = FileWatch::of(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let mut wait = || changes.wait(&interrupted);
    watch::run(&request, found, &mut programs, &mut wait, &interrupted, console)
}

/// What the command line asks for.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) args: SuiteArgs,
    pub(super) filter: Vec<String>,
    /// Options of `explore`.
    pub(super) options: Vec<OsString>,
    /// Where the searches run, if not on this machine.
    pub(super) cluster: ClusterArgs,
}

/// Lists the tests of these programs, and searches each.
///
/// # Errors
/// As [`main`].
pub(super) fn run(
    request: &Request,
    programs: Vec<Program>,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Status, Problem> {
    round(request, programs, &BTreeSet::new(), interrupted, console).map(|(status, _)| status)
}

/// Lists the tests of these programs, and searches each; those of the names in `first` before the others.
/// Returns the names of the tests that did not pass as well.
fn round(
    request: &Request,
    programs: Vec<Program>,
    first: &BTreeSet<String>,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<(Status, BTreeSet<String>), Problem> {
    let args = &request.args;
    explore_arguments(&request.options)?;
    config_file::load(Path::new("."))?;
    let baseline = args.baseline.as_deref().map(baseline).transpose()?.unwrap_or_default();
    if let Some(path) = &args.junit {
        // Test now whether the file can be written: the searches may take hours.
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.map_err(|error| unwritable(path, &error))?;
    }
    let began = Instant::now();
    let suites: Vec<Suite> =
        programs.into_iter().map(|program| discover::list(program, interrupted)).collect();
    let (mut tests, mut outcomes) = chosen(request, &suites);
    tests.sort_by_key(|test| !first.contains(&test.full_name()));
    if args.list {
        return Ok((list(args, &tests, &outcomes, console)?, BTreeSet::new()));
    }
    if tests.is_empty() && outcomes.is_empty() {
        let all: usize =
            suites.iter().filter_map(|suite| suite.tests.as_ref().ok()).map(Vec::len).sum();
        return Err(Problem::Usage(match all {
            0 => "the programs have no tests".to_owned(),
            all => format!("no test matches the filter, of {}", count(all as u64, "test")),
        }));
    }
    let programs: Vec<Program> = suites.into_iter().map(|suite| suite.program).collect();
    let (tests, unprepared) = fixtures::set_up(&programs, tests, interrupted);
    outcomes.extend(unprepared);
    let used: BTreeSet<String> =
        tests.iter().flat_map(|test| &test.program.fixtures.needs).cloned().collect();
    outcomes.extend(pool::search_all(request, tests, &baseline, interrupted, console, None));
    for failed in fixtures::clean_up(&programs, &used, interrupted) {
        console.note(&format!("heddle: {}", clean(&failed)));
    }
    let status = status(&outcomes, interrupted);
    let text = match args.json {
        true => json(&outcomes, began.elapsed()),
        false => suite::render(&outcomes, &console.style, console.width),
    };
    let printed = console.print(&text);
    annotate(&outcomes, console);
    if let Some(path) = &args.junit {
        let text = junit_suite::render(&outcomes, SystemTime::now());
        std::fs::write(path, text).map_err(|error| unwritable(path, &error))?;
    }
    printed?;
    let failed = outcomes.iter().filter(|outcome| harness::failed(outcome));
    Ok((status, failed.map(Outcome::name).collect()))
}

/// Options that choose tests, here and of Rust's harness.
const CHOOSING: [&str; 4] = ["--ignored", "--include-ignored", "--exact", "--skip"];

/// The options for the searches, checked once rather than in each search.
///
/// # Errors
/// If `explore` has no such option, or it is one of the whole suite.
pub fn explore_arguments(options: &[OsString]) -> Result<ExploreArgs, Problem> {
    let words = ["heddle", "explore"].map(OsString::from).into_iter();
    let words = words.chain(options.iter().cloned()).chain(["--", "x"].map(OsString::from));
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let first = error.to_string();
        let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ");
        // As cargo passes them on to Rust's harness.
        let chooses = |word: &&&str| options.iter().any(|given| given == **word);
        if let Some(word) = CHOOSING.iter().find(chooses) {
            return Problem::Usage(format!(
                "{word} chooses tests: give it before `--`, behind which are options of heddle explore"
            ));
        }
        Problem::Usage(format!("the options after `--` are those of heddle explore: {first}"))
    })?;
    let Verb::Explore(given) = cli.verb else {
        return Err(Problem::Usage("the options after `--` are those of heddle explore".into()));
    };
    let own = [
        ("--json", given.search.json.is_some()),
        ("--max-time", given.search.max_time.is_some()),
        ("--out", given.search.program.out.is_some()),
        ("--workers", given.search.program.workers.is_some()),
        ("--junit", given.junit.is_some()),
        ("--cluster", given.cluster.cluster.is_some()),
        ("--resume", given.resume.is_some()),
        ("--watch", given.watch),
    ];
    match own.iter().find(|(_, is_given)| *is_given) {
        None => Ok(*given),
        Some(("--workers", _)) => Err(Problem::Usage(
            "each test has one search process: use --jobs for the number of tests at a time".into(),
        )),
        Some((name @ ("--resume" | "--watch"), _)) => {
            Err(Problem::Usage(format!("{name} is for one program: use it with heddle explore")))
        }
        Some((name, _)) => {
            Err(Problem::Usage(format!("{name} is for the whole suite: write it before `--`")))
        }
    }
}

fn baseline(path: &Path) -> Result<Baseline, Problem> {
    let wrong = |what: String| Problem::Usage(format!("{}: {what}", path.display()));
    let text = text_file::named(path).map_err(|error| {
        wrong(format!("cannot read the baseline ({error}): `heddle test --json` writes one"))
    })?;
    Baseline::parse(&text)
        .map_err(|what| wrong(format!("not what `heddle test --json` prints: {what}")))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::Usage(format!("{}: cannot write the report: {error}", path.display()))
}

/// The tests to run, and the results of those that are not run.
fn chosen(request: &Request, suites: &[Suite]) -> (Vec<Test>, Vec<Outcome>) {
    let args = &request.args;
    let filter = Filter {
        texts: request.filter.clone(),
        skip: args.skip.clone(),
        exact: args.exact,
        ignored: match (args.ignored, args.include_ignored) {
            (true, _) => Ignored::Only,
            (_, true) => Ignored::Included,
            _ => Ignored::Left,
        },
    };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("heddle-out"));
    let out = std::path::absolute(&out).unwrap_or(out);
    let (mut tests, mut outcomes) = (Vec::new(), Vec::new());
    let mut directories = BTreeSet::new();
    let mut position = 0;
    for suite in suites {
        let name = &suite.program.name;
        let test = |listed: &crate::suites::Listed| Test {
            program: suite.program.clone(),
            framework: suite.framework,
            test: listed.clone(),
            out: out.clone(),
        };
        let listed = match &suite.tests {
            Ok(listed) => listed,
            Err(why) => {
                let unknown = crate::suites::Listed::new("");
                outcomes.push(test(&unknown).outcome(Verdict::Error, why));
                continue;
            }
        };
        for one in listed.iter().filter(|one| filter.matches(name, one)) {
            let full = full_name(name, &one.name);
            position += 1;
            if args.partition.is_some_and(|part| !part.has(position - 1, &full)) {
                continue;
            }
            let mut test = test(one);
            test.out = out.join(directory(name, &one.name, &mut directories));
            if let Some(why) = &suite.program.disabled {
                outcomes.push(test.outcome(Verdict::Ignored, why));
            } else if let Some(why) = &suite.program.unusable {
                outcomes.push(test.outcome(Verdict::Error, why));
            } else if suite.program.fixtures.serves() {
                let why = "it makes or removes a fixture: it runs beside the tests that need it";
                outcomes.push(test.outcome(Verdict::Ignored, why));
            } else if !filter.runs(one) {
                outcomes.push(test.outcome(Verdict::Ignored, ""));
            } else if let Some(why) = suite.framework.and_then(|framework| framework.unsupported) {
                outcomes.push(test.outcome(Verdict::Unsupported, why));
            } else {
                tests.push(test);
            }
        }
    }
    (tests, outcomes)
}

/// The directory of a test's traces below the output directory: its names, with letters that every
/// file system takes.
fn directory(suite: &str, test: &str, taken: &mut BTreeSet<PathBuf>) -> PathBuf {
    const LONGEST: usize = 100;
    let plain = |name: &str| -> String {
        let name = name.replace("::", ".");
        let keep = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let name: String = name.chars().map(keep).take(LONGEST).collect();
        if name.trim_matches('.').is_empty() { format!("_{name}") } else { name }
    };
    let base = match test {
        "" => PathBuf::from(plain(suite)),
        test => Path::new(&plain(suite)).join(plain(test)),
    };
    let mut path = base.clone();
    for number in 2.. {
        if taken.insert(path.clone()) {
            break;
        }
        path = PathBuf::from(format!("{}-{number}", base.display()));
    }
    path
}

/// `--list`: the names, or the commands that run them in JSON.
fn list(
    args: &SuiteArgs,
    tests: &[Test],
    others: &[Outcome],
    console: &Console,
) -> Result<Status, Problem> {
    if tests.is_empty() && others.is_empty() {
        return Err(Problem::Usage("no test matches the filter".into()));
    }
    let mut text = String::new();
    if args.json {
        let entry = |test: &Test| {
            let command: Vec<_> =
                test.command().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            serde_json::json!({
                "suite": test.program.name,
                "test": test.test.name,
                "framework": test.framework.map_or("", |framework| framework.name),
                "command": command,
            })
        };
        let tests: Vec<_> = tests.iter().map(entry).collect();
        text = json_text::text(&serde_json::json!({ "heddle": 1, "tests": tests })) + "\n";
    } else {
        for test in tests {
            text += &clean(&full_name(&test.program.name, &test.test.name));
            text.push('\n');
        }
    }
    console.print(&text)?;
    for outcome in others {
        let reason = match outcome.reason.as_str() {
            "" => outcome.verdict.name(),
            reason => reason,
        };
        console.note(&format!("heddle: {}: {}", clean(&outcome.name()), clean(reason)));
    }
    Ok(if others.iter().any(|other| other.verdict == Verdict::Error) {
        Status::Target
    } else {
        Status::Fine
    })
}

fn json(outcomes: &[Outcome], elapsed: Duration) -> String {
    let summary: serde_json::Map<_, _> = counts(outcomes)
        .into_iter()
        .map(|(verdict, number)| (verdict.name().to_owned(), number.into()))
        .collect();
    let object = serde_json::json!({
        "heddle": 1,
        "elapsed_s": elapsed.as_secs_f64(),
        "summary": summary,
        "tests": outcomes,
    });
    json_text::text(&object) + "\n"
}

/// Marks failures in GitHub's view of a change, if this runs there.
fn annotate(outcomes: &[Outcome], console: &Console) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    for outcome in outcomes {
        for bug in outcome.bugs().iter().chain(outcome.unconfirmed()) {
            console.note(&junit_suite::annotation(outcome, bug));
        }
    }
}

/// The exit status: that of a failure which the baseline does not list; if there is none, that of
/// a test which could not be run, also because the time for all tests was used up.
fn status(outcomes: &[Outcome], interrupted: &AtomicBool) -> Status {
    let has = |verdict| outcomes.iter().any(|outcome| outcome.verdict == verdict);
    if has(Verdict::Bug) || has(Verdict::Unconfirmed) {
        Status::Bug
    } else if interrupted.load(Relaxed) {
        Status::Interrupted
    } else if [Verdict::Error, Verdict::Unsupported, Verdict::NotRun].into_iter().any(has) {
        Status::Target
    } else {
        Status::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_own_directory() {
        let mut taken = BTreeSet::new();
        let mut path = |suite, test| directory(suite, test, &mut taken).display().to_string();
        assert_eq!(path("bank", "tests::lost"), "bank/tests.lost");
        assert_eq!(path("bank", "tests.lost"), "bank/tests.lost-2");
        assert_eq!(path("bank", "a, b [c]"), "bank/a--b--c-");
        assert_eq!(path("..", "../.."), "_../..-..");
        assert_eq!(path("./queue --fast", ""), ".-queue---fast");
    }

    #[test]
    fn options_of_the_whole_suite_are_refused_after_the_dashes() {
        let check = |words: &[&str]| {
            explore_arguments(&words.iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(check(&["--strategy", "dfs", "--points", "api"]).is_ok());
        for wrong in
            ["--json", "--max-time=1s", "--workers=2", "--watch", "--no-such", "--cluster=x"]
        {
            assert!(check(&[wrong]).is_err(), "{wrong}");
        }
    }
}
