//! `heddle explain`.

use super::budget::budget;
use super::output_path::sibling_path;
use super::progress::{BisectProgress, ShrinkProgress};
use super::rebuilt::fit_failing_schedule;
use super::sources::sources;
use super::trace_program::TraceProgram;
use crate::cli::arguments::ExplainArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::explain::{Page, ValueOrigin, render};
use crate::report::json_output::{
    bisection, json, no_return_object, origin_object, verdict_object,
};
use crate::report::style::Style;
use crate::report::text::quote;
use replay_core::bisect::{BUDGET, Bisected, classify};
use replay_core::debug::{Inspector, OriginLine, StopInspector};
use replay_core::runner::{NoReturn, Runner};
use replay_core::shrink::{self, Proof, Refused, Size};
use replay_core::symbols::expressions;
use replay_core::{Error, Target, store};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use traces::{FailureKind, TaskId, Trace};

/// The maximum number of executions per bound while shrinking; limits the waiting time.
const SHRINK_BUDGET: u64 = 50_000;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid or does not fail.
pub fn main(args: &ExplainArgs, console: &Console) -> Result<Status, Problem> {
    let loading = budget(args.limits, &args.trace, "");
    let loaded = store::load(&args.trace)?;
    if loaded.trace.failure.is_none() {
        return Err(Problem::Usage(format!(
            "{}: the trace does not fail, so there is nothing to explain; `heddle show` prints it",
            args.trace.display()
        )));
    }
    for text in &args.origin {
        expressions::parse(text)
            .map_err(|why| Problem::Usage(format!("--origin {text} cannot be parsed: {why}")))?;
    }
    let mut findings = Findings::new(loaded.trace.clone(), args.trace.clone());
    // The limits so far are those for reading the trace. Executions of the program have their own.
    drop(loading);
    if !args.as_is {
        let trace_program =
            TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command };
        match trace_program.current(&loaded, console) {
            Ok(target) => {
                let rebuilt = target.build_id != loaded.trace.header.build_id;
                let walk = shrink::runner_for(target.clone(), &loaded.trace);
                if rebuilt {
                    findings.adapt(&walk);
                } else {
                    findings.shrink_and_bisect(&walk, console)?;
                }
                if rebuilt && findings.adapted {
                    findings.shrink_and_bisect(&walk, console)?;
                }
                if !rebuilt || findings.adapted {
                    findings.find_origins(&target, &args.origin);
                }
            }
            Err(problem @ Problem::Core(Error::NotConfirmed(_))) => return Err(problem),
            // Explain the recording alone.
            Err(problem) => findings.remarks.push(format!(
                "the program could not be run, so this page is based on the recording alone: {problem}"
            )),
        }
    }
    let _budget = budget(args.limits, &args.trace, "");
    let kind = classify(&findings.trace, findings.bisected.as_ref());
    if args.json {
        let mut object = bisection(findings.bisected.as_ref(), kind);
        object["trace"] = findings.path.display().to_string().into();
        object["passing"] = findings.passing.as_ref().map(|path| path.display().to_string()).into();
        object["remarks"] = findings.remarks.into();
        object["verdict"] = verdict_object(&findings.trace, findings.bisected.as_ref());
        object["no_return"] = no_return_object(findings.no_return.as_ref());
        object["origins"] = findings.origins.iter().map(origin_object).collect();
        console.print(&json(&object))?;
        return Ok(Status::Fine);
    }
    let (sources, newer) = sources(&findings.trace);
    findings.remarks.extend(newer);
    let page = Page {
        kind,
        trace: &findings.trace,
        shrunk: findings.shrunk,
        bisected: findings.bisected.as_ref(),
        no_return: findings.no_return,
        origins: &findings.origins,
        sources: &sources,
        commands: commands(&findings.path, findings.passing.as_deref()),
        remarks: findings.remarks,
    };
    let style = Style { ascii: args.ascii, ..console.style };
    console.print(&render(&page, &style, console.width))?;
    Ok(Status::Fine)
}

/// The results of shrinking and bisecting a trace.
struct Findings {
    trace: Trace,
    path: PathBuf,
    shrunk: Option<(Size, Proof)>,
    bisected: Option<Bisected>,
    passing: Option<PathBuf>,
    no_return: Option<NoReturn>,
    origins: Vec<ValueOrigin>,
    remarks: Vec<String>,
    /// Whether the schedule was adapted to a rebuilt program.
    adapted: bool,
}

impl Findings {
    /// Adapts the schedule to a rebuilt program.
    fn adapt(&mut self, walk: &Runner) {
        match fit_failing_schedule(walk, &self.trace, &self.path, &interrupt::flag()) {
            Ok(trace) => {
                self.trace = trace;
                self.adapted = true;
                self.remarks.push(
                    "the program was rebuilt; the schedule was adapted by matching operations and \
                     objects"
                        .to_owned(),
                );
            }
            Err(problem) => self.remarks.push(format!(
                "{problem}; this page is based on the recording of the old build alone"
            )),
        }
    }

