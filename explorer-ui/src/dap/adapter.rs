//! Answers an editor's requests, one after the other.

use super::data_breakpoints::DataBreakpoints;
use super::expression::resolve;
use super::launch::launch;
use super::protocol::{self, Incoming};
use super::view;
use crate::report::json_output::verdict_object;
use crate::walk::moves::{AtLine, Movement};
use crate::walk::opening::Opener;
use crate::walk::panics::catch_panic;
use crate::walk::session::{Call, Refusal, Session};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often the end of the process is checked.
const TICK: Duration = Duration::from_millis(50);
/// How long a cancelled request may take before the process ends nevertheless.
const LAST: Duration = Duration::from_secs(10);

/// Serves an editor until it disconnects, its input ends, or `stop` is set.
///
/// # Errors
/// If no thread can be started, or the output is closed.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write,
    opener: &dyn Opener,
    workers: u32,
    stop: &Arc<AtomicBool>,
) -> std::io::Result<()> {
    let (sender, messages) = channel();
    let cancelled = Arc::<AtomicBool>::default();
    let flag = Arc::clone(&cancelled);
    // Its read cannot be interrupted: the thread ends with the process.
    std::thread::Builder::new().spawn(move || read(input, &flag, &sender))?;
    let (flag, ended) = (Arc::clone(&cancelled), Arc::clone(stop));
    std::thread::Builder::new().spawn(move || {
        while !ended.load(Ordering::Relaxed) && !flag.load(Ordering::Relaxed) {
            std::thread::sleep(TICK);
        }
        flag.store(true, Ordering::Relaxed);
        std::thread::sleep(LAST);
        // The processes of targets end with this one.
        std::process::exit(i32::from(crate::exit::Status::Interrupted as u8));
    })?;
    let adapter = Adapter {
        opener,
        workers,
        output,
        sent: 0,
        session: None,
        lines: BTreeMap::new(),
        data: DataBreakpoints::default(),
        cancelled,
    };
    adapter.run(&messages, stop)
}

/// Reads messages until the input ends. What runs is cancelled when the editor disconnects.
fn read(input: impl Read, cancelled: &AtomicBool, messages: &Sender<Incoming>) {
    let mut input = BufReader::new(input);
    loop {
        let message = protocol::read(&mut input);
        let command = match &message {
            Incoming::Message(message) => message["command"].as_str().unwrap_or_default(),
            Incoming::Malformed(_) => "",
            Incoming::End(_) => "disconnect",
        };
        if matches!(command, "disconnect" | "terminate") {
            cancelled.store(true, Ordering::Relaxed);
        }
        let last = matches!(message, Incoming::End(_));
        if messages.send(message).is_err() || last {
            return;
        }
    }
}

/// What follows the answer to a request.
enum Then {
    Nothing,
    /// The position changed, for this reason.
    Stopped(&'static str),
    /// The adapter can be configured.
    Initialized,
    /// The editor has disconnected.
    End,
}

type Answer = Result<(Value, Then), Refusal>;

struct Adapter<'a, W> {
    opener: &'a dyn Opener,
    workers: u32,
    output: W,
    /// The number of the last message that was sent.
    sent: u64,
    session: Option<Session>,
    /// The lines of breakpoints by file.
    lines: BTreeMap<String, Vec<u32>>,
    data: DataBreakpoints,
    cancelled: Arc<AtomicBool>,
}

