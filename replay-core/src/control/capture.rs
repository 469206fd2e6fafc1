//! Builds a readable execution from a parked process: what the runtime recorded, with names.

mod async_tasks;
mod failures;
mod names;

use crate::control::channel::Channel;
use crate::explain::source::Sources;
use crate::symbols::{ProcessMemory, Registers, Symbols, is_user_frame};
use crate::{Error, Target};
use async_tasks::AsyncTasks;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use traces::DeadlineNote;
use traces::execution::{DataChoice, Pending};
use traces::trace::{Header, Options};
use traces::wire::{
    FoundFailure, NO_TASK, RECORD_ASYNC, RECORD_CALLERS, RECORD_DATA, RECORD_DEADLINE,
    RECORD_ENABLED, Record, TaskInfo, task_state,
};
use traces::{
    EnabledChange, Execution, Failure, FailureKind, Frame, ObjectKind, Operation, Site, Step,
    TaskId, TaskRecord, Trace,
};

/// The error that main or a test of a Rust program returned: Rust's library prints it in a separate line
/// before the process ends with a status that is not zero.
fn returned_error(output: &[u8]) -> Option<String> {
    let output = String::from_utf8_lossy(output);
    // The harness prints a general text of the same form for every such test, and the test's name and dots
    // before, on the same line.
    let own = |line: &&str| !line.contains("the test returned a termination value");
    let error = |line: &'_ str| match line.split_once(" ... Error: ") {
        Some((name, error)) if name.starts_with("test ") => Some(error.to_owned()),
        _ => line.strip_prefix("Error: ").map(str::to_owned),
    };
    let text = output.lines().filter(own).filter_map(error).next_back()?;
    Some(format!("Error: {}", text.chars().take(LONGEST_ERROR).collect::<String>()))
}

/// The most characters of a returned error in a message.
const LONGEST_ERROR: usize = 200;

/// The end of an output of which the rest is not stored.
pub(crate) const TRUNCATED: &[u8] = b"\n[output truncated]\n";

/// Frames of the runtime's library are hidden from the user.
const RUNTIME: &str = "/heddle-runtime-";

/// What a trace of an execution shows.
pub(crate) struct Shown<'a> {
    /// How it failed.
    pub(crate) found: Option<&'a FoundFailure>,
    /// What was found besides, and is no failure.
    pub(crate) findings: &'a [FoundFailure],
    /// Whether to name objects and places although the execution did not fail.
    pub(crate) names: bool,
}

/// Builds the trace of the execution from the parked process `pid` and its channel. Returns the other
/// findings beside it.
pub(crate) fn capture(
    target: &Target,
    channel: &Channel,
    pid: i32,
    shown: &Shown,
    options: Options,
) -> Result<(Trace, Vec<Failure>), Error> {
    let found = shown.found;
    let symbols = match (found, shown.names) {
        (Some(_), _) => Symbols::of_process(pid)?,
        (None, true) => Symbols::of_process(pid)?.without_details_of_libraries(),
        (None, false) => Symbols::without_names(pid)?,
    };
    let memory = ProcessMemory::open(pid).map_err(Error::system("cannot read the program"))?;
    let tasks = channel.tasks();
    let mut reader = Reader {
        symbols: &symbols,
        execution: Execution::default(),
        threads_to_name: BTreeSet::new(),
        unnamed: Vec::new(),
        main_last: options.main_last,
    };
    reader.tasks(&tasks, &memory);
    reader.objects(&channel.objects(), &tasks, &memory);
    reader.records(&channel.records());
    let header = header(target, options, found.map_or(0, |found| found.execution));
    reader.name_by_source(&mut Sources::of(&header));
    let mut failure = found.map(|found| reader.failure(found, &tasks, &memory));
    if failure.is_none() {
        reader.name_ends(&[]);
    }
    let findings = shown.findings.iter().map(|one| reader.failure(one, &tasks, &memory)).collect();
    reader.name_threads(failure.as_ref());
    reader.move_starts_to_creation();
    let mut execution = reader.execution;
    execution.modules = symbols.modules();
    let (output, cut) = channel.output();
    let mut output = output;
    if cut {
        output.extend_from_slice(TRUNCATED);
    }
    if let Some(failure) = failure.as_mut().filter(|failure| failure.kind == FailureKind::Exit)
        && let Some(error) = returned_error(&output)
    {
        failure.message.push_str(": ");
        failure.message.push_str(&error);
    }
    Ok((Trace { header, execution, failure, output }, findings))
}