    fn new(trace: Trace, path: PathBuf) -> Findings {
        let remarks = Vec::new();
        Findings {
            trace,
            path,
            shrunk: None,
            bisected: None,
            passing: None,
            no_return: None,
            origins: Vec::new(),
            remarks,
            adapted: false,
        }
    }

    /// Finds where the values of expressions at the failure came from, and the pointer of a crash.
    fn find_origins(&mut self, target: &Target, texts: &[String]) {
        let Some(failure) = &self.trace.failure else { return };
        let crashed = failure.kind == FailureKind::Crash;
        if !crashed && texts.is_empty() {
            return;
        }
        let failing = failure.task;
        let others = (0..self.trace.execution.tasks.len() as u16).map(TaskId);
        let order: Vec<TaskId> = failing.into_iter().chain(others).collect();
        let result = origins(target, &self.trace, crashed, texts, &order, &mut self.origins);
        if let Err(error) = result {
            self.remarks.push(format!("where values came from is not known: {error}"));
        }
    }

    /// Shrinks the schedule and bisects it.
    fn shrink_and_bisect(&mut self, walk: &Runner, console: &Console) -> Result<(), Problem> {
        let interrupted = interrupt::flag();
        let shrunk = {
            let mut line = ShrinkProgress(Line::new(console, false));
            shrink::shrink(walk, &self.trace, SHRINK_BUDGET, &interrupted, &mut line)
        };
        match shrunk {
            Ok(shrunk) => {
                if shrunk.to < shrunk.from {
                    let path = sibling_path(&self.path, "min");
                    store::save_as(&shrunk.trace, &path)?;
                    self.path = path;
                    self.trace = shrunk.trace;
                }
                self.shrunk = Some((shrunk.from, shrunk.proof));
            }
            Err(Refused::Core(error)) => return Err(Problem::Core(error)),
            Err(refused) => {
                self.remarks.push(format!("{refused}; this page is based on the recording alone"));
                return Ok(());
            }
        }
        let bisected = {
            let mut line = BisectProgress(Line::new(console, false));
            replay_core::bisect::bisect(walk, &self.trace, None, BUDGET, &interrupted, &mut line)
        };
        match bisected {
            Ok(bisected) => {
                if let Some(passing) = &bisected.passing {
                    let path = sibling_path(&self.path, "pass");
                    store::save_as(passing, &path)?;
                    self.passing = Some(path);
                }
                // The bisected trace is of the same execution, with names for operations that it
                // never executed.
                self.trace = bisected.failing.clone();
                if !bisected.always {
                    self.no_return = walk.no_return(&self.trace, &interrupted, &mut |_, _| ())?;
                }
                self.bisected = Some(bisected);
            }
            Err(Refused::Core(error)) => return Err(Problem::Core(error)),
            Err(refused) => self.remarks.push(refused.to_string()),
        }
        Ok(())
    }
}

fn origins(
    target: &Target,
    trace: &Trace,
    crashed: bool,
    texts: &[String],
    order: &[TaskId],
    found: &mut Vec<ValueOrigin>,
) -> Result<(), Error> {
    let mut inspector = Inspector::start(target, trace.clone())?;
    stopping_at_interrupt(inspector.stop(), || {
        if crashed && let Some((value, lines)) = inspector.pointer_origin()? {
            let lines = Ok(OriginLine::merged(lines));
            found.push(ValueOrigin { what: "the pointer".to_owned(), value: Ok(value), lines });
        }
        inspector.go_to(trace.execution.steps.len())?;
        for text in texts {
            let Ok(expression) = expressions::parse(text) else { continue };
            let (evaluated, lines) = inspector.origin(&expression, order)?;
            let lines = lines.map(OriginLine::merged);
            found.push(ValueOrigin { what: text.clone(), value: evaluated.value, lines });
        }
        Ok(())
    })
}

/// Runs `work` with an inspector, which stops at the first signal that asks for the end.
fn stopping_at_interrupt<T>(stop: StopInspector, work: impl FnOnce() -> T) -> T {
    const TICK: Duration = Duration::from_millis(50);
    let (interrupted, ended) = (interrupt::flag(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) && !interrupted.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
            }
            if !ended.load(Ordering::Relaxed) {
                stop.stop();
            }
        });
        let result = work();
        ended.store(true, Ordering::Relaxed);
        result
    })
}

fn commands(trace: &Path, passing: Option<&Path>) -> Vec<(String, &'static str)> {
    let path = quote(&trace.display().to_string());
    let mut commands = vec![
        (format!("heddle replay {path}"), "run this schedule again, compare each step"),
        (format!("heddle gdb {path}"), "debug the failure, with reverse execution"),
        (format!("heddle ui {path}"), "explore it interactively"),
    ];
    if let Some(passing) = passing {
        let passing = quote(&passing.display().to_string());
        let diff = format!("heddle diff {path} {passing}");
        commands.push((diff, "compare with the nearest schedule that passes"));
    }
    commands
}
