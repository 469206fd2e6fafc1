//! The search of one test: a first run, and if the test creates threads, `heddle explore` in a separate process, so that nothing that happens to it affects the other tests.

use super::child;
use super::expected::{ANY_STATUS, exit_status};
use crate::cli::config_file;
use crate::exit::Status;
use crate::suites::expectation::Judged;
use crate::suites::outcome::full_name;
use crate::suites::{Framework, Listed, Outcome, Program, Verdict};
use replay_core::scratch::Scratch;
use replay_core::store;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use traces::report::{Bug, Report, Verdict as Found};
use traces::{FailureKind, TaskRecord, Trace};

/// How long a first run may take beyond the time of the search, and a search to record what it
/// found.
const ALLOWANCE: Duration = Duration::from_secs(60);

/// The steps of most executions of a test with long executions (`--beginnings`): a stress test is searched
/// in its first rounds, many times.
const BEGINNING: &str = "2000";

/// How late a step may be by its thread's clock (`--slack`): about a time slice of the kernel. Tests take
/// longer sleeps for an order of their threads, and would fail if steps were later than these.
const SLACK: &str = "5ms";

/// How long a thread of the first run may use the processor without a scheduling point. That run chooses
/// at calls only, so that a thread which waits for another's store runs until it is interrupted.
const PATIENCE: &str = "100ms";

/// One test, and how to search it.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) program: Program,
    pub(super) framework: Option<&'static Framework>,
    pub(super) test: Listed,
    /// The directory for its traces.
    pub(super) out: PathBuf,
}

impl Test {
    /// The result of this test, so far without a report.
    pub(super) fn outcome(&self, verdict: Verdict, reason: impl Into<String>) -> Outcome {
        Outcome {
            suite: self.program.name.clone(),
            test: self.test.name.clone(),
            framework: self.framework.map_or("", |framework| framework.name),
            verdict,
            reason: reason.into(),
            elapsed_s: 0.0,
            report: None,
            schedule: String::new(),
        }
    }

    /// Its name among all tests.
    pub(super) fn full_name(&self) -> String {
        full_name(&self.program.name, &self.test.name)
    }

    /// The program and the arguments that run this test alone.
    pub(super) fn command(&self) -> Vec<OsString> {
        let mut words = self.program.command.clone();
        if let Some(framework) = self.framework {
            words.extend((framework.select)(&self.test).into_iter().map(OsString::from));
        }
        words
    }

    /// Runs and searches the test for at most `time`. `with_schedule` asks for the smallest failing
    /// schedule as text.
    pub(super) fn search(
        &self,
        options: &[OsString],
        time: Duration,
        with_schedule: bool,
        interrupted: &AtomicBool,
    ) -> Outcome {
        let began = Instant::now();
        let mut outcome = self
            .searched(options, time, interrupted)
            .unwrap_or_else(|why| self.outcome(Verdict::Error, why));
        outcome.elapsed_s = began.elapsed().as_secs_f64();
        let trace = outcome.bugs().iter().find_map(|bug| bug.trace.as_deref());
        if let Some(trace) = trace.filter(|_| with_schedule) {
            outcome.schedule = smallest(Path::new(trace), interrupted);
        }
        outcome
    }

