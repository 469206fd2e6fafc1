//! A walk for programs: a schedule, a position in it, and requests that wait for their results.

use super::check::{CheckState, CheckUpdate, Checks};
use super::engine::{Engine, Request, Urgency};
use super::inspection::{
    AROUND, InspectionRequest, InspectionResult, Inspections, More, Origin, Writes,
};
use super::loaded_trace::LoadedTrace;
use super::moves::{self, Picked};
use super::opening::Opened;
use super::reply::{Explanation, Reply};
use super::search::{SearchState, SearchStatus, SearchUpdate};
use crate::report::text::count;
use replay_core::debug::Evaluated;
use replay_core::runner::{LookAhead, NoReturn, Outlook, SearchFrom};
use replay_core::symbols::{FrameValues, expressions};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use traces::{Choice, TaskId, TaskStack};

/// How long to wait for the engine before checking whether the request was cancelled.
const TICK: Duration = Duration::from_millis(50);
/// The most schedules that undo remembers.
const MAX_UNDO: usize = 50;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// An argument has no meaning here.
    Invalid(String),
    /// The program or a file did not allow it.
    Failed(String),
    /// The client cancelled the request.
    Cancelled,
}

/// What a request that takes long is given.
pub struct Call<'a> {
    /// Set when the client cancels the request.
    pub cancelled: &'a AtomicBool,
    /// Receives what is being done.
    pub tell: &'a dyn Fn(&str),
}

impl Call<'_> {
    /// Whether the client cancelled the request.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A schedule and a position in it.
#[derive(Debug, Clone)]
struct View {
    loaded: Arc<LoadedTrace>,
    at: usize,
}

/// A walk for programs.
pub struct Session {
    view: View,
    original: Arc<LoadedTrace>,
    past: Vec<View>,
    future: Vec<View>,
    /// The file that was opened.
    path: Option<PathBuf>,
    /// How to run the program, or why it cannot be run.
    engine: Result<Engine, String>,
    replies: Receiver<Reply>,
    search: Option<SearchState>,
    checks: Checks,
    inspections: Inspections,
    /// The number of the last look-ahead.
    generation: u64,
}