/// The header of a trace of this target.
pub(crate) fn header(target: &Target, options: Options, found_at: u64) -> Header {
    let pairs = target
        .env
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let (mut env, mut left_out) = traces::redaction::redact(pairs);
    env.retain(|(name, _)| {
        let is_kept = !target.unrecorded.contains(OsStr::from_bytes(name));
        if !is_kept {
            left_out.push(String::from_utf8_lossy(name).into_owned());
        }
        is_kept
    });
    let is_unread = |name: &[u8]| target.unread.contains(OsStr::from_bytes(name));
    let unread = env.iter().filter(|(name, _)| is_unread(name));
    let unread = unread.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    Header {
        heddle: env!("CARGO_PKG_VERSION").to_owned(),
        program: target.program.to_string_lossy().into_owned(),
        // Paths are equal even if they differ in `/./`.
        name: match target.name == target.program.as_os_str() {
            true => Vec::new(),
            false => target.name.as_bytes().to_vec(),
        },
        build_id: target.build_id.clone(),
        args: target.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env,
        left_out,
        unread,
        environment_use: target.environment_use,
        cwd: target.cwd.to_string_lossy().into_owned(),
        options,
        found_at,
    }
}

struct Reader<'a> {
    symbols: &'a Symbols,
    execution: Execution,
    /// Tasks whose start function is not in user code; their names are still to be found.
    threads_to_name: BTreeSet<TaskId>,
    /// Objects that no variable points to, ascending.
    unnamed: Vec<u32>,
    /// Whether main belongs to a test harness.
    main_last: bool,
}