impl<W: Write> Adapter<'_, W> {
    fn run(mut self, messages: &Receiver<Incoming>, stop: &AtomicBool) -> std::io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            match messages.recv_timeout(TICK) {
                Ok(Incoming::Message(message)) => {
                    if !self.handle(&message)? {
                        return Ok(());
                    }
                }
                Ok(Incoming::Malformed(why)) => self.print(&why)?,
                Ok(Incoming::End(why)) => {
                    return why.map_or(Ok(()), |why| self.print(&why));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    fn send(&mut self, mut message: Value) -> std::io::Result<()> {
        self.sent += 1;
        message["seq"] = self.sent.into();
        protocol::write(&mut self.output, &message)
    }

    fn event(&mut self, name: &str, body: Value) -> std::io::Result<()> {
        self.send(json!({ "type": "event", "event": name, "body": body }))
    }

    /// Prints to the editor's console.
    fn print(&mut self, text: &str) -> std::io::Result<()> {
        self.event("output", json!({ "category": "console", "output": format!("{text}\n") }))
    }

    /// Answers a message; false if it was the last one.
    fn handle(&mut self, message: &Value) -> std::io::Result<bool> {
        if message["type"] != "request" {
            return Ok(true);
        }
        let command = message["command"].as_str().unwrap_or_default().to_owned();
        let none = Map::new();
        let arguments = message["arguments"].as_object().unwrap_or(&none);
        let mut notes = Vec::new();
        let outcome = catch_panic(|| self.answer(&command, arguments, &mut notes));
        let outcome = outcome.unwrap_or_else(|why| {
            self.session = None;
            Err(Refusal::Failed(format!("{why}; the session is closed")))
        });
        for note in notes {
            self.print(&note)?;
        }
        let mut response = json!({
            "type": "response",
            "request_seq": message["seq"],
            "command": command,
            "success": outcome.is_ok(),
        });
        let then = match outcome {
            Ok((body, then)) => {
                response["body"] = body;
                then
            }
            Err(refusal) => {
                let text = match refusal {
                    Refusal::Invalid(text) | Refusal::Failed(text) => text,
                    Refusal::Cancelled => "cancelled".to_owned(),
                };
                response["message"] = text.clone().into();
                // Braces would be variables.
                let format = text.replace(['{', '}'], "");
                response["body"] =
                    json!({ "error": { "id": 1, "format": format, "showUser": true } });
                Then::Nothing
            }
        };
        self.send(response)?;
        match then {
            Then::Nothing => {}
            Then::Initialized => self.event("initialized", json!({}))?,
            Then::Stopped(reason) => self.stopped(reason)?,
            Then::End => return Ok(false),
        }
        Ok(true)
    }

    fn stopped(&mut self, reason: &str) -> std::io::Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        let (loaded, at) = (session.loaded(), session.at());
        let failure = loaded.trace.failure.as_ref().filter(|_| at >= loaded.len());
        let reason = if failure.is_some() { "exception" } else { reason };
        let mut body = json!({
            "reason": reason,
            "description": view::step_text(loaded, at),
            "threadId": view::thread_of(view::current(session)),
            "allThreadsStopped": true,
        });
        if let Some(failure) = failure {
            body["text"] = failure.message.clone().into();
        }
        self.event("stopped", body)
    }

    fn session(&mut self) -> Result<&mut Session, Refusal> {
        self.session.as_mut().ok_or_else(nothing)
    }

    fn answer(
        &mut self,
        command: &str,
        arguments: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Answer {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let cancelled = Arc::clone(&self.cancelled);
        let call = Call { cancelled: &cancelled, tell: &|_| () };
        let stays = |body: Value| -> Answer { Ok((body, Then::Nothing)) };
        match command {
            "initialize" => stays(capabilities()),
            "launch" | "attach" => {
                let (session, note) = launch(self.opener, arguments, self.workers, &call)?;
                notes.extend((!note.is_empty()).then_some(note));
                self.session = Some(session);
                Ok((json!({}), Then::Initialized))
            }
            "setBreakpoints" => stays(self.set_breakpoints(arguments)),
            "dataBreakpointInfo" => stays(self.data_breakpoint_info(arguments, &call)?),
            "setDataBreakpoints" => stays(self.data.set(arguments)),
            "setExceptionBreakpoints" | "setFunctionBreakpoints" => {
                stays(json!({ "breakpoints": [] }))
            }
            "configurationDone" => {
                self.session()?;
                Ok((json!({}), Then::Stopped("entry")))
            }
            "threads" => stays(view::threads(self.session()?)),
            "stackTrace" => stays(self.stack(arguments, &call)?),
            "scopes" => {
                let frame = number("frameId").unwrap_or(0);
                let scope = |name: &str, variables: Variables| {
                    json!({
                        "name": name,
                        "variablesReference": variables.reference(),
                        "expensive": false,
                    })
                };
                let mut locals = scope("Locals", Variables::Locals(frame));
                locals["presentationHint"] = "locals".into();
                let thread = view::thread_of_frame(frame);
                let schedule = scope("Schedule", Variables::Schedule(thread));
                stays(json!({ "scopes": [locals, schedule] }))
            }
            "variables" => stays(match Variables::of(number("variablesReference").unwrap_or(0)) {
                Variables::Schedule(thread) => self.schedule_variables(thread)?,
                Variables::Locals(frame) => self.locals(frame, &call)?,
            }),
            "evaluate" => stays(self.evaluate(arguments, &call)?),
            "exceptionInfo" => stays(self.exception()?),
            "next" | "stepIn" | "stepOut" | "stepBack" | "continue" | "reverseContinue" => {
                self.travel(command, number("threadId"), notes, &call)
            }
            "heddle/next-switch" => self.go(Movement::NextSwitch),
            "heddle/previous-switch" => self.go(Movement::PreviousSwitch),
            "heddle/next-preemption" => self.go(Movement::NextPreemption),
            "heddle/previous-preemption" => self.go(Movement::PreviousPreemption),
            "heddle/who" => stays(view::who(self.session()?)),
            "heddle/pick" => {
                let task = arguments.get("task").and_then(Value::as_str);
                let task =
                    task.ok_or_else(|| Refusal::Invalid("`task` must be text: T2".into()))?;
                self.session()?.pick(task, &call)?;
                Ok((json!({}), Then::Stopped("step")))
            }
            "pause" => Ok((json!({}), Then::Stopped("pause"))),
            "disconnect" | "terminate" => Ok((json!({}), Then::End)),
            other => {
                let shown: String = other.chars().take(60).collect();
                Err(Refusal::Invalid(format!("the request `{shown}` is not supported")))
            }
        }
    }

    /// Breakpoints are verified if the schedule has a step at their line.
    fn set_breakpoints(&mut self, arguments: &Map<String, Value>) -> Value {
        let path = arguments.get("source").and_then(|source| source["path"].as_str());
        let path = path.unwrap_or_default().to_owned();
        let wanted = arguments.get("breakpoints").and_then(Value::as_array);
        let lines = wanted.into_iter().flatten().filter_map(|one| one["line"].as_u64());
        let lines: Vec<u32> = lines.filter_map(|line| u32::try_from(line).ok()).collect();
        let loaded = self.session.as_ref().map(|session| Arc::clone(session.loaded()));
        let rows = lines.iter().map(|&line| {
            let there = loaded.as_ref().is_some_and(|loaded| {
                let at_line = AtLine::of(loaded, &path, line);
                (0..loaded.len()).any(|step| at_line.has(loaded, step))
            });
            match there {
                true => json!({ "verified": true, "line": line }),
                false => json!({
                    "verified": false,
                    "line": line,
                    "message": "no step of this schedule is at this line",
                }),
            }
        });
        let rows: Vec<Value> = rows.collect();
        self.lines.insert(path, lines);
        json!({ "breakpoints": rows })
    }

    fn stack(&mut self, arguments: &Map<String, Value>, call: &Call<'_>) -> Result<Value, Refusal> {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let thread = number("threadId").unwrap_or(0);
        let task = view::task_of(thread);
        let session = self.session()?;
        let frames = match session.stacks(call) {
            Ok(stacks) => stacks.into_iter().find(|stack| Some(stack.task) == task),
            // Without the program, the line of the task's next step is known.
            Err(_) if session.cannot_run().is_some() => None,
            Err(refusal) => return Err(refusal),
        };
        let frames = frames.map(|stack| stack.frames).unwrap_or_else(|| {
            let statuses = view::statuses(session);
            let one = statuses.iter().find(|one| Some(one.task) == task);
            let site = one.and_then(|one| one.site);
            site.map(|site| session.loaded().frames(site).to_vec()).unwrap_or_default()
        });
        let total = frames.len().min(view::MAX_FRAMES);
        let start = usize::try_from(number("startFrame").unwrap_or(0)).unwrap_or(usize::MAX);
        let levels = match number("levels") {
            None | Some(0) => usize::MAX,
            Some(levels) => usize::try_from(levels).unwrap_or(usize::MAX),
        };
        let shown = frames.iter().enumerate().take(total).skip(start).take(levels);
        let shown: Vec<Value> =
            shown.map(|(index, frame)| view::frame(thread, index, frame)).collect();
        Ok(json!({ "stackFrames": shown, "totalFrames": total }))
    }

    /// The state of a thread in the schedule, as variables.
    fn schedule_variables(&mut self, thread: u64) -> Result<Value, Refusal> {
        let session = self.session()?;
        let who = view::who(session);
        let mut rows = vec![("position", view::step_text(session.loaded(), session.at()))];
        let tasks = who["tasks"].as_array().map_or(&[][..], Vec::as_slice);
        if let Some(task) = tasks.iter().find(|task| task["threadId"] == thread) {
            for name in ["enabled", "why", "operation", "object", "site", "preempts"] {
                match &task[name] {
                    Value::Null => {}
                    Value::String(text) => rows.push((name, text.clone())),
                    other => rows.push((name, other.to_string())),
                }
            }
        }
        Ok(variables(rows.into_iter().map(|(name, value)| (name.to_owned(), value))))
    }

    /// The variables of a frame.
    fn locals(&mut self, frame: u64, call: &Call<'_>) -> Result<Value, Refusal> {
        let (thread, index) = (view::thread_of_frame(frame), view::index_of_frame(frame));
        let session = self.session()?;
        let Some(task) = view::task_of(thread) else { return Ok(variables([])) };
        if session.cannot_run().is_some() {
            return Ok(variables([]));
        }
        // A call that was inlined has the variables of the function that it is in.
        let stack = session.stacks(call)?.into_iter().find(|stack| stack.task == task);
        let inner = stack.iter().flat_map(|stack| stack.frames.iter().take(index));
        let physical = inner.filter(|frame| !frame.inlined).count();
        let values = session.locals(task, physical, call)?;
        Ok(variables(
            values
                .into_iter()
                .map(|(name, value)| (name, value.unwrap_or_else(|why| format!("({why})")))),
        ))
    }

    /// Whether writes to an expression can stop the execution.
    fn data_breakpoint_info(
        &mut self,
        arguments: &Map<String, Value>,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        let frame = match number("variablesReference").map(Variables::of) {
            Some(Variables::Schedule(thread)) if thread > 0 => {
                let why = "this is a property of the schedule, not a variable";
                return Ok(json!({ "dataId": null, "description": why }));
            }
            Some(Variables::Locals(frame)) => Some(frame),
            _ => number("frameId"),
        };
        let (data, session) = (&mut self.data, self.session.as_mut());
        let session = session.ok_or_else(nothing)?;
        data.describe(session, name.trim(), frame, call)
    }

    /// A question about the schedule, or an expression over the program's variables.
    fn evaluate(
        &mut self,
        arguments: &Map<String, Value>,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        let text = arguments.get("expression").and_then(Value::as_str).unwrap_or_default().trim();
        let frame = arguments.get("frameId").and_then(Value::as_u64);
        let session = self.session()?;
        let loaded = Arc::clone(session.loaded());
        let result = match text {
            "who" => view::who_text(session),
            "position" => view::step_text(&loaded, session.at()),
            "switches" => format!(
                "switches: {}, preemptions: {}, steps: {}",
                loaded.trace.execution.switches(),
                loaded.preemptions().len(),
                loaded.len()
            ),
            "why" => {
                let explanation = session.explain(call)?;
                let bisected = &explanation.bisected;
                let verdict = verdict_object(&bisected.failing, Some(bisected));
                verdict["text"].as_str().unwrap_or("no reason was found").to_owned()
            }
            expression => resolve(session, expression, frame, call)?.1.map_err(Refusal::Failed)?,
        };
        Ok(json!({ "result": result, "variablesReference": 0 }))
    }

    fn exception(&mut self) -> Result<Value, Refusal> {
        let session = self.session()?;
        let failure = session.loaded().trace.failure.as_ref();
        let failure = failure.ok_or_else(|| Refusal::Invalid("this schedule passes".into()))?;
        Ok(json!({
            "exceptionId": failure.kind.name(),
            "description": failure.message,
            "breakMode": "always",
        }))
    }

    fn go(&mut self, movement: Movement) -> Answer {
        let session = self.session()?;
        let loaded = Arc::clone(session.loaded());
        let step =
            movement.from(&loaded, session.at()).map_err(|why| Refusal::Invalid(why.into()))?;
        session.go_to(step);
        Ok((json!({ "step": step + 1 }), Then::Stopped("step")))
    }

    /// Goes along the schedule, up to a breakpoint if there is one on the way.
    fn travel(
        &mut self,
        command: &str,
        thread: Option<u64>,
        notes: &mut Vec<String>,
        call: &Call<'_>,
    ) -> Answer {
        let (lines, data, session) = (&self.lines, &mut self.data, self.session.as_mut());
        let session = session.ok_or_else(nothing)?;
        data.renew(session, notes, call)?;
        let loaded = Arc::clone(session.loaded());
        let (at, end) = (session.at(), loaded.len());
        let places: Vec<AtLine> = lines
            .iter()
            .flat_map(|(file, lines)| lines.iter().map(|&line| AtLine::of(&loaded, file, line)))
            .collect();
        let hit = |step: &usize| places.iter().any(|line| line.has(&loaded, *step));
        let steps = &loaded.trace.execution.steps;
        let task = thread.and_then(view::task_of).unwrap_or_else(|| view::current(session));
        let of_task = |step: &usize| steps[*step].task == task;
        let other = |step: &usize| steps[*step].task != task;
        let back = matches!(command, "stepBack" | "reverseContinue");
        let (goal, reason) = match command {
            "next" => ((at + 1..end).find(of_task).unwrap_or(end), "step"),
            "stepIn" => ((at + 1).min(end), "step"),
            "stepOut" => ((at + 1..end).find(other).unwrap_or(end), "step"),
            "stepBack" => ((0..at).rfind(of_task).unwrap_or(0), "step"),
            "continue" => (end, "pause"),
            _ => (0, "entry"),
        };
        let met = match back {
            true => (goal..at).rfind(hit),
            false => (at + 1..goal).find(hit),
        };
        // Forwards, a write stops after its step; backwards, before it.
        let written = match back {
            true => (met.unwrap_or(goal)..at).rfind(|&step| data.is_written_by(step)),
            false => {
                let last = met.unwrap_or(goal);
                (at..last).find(|&step| data.is_written_by(step)).map(|step| step + 1)
            }
        };
        let (step, reason) = match (written, met) {
            (Some(step), _) => (step, "data breakpoint"),
            (None, Some(step)) => (step, "breakpoint"),
            (None, None) => (goal, reason),
        };
        if written.is_some() {
            notes.push(data.writes_text(if back { step } else { step - 1 }));
        }
        session.go_to(step);
        Ok((json!({ "allThreadsContinued": true }), Then::Stopped(reason)))
    }
}

/// What a reference to variables stands for.
enum Variables {
    /// The state of a thread in the schedule.
    Schedule(u64),
    /// The variables of a frame.
    Locals(u64),
}

impl Variables {
    fn of(reference: u64) -> Variables {
        match reference % 2 {
            0 => Variables::Schedule(reference / 2),
            _ => Variables::Locals(reference / 2),
        }
    }

    fn reference(&self) -> u64 {
        match self {
            Variables::Schedule(thread) => 2 * thread,
            Variables::Locals(frame) => 2 * frame + 1,
        }
    }
}

fn variables(rows: impl IntoIterator<Item = (String, String)>) -> Value {
    let rows = rows
        .into_iter()
        .map(|(name, value)| json!({ "name": name, "value": value, "variablesReference": 0 }));
    json!({ "variables": rows.collect::<Vec<Value>>() })
}

fn nothing() -> Refusal {
    Refusal::Failed("nothing is debugged: send `launch` first".to_owned())
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsStepBack": true,
        "supportsDataBreakpoints": true,
        "supportsExceptionInfoRequest": true,
        "supportsEvaluateForHovers": true,
        "supportsTerminateRequest": true,
        "supportsDelayedStackTraceLoading": true,
    })
}