impl Session {
    /// A walk that begins at the failure of a failing schedule, and at the start of another one.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(opened: Opened) -> Result<Session, Refusal> {
        let (sender, replies) = channel();
        let engine = match opened.runner {
            Ok(runner) => Ok(Engine::start(runner, Urgency::Awaited, move |reply| {
                drop(sender.send(reply));
            })
            .map_err(|error| Refusal::Failed(super::engine::search::no_thread(&error)))?),
            Err(why) => Err(why),
        };
        let loaded = Arc::new(LoadedTrace::of(opened.trace));
        let at = if loaded.trace.failure.is_some() { loaded.len() } else { 0 };
        Ok(Session {
            view: View { loaded: Arc::clone(&loaded), at },
            original: loaded,
            past: Vec::new(),
            future: Vec::new(),
            path: opened.path,
            engine,
            replies,
            search: None,
            checks: Checks::default(),
            inspections: Inspections::default(),
            generation: 0,
        })
    }

    /// The displayed schedule.
    #[must_use]
    pub fn loaded(&self) -> &Arc<LoadedTrace> {
        &self.view.loaded
    }

    /// The step that is about to run, from 0; the number of steps at the end.
    #[must_use]
    pub fn at(&self) -> usize {
        self.view.at
    }

    /// The file that was opened, if it was a trace.
    #[must_use]
    pub fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    /// Whether the schedule is another one than the one that was opened.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        let (shown, opened) = (&self.view.loaded, &self.original);
        !Arc::ptr_eq(shown, opened) && !shown.same_schedule(opened)
    }

    /// Why the program cannot be run; none if it can.
    #[must_use]
    pub fn cannot_run(&self) -> Option<&str> {
        self.engine.as_ref().err().map(String::as_str)
    }

    /// The last search.
    #[must_use]
    pub fn searched(&self) -> Option<&SearchState> {
        self.search.as_ref()
    }

    /// Goes to a step, or to the end.
    pub fn go_to(&mut self, step: usize) {
        self.view.at = step.min(self.view.loaded.len());
    }

    /// Displays another schedule.
    pub fn show(&mut self, loaded: Arc<LoadedTrace>, at: usize) {
        let at = at.min(loaded.len());
        self.past.push(std::mem::replace(&mut self.view, View { loaded, at }));
        let more = self.past.len().saturating_sub(MAX_UNDO);
        self.past.drain(..more);
        self.future.clear();
    }

    /// Returns to the schedule displayed before, or forward again; false if there is none.
    pub fn undo(&mut self, back: bool) -> bool {
        let (from, to) = match back {
            true => (&mut self.past, &mut self.future),
            false => (&mut self.future, &mut self.past),
        };
        let Some(view) = from.pop() else { return false };
        to.push(std::mem::replace(&mut self.view, view));
        true
    }

    /// Displays the schedule that was opened.
    pub fn reopen(&mut self) {
        if !Arc::ptr_eq(&self.original, &self.view.loaded) {
            self.show(Arc::clone(&self.original), self.view.at);
        }
    }

    fn engine(&self) -> Result<&Engine, Refusal> {
        self.engine.as_ref().map_err(|why| {
            Refusal::Failed(format!("the program cannot be run, only its trace be read: {why}"))
        })
    }

    /// The next reply of the engine. When the request is cancelled, the engine is asked to stop; it
    /// replies then, too.
    fn reply(&mut self, call: &Call<'_>, asked: &mut bool) -> Result<Reply, Refusal> {
        loop {
            match self.replies.recv_timeout(TICK) {
                Ok(Reply::Failed(why)) => return Err(Refusal::Failed(why)),
                Ok(Reply::Progress(what)) => (call.tell)(&what),
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Refusal::Failed("the program cannot be run any more".into()));
                }
            }
            if call.is_cancelled() && !std::mem::replace(asked, true) {
                let engine = self.engine()?;
                engine.cancel();
                engine.stop_search();
            }
        }
    }

    /// Waits for a reply that `take` accepts; applies the others.
    fn wait<T>(
        &mut self,
        call: &Call<'_>,
        mut take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<T, Refusal> {
        let mut asked = false;
        loop {
            match self.reply(call, &mut asked)? {
                Reply::Check { of, update } => self.checks.apply(&of, update),
                // Late replies to earlier requests are dropped.
                reply => {
                    if let Some(value) = take(reply) {
                        return Ok(value);
                    }
                }
            }
        }
    }

    /// Runs the program with these choices, and displays the execution.
    ///
    /// # Errors
    /// If the choices do not fit the program, or it cannot be run.
    pub fn run(
        &mut self,
        choices: Vec<Choice>,
        cursor: usize,
        call: &Call<'_>,
    ) -> Result<(), Refusal> {
        self.engine()?.request(Request::Run { choices, cursor });
        let (loaded, cursor) = self.wait(call, |reply| match reply {
            Reply::Ran { loaded, cursor } => Some((loaded, cursor)),
            _ => None,
        })?;
        self.show(loaded, cursor);
        Ok(())
    }

    /// Lets the task with this number or name run next.
    ///
    /// # Errors
    /// If there is no such task, it is not enabled, or the program cannot be run.
    pub fn pick(&mut self, task: &str, call: &Call<'_>) -> Result<(), Refusal> {
        let (loaded, at) = (Arc::clone(&self.view.loaded), self.view.at);
        let statuses = loaded.task_statuses(at);
        let Some(place) = moves::task_called(&loaded, &statuses, task) else {
            return Err(Refusal::Invalid(format!(
                "there is no task `{task}` at step {}: `tasks` lists them",
                at + 1
            )));
        };
        match moves::pick(&loaded, at, &statuses[place]) {
            Picked::Blocked(why) => Err(Refusal::Invalid(why)),
            Picked::Follows(step) => {
                self.go_to(step);
                Ok(())
            }
            Picked::Run(choices, cursor) => self.run(choices, cursor, call),
        }
    }

    /// Searches, and returns when the search has ended.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn search(&mut self, order: SearchFrom, call: &Call<'_>) -> Result<(), Refusal> {
        let number = self.search.as_ref().map_or(1, |search| search.number + 1);
        self.engine()?.search(number, order.clone());
        let mut state = SearchState::new(number, order);
        let mut asked = false;
        while state.is_running() {
            let reply = match self.reply(call, &mut asked) {
                Ok(reply) => reply,
                Err(refusal) => {
                    self.engine()?.stop_search();
                    return Err(refusal);
                }
            };
            if let Reply::Search { number: of, update } = reply
                && of == number
            {
                let failed = match &update {
                    SearchUpdate::Failed(why) => Some(why.clone()),
                    _ => None,
                };
                state.apply(update);
                if let Some(why) = failed {
                    self.search = Some(state);
                    return Err(Refusal::Failed(why));
                }
                let executions = count(state.progress.executions, "execution");
                let failures = count(state.found.len() as u64, "failure");
                (call.tell)(&format!("{executions}, {failures}"));
            }
        }
        self.search = Some(state);
        Ok(())
    }

    /// Whether the last search was complete, and what it covered.
    #[must_use]
    pub fn search_ended(&self) -> Option<(bool, &str)> {
        match self.search.as_ref().map(|search| &search.status) {
            Some(SearchStatus::Ended { complete, what }) => Some((*complete, what)),
            _ => None,
        }
    }

    /// Looks ahead from the position: what follows if each of the enabled tasks runs next.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn look_ahead(&mut self, call: &Call<'_>) -> Result<Vec<(TaskId, LookAhead)>, Refusal> {
        self.generation += 1;
        let generation = self.generation;
        let (loaded, step) = (Arc::clone(&self.view.loaded), self.view.at);
        let statuses = loaded.task_statuses(step);
        let moves: Vec<TaskId> =
            statuses.iter().filter(|one| one.enabled).map(|one| one.task).collect();
        if step >= loaded.len() || moves.is_empty() {
            return Ok(Vec::new());
        }
        self.engine()?.request(Request::LookAhead { generation, loaded, step, moves });
        let mut found: Vec<(TaskId, LookAhead)> = Vec::new();
        self.wait(call, |reply| match reply {
            Reply::Ahead { generation: of, task, ahead } if of == generation => {
                found.retain(|(known, _)| *known != task);
                found.push((task, ahead));
                None
            }
            Reply::LookAheadDone { generation: of, .. } if of == generation => Some(()),
            _ => None,
        })?;
        found.sort_by_key(|(task, _)| *task);
        Ok(found)
    }

    /// Explains why the displayed schedule fails: runs neighbouring schedules.
    ///
    /// # Errors
    /// If it passes, or the program cannot be run.
    pub fn explain(&mut self, call: &Call<'_>) -> Result<Box<Explanation>, Refusal> {
        self.refuse_passing()?;
        self.engine()?.request(Request::Explain(Arc::clone(&self.view.loaded)));
        self.wait(call, |reply| match reply {
            Reply::Explained { explanation, .. } => Some(explanation),
            _ => None,
        })
    }

    /// Finds the point of no return of the displayed schedule; none if it was not found.
    ///
    /// # Errors
    /// If the schedule passes, or the program cannot be run.
    pub fn no_return(&mut self, call: &Call<'_>) -> Result<Option<NoReturn>, Refusal> {
        self.refuse_passing()?;
        let loaded = Arc::clone(&self.view.loaded);
        if let Some(known) = self.checks.of(&loaded).and_then(|check| check.forecast.no_return) {
            return Ok(Some(known));
        }
        self.checks.start(&loaded);
        self.engine()?.check(Arc::clone(&loaded));
        let mut asked = false;
        let found = loop {
            if call.is_cancelled() {
                break Err(Refusal::Cancelled);
            }
            match self.reply(call, &mut asked)? {
                Reply::Check { of, update } => {
                    let found = match &update {
                        CheckUpdate::Outlook(Outlook::NoReturn(found)) => Some(Ok(Some(*found))),
                        CheckUpdate::Verdict(CheckState::Failed(why)) => {
                            Some(Err(Refusal::Failed(why.clone())))
                        }
                        _ => None,
                    };
                    self.checks.apply(&of, update);
                    if let Some(found) = found.filter(|_| Arc::ptr_eq(&of, &loaded)) {
                        break found;
                    }
                }
                Reply::CheckEnded { of } if Arc::ptr_eq(&of, &loaded) => break Ok(None),
                _ => {}
            }
        };
        self.engine()?.stop_checks();
        found
    }

    /// Replaces the displayed schedule by the smallest one with the same failure; says how much
    /// smaller it is.
    ///
    /// # Errors
    /// If it passes, or the program cannot be run.
    pub fn shrink(&mut self, call: &Call<'_>) -> Result<String, Refusal> {
        self.refuse_passing()?;
        self.engine()?.request(Request::Shrink(Arc::clone(&self.view.loaded)));
        let (loaded, what) = self.wait(call, |reply| match reply {
            Reply::Shrunk { loaded, what } => Some((loaded, what)),
            _ => None,
        })?;
        let end = loaded.len();
        self.show(loaded, end);
        Ok(what)
    }

    fn refuse_passing(&self) -> Result<(), Refusal> {
        match self.view.loaded.trace.failure {
            Some(_) => Ok(()),
            None => Err(Refusal::Invalid(
                "this schedule passes: `search` finds one that fails".to_owned(),
            )),
        }
    }

    /// The stacks of all tasks at the position. Those at a failure were recorded with it.
    ///
    /// # Errors
    /// If the program cannot be run or traced.
    pub fn stacks(&mut self, call: &Call<'_>) -> Result<Vec<TaskStack>, Refusal> {
        let (loaded, at) = (Arc::clone(&self.view.loaded), self.view.at);
        if let Some(failure) = loaded.trace.failure.as_ref().filter(|_| at >= loaded.len()) {
            return Ok(failure.stacks.clone());
        }
        self.inspections.keep_only(&loaded);
        if self.inspections.stacks(at).is_none() {
            self.inspect(Vec::new(), 0..0, More::Nothing, call)?;
        }
        Ok(self.inspections.stacks(at).unwrap_or_default().to_vec())
    }

    /// The values of expressions at the position.
    ///
    /// # Errors
    /// If one is malformed, or the program cannot be run or traced.
    pub fn values(&mut self, texts: &[String], call: &Call<'_>) -> Result<Vec<Evaluated>, Refusal> {
        parsed(texts)?;
        self.inspections.keep_only(&Arc::clone(&self.view.loaded));
        self.inspect(texts.to_vec(), 0..0, More::Nothing, call)?;
        let unknown = || Evaluated { task: None, value: Err("it could not be read".into()) };
        let at = self.view.at;
        let value = |text: &String| self.inspections.value(text, at).cloned();
        Ok(texts.iter().map(|text| value(text).unwrap_or_else(unknown)).collect())
    }

    /// The changes of an expression near the position: steps with the values before and after, and
    /// the steps that were searched.
    ///
    /// # Errors
    /// If it is malformed, or the program cannot be run or traced.
    pub fn history(
        &mut self,
        text: &str,
        call: &Call<'_>,
    ) -> Result<(Vec<super::inspection::Change>, std::ops::Range<usize>), Refusal> {
        let mut texts = vec![text.to_owned()];
        parsed(&texts)?;
        let (loaded, at) = (Arc::clone(&self.view.loaded), self.view.at);
        self.inspections.keep_only(&loaded);
        self.inspect(texts.clone(), 0..0, More::Nothing, call)?;
        // A local variable keeps meaning that of the task in which it was found.
        self.inspections.qualify(&mut texts, at);
        let around = at.saturating_sub(AROUND)..at.saturating_add(AROUND).min(loaded.len()) + 1;
        self.inspect(texts.clone(), around.clone(), More::Nothing, call)?;
        Ok((self.inspections.changes(&texts[0]).collect(), around))
    }

    /// Where the value of an expression at the position came from, and the value.
    ///
    /// # Errors
    /// If the expression is malformed, or the program cannot be run or traced.
    pub fn origin(&mut self, text: &str, call: &Call<'_>) -> Result<(Evaluated, Origin), Refusal> {
        let texts = vec![text.to_owned()];
        parsed(&texts)?;
        self.inspections.keep_only(&Arc::clone(&self.view.loaded));
        self.inspect(texts, 0..0, More::Origins, call)?;
        let unknown = || "it could not be read".to_owned();
        let (value, origin) = (
            self.inspections.value(text, self.view.at).cloned(),
            self.inspections.origin(text, self.view.at).cloned(),
        );
        let value = value.unwrap_or_else(|| Evaluated { task: None, value: Err(unknown()) });
        Ok((value, origin.unwrap_or_else(|| Err(unknown()))))
    }

    /// The variables of a frame of a task's stack at the position, from 0 for the innermost.
    ///
    /// # Errors
    /// If the program cannot be run or traced.
    pub fn locals(
        &mut self,
        task: TaskId,
        frame: usize,
        call: &Call<'_>,
    ) -> Result<FrameValues, Refusal> {
        self.inspections.keep_only(&Arc::clone(&self.view.loaded));
        self.inspect(Vec::new(), 0..0, More::Locals(task, frame), call)?;
        let values = self.inspections.locals(self.view.at, (task, frame));
        Ok(values.cloned().unwrap_or_default())
    }

    /// All writes in the displayed schedule to the memory where the value of an expression is at the
    /// position.
    ///
    /// # Errors
    /// If the expression is malformed, or the program cannot be run or traced.
    pub fn writes(&mut self, text: &str, call: &Call<'_>) -> Result<Writes, Refusal> {
        let texts = vec![text.to_owned()];
        parsed(&texts)?;
        self.inspections.keep_only(&Arc::clone(&self.view.loaded));
        self.inspect(texts, 0..0, More::Writes, call)?;
        let writes = self.inspections.writes(text, self.view.at).cloned();
        Ok(writes.unwrap_or_else(|| Err("they could not be read".to_owned())))
    }

    /// Reads stacks and values, and waits until all steps `around` were read, and what more is
    /// wanted of the values.
    fn inspect(
        &mut self,
        expressions: Vec<String>,
        around: std::ops::Range<usize>,
        more: More,
        call: &Call<'_>,
    ) -> Result<(), Refusal> {
        let (loaded, step) = (Arc::clone(&self.view.loaded), self.view.at);
        let request = InspectionRequest {
            step,
            expressions: expressions.clone(),
            around: around.clone(),
            more,
        };
        self.engine()?.inspect(Arc::clone(&loaded), request);
        let mut asked = false;
        loop {
            if call.is_cancelled() {
                return Err(Refusal::Cancelled);
            }
            let Reply::Inspected { of, expressions: read, result } =
                self.reply(call, &mut asked)?
            else {
                continue;
            };
            if !Arc::ptr_eq(&of, &loaded) || read != expressions {
                continue;
            }
            let done = match &result {
                InspectionResult::Failed(why) => return Err(Refusal::Failed(why.clone())),
                InspectionResult::Step { .. } => {
                    (expressions.is_empty() || around.is_empty()) && more == More::Nothing
                }
                InspectionResult::Origins(..)
                | InspectionResult::Writes(..)
                | InspectionResult::Locals(..) => around.is_empty(),
                InspectionResult::Steps(from, steps) => from + steps.len() >= around.end,
            };
            self.inspections.store(&of, &read, result);
            if done {
                return Ok(());
            }
        }
    }
}

fn parsed(texts: &[String]) -> Result<(), Refusal> {
    for text in texts {
        expressions::parse(text)
            .map_err(|why| Refusal::Invalid(format!("`{text}` cannot be parsed: {why}")))?;
    }
    Ok(())
}