impl Reader<'_> {
    /// The site of a code address; offset 0 of the program if the address is in no module.
    fn site(&self, address: u64) -> Site {
        self.symbols.site(address).unwrap_or(Site { module: 0, offset: 0 })
    }

    fn tasks(&mut self, tasks: &[TaskInfo], memory: &ProcessMemory) {
        for (number, task) in tasks.iter().enumerate() {
            let end = task.name.iter().position(|&byte| byte == 0).unwrap_or(task.name.len());
            let function = match number {
                0 => "main".to_owned(),
                _ => self.symbols.start_function(task.start).unwrap_or_default(),
            };
            let begins_own = self
                .symbols
                .site(task.start)
                .is_some_and(|site| self.symbols.frames(site, true).iter().any(is_user_frame));
            if number > 0 && (function.is_empty() || !begins_own) {
                self.threads_to_name.insert(TaskId(number as u16));
            }
            self.execution.tasks.push(TaskRecord {
                name: String::from_utf8_lossy(&task.name[..end]).into_owned(),
                function,
                parent: (task.parent != NO_TASK).then_some(TaskId(task.parent as u16)),
                pending: self.pending(task, memory),
            });
        }
    }

    /// The next operation of a parked task.
    fn pending(&self, task: &TaskInfo, memory: &ProcessMemory) -> Option<Pending> {
        let blocked = match task.state {
            task_state::RUNNABLE => false,
            task_state::BLOCKED => true,
            _ => return None,
        };
        Some(Pending {
            operation: Operation::from_code(task.operation as u8)?,
            object: task.object.checked_sub(1),
            site: self.user_site(task, memory),
            blocked,
        })
    }

    /// The site that the user sees for a task: if the task is inside a library, the site in user
    /// code that called the library.
    fn user_site(&self, task: &TaskInfo, memory: &ProcessMemory) -> Site {
        let site = self.site(task.site);
        let starts = Operation::from_code(task.operation as u8) == Some(Operation::Start);
        if starts || self.symbols.frames(site, false).iter().any(is_user_frame) {
            return site;
        }
        let registers = Registers::from(task);
        let frames = self.symbols.stack(&registers, task.exact != 0, memory, RUNTIME);
        frames
            .iter()
            .find(|frame| is_user_frame(frame))
            .and_then(|frame| frame.site)
            .unwrap_or(site)
    }

    fn records(&mut self, records: &[Record]) {
        let mut sites: HashMap<(u64, bool), Site> = HashMap::new();
        let mut named: BTreeMap<Site, Vec<Frame>> = BTreeMap::new();
        let mut callers: HashMap<u64, Option<Site>> = HashMap::new();
        // For each site that replaces those of steps in a library, the function that it calls.
        let mut callees: BTreeMap<Site, Option<Frame>> = BTreeMap::new();
        let mut called: HashMap<u64, Option<Frame>> = HashMap::new();
        // The address in the library nearest to user code.
        let mut inner = 0;
        let mut async_tasks = AsyncTasks::default();
        for record in records {
            let next = self.execution.steps.len() as u64;
            match record.operation {
                RECORD_ENABLED => self.execution.enabled.push(EnabledChange {
                    step: next,
                    task: TaskId(record.task),
                    enabled: record.flags & 1 != 0,
                }),
                RECORD_DEADLINE => self.execution.deadlines.push(DeadlineNote {
                    step: next,
                    preempts: record.flags & 1 != 0,
                    late: (record.value > 0).then_some((TaskId(record.task), record.value)),
                }),
                RECORD_ASYNC => async_tasks.changed(next, record),
                RECORD_DATA => self.execution.data.push(DataChoice {
                    step: next.saturating_sub(1),
                    taken: record.value as u32,
                    of: record.object as u32,
                }),
                RECORD_CALLERS => {
                    let Some(step) = self.execution.steps.last_mut() else { continue };
                    async_tasks.called(record, self.symbols);
                    if named.get(&step.site).is_some_and(|frames| frames.iter().any(is_user_frame))
                    {
                        continue;
                    }
                    // The step is inside a library: show the user code that called the library.
                    let mut own = |address: u64| {
                        *callers.entry(address).or_insert_with(|| {
                            let site = self.symbols.site(address)?;
                            self.symbols
                                .frames(site, false)
                                .iter()
                                .any(is_user_frame)
                                .then_some(site)
                        })
                    };
                    for address in [record.object, record.site, record.value] {
                        let Some(site) = own(address) else {
                            inner = address;
                            continue;
                        };
                        step.site = site;
                        let frames = || user_frames_first(self.symbols.frames(site, false));
                        named.entry(site).or_insert_with(frames);
                        let callee = called.entry(inner).or_insert_with(|| self.function_at(inner));
                        let known = callees.entry(site).or_insert_with(|| callee.clone());
                        // A call through a pointer calls more than one function.
                        if known.as_ref().map(|it| &it.function)
                            != callee.as_ref().map(|it| &it.function)
                        {
                            *known = None;
                        }
                        break;
                    }
                }
                code => {
                    let operation = Operation::from_code(code).unwrap_or(Operation::Yield);
                    // The site of a thread's start is its start function; other sites are return addresses.
                    let exact = operation == Operation::Start;
                    inner = record.site;
                    async_tasks.stepped(record);
                    let site = *sites
                        .entry((record.site, exact))
                        .or_insert_with(|| self.symbols.site(record.site).unwrap_or(UNKNOWN));
                    named
                        .entry(site)
                        .or_insert_with(|| user_frames_first(self.symbols.frames(site, exact)));
                    self.execution.steps.push(Step {
                        task: TaskId(record.task),
                        operation,
                        object: (record.object != 0).then(|| record.object as u32 - 1),
                        site,
                        value: record.value,
                    });
                }
            }
        }
        let steps = self.execution.steps.len();
        (self.execution.async_tasks, self.execution.async_changes) = async_tasks.all(steps);
        for (site, callee) in callees {
            let Some(frames) = named.get_mut(&site) else { continue };
            // If library functions were inlined at the site, they made the call.
            if frames.last().is_some_and(|last| !last.inlined) {
                frames.extend(callee);
            }
        }
        self.execution.places = named.into_iter().collect();
    }

    /// The function that contains an address, not what is inlined into it there.
    fn function_at(&self, address: u64) -> Option<Frame> {
        let site = self.symbols.site(address)?;
        let function = self.symbols.frames(site, false).pop()?;
        (!function.function.is_empty()).then_some(function)
    }

    /// What a blocked task waits for, as text.
    fn blocked(&self, task: &TaskInfo) -> String {
        let operation = Operation::from_code(task.operation as u8).map_or("wait", Operation::name);
        let object = task.object.checked_sub(1);
        let object = object.and_then(|index| self.execution.objects.get(index as usize));
        let mut text = operation.to_owned();
        if let Some(object) = object {
            text.push(' ');
            text.push_str(&object.name);
        }
        if task.holder != NO_TASK && !matches!(object, Some(o) if o.kind == ObjectKind::Task) {
            text.push_str(&format!(", held by T{}", task.holder));
        }
        text
    }
}

const UNKNOWN: Site = Site { module: 0, offset: 0 };

/// The frames of one site, rotated so that the first user frame comes first: in C++ and Rust a lock
/// is called from inlined library code.
fn user_frames_first(mut frames: Vec<Frame>) -> Vec<Frame> {
    if let Some(at) = frames.iter().position(is_user_frame) {
        frames.rotate_left(at);
    }
    frames
}