    fn searched(
        &self,
        options: &[OsString],
        time: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Outcome, String> {
        let first = |more: &[&str]| -> Result<_, String> {
            let scratch = Scratch::new()
                .map_err(|error| format!("no temporary directory for its first run: {error}"))?;
            // With deadlines in their order, what fails here fails in a search with any slack.
            let words: Vec<&OsStr> =
                ["run", "--json", "--is-listed", "--points", "api", "--slack", "0"]
                    .iter()
                    .chain(more)
                    .chain(&["--out"])
                    .map(OsStr::new)
                    .chain([scratch.path().as_os_str()])
                    .collect();
            let report = self.heddle(&words, &[], time + ALLOWANCE, interrupted)?;
            Ok((report, scratch))
        };
        if let Some(why) = self.missing_file() {
            return Err(why);
        }
        let (mut report, mut scratch) = first(&["--spin-after", PATIENCE])?;
        let in_thread = |tasks: &[TaskRecord]| {
            let framework = self.framework;
            framework.is_some_and(|one| (one.has_own_thread)(tasks, &self.test.name))
        };
        let has_threads = |trace: &Trace| {
            let tasks = &trace.execution.tasks;
            tasks.len() > 1 + usize::from(in_thread(tasks))
        };
        let mut trace = recorded(scratch.path());
        // What is unsupported may be out of the reach of a search of beginnings, such as the number of all
        // threads that a stress test creates.
        if report.verdict == Found::Unsupported && !trace.as_ref().is_some_and(has_threads) {
            // A call may only have taken long.
            (report, scratch) = first(&[])?;
            trace = recorded(scratch.path());
        }
        let is_unsupported = report.verdict == Found::Unsupported;
        let is_searched = !is_unsupported || trace.as_ref().is_some_and(has_threads);
        if report.verdict == Found::Error || !is_searched {
            return Ok(self.judged(report));
        }
        let trace = trace.ok_or("its first run left no trace: run it with `heddle run`")?;
        self.check_that_it_ran(&trace)?;
        let judged = self.judge(&trace);
        if let Some(decided) = self.decided(&judged) {
            return Ok(decided);
        }
        let passes = trace.failure.is_none() || judged == Judged::Passed;
        if passes && !has_threads(&trace) {
            return Ok(self.outcome(Verdict::NoThreads, ""));
        }
        let in_thread = in_thread(&trace.execution.tasks);
        // A file that is wrong is reported by the search.
        let file = config_file::load(&self.program.directory).unwrap_or_default();
        let gives = |name: &str| {
            let is_it = |one: &OsString| one.as_encoded_bytes().starts_with(name.as_bytes());
            options.iter().any(is_it)
        };
        let has_harness = gives("--harness") || file.harness.is_some();
        let has_limit = gives("--beginnings")
            || gives("--max-steps")
            || file.beginnings.is_some()
            || file.max_steps.is_some();
        let has_slack = gives("--slack") || file.slack.is_some();
        let takes_any_status = self.program.expectation.ignores_status() && !gives("--fail-on");
        let harness = if in_thread { "main" } else { "none" };
        let limit = format!("{}ms", time.as_millis().max(1));
        let words: Vec<&OsStr> =
            ["explore", "--json", "--is-listed", "--workers", "1", "--max-time", &limit, "--out"]
                .map(OsStr::new)
                .into_iter()
                .chain([self.out.as_os_str()])
                .chain(["--harness", harness].map(OsStr::new).into_iter().filter(|_| !has_harness))
                .chain(
                    ["--beginnings", BEGINNING].map(OsStr::new).into_iter().filter(|_| !has_limit),
                )
                .chain(["--slack", SLACK].map(OsStr::new).into_iter().filter(|_| !has_slack))
                .chain(ANY_STATUS.map(OsStr::new).into_iter().filter(|_| takes_any_status))
                .collect();
        let mut found = self.heddle(&words, options, time + ALLOWANCE, interrupted)?;
        // The first run has none of the options.
        let may_differ = gives("--fail-on") || gives("--suppress");
        let has_none = found.bugs.is_empty() && found.unconfirmed.is_empty();
        if has_none && !may_differ && !passes {
            // The search came too late for what only happens in the first of all runs, or its time was too
            // short for an execution. The first run chose at calls only: a loop that waits for another
            // thread's store is no failure of the test.
            let first_bugs = report.bugs.into_iter().filter(|bug| bug.kind != FailureKind::Spin);
            for bug in first_bugs.map(|bug| self.with_saved_trace(bug)) {
                if self.is_repeated(&bug, interrupted) {
                    found.verdict = Found::Bug;
                    found.bugs.push(bug);
                } else {
                    found.unconfirmed.push(bug);
                }
            }
        }
        let unjudged = self.as_expected(&mut found);
        let mut outcome = self.judged(found);
        if outcome.reason.is_empty() {
            outcome.reason = unjudged;
        }
        Ok(outcome)
    }

    /// Whether a replay of a failure's trace fails in the same way.
    fn is_repeated(&self, bug: &Bug, interrupted: &AtomicBool) -> bool {
        let Some(trace) = &bug.trace else { return false };
        let mut command = own_command();
        command
            .args(["replay", "--times", REPEATS])
            .arg(trace)
            .current_dir(&self.program.directory);
        command.envs(self.program.environment.iter().map(|(name, value)| (name, value)));
        let ended = child::run(&mut command, ALLOWANCE, interrupted);
        let status = ended.ok().and_then(|ended| ended.status);
        status.and_then(|status| status.code()) == Some(Status::Bug as i32)
    }

    /// A failure of the first run, with its trace in the directory of the test's traces.
    fn with_saved_trace(&self, bug: Bug) -> Bug {
        let trace = bug.trace.as_deref().and_then(|from| {
            let to = self.out.join(Path::new(from).file_name()?);
            std::fs::create_dir_all(&self.out).ok()?;
            std::fs::copy(from, &to).ok()?;
            Some(to.to_string_lossy().into_owned())
        });
        Bug { trace, ..bug }
    }

    /// A filter that matches nothing passes and says nothing about the test.
    fn check_that_it_ran(&self, trace: &Trace) -> Result<(), String> {
        let Some(framework) = self.framework else { return Ok(()) };
        // After another failure the framework does not print how many tests it ran.
        let kind = trace.failure.as_ref().map(|failure| failure.kind);
        let is_aborted = framework.aborts && kind == Some(FailureKind::Assertion);
        let reached_its_end = exit_status(trace).is_some() && !is_aborted;
        let output = String::from_utf8_lossy(&trace.output);
        if reached_its_end && !(framework.ran_one)(&output) {
            let words = (framework.select)(&self.test).join(" ");
            return Err(format!(
                "with {words}, {} did not run exactly one test: rename the test, or name the program \
                 with its arguments in a file of commands",
                framework.name
            ));
        }
        Ok(())
    }

    fn judged(&self, mut report: Report) -> Outcome {
        let verdict = match report.verdict {
            Found::Bug => Verdict::Bug,
            Found::Clean | Found::Incomplete if !report.unconfirmed.is_empty() => {
                Verdict::Unconfirmed
            }
            Found::Clean => Verdict::Clean,
            Found::Incomplete | Found::Satisfied => Verdict::Incomplete,
            Found::Unsupported => Verdict::Unsupported,
            Found::Error => Verdict::Error,
        };
        for bug in report.bugs.iter_mut().chain(&mut report.unconfirmed) {
            bug.trace = bug.trace.take().map(|path| relative(&path));
        }
        let reason = report.reason.clone();
        let mut outcome = self.outcome(verdict, "");
        if matches!(verdict, Verdict::Error | Verdict::Unsupported) {
            outcome.reason = reason;
        }
        outcome.report = Some(Box::new(report));
        outcome
    }

    /// Runs this program with a verb on the test, and reads the report that it prints.
    fn heddle(
        &self,
        verb: &[&OsStr],
        options: &[OsString],
        time: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Report, String> {
        let mut command = own_command();
        command.args(verb).args(options).arg("--").args(self.command());
        command.current_dir(&self.program.directory);
        command.envs(self.program.environment.iter().map(|(name, value)| (name, value)));
        let ended = child::run(&mut command, time, interrupted)
            .map_err(|error| format!("heddle cannot be started: {error}"))?;
        if ended.status.is_none() {
            return Err(format!("it did not end within {} s", time.as_secs()));
        }
        serde_json::from_str(&ended.stdout).map_err(|_| {
            let said = ended.stderr.lines().rfind(|line| !line.trim().is_empty());
            let said = said.unwrap_or("it ended without a report");
            said.trim_start_matches("heddle: ").to_owned()
        })
    }
}

/// The smallest schedule with the failure of a trace, as text; if shrinking takes too long, the
/// recorded one.
fn smallest(trace: &Path, interrupted: &AtomicBool) -> String {
    let mut shrink = own_command();
    let smaller = trace.with_extension("min.heddle");
    shrink.arg("shrink").arg("--output").arg(&smaller).arg(trace);
    // If there is no smaller schedule in time, the recorded one is shown.
    let _ = child::run(&mut shrink, SHRINK_TIME, interrupted);
    let mut show = own_command();
    show.arg("show").arg(if smaller.is_file() { &smaller } else { trace });
    child::run(&mut show, SHRINK_TIME, interrupted).map(|ended| ended.stdout).unwrap_or_default()
}

/// The time for the smallest schedule.
const SHRINK_TIME: Duration = Duration::from_secs(30);

/// This program.
pub(super) fn own_command() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("heddle")))
}

/// How often a failure of the first run has to occur again.
const REPEATS: &str = "3";

/// The only trace in a directory.
fn recorded(directory: &Path) -> Option<Trace> {
    let files = std::fs::read_dir(directory).ok()?.filter_map(Result::ok);
    let mut traces = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "heddle"));
    Some(store::load(&traces.next()?).ok()?.trace)
}

/// The path from the working directory, if it is below it.
fn relative(path: &str) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| Path::new(path).strip_prefix(here).ok().map(Path::to_owned));
    below.map_or_else(|| path.to_owned(), |below| below.display().to_string())
}
